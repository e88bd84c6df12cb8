/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The distribution of a duration, learned from the last two hundred values.  A transfer that failed
 * or is still under way takes longer than the time so far: it counts as censored (Kaplan and Meier
 * 1958).  Without censored values the slow cases would be missing.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEADS_KEPT = 200, LEADS_NEEDED = 20 };

struct lead {
    int64_t ms;
    bool is_censored; /* it took longer than that */
};

struct lead_series {
    struct lead kept[LEADS_KEPT]; /* a ring, in the order in which they ended */
    size_t count;                 /* of all that were ever added */
};

/* Lengths that cannot be (not positive, over a day) are not learned. */
void lead_series_add(struct lead_series *series, int64_t ms, bool is_censored);

/* How many ended times the quantiles rest on; 0: fewer than LEADS_NEEDED, so nothing is known. */
size_t lead_series_known(const struct lead_series *series);

/* How many of those kept are censored. */
size_t lead_series_censored(const struct lead_series *series);

/* The quantile in [0, 100] among those that last longer than elapsed_ms, counted from the start.
   It is one of the observed times, or the longest if too many are censored.  Something must be
   known. */
int64_t lead_series_quantile(const struct lead_series *series, double percentile,
                             int64_t elapsed_ms);

/* The newest times against those before them. */
struct lead_drift {
    size_t looked;    /* newest times */
    size_t late;      /* of them, longer than usual_ms */
    int64_t usual_ms; /* p95 of the times before */
};

/* Whether the newest eight exceed the p95 of those before them so often (four times) that it cannot
   be bad luck: without a change that happens once in 2,700 looks at new times.  False while too few
   are known. */
bool lead_series_drifts(const struct lead_series *series, struct lead_drift *ret_drift);

/* [1200000, -900000, ...]: milliseconds, oldest first; a minus marks the censored. */
json_t *lead_series_encode(const struct lead_series *series)
    __attribute__((returns_nonnull, warn_unused_result));
int lead_series_decode(struct lead_series *series, const json_t *list, struct error *err)
    __attribute__((warn_unused_result));
