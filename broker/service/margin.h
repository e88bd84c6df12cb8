/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How much time is left to the moves that a window waits for (progress.c).
 */
#pragma once

#include "broker/service/service.h"

struct margin {
    const struct transfer *tightest; /* NULL: no window waits for one */
    struct wall_time due;
    bool is_failing; /* its pool brings it no machine: pool_failing or a reclaim tells that */
    bool is_known;   /* false: it takes longer than its lead time, or its pool fails */
    int64_t ms;      /* due - expected (p95); negative: late */
};

/* Of the live transfers to the cluster (NULL: any), the one that is nearest to being late: what is
   late first, then what may come late at an unknown time (a pool that fails hides no other one),
   then the least margin. */
struct margin service_margin(const struct service *service, const struct config_cluster *cluster);
