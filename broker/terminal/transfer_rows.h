/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The transfers of a status or a list, as rows for people: a table, or two rows each on a screen,
 * whose lines are cut where it ends.
 */
#pragma once

#include "base/text.h"
#include "broker/terminal/table.h"

#include <jansson.h>

/* The first `most` transfers: where each node is, since when, what it waits for, and when it is
   expected to be ready; wide: also its move, reason and times. */
void transfer_rows_table(const json_t *answer, size_t most, struct table_style style,
                         struct text *out);

/* For a screen of so many columns: the live transfers, those that wait for the same thing at the
   same step between the same pools as one row: how many, the longest time at the step, the latest
   expected time.  A second row, for prose_wrap(), has one node and what it waits for.  Names that
   are too long are shortened in the middle. */
void transfer_rows_groups(const json_t *answer, size_t columns, struct text *out);

/* The same for each transfer by itself, with the whole name of its node. */
void transfer_rows_open(const json_t *answer, size_t columns, struct text *out);
