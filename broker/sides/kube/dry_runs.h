/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Eviction dry runs: when a plan is read, the API servers are asked what they would say to the
 * evictions of which the numbers alone cannot tell: pods under several budgets, unready ones,
 * budgets that are not known, and where an admission webhook has a say one pod of each owner.
 *
 * A few for each node, a few at once of each cluster, within a few seconds; nothing is evicted by
 * them, and a server that is busy, or may be too old to know a dry run, is not asked.
 */
#pragma once

#include "broker/transfer/side.h"

#include <jansson.h>

struct dry_runs;
struct runner;

struct dry_runs *dry_runs_new(struct runner *runner)
    __attribute__((returns_nonnull, warn_unused_result));
/* After the fleet was closed: it answers no more.  What is still asked is forgotten. */
void dry_runs_free(struct dry_runs *dry_runs);

/* Completes the blockers of the answer's `transfers` that leave clusters of this kind, and calls
   done within a few seconds, maybe at once; the answer is borrowed until then. */
void dry_runs_ask(struct dry_runs *dry_runs, json_t *answer, side_asked_fn done, void *context);
