/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A message: an event of the journal's chain as receivers get it.  The same event is the same
 * message with the same ID, however often it is sent.  Forms: CloudEvents 1.0, structured mode
 * (https://github.com/cloudevents/spec, bindings/http-protocol-binding.md, 3.2), and the text of an
 * incoming webhook of Slack.
 */
#pragma once

#include "broker/config/config.h"

#include <jansson.h>
#include <stdbool.h>

enum { MESSAGE_ID_SIZE = 37 }; /* "msg_", 32 digits, a terminator */

/* Whether the event of this row of the chain ({seq, at, hash, event}) is a message. */
bool message_is(const json_t *row);

/* Whether the webhook wants it.  A condition that has a topic of its own is told there, and in
   health only to those who do not want that topic, or if the whole becomes better or worse.  No
   webhook is told that it fails itself. */
bool message_is_wanted(const struct config_webhook *hook, const json_t *row);

/* From the chain's hash, so that no other event has it. */
void message_id(const json_t *row, char out[MESSAGE_ID_SIZE]);

/* "dev.sluice.departure.announced"; borrowed: "departure.announced" */
const char *message_type(const json_t *row) __attribute__((returns_nonnull, warn_unused_result));

/* The body and its media type.  The caller frees the body with mem_free(). */
char *message_body(const struct config_webhook *hook, const char *id, const json_t *row)
    __attribute__((returns_nonnull, warn_unused_result));
const char *message_media_type(const struct config_webhook *hook)
    __attribute__((returns_nonnull, warn_unused_result));
