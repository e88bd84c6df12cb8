/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a target means to the closed forms, which know of waits and of how many requests run: limits
 * of the wait, and for tokens the rate up to which an engine gives them in time.
 */
#pragma once

#include "windows/replay.h"
#include "windows/service_shape.h"

enum { TARGET_WAITS = 2 };

struct target_limits {
    struct replay_limit waits[TARGET_WAITS]; /* the target's, and what first tokens leave of theirs
                                                for the wait: 0 is a limit too */
    size_t count;                            /* of these */
    double token_rate;       /* requests a second and replica; 0: any rate is in time */
    double token_percentile; /* of the requests that come at no higher one */
};

/* engine NULL: one request at a time, of which the wait alone is a target. */
struct target_limits target_limits_of(const struct engine *engine,
                                      const struct replay_target *target);

/* The fewest servers for a rate that stays as it is; -1 beyond what closed forms look at.  mean_s
   is that of a server that takes one request at a time; shape may be NULL. */
int target_servers(const struct service_shape *shape, double mean_s, double rate,
                   const struct replay_target *target);
