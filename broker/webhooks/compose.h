/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Messages: the differences between what receivers were told and the present picture.  What is told
 * is a record of the journal, so a restart tells nothing twice and leaves nothing out.
 *
 * A difference is told when it has lasted for a while, because what passes by itself is no news: a
 * condition 30 s, its end a minute, a move 15 s, so that all its nodes are in one message.  What an
 * emergency does is told at once, and so is a warning that has become critical; that it is a
 * warning again is told after a minute.
 */
#pragma once

#include "base/timestamp.h"
#include "broker/config/config.h"

#include <jansson.h>
#include <stdint.h>

struct compose;

/* told: what the last message left, of compose_told(); NULL: nothing was told yet.  Copied. */
struct compose *compose_new(const json_t *told)
    __attribute__((returns_nonnull, warn_unused_result));
void compose_free(struct compose *compose);

/* Compares with the picture (picture.h).  Returns new events for the journal, maybe none:
     [{event: "message", topic, type, subject, text, data: {...}}]
   now_ms: of the loop.  What was told changes with them. */
json_t *compose_look(struct compose *compose, const json_t *picture, int64_t now_ms,
                     struct wall_time now) __attribute__((returns_nonnull, warn_unused_result));

/* Borrowed: {moves, reclaims, conditions}. */
const json_t *compose_told(const struct compose *compose)
    __attribute__((returns_nonnull, warn_unused_result));

/* Moves that are late and reclaims that do not get on have a topic of their own, beside health. */
enum webhook_topic compose_topic_of(const json_t *condition);

static inline void owned_compose(struct compose **compose)
{
    compose_free(*compose);
}
