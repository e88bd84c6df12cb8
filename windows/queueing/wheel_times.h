/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The data that all repetitions of one queue and window have in common in a replay by ticks
 * (wheel.h): the tick, the service times in ticks, and the stretches that need no replay.
 */
#pragma once

#include "windows/queueing/negligible.h"

struct wheel_times {
    double tick;  /* in ticks of the exact replay */
    size_t limit; /* a wait of more than so many is too long */
    size_t ring;  /* a power of two, above the longest service */
    uint16_t service[SERVICE_TIMES];
    struct negligible negligible;
};

/* NULL where the exact replay is the better choice: ticks fine enough would be more than arrivals,
   or the longest service is too many of them. */
struct wheel_times *wheel_times_new(struct arrivals *arrivals, const struct replay_target *target);
void wheel_times_free(struct wheel_times *times);

static inline void owned_wheel_times(struct wheel_times **times)
{
    wheel_times_free(*times);
}
