/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Stretches in which waiting is negligible: the servers exceed the load by so much that, by the
 * closed form, they hold less than one in ten thousand of the allowed late requests.  A search
 * leaves such stretches out.  The replay after one begins early enough that earlier services have
 * ended.  A segment's begin is never left out, because earlier requests may keep all servers busy.
 * Of engines nothing is left out where there is a target on the first token or on the time per
 * token, which may be missed by requests that do not wait.  Only for a search: replay_passes() and
 * similar functions leave nothing out.
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
