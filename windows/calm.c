/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * At a load of a, waits with c servers fall off as exp(-(c - a) t / s), s the mean service time: of
 * those who wait at all, and as if that were everybody.  Services that vary otherwise than
 * exponentially change the time constant by (1 + cv^2) / 2.
 */
#include "windows/calm.h"

#include <math.h>

/* Of those that may be late. */
static const double late_share = 1e-4;

/* So many roots of the load over it, one request of a thousand finds all servers busy.  A target
   that is much longer than a service would else let a crowd gather that is late only afterwards. */
static const double rare = 3;

void calm_init(struct calm *calm, const struct service_time *service,
               const struct replay_target *target)
{
    double allowed = 1 - target->percentile / 100;

    calm->spare = target->wait_ms > 0
                      ? -log(allowed * late_share) * service->mean_s * SECOND_MS /
                            (double)target->wait_ms * (1 + service->cv * service->cv) / 2
                      : HUGE_VAL;
    calm->lead = service->longest + (uint64_t)target->wait_ms * TICKS_PER_MS;
}

bool calm_at(const struct calm *calm, const struct arrivals *arrivals, size_t chunk, int servers)
{
    const struct arrivals_chunk *here = arrivals_outline(arrivals, chunk);
    uint64_t begin = here->end;

    for (const struct arrivals_chunk *next = here;; next = arrivals_outline(arrivals, ++chunk)) {
        if (next != here && begin - here->end >= calm->lead)
            return true;
        if (next->is_first || next->load + fmax(calm->spare, rare * sqrt(next->load)) > servers)
            return false;
        if (next->is_last)
            return true;
        begin = next->end;
    }
}
