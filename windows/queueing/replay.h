/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The exact replay of counted arrivals against a number of servers: two classes, the high one goes
 * first but interrupts no request, first come first served within a class.  Service times are given
 * in the order of starts, not of arrivals: so the times of starts depend neither on priorities nor
 * on chance at the queue, and more servers never make a low request wait longer.
 *
 * Each segment begins with servers busy as arrivals_before() says and no request waiting (the
 * window before met its target), and ends when all that arrived in it have started: nothing is cut
 * off.
 *
 * Where service_time.h has an engine, a server is a replica of it that serves many at once; batch.h
 * has its rules, batch_lead.h how it begins.
 */
#pragma once

#include "windows/queueing/arrivals.h"
#include "windows/queueing/replay_result.h"

/* Whether both classes meet the target.  Stops as soon as one cannot.  ret_used (may be NULL):
   violations over those allowed plus one, of the worse class; 1 or more when it fails. */
bool replay_passes(struct arrivals *arrivals, int servers, const struct replay_target *target,
                   double *ret_used);

struct negligible;

/* A number of servers that is tried. */
struct replay_try {
    int servers;
    const struct replay_target *target;
    const struct negligible *negligible; /* the hours that are left out; NULL: none */
};

/* Adds the violations of one segment.  Stops and returns false when they exceed what the target
   allows in all. */
bool replay_count(struct arrivals *arrivals, const struct replay_try *tried, size_t segment,
                  int64_t violations[DEMAND_CLASSES]);

struct replay_around {
    bool passes;
    bool fewer_fails; /* with one server fewer */
    bool more_passes; /* with one more */
    struct replay_waits waits;
};

/* Replays a number of servers in full, and its neighbours where waits are not negligible, each
   starting from the number's own state.  One server fewer is at least as late (the low class; for
   the high class alone this is not certain, and not reported). */
void replay_around(struct arrivals *arrivals, int servers, const struct replay_target *target,
                   const struct negligible *negligible, struct replay_around *ret);

/* All figures, at the cost of eight bytes a request, or 24 where a server is an engine's replica.
   ERROR_INVALID for more than 2^28 requests, and when the backlog would outlast 64-bit time. */
int replay_report(struct arrivals *arrivals, int servers, const struct replay_target *target,
                  struct replay_result *ret_result, struct error *err)
    __attribute__((warn_unused_result));
