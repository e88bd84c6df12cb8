/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The messages that some webhook still has to get, in the order of the journal's chain.  The chain
 * keeps them; what is here was read from it.
 */
#pragma once

#include "base/array.h"
#include "broker/config/config.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { OUTBOX_MOST = 1000 }; /* more wait for no webhook: the oldest are dropped, by name */

/* A jump of the wall clock that was followed: what came before has its time by the old clock. */
struct outbox_jump {
    int64_t seq; /* of its event; INT64_MAX: that was not read yet */
    int64_t by_ms;
};

struct outbox {
    ARRAY(json_t *) rows; /* of the chain: {seq, at, hash, event} */
    ARRAY(struct outbox_jump) jumps;
    int64_t scanned; /* the chain was read up to this number */
    bool is_read;    /* up to its end, once at least */
};

void outbox_clear(struct outbox *outbox);

/* When the message came, by the clock of now. */
struct wall_time outbox_at(const struct outbox *outbox, const json_t *row);

/* The clock was moved; the event of that is on its way to the chain. */
void outbox_jump(struct outbox *outbox, int64_t by_ms);

/* Of each row of the chain that is read, whether or not it is a message. */
void outbox_note(struct outbox *outbox, const json_t *row);

/* References the row, whose number is above all others. */
void outbox_add(struct outbox *outbox, json_t *row);

/* The first message after that number that the webhook wants; NULL: none.  Borrowed. */
json_t *outbox_next(const struct outbox *outbox, const struct config_webhook *hook, int64_t seq);

/* How many there are. */
int64_t outbox_count(const struct outbox *outbox, const struct config_webhook *hook, int64_t seq);

/* Forgets those up to that number. */
void outbox_forget(struct outbox *outbox, int64_t seq);
