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

/* A table, in which alike steps of transfers are one row.  Alike are steps with the same pools, and
   a reason that differs only in names and numbers, within a minute. */
void event_rows_table(const json_t *events, struct text *out);

/* The same rows for a screen of so many columns: one that is wider has its reason in a second row,
   for prose_wrap(), and long names are shortened.  is_open: each event by itself, with its names
   whole. */
void event_rows_screen(const json_t *events, bool is_open, size_t columns, struct text *out);
