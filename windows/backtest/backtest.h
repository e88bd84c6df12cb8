/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A backtest: every policy plans week by week from earlier data, and one judge replays the same
 * actual arrivals for all.  A policy with a parameter is run with each of its levels (the
 * frontier), and once more with the level that was best on the weeks before.  Best is the level
 * with most research GPU-hours among those that reached the wanted attainment; if none did, the
 * safest.
 *
 * All queues run in one production cluster; their GPUs are packed into nodes.  A node to production
 * is in transit for the lead time before it serves, a node back for its own time after that; in
 * transit it counts for neither side.  The same input gives the same numbers for any number of
 * threads.
 */
#pragma once

#include "base/progress.h"
#include "windows/backtest/coverage.h"
#include "windows/backtest/measure.h"
#include "windows/backtest/misses.h"
#include "windows/backtest/policies.h"
#include "windows/queueing/search_targets.h"

#define BACKTEST_LIMIT (1u << 31)

struct backtest_setup {
    const struct window_set *judged;  /* attainment is that of these windows */
    const struct window_set *planned; /* policies plan by these; they may be the same */
    const struct backtest_queue *queues;
    size_t queue_count;
    struct wall_time end; /* of the demand */
    struct fleet fleet;   /* nodes 0: a fifth over the highest peak of what windows need, of
                             static-peak and of the oracles, as far as they are played */
    double attainment;    /* wanted, 0 .. 1 */
    size_t first_week;    /* to be judged, from 1; those before are for tuning */
    int seeds;            /* of searches */
    int64_t follow_ms;    /* sluice-follow: so long before each window it is planned once more; the
                             time that a node takes to come, if that is longer */
    unsigned
        without; /* parts of the forecast that are left out (windows/forecast/forecast_parts.h) */
    uint64_t seed;
    int threads;
    struct progress_report report; /* hears how far it is */
    unsigned played; /* bit i: policies[i]; BACKTEST_LIMIT; 0: all of them, and the limit */
};

struct backtest_point {
    double level;
    struct measure measure;
};

/* An occurrence of a judged window in which a queue missed its target. */
struct backtest_miss {
    size_t queue;              /* of the setup */
    size_t span;               /* of the judged course */
    struct miss_facts facts;   /* if planned windows are finer: of the one that lacked most
                                  servers */
    double wait_s;             /* at the percentile, of the worse class */
    enum replay_figure target; /* the target that was missed by most */
    double found_s;            /* the figure found for that target */
    enum miss_reason reason;
    const struct policy
        *later; /* that met it with more servers, planned nearer to it; NULL: none */
};

struct backtest_row {
    const struct policy *policy;
    struct backtest_point points[POLICY_LEVELS]; /* one a level, over the weeks judged */
    struct measure tuned;
    struct backtest_point held; /* of the weeks from held_week on */
    double *levels;             /* one a week of the course: the level that was chosen for it */
    int *nodes;                 /* one a slot, with the chosen levels */
    int **servers;              /* [queue][slot] */
    ARRAY(struct backtest_miss) misses; /* the misses, for policies whose levels are shares of
                                           misses; others do not report them */
};

/* No policy that meets every target leaves more than this (limit.h). */
struct backtest_limit {
    double node_h;     /* of production, at least */
    double research_h; /* at most */
    double recovered;  /* at most; told where the backtest has `recovered` */
    bool has_moves;    /* moves are part of the limit */
};

struct backtest {
    struct course judged; /* slots are the same for both */
    struct course planned;
    size_t first_week;
    size_t held_week; /* from here on the levels are judged that were best before; 0: a single week
                         is judged */
    struct coverage coverage;
    struct fleet fleet;
    struct backtest_row *rows; /* the policies that were played, in the order of the table */
    size_t count;
    int **needs;        /* [queue][span of the planned course]: the fewest servers, each alone */
    bool has_recovered; /* static-peak and the oracle were played, so `recovered` is known for
                           all */
    bool has_limit;     /* the limit was asked for, too */
    const struct demand_series
        *unbounded; /* the limit was asked for, but this queue's servers are replicas of engines, or
                       it is unknown while others are not; NULL: there is no such queue */
    struct backtest_limit limit;
    size_t queue_count;
    int64_t requests; /* judged, of all queues */
};

/* The node-hours of production of a row, as the limit counts them. */
double backtest_node_hours(const struct backtest *backtest, const struct measure *measure);

struct backtest *backtest_run(const struct backtest_setup *setup, struct error *err)
    __attribute__((warn_unused_result));
void backtest_free(struct backtest *backtest);

/* The row of a policy by its index in the table; NULL: it was not played. */
const struct backtest_row *backtest_row(const struct backtest *backtest, size_t policy);

/* How many are judged. */
static inline size_t backtest_weeks(const struct backtest *backtest)
{
    return backtest->judged.weeks - backtest->first_week;
}

/* The judged time that counts: in the rest the demand of a queue is unknown. */
static inline double backtest_counted_weeks(const struct backtest *backtest)
{
    const struct coverage *coverage = &backtest->coverage;

    return (double)backtest_weeks(backtest) * (double)(coverage->judged - coverage->left_out) /
           (double)coverage->judged;
}

static inline void owned_backtest(struct backtest **backtest)
{
    backtest_free(*backtest);
}
