/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The status on one screen, from the JSON that the service gives: `sluice status` and the demo
 * show the same board.
 */
#pragma once

#include "base/text.h"
#include "broker/terminal/table.h"

#include <jansson.h>
#include <stdint.h>

void board_status(const json_t *status, struct table_style style, struct text *out);

/* A line for each freeze and reclaim of a status or a plan, and for other reasons of a plan why no
   node may leave. */
void board_overrides(const json_t *answer, struct text *out);

/* A line for each pool that is not known, of any answer that has `unknown`. */
void board_unknown(const json_t *answer, struct text *out);

/* A line for each of the answer's `warnings`, as standard error shows them. */
void board_warnings(const json_t *answer, struct text *out);

/* A line for each pool that lacks nodes in the plan, and below it the nodes that only Slurm can
   free. */
void board_lacks(const json_t *plan, struct text *out);

/* How many nodes the pools of a status have too few or too many, each for itself: one that has too
   many has none for another.  Pools that want no number, or were never listed, do not count. */
int64_t board_uneven_nodes(const json_t *status);

/* The pools of a status. */
void board_pools(const json_t *status, struct table_style style, struct text *out);

/* "12m", "1h18m" from one RFC 3339 time to another; "-" when one is absent. */
const char *board_between(const json_t *from, const json_t *to, char *out);
