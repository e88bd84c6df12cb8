/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Converts targets for the closed forms, which compute waits and the number of running requests:
 * limits of the wait, and of the rate at which a replica of an engine meets its token targets.
 *
 * The rates are rules of thumb.  Against the search (six engines, 4 to 22 replicas, targets at 90
 * and 98 %) estimates are two replicas off at most; where prompts take longer than an iteration and
 * the target of first tokens is near the floor, they may be a third too few.
 */
#pragma once

#include "windows/queueing/replay.h"
#include "windows/servers/service_shape.h"

enum { TARGET_WAITS = 2, TARGET_RATES = 3 };

struct target_limits {
    struct replay_limit waits[TARGET_WAITS]; /* the target's, and what first tokens leave of theirs
                                                for the wait: 0 is a limit too */
    size_t wait_count;
    struct target_rate {
        double per_s;      /* of one replica */
        double percentile; /* of the requests that come at no higher rate */
    } rates[TARGET_RATES];
    size_t rate_count;
};

/* engine NULL: one request at a time, of which the wait alone is a target. */
struct target_limits target_limits_of(const struct engine *engine,
                                      const struct replay_target *target);

/* The fewest servers for a rate that stays as it is; -1 beyond what closed forms look at.  mean_s
   is that of a server that takes one request at a time; shape may be NULL. */
int target_servers(const struct service_shape *shape, double mean_s, double rate,
                   const struct replay_target *target);
