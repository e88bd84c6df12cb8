/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Orders to a pool that takes only a number: "be 8 large".  A number is safe to repeat only while
 * nothing else changes it.  So an order first plans the number from the size that it read, the
 * caller stores the plan in its journal as the order's progress (provider_goes_on), and only then
 * is the number sent.
 *
 * One request at a time changes a place, removals included: each waits for its turn.  Orders whose
 * plans are stored and that wait together are sent as one number.
 *
 * What a plan cannot know: after a restart, a pool that has the planned size may have got it from
 * another writer.  Then the order counts as carried out, and at worst no machine comes for it; it
 * is cancelled and repeated.  A second machine for one order is never asked for.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GROWTH_PROGRESS_SIZE = 128, GROWTH_VERSION_SIZE = 64 };

struct growth; /* of one provider */

/* Embedded in whatever waits for its turn. */
struct growth_turn {
    struct growth_turn *next;
    struct growth_place *place; /* NULL: waits for nothing */
    struct growth_pool *plans;  /* of its pool; set by growth_wait() */
    const char *pool;           /* where pools share a place: whose size it is; borrowed, or NULL */
    const char *request_id;     /* borrowed; of an order, or of what takes one back; otherwise "" */
    const char *progress;       /* borrowed */
    void (*ready)(struct growth_turn *turn);
    bool is_first;
    bool is_decided; /* a verdict was given in this turn */
};

struct growth *growth_new(void) __attribute__((returns_nonnull, warn_unused_result));
/* Turns that still wait are never called: their owner frees them too. */
void growth_free(struct growth *growth);

/* Waits for the turn at this place; ready() may be called within.  place: any text that is the same
   for each request to one size (or, where a cloud allows one change at a time, to one cluster:
   then turn->pool says which size). */
void growth_wait(struct growth *growth, const char *place, struct growth_turn *turn);
/* Ends the turn, or the wait for it (legal when it does not wait), and lets the next one go. */
void growth_leave(struct growth_turn *turn);

/* What the pool is, read within the turn. */
struct growth_size {
    int64_t wanted;      /* machines that the cloud keeps it at */
    int64_t present;     /* machines that it has, coming ones included: what cancel() must leave */
    const char *version; /* changes with each change of the pool; "": the cloud has none */
};

enum growth_verdict {
    GROWTH_PLAN, /* nothing is sent: ret_progress must be stored first */
    GROWTH_SEND, /* ask for ret_wanted, if the pool still is as it was read */
    GROWTH_DONE, /* it was carried out before */
    GROWTH_NONE, /* of growth_shrink(): the pool wants no more machines than it has */
};

/* The next step of an order of one machine more, within its turn. */
enum growth_verdict growth_grow(struct growth_turn *turn, const struct growth_size *size,
                                char ret_progress[GROWTH_PROGRESS_SIZE], int64_t *ret_wanted);

/* The next step of taking one order back.  It is planned beyond others that take one back, too. */
enum growth_verdict growth_shrink(struct growth_turn *turn, const struct growth_size *size,
                                  char ret_progress[GROWTH_PROGRESS_SIZE], int64_t *ret_wanted);

/* The answer to the number of GROWTH_SEND.  Not to be called when the outcome is unknown: the order
   then counts as sent until the pool shows otherwise.  If it was refused, the orders that were sent
   with it plan again. */
void growth_answered(struct growth_turn *turn, bool is_accepted);

/* To be called with each error of an order, within its turn.  If the pool was not read, the error
   says nothing of an order for one more whose plan may have been sent: by itself, before a restart,
   or with another order's number.  The error is an ERROR_UNKNOWN_OUTCOME then. */
void growth_failed(const struct growth_turn *turn, struct error *err);
