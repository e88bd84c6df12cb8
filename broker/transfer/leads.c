/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See leads.h.
 */
#include "broker/transfer/leads.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"

#include <math.h>

static const double sure = 0.95;

char *leads_key(const struct config_pool *pool)
{
    return text_format("%s/%s/%s", pool->provider->kind_name, pool->reservation->machine,
                       pool->reservation->zone);
}

int64_t leads_quantile(const struct leads *leads, double percentile, int64_t elapsed_ms)
{
    int64_t prior_ms = percentile > 50 ? leads->prior->prior_p95_ms : leads->prior->prior_p50_ms;

    if (lead_series_known(&leads->whole) > 0)
        return lead_series_quantile(&leads->whole, percentile, elapsed_ms);
    return prior_ms > elapsed_ms ? prior_ms : elapsed_ms;
}

int64_t leads_wave(const struct leads *leads, int64_t nodes)
{
    size_t known = lead_series_known(&leads->whole);
    require(nodes > 0);
    double below = pow(sure, 1.0 / (double)nodes);

    if (known == 0)
        return leads->prior->prior_p95_ms;
    if ((double)known * (1 - below) < 1)
        return leads_quantile(leads, 100, 0) / 4 * 5;
    return leads_quantile(leads, 100 * below, 0);
}

json_t *leads_encode(const struct leads *leads)
{
    json_t *steps = json_object();

    for (int i = 0; i < STEP_COUNT; i++)
        if (leads->steps[i].count > 0)
            json_object_set_new(steps, transfer_steps[i].name,
                                lead_series_encode(&leads->steps[i]));
    return json_make("{so so}", "whole_ms", lead_series_encode(&leads->whole), "steps_ms", steps);
}

int leads_decode(struct leads *leads, const json_t *value, struct error *err)
{
    if (lead_series_decode(&leads->whole, json_object_get(value, "whole_ms"), err) < 0)
        return -1;
    for (int i = 0; i < STEP_COUNT; i++) {
        const json_t *list = json_object_get(json_object_get(value, "steps_ms"),
                                             transfer_steps[i].name);

        if (list && lead_series_decode(&leads->steps[i], list, err) < 0)
            return -1;
    }
    return 0;
}

static json_t *quantile_s(const struct lead_series *series, double percentile)
{
    if (lead_series_known(series) == 0)
        return json_null();
    return json_integer(lead_series_quantile(series, percentile, 0) / SECOND_MS);
}

static json_t *describe_step(const struct lead_series *series, const char *name)
{
    return json_make("{ss sI sI so so}", "step", name, "known",
                     (json_int_t)lead_series_known(series), "censored",
                     (json_int_t)lead_series_censored(series), "p50_s", quantile_s(series, 50),
                     "p95_s", quantile_s(series, 95));
}

json_t *leads_describe(const struct leads *leads)
{
    json_t *steps = json_array();

    for (int i = 0; i < STEP_COUNT; i++)
        if (leads->steps[i].count > 0)
            json_array_append_new(steps, describe_step(&leads->steps[i], transfer_steps[i].name));
    return json_make("{sI sI sI sI so}", "known", (json_int_t)lead_series_known(&leads->whole),
                     "censored", (json_int_t)lead_series_censored(&leads->whole), "p50_s",
                     (json_int_t)(leads_quantile(leads, 50, 0) / SECOND_MS), "p95_s",
                     (json_int_t)(leads_quantile(leads, 95, 0) / SECOND_MS), "steps", steps);
}
