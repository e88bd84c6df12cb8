/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See leads.h.
 */
#include "broker/transfer/leads.h"

#include "base/json.h"
#include "base/timestamp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The clock was set, or something held the transfer that will not hold the next one. */
static const int64_t LEAD_MAX_MS = DAY_MS;

void leads_add(struct leads *leads, int64_t lead_ms)
{
    if (lead_ms <= 0 || lead_ms > LEAD_MAX_MS)
        return;
    leads->kept_ms[leads->count++ % LEADS_KEPT] = lead_ms;
}

static size_t kept(const struct leads *leads)
{
    return leads->count < LEADS_KEPT ? leads->count : LEADS_KEPT;
}

size_t leads_known(const struct leads *leads)
{
    return kept(leads) < LEADS_NEEDED ? 0 : kept(leads);
}

static int by_length(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

int64_t leads_quantile(const struct leads *leads, double percentile)
{
    int64_t sorted[LEADS_KEPT];
    size_t count = leads_known(leads);
    size_t rank;

    if (count == 0)
        return percentile > 50 ? leads->prior->prior_p95_ms : leads->prior->prior_p50_ms;

    memcpy(sorted, leads->kept_ms, count * sizeof sorted[0]);
    qsort(sorted, count, sizeof sorted[0], by_length);
    rank = (size_t)ceil((double)count * percentile / 100);
    return sorted[rank > 0 ? rank - 1 : 0];
}

int64_t leads_reach(const struct leads *leads)
{
    int64_t longest = leads_quantile(leads, 100);

    return leads_known(leads) > 0 ? longest + longest / 4 : leads->prior->prior_p95_ms;
}

json_t *leads_encode(const struct leads *leads)
{
    json_t *list = json_array();
    size_t first = leads->count < LEADS_KEPT ? 0 : leads->count - LEADS_KEPT;

    for (size_t i = first; i < leads->count; i++)
        json_array_append_new(list, json_integer((json_int_t)leads->kept_ms[i % LEADS_KEPT]));
    return json_make("{so}", "lead_ms", list);
}

int leads_decode(struct leads *leads, const json_t *value, struct error *err)
{
    json_t *list;
    const json_t *item;
    size_t i;

    if (json_need_array(value, "lead_ms", &list, err) < 0)
        return -1;
    json_array_foreach(list, i, item)
    {
        if (!json_is_integer(item))
            return error_set(err, ERROR_CORRUPT, "lead_ms: item %zu is not a number", i);
        leads_add(leads, (int64_t)json_integer_value(item));
    }
    return 0;
}
