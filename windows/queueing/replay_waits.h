/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * All waits of a replay, for its report.  A question about single days reorders them within each
 * day, one about all days across days.  So ask about single days first.
 */
#pragma once

#include "windows/queueing/arrivals.h"
#include "windows/queueing/replay_result.h"

struct waits {
    uint64_t *items[DEMAND_CLASSES]; /* in the order of starts; NULL when not wanted */
    size_t count[DEMAND_CLASSES];
};

void waits_init(struct waits *waits, const struct arrivals *arrivals); /* room for all */
void waits_clear(struct waits *waits);

/* Call before waits_class(). */
struct replay_waits waits_quantiles(struct waits *waits, const struct arrivals *arrivals,
                                    double percentile);

/* A value over `limit` (in the unit of the values) is late.  Call before the quantiles of all
   days. */
struct replay_day waits_late_day(struct waits *waits, const struct arrivals *arrivals,
                                 uint64_t limit, double percentile);

/* All members except the violations. */
struct replay_class waits_class(struct waits *waits, enum demand_class class, double percentile);
