/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Starts the judge's replay (judge.h) at any slot, to count how a change of some slots changes the
 * late requests.  The state at the start of each slot is stored.  A trial ends at the first slot
 * whose state equals the stored one.
 *
 *     rerun_plan(rerun, servers);
 *     const struct rerun_change change = { .first = 40, .count = 3, .servers = -1 };
 *
 *     if (rerun_try(rerun, change, INT64_MAX, &added))
 *         rerun_keep(rerun);
 *     else
 *         rerun_undo(rerun);
 */
#pragma once

#include "windows/backtest/occurrence.h"

struct rerun;

/* The setup's spans must stay; the arrivals need not. */
struct rerun *rerun_new(const struct occurrence_setup *setup)
    __attribute__((returns_nonnull, warn_unused_result));
void rerun_free(struct rerun *rerun);

/* Takes up a plan of `slots` numbers; true when every span meets the target. */
bool rerun_plan(struct rerun *rerun, const int *servers);

/* Whether the plan would be accepted; a failing plan is replayed only until that is known.  Call
   rerun_plan() next. */
bool rerun_passes(struct rerun *rerun, const int *servers);

/* So many servers more in so many slots. */
struct rerun_change {
    size_t first;
    size_t count;
    int servers; /* negative: less */
};

/* Replays the plan with the change.  *ret_added: how many more requests wait too long, of both
   classes.  Call rerun_keep() or rerun_undo() next.  A `limit` below INT64_MAX is for changes that
   take servers away: the replay ends early once more than `limit` more requests wait too long, or a
   span can no longer meet its target.  The result is then false, *ret_added is a lower bound, and
   only rerun_undo() may follow. */
bool rerun_try(struct rerun *rerun, struct rerun_change change, int64_t limit, int64_t *ret_added);
void rerun_keep(struct rerun *rerun);
void rerun_undo(struct rerun *rerun);

/* The slots on which a trial rests: it has the same result as long as no accepted change is in a
   slot from `first` to `last`.  For a trial that has not been accepted or undone yet. */
struct rerun_reach {
    size_t first;
    size_t last;
};
struct rerun_reach rerun_reach(const struct rerun *rerun);

/* Whether a trial fails, and would still fail after any removals of servers elsewhere: more of a
   class are late in a span than its target allows, and with fewer servers none of that class starts
   earlier. */
bool rerun_is_lost(const struct rerun *rerun);

/* The number of accepted changes; the last one that changed one of these slots. */
uint64_t rerun_kept(const struct rerun *rerun);
uint64_t rerun_changed(const struct rerun *rerun, struct rerun_reach reach);

/* The servers of the plan or, during a trial, of the tried plan. */
const int *rerun_servers(const struct rerun *rerun);
int64_t rerun_violations(const struct rerun *rerun, enum demand_class class, size_t span);

/* A segment's requests; NULL behind the last segment. */
const struct occurrence *rerun_occurrence(const struct rerun *rerun, size_t at);

static inline void owned_rerun(struct rerun **rerun)
{
    rerun_free(*rerun);
}
