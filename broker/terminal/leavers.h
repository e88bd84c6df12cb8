/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The nodes that would leave, and what holds their pods, as people read it: `sluice plan` and
 * `sluice reclaim --dry-run` show the same lines.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>

/* Each of the blockers of one node. */
void leavers_blockers(const json_t *blockers, struct text *out);

/* A line for each of an answer's `transfers`, below it its worst blockers; at the end how many
   there are in all. */
void leavers_print(const json_t *answer, struct text *out);
