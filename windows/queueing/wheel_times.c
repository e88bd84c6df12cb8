/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long a tick is: as long as the target, the services and the busiest step allow.
 */
#include "windows/queueing/wheel_times.h"

#include <math.h>

enum {
    LIMIT_TICKS_MIN = 16, /* of a target */
    SERVICE_TICKS_MIN = 6,
    RING_MIN = 1 << 8,
    RING_MAX = 1 << 15,
    TICK_ARRIVALS_MAX = 1 << 14, /* the mean; the count of a tick has 16 bits */
};

/* Below this a tick costs more than the arrivals in it. */
static const double arrivals_per_tick_min = 0.7;

/* The rounding error of one entry is carried to the next, as when exact times are cut to ticks. */
static bool fill_services(struct wheel_times *times, const struct service_time *service)
{
    double due = 0;
    double given = 0;
    double longest = 0;

    for (int i = 0; i < SERVICE_TIMES; i++) {
        due += (double)service->ticks[i] / times->tick;

        double ticks = floor(due - given + 0.5);

        ticks = ticks < 0 ? 0 : ticks;
        given += ticks;
        longest = fmax(longest, ticks);
        if (ticks >= RING_MAX)
            return false;
        times->service[i] = (uint16_t)ticks;
    }
    for (times->ring = RING_MIN; (double)times->ring < longest + 2; times->ring *= 2)
        ;
    return true;
}

/* Arrivals of the known steps, on average and in the busiest one. */
static void step_rates(struct arrivals *arrivals, double *ret_mean, double *ret_most)
{
    const struct arrivals_setup *setup = arrivals_setup_of(arrivals);
    double steps = 0;

    *ret_most = 0;
    for (size_t i = 0; i < setup->segments->list.count; i++) {
        const struct segment *segment = &setup->segments->list.items[i];

        for (size_t step = segment->first; step < segment->first + segment->count; step++)
            *ret_most = fmax(*ret_most, demand_at(setup->series, DEMAND_HIGH, step) +
                                            (double)demand_at(setup->series, DEMAND_LOW, step));
        steps += (double)segment->count;
    }
    *ret_most *= setup->scale;
    *ret_mean = ((double)arrivals_total(arrivals, DEMAND_HIGH) +
                 (double)arrivals_total(arrivals, DEMAND_LOW)) /
                steps;
}

struct wheel_times *wheel_times_new(struct arrivals *arrivals, const struct replay_target *target)
{
    const struct arrivals_setup *setup = arrivals_setup_of(arrivals);
    double target_ticks = (double)target->wait_ms * TICKS_PER_MS;
    double step_ticks = (double)setup->series->step_ms * TICKS_PER_MS;
    double most_ticks = fmin(target_ticks / LIMIT_TICKS_MIN,
                             setup->service->mean_s * TICKS_PER_SECOND / SERVICE_TICKS_MIN);
    double mean;
    double most;

    step_rates(arrivals, &mean, &most);
    if (target->wait_ms == 0 || most == 0)
        return NULL;
    most_ticks = fmin(most_ticks, TICK_ARRIVALS_MAX * step_ticks / most);
    if (mean * most_ticks / step_ticks < arrivals_per_tick_min ||
        most_ticks * RING_MAX < step_ticks)
        return NULL;

    owned(wheel_times) struct wheel_times *times = mem_new(sizeof *times);

    negligible_init(&times->negligible, setup->service, target);
    times->limit = (size_t)ceil(target_ticks / most_ticks);
    times->tick = target_ticks / ((double)times->limit + 0.5);
    return fill_services(times, setup->service) ? steal(&times) : NULL;
}

void wheel_times_free(struct wheel_times *times)
{
    mem_free(times);
}
