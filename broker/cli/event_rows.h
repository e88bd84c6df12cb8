/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Events as rows of a table: what happened, how often, to what, by whom, and why.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>

/* {event, step, about, by, reason} of an event of the journal as the service shows it; "" where it
   has none. */
json_t *event_row(const json_t *event) __attribute__((returns_nonnull, warn_unused_result));

enum event_form {
    EVENTS_TABLE,  /* a table, in which alike steps of transfers are one row */
    EVENTS_SCREEN, /* the same rows, as sentences that fit any width */
    EVENTS_OPEN,   /* as sentences, each by itself */
};

/* Alike are steps with the same pools, and a reason that differs only in names and numbers, within
   a minute. */
void event_rows_print(const json_t *events, enum event_form form, struct text *out);
