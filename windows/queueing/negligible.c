/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * At a load of a, the tail of waits with c servers is exp(-(c - a) t / s), s the mean service time,
 * given that a request waits; it is used as if every request waited.  A cv other than 1 changes the
 * time constant by (1 + cv^2) / 2.
 */
#include "windows/queueing/negligible.h"

#include "windows/queueing/batch_lead.h"
#include "windows/queueing/batch_negligible.h"

#include <math.h>

/* The share of the allowed late requests. */
static const double late_share = 1e-4;

/* This many square roots of the load above it, one request in a thousand finds all servers busy.
   With a target much longer than a service a backlog could otherwise build up that is late only
   afterwards. */
static const double rare = 3;
static const double rare_share = 1e-3;

void negligible_init(struct negligible *negligible, const struct service_time *service,
                     const struct replay_target *target)
{
    double allowed = 1 - target->percentile / 100;

    *negligible = (struct negligible){ .service = service,
                                       .wait_s = (double)target->wait_ms / SECOND_MS,
                                       .allowed = allowed };
    if (service->engine) {
        bool is_waits_only = target->ttft.limit_s <= 0 && target->itl.limit_s <= 0;

        negligible->spare = is_waits_only && target->wait_ms > 0 ? 0 : HUGE_VAL;
        negligible->lead = batch_lead_ticks(service) + (uint64_t)target->wait_ms * TICKS_PER_MS;
        return;
    }
    negligible->spare = target->wait_ms > 0
                            ? -log(allowed * late_share) * service->mean_s * SECOND_MS /
                                  (double)target->wait_ms * (1 + service->cv * service->cv) / 2
                            : HUGE_VAL;
    negligible->lead = service->longest + (uint64_t)target->wait_ms * TICKS_PER_MS;
}

struct negligible negligible_with(const struct negligible *negligible, int servers)
{
    const struct service_time *service = negligible->service;
    struct negligible with = *negligible;

    with.load_max = -1;
    if (service->engine && negligible->spare < HUGE_VAL)
        with.load_max = batch_negligible_rate(service->engine, servers, negligible->wait_s,
                                              rare_share, negligible->allowed * late_share) *
                        service->mean_s;
    return with;
}

static bool is_quiet(const struct negligible *negligible, double load, int servers)
{
    return negligible->service->engine
               ? load <= negligible->load_max
               : load + fmax(negligible->spare, rare * sqrt(load)) <= servers;
}

bool negligible_at(const struct negligible *negligible, const struct arrivals *arrivals,
                   size_t chunk, int servers)
{
    const struct arrivals_chunk *here = arrivals_outline(arrivals, chunk);
    uint64_t begin = here->end;

    for (const struct arrivals_chunk *next = here;; next = arrivals_outline(arrivals, ++chunk)) {
        if (next != here && begin - here->end >= negligible->lead)
            return true;
        if (next->is_first || !is_quiet(negligible, next->load, servers))
            return false;
        if (next->is_last)
            return true;
        begin = next->end;
    }
}
