/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See lead_series.h.
 */
#include "windows/forecast/lead_series.h"

#include "base/input/json.h"
#include "base/timestamp.h"

#include <stdlib.h>
#include <string.h>

enum { DRIFT_LOOK = 8, DRIFT_LATE = 4 };

/* The clock was set, or a one-time event delayed it: not typical for the next one. */
static const int64_t LEAD_MAX_MS = DAY_MS;

void lead_series_add(struct lead_series *series, int64_t ms, bool is_censored)
{
    if (ms <= 0 || ms > LEAD_MAX_MS)
        return;
    series->kept[series->count++ % LEADS_KEPT] = (struct lead){ ms, is_censored };
}

static size_t kept(const struct lead_series *series)
{
    return series->count < LEADS_KEPT ? series->count : LEADS_KEPT;
}

size_t lead_series_censored(const struct lead_series *series)
{
    size_t censored = 0;

    for (size_t i = 0; i < kept(series); i++)
        censored += series->kept[i].is_censored;
    return censored;
}

size_t lead_series_known(const struct lead_series *series)
{
    size_t ended = kept(series) - lead_series_censored(series);

    return ended < LEADS_NEEDED ? 0 : ended;
}

/* A time censored at a length sorts after one that ended there. */
static int by_length(const void *left, const void *right)
{
    const struct lead *a = left;
    const struct lead *b = right;

    if (a->ms != b->ms)
        return a->ms > b->ms ? 1 : -1;
    return (int)a->is_censored - (int)b->is_censored;
}

int64_t lead_series_quantile(const struct lead_series *series, double percentile,
                             int64_t elapsed_ms)
{
    struct lead sorted[LEADS_KEPT];
    size_t count = kept(series);
    double survives = 1;
    int64_t longest = elapsed_ms;

    require(count > 0);
    require(percentile >= 0 && percentile <= 100);
    memcpy(sorted, series->kept, count * sizeof sorted[0]);
    qsort(sorted, count, sizeof sorted[0], by_length);
    for (size_t i = 0; i < count; i++) {
        if (sorted[i].ms <= elapsed_ms)
            continue;
        longest = sorted[i].ms;
        if (sorted[i].is_censored)
            continue;
        survives *= 1 - 1.0 / (double)(count - i);
        if (survives <= 1 - percentile / 100 + 1e-9)
            return longest;
    }
    return longest;
}

bool lead_series_drifts(const struct lead_series *series, struct lead_drift *ret_drift)
{
    struct lead_series before = { .count = 0 };
    size_t first = series->count - kept(series);

    *ret_drift = (struct lead_drift){ .looked = DRIFT_LOOK };
    for (size_t i = first; i + DRIFT_LOOK < series->count; i++) {
        const struct lead *lead = &series->kept[i % LEADS_KEPT];

        lead_series_add(&before, lead->ms, lead->is_censored);
    }
    if (lead_series_known(&before) == 0)
        return false;
    ret_drift->usual_ms = lead_series_quantile(&before, 95, 0);
    for (size_t i = series->count - DRIFT_LOOK; i < series->count; i++)
        ret_drift->late += series->kept[i % LEADS_KEPT].ms > ret_drift->usual_ms;
    return ret_drift->late >= DRIFT_LATE;
}

json_t *lead_series_encode(const struct lead_series *series)
{
    json_t *list = json_array();
    size_t first = series->count - kept(series);

    for (size_t i = first; i < series->count; i++) {
        const struct lead *lead = &series->kept[i % LEADS_KEPT];

        json_array_append_new(list, json_integer(lead->is_censored ? -lead->ms : lead->ms));
    }
    return list;
}

int lead_series_decode(struct lead_series *series, const json_t *list, struct error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(list))
        return error_set(err, ERROR_CORRUPT, "lead times are not a list");
    json_array_foreach(list, i, item) {
        int64_t ms = json_integer_value(item);

        if (!json_is_integer(item))
            return error_set(err, ERROR_CORRUPT, "lead times: item %zu is not a number", i);
        lead_series_add(series, ms < 0 ? -ms : ms, ms < 0);
    }
    return 0;
}
