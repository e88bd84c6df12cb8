/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lead times of one lead key (a provider's machine type in a zone): the time of a transfer from its
 * cordon until the GPUs can be used, as a whole and step by step.  Until there are enough values
 * the configured prior counts for the whole.
 */
#pragma once

#include "broker/config/config.h"
#include "broker/transfer/steps.h"
#include "windows/forecast/lead_series.h"

struct leads {
    const struct config_lead *prior;
    struct lead_series whole;
    struct lead_series steps[STEP_COUNT]; /* kept with the next transfer that ends */
    uint64_t rev;                         /* of the journal record; 0: not stored yet */
};

/* "gcp/a3-highgpu-8g/us-central1-a" */
char *leads_key(const struct config_pool *pool)
    __attribute__((returns_nonnull, warn_unused_result));

/* The quantile in [0, 100] of whole lead times that exceed elapsed_ms.  If unknown: the prior's
   median or p95, and never less than elapsed_ms. */
int64_t leads_quantile(const struct leads *leads, double percentile, int64_t elapsed_ms);

/* The time until the last of `nodes` nodes that start together is ready, 95 times in 100.  All must
   be below it, so each has the nodes-th root of 0.95.  If too few are known for that quantile: the
   longest plus a quarter; without any: the prior's p95. */
int64_t leads_wave(const struct leads *leads, int64_t nodes);

json_t *leads_encode(const struct leads *leads)
    __attribute__((returns_nonnull, warn_unused_result));
int leads_decode(struct leads *leads, const json_t *value, struct error *err)
    __attribute__((warn_unused_result));

/* {known, censored, p50_s, p95_s, steps: [{step, known, censored, p50_s, p95_s}]}; a step of which
   too little is known has null quantiles. */
json_t *leads_describe(const struct leads *leads)
    __attribute__((returns_nonnull, warn_unused_result));
