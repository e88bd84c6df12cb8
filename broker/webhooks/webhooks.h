/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Webhooks: people and programs are told of departures, late moves, reclaims and changes of health.
 *
 * A look compares the present with what was told (compose.h).  A difference becomes a message: an
 * event of the journal's chain, committed together with the record of what was told.  Each webhook
 * sends the messages that it wants, in the order of the chain (delivery.h).  Nothing is sent before
 * its event is on the disk, and nothing here waits: a receiver that is slow or dead delays no other
 * receiver, no turn and no transfer.
 */
#pragma once

#include "broker/webhooks/delivery.h"

struct webhooks;

/* Loads the records; nothing is sent yet.  Borrows the runner. */
struct webhooks *webhooks_open(struct runner *runner, struct error *err)
    __attribute__((warn_unused_result));
void webhooks_free(struct webhooks *webhooks);

/* Begins to send, and forgets webhooks that are not configured any more. */
void webhooks_start(struct webhooks *webhooks);

/* Makes messages of what has changed.  health: of health_describe(); reclaims: the records of those
   in force. */
void webhooks_look(struct webhooks *webhooks, const json_t *health, const json_t *reclaims);

/* Whether a look would compare anything now; before, what it needs need not be made. */
bool webhooks_want_look(const struct webhooks *webhooks);

/* Shifts the stored times, because a jump of the wall clock is followed. */
void webhooks_move_clock(struct webhooks *webhooks, int64_t by_ms, struct journal_batch *batch);

void webhooks_add_conditions(const struct webhooks *webhooks, struct health *health);

/* [delivery_describe()] */
json_t *webhooks_describe(const struct webhooks *webhooks)
    __attribute__((returns_nonnull, warn_unused_result));

/* request: {webhook}.  Whether a test message may be sent there: NULL and ERROR_NOT_FOUND with the
   known names.  Journals who asks; what it returns is for webhooks_test(), once that is on the
   disk. */
json_t *webhooks_ask_test(struct webhooks *webhooks, const json_t *request, const char *by,
                          struct error *err) __attribute__((warn_unused_result));

/* Sends it; takes the request.  done is as of delivery_test(), and is always called, at once if
   nothing can be sent. */
void webhooks_test(struct webhooks *webhooks, json_t *request, delivery_tested_fn done,
                   void *context);
