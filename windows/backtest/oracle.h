/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The oracle: a plan made with the actual arrivals known, of servers for each slot of five minutes
 * with which a queue meets its target in every span and both classes.  It is found by descent, so
 * it is only nearly optimal; bound.h gives the lower bound.  It never takes more server-hours than
 * the smallest constant number that meets the target.
 */
#pragma once

#include "windows/backtest/occurrence.h"

struct oracle_setup {
    struct arrivals *const *arrivals; /* one a repetition: all must meet the target */
    int repetitions;                  /* at least 1 */
    struct replay_target target;
    const struct wall_span *spans; /* sorted, without overlap */
    size_t span_count;
    struct wall_time begin; /* all segments are within the slots */
    size_t slots;
    void (*tell)(void *context, double share); /* of the work, as it is done; NULL: nobody hears */
    void *context;
};

/* One number a slot.  ERROR_INVALID for more than 2^26 requests. */
int oracle_staffing(const struct oracle_setup *setup, int *ret_servers, struct error *err)
    __attribute__((warn_unused_result));

/* What judges one repetition. */
struct occurrence_setup oracle_occurrence_setup(const struct oracle_setup *setup, int repetition);
