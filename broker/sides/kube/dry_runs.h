/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Eviction dry runs: when a plan is read, sluice asks the API servers about evictions whose answer
 * the snapshot cannot predict.  These are:
 *
 *   - pods under several budgets, unready pods, and pods whose budgets are not known;
 *   - one pod of each owner, if an admission webhook or policy is asked about evictions.
 *
 * sluice sends a few for each node, a few at once to each cluster, within a few seconds.  A dry run
 * evicts nothing.  A server that is busy, or may be too old for dry runs, is not asked.
 */
#pragma once

#include "broker/transfer/side.h"

#include <jansson.h>

struct dry_runs;
struct runner;

struct dry_runs *dry_runs_new(struct runner *runner)
    __attribute__((returns_nonnull, warn_unused_result));
/* Call after the fleet was closed, so that no answer comes any more.  Open questions are
   forgotten. */
void dry_runs_free(struct dry_runs *dry_runs);

/* Completes the blockers of the answer's `transfers` that leave clusters of this kind, and calls
   done within a few seconds, maybe at once; the answer is borrowed until then. */
void dry_runs_ask(struct dry_runs *dry_runs, json_t *answer, side_asked_fn done, void *context);
