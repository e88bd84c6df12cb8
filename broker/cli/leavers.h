/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The nodes that would leave, and what holds their pods, as people read it: `sluice plan` and
 * `sluice reclaim --dry-run` show the same lines.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>

/* A line for each of an answer's `transfers`, below it its worst blockers; at the end how many
   there are in all. */
void leavers_print(const json_t *answer, struct text *out);

/* The members of a blocker and of dry_runs, for the help. */
#define LEAVERS_JSON                                                                               \
    "blockers: [{pod, class, owner, kind, verdict (never: no eviction will do it, it is deleted\n" \
    "at its own deadline; slow: it ends by itself; note), text, expected_s (from the cordon\n"     \
    "until it is gone, at most; of a node that is cordoned from now; null: nobody knows), "        \
    "advice,\n"                                                                                    \
    "server (what it answered to a dry run; null: nothing)}]"
