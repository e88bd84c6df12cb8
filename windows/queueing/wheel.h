/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The replay in ticks: the same arrivals and services in the same order of starts, with times
 * rounded to ticks.  Single requests need not be followed: a ring of counts gives the servers that
 * become free, and the number of waiting requests gives the number of late ones.  The cost of a
 * request does not depend on the number of servers, and no arrival is sorted.
 *
 * A tick is the target divided by n + 1/2, n whole.  So rounding moves as many waits over the limit
 * as under it.  The count of violations is near the exact one, never certain: it tells a search
 * where to look, and the exact replay (replay.h) decides.
 */
#pragma once

#include "windows/queueing/wheel_times.h"

/* The arrivals of one repetition, counted by ticks.  Borrows both. */
struct wheel;

struct wheel *wheel_new(struct arrivals *arrivals, const struct wheel_times *times)
    __attribute__((returns_nonnull, warn_unused_result));
void wheel_free(struct wheel *wheel);

struct wheel_limits {
    int64_t violations[DEMAND_CLASSES]; /* one more in either class ends the run */
};

/* Counts the requests that wait longer than the target, up to the first beyond the limits; false
   when that one was reached.  Segments in which so many servers, or fewer, left no such request
   before are not run again. */
bool wheel_run(struct wheel *wheel, int servers, const struct wheel_limits *limits,
               int64_t ret_violations[DEMAND_CLASSES]);

/* The segment that is at this place when those with most violations in the last run come first,
   and how many there were. */
size_t wheel_worst(const struct wheel *wheel, size_t at, int64_t ret_violations[DEMAND_CLASSES]);

/* For a wheel that has not run: begins with the segments that were worst for another repetition. */
void wheel_order_like(struct wheel *wheel, const struct wheel *other);

size_t wheel_size(const struct wheel *wheel); /* bytes, once all segments have run */

static inline void owned_wheel(struct wheel **wheel)
{
    wheel_free(*wheel);
}
