/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The messages of one webhook, one after the other.  What was sent is a number of the journal's
 * chain in a record; a message counts as sent when the receiver has accepted it.  If no answer
 * comes, or the service dies before it has stored the answer, the same message is sent again with
 * the same ID.
 *
 * Between tries of a message it waits 5 s, then twice as long, up to ten minutes, more or less a
 * fifth, and at least as long as Retry-After says, up to an hour.  A message that is refused, or
 * not accepted within a day of its event, is given up: an event names it.  After a 410 no message
 * is sent until the service starts again, its configuration is read again, or a test is accepted.
 */
#pragma once

#include "broker/health/health.h"
#include "broker/transfer/runner.h"
#include "broker/webhooks/outbox.h"

struct delivery;

/* seq: of the chain's last event, where a new webhook begins.  All but that are borrowed. */
struct delivery *delivery_new(struct runner *runner, const struct config_webhook *hook,
                              const struct outbox *outbox, int64_t seq)
    __attribute__((returns_nonnull, warn_unused_result));
void delivery_free(struct delivery *delivery);

/* Its record of the kind "webhook"; ERROR_CORRUPT changes nothing. */
int delivery_load(struct delivery *delivery, uint64_t rev, const json_t *value, struct error *err)
    __attribute__((warn_unused_result));

const struct config_webhook *delivery_hook(const struct delivery *delivery);

/* Messages up to this number of the chain need not be kept for it. */
int64_t delivery_seq(const struct delivery *delivery);

/* Sends the next message, if none is under way and none is waited for. */
void delivery_go(struct delivery *delivery);

/* The outbox has no place for the message, its oldest, any more.  False: it is just being sent. */
bool delivery_drop(struct delivery *delivery, const json_t *row);

/* Shifts its times, because a jump of the wall clock is followed; into the batch. */
void delivery_move_clock(struct delivery *delivery, int64_t by_ms, struct journal_batch *batch);

void delivery_add_condition(const struct delivery *delivery, struct health *health);

/* {webhook, format, events, url (without path), state (ok, failing, gone), is_failing, behind,
   sent, refused, dropped, tries (of the present message), last_sent, last_answer, failing_since}.
 */
json_t *delivery_describe(const struct delivery *delivery)
    __attribute__((returns_nonnull, warn_unused_result));

/* Sends a test message now, beside the others.  done gets {webhook, message, is_accepted, answer,
   took_ms}, which is its own; it is not called if the delivery ends before.  ERROR_CONFLICT: a test
   is under way; others: the webhook's files cannot be used. */
typedef void (*delivery_tested_fn)(void *context, json_t *answer);
int delivery_test(struct delivery *delivery, delivery_tested_fn done, void *context,
                  struct error *err) __attribute__((warn_unused_result));
