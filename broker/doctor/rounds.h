/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The doctor's rounds: while the service runs, all that its configuration names is asked again (see
 * doctor.h), and what is found twice in a row is a condition of the service.
 *
 * The answers come between the steps of transfers, on the same loop.  So rounds are rare: each hour
 * while all is well, and every ten minutes at most.  They only read, and the caller gives them a
 * way out of their own, so that no request of a step waits behind one of theirs.
 *
 * A round may fall into a move, in which lists and nodes differ for a while.  So a finding counts
 * when the round after it finds it again.
 */
#pragma once

#include "base/world/world.h"
#include "broker/config/config.h"
#include "broker/health/health.h"

enum {
    ROUNDS_FIRST_MS = 2 * MINUTE_MS, /* after the start, when the service has its own first lists */
    ROUNDS_WELL_MS = HOUR_MS,        /* from the end of a round to the next one */
    ROUNDS_AGAIN_MS = 10 * MINUTE_MS, /* the same, when something was found */
    ROUNDS_PATIENCE_MS = MINUTE_MS,   /* with one round */
    ROUNDS_TOLD_MAX = 50,             /* findings that are conditions of their own */
};

struct rounds;

/* world: without a journal; borrowed, as the configuration. */
struct rounds *rounds_new(struct world *world, const struct config *config)
    __attribute__((returns_nonnull, warn_unused_result));
void rounds_free(struct rounds *rounds);

/* Adds a condition for each finding that counts.  What the service itself has said already (that a
   cluster does not answer, that a pool is not seen) is not said again. */
void rounds_look(void *rounds, struct health *health);

static inline void owned_rounds(struct rounds **rounds)
{
    rounds_free(*rounds);
}
