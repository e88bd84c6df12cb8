/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a number of servers is so much more than the load that hardly a request waits at all and,
 * by the closed form, not one of ten thousand of those that may wait longer than the target comes
 * then: a search leaves such stretches out, and what follows one begins so early that what was
 * served then has ended.  Never where a segment begins: what was before it may keep all servers
 * busy.  Of engines nothing is left out where there is a target on the first token or on the time
 * per token, which may be missed by requests that do not wait.  For looking: replay_passes() and
 * its like leave nothing out.
 */
#pragma once

#include "windows/queueing/arrivals.h"
#include "windows/queueing/replay_result.h"

struct negligible {
    double spare;  /* servers over the load */
    uint64_t lead; /* ticks by which a replay has to begin earlier */
    const struct service_time *service;
    double wait_s;   /* the target */
    double allowed;  /* share of the requests */
    double load_max; /* of engines: negligible_with() */
};

void negligible_init(struct negligible *negligible, const struct service_time *service,
                     const struct replay_target *target);

/* For engines, before asking about so many replicas; for others the same as `negligible`. */
struct negligible negligible_with(const struct negligible *negligible, int servers);

/* Whether a replay in which no request waits may leave this chunk out. */
bool negligible_at(const struct negligible *negligible, const struct arrivals *arrivals,
                   size_t chunk, int servers);
