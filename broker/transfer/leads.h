/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lead times on one route (a provider's machine type in a zone): how long a transfer takes from its
 * cordon until the GPUs can be used, as a whole and step by step.  Until there are enough of them
 * the configured prior counts for the whole.
 */
#pragma once

#include "broker/config/config.h"
#include "broker/transfer/lead_series.h"
#include "broker/transfer/steps.h"

struct leads {
    const struct config_lead *prior;
    struct lead_series whole;
    struct lead_series steps[STEP_COUNT]; /* kept with the next transfer that ends */
    uint64_t rev;                         /* of the journal record; 0: not stored yet */
};

/* "gcp/a3-highgpu-8g/us-central1-a" */
char *leads_route(const struct config_pool *pool)
    __attribute__((returns_nonnull, warn_unused_result));

/* Of the whole, the quantile in [0, 100] of those that last longer than elapsed_ms; unknown: the
   prior's median or p95, and never less than what has elapsed. */
int64_t leads_quantile(const struct leads *leads, double percentile, int64_t elapsed_ms);

/* Until the last of `nodes` that start together is ready, 95 times in 100: all of them have to be
   below it, so each with the nodes-th root of that.  Where too few are known to say that, the
   longest and a quarter on top; the prior's p95 until there is anything. */
int64_t leads_wave(const struct leads *leads, int64_t nodes);

json_t *leads_encode(const struct leads *leads)
    __attribute__((returns_nonnull, warn_unused_result));
int leads_decode(struct leads *leads, const json_t *value, struct error *err)
    __attribute__((warn_unused_result));

/* {known, censored, p50_s, p95_s, steps: [{step, known, censored, p50_s, p95_s}]}; a step of which
   too little is known has null quantiles. */
json_t *leads_describe(const struct leads *leads)
    __attribute__((returns_nonnull, warn_unused_result));
