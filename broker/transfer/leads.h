/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lead times: how long a transfer takes from its cordon until the GPUs can be used, learned from
 * the transfers that ended.  Until there are enough of them the configured prior counts.
 */
#pragma once

#include "broker/fleet/config.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { LEADS_KEPT = 200, LEADS_NEEDED = 20 };

struct leads {
    const struct config_lead *prior;
    int64_t kept_ms[LEADS_KEPT]; /* a ring, in the order of their ends */
    size_t count;                /* ever added */
};

/* Lengths that cannot be (not positive, over a day) are not learned. */
void leads_add(struct leads *leads, int64_t lead_ms);

/* The quantile in [0, 100]: of what was learned, or between the prior's median and p95. */
int64_t leads_quantile(const struct leads *leads, double percentile);

/* How long before a window its moves must begin so that the last of their nodes is ready: a move is
   as late as its slowest node, and of twenty nodes one is over the p95.  The longest that was
   learned and a quarter on top; the prior's p95 until there is enough. */
int64_t leads_reach(const struct leads *leads);

/* How many the quantile rests on; 0: it is the prior. */
size_t leads_known(const struct leads *leads);

json_t *leads_encode(const struct leads *leads)
    __attribute__((returns_nonnull, warn_unused_result));
int leads_decode(struct leads *leads, const json_t *value, struct error *err)
    __attribute__((warn_unused_result));
