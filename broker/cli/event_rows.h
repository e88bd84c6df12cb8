/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Events as rows of a table: what happened, how often, to what, by whom, and why.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>

/* {event, step, about, by, reason} of an event of the journal as the service shows it; "-" where it
   has none. */
json_t *event_row(const json_t *event) __attribute__((returns_nonnull, warn_unused_result));

/* Prints the events as a table.  is_whole: each by itself; else those that differ only in their
   nodes and numbers, and lie within a minute, are one row with their count. */
void event_rows_print(const json_t *events, bool is_whole, struct text *out);
