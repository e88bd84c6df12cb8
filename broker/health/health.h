/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The conditions that hold.  The service looks at the facts once a turn, and before each answer: a
 * look adds every condition that it finds, and what it does not add any more has ended.  All faces
 * of the service read the result of the last look, so they cannot disagree.
 *
 * Two things are remembered from look to look: since when a condition holds, and which ones were
 * told.
 */
#pragma once

#include "base/timestamp.h"
#include "broker/health/conditions.h"

#include <jansson.h>
#include <stdbool.h>

struct condition {
    enum condition_kind kind;
    struct wall_time since; /* 0: since the look that found it first */
    const char *what;    /* the reclaim, pool, cluster, transfer ... that it is about; NULL: "" */
    const char *cluster; /* whose state it changes; NULL: none */
    const char *advice;  /* NULL: that of its kind */
    bool is_early;       /* perhaps only an answer is awaited: it is a warning, and not told yet */
    int64_t early_ms;    /* it is early for so long from the look that found it first on */
    int64_t quiet_ms;    /* for so long from that look on it is seen by no one */
};

struct health;

struct health *health_new(void) __attribute__((returns_nonnull, warn_unused_result));
void health_free(struct health *health);

/* Begins a look: nothing holds yet. */
void health_begin(struct health *health);

/* Adds one that holds; the sentence says what is wrong, without a full stop.  A sentence that is
   there already is not added again.  Copies the condition's texts, and takes the sentence. */
void health_add(struct health *health, const struct condition *condition, char *text);

/* Whether the look under way has added one of that kind that is about `what`; "": false. */
bool health_holds(const struct health *health, enum condition_kind kind, const char *what);

/* Told of a condition that holds and did not at the last look that told (holds), or that ended
   since.  The texts are valid during the call. */
typedef void (*health_told_fn)(void *context, const struct condition *condition, const char *text,
                               bool holds);

/* Ends the look: dates and sorts what was added, the worst first. `told` NULL: a look that tells
   nothing, between two that do. */
void health_end(struct health *health, struct wall_time now, health_told_fn told, void *context);

/* A jump of the wall clock by so much is followed: each condition holds for as long as before. */
void health_move_clock(struct health *health, int64_t by_ms);

/* {severity, word, conditions: [{id, severity, word, since, what, cluster, affects, text,
   advice}]} of the last look: severity "ok" and word "" when nothing holds. */
json_t *health_describe(const struct health *health)
    __attribute__((returns_nonnull, warn_unused_result));

static inline void owned_health(struct health **health)
{
    health_free(*health);
}
