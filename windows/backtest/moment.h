/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The state of a replay at one moment: the next request of each class, and when the busy servers
 * finish.  The identity of servers does not matter, because the one that is free first starts next.
 */
#pragma once

#include "windows/backtest/occurrence.h"
#include "windows/judge/staff.h"

struct moment {
    size_t next[DEMAND_CLASSES]; /* the first request that has not started */
    struct done_times busy;
    uint64_t sum; /* of these times */
};

void moment_copy(struct moment *to, const struct moment *from);

/* Sorts the busy of both where the two may be the same. */
bool moment_is_same(struct moment *a, struct moment *b);

/* Gives the moment so many servers from `tick` on: of the busy ones those that finish last stay,
   the others leave. */
void moment_give(struct moment *moment, size_t servers, uint64_t tick, struct staff *staff,
                 struct done_times *leaving);

/* Sets the busy servers at `tick`, of those that stay and of those that leave. */
void moment_take(struct moment *moment, uint64_t tick, const struct staff *staff,
                 const struct done_times *leaving);
