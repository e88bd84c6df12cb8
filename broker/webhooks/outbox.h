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

struct outbox {
    ARRAY(json_t *) rows; /* of the chain: {seq, at, hash, event} */
    int64_t scanned;      /* the chain was read up to this number */
    bool is_read;         /* up to its end, once at least */
};

void outbox_clear(struct outbox *outbox);

/* References the row, whose number is above all others. */
void outbox_add(struct outbox *outbox, json_t *row);

/* The first message after that number that the webhook wants; NULL: none.  Borrowed. */
json_t *outbox_next(const struct outbox *outbox, const struct config_webhook *hook, int64_t seq);

/* How many there are. */
int64_t outbox_count(const struct outbox *outbox, const struct config_webhook *hook, int64_t seq);

/* Forgets those up to that number. */
void outbox_forget(struct outbox *outbox, int64_t seq);
