/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The judge of a backtest: recorded arrivals against a changing number of servers.  As the exact
 * replay (windows/queueing/replay.h), but with a number of servers for each slot of five minutes.
 * If the number falls, idle servers leave first, then those that finish first.  No request is
 * interrupted, and none starts while as many servers are busy as the slot has.  A request that
 * waits at the end of a span still waits in the next one.
 *
 * If a server is a replica of an engine (windows/servers/engine.h), those with the least work leave
 * first (batch_resize()): their running requests finish, and their waiting ones go to the others.
 *
 * Requests belong to the span (the unbroken stretch of a window) in which they arrive.
 */
#pragma once

#include "windows/queueing/replay.h"
#include "windows/queueing/search_targets.h"

#define JUDGE_SLOT_MS (5 * (int64_t)MINUTE_MS)

/* Servers from `begin` on, one number a slot; the last one stays (as 1, if it is 0). */
struct judge_plan {
    struct wall_time begin;
    const int *servers;
    size_t slots;
};

static inline int judge_servers(const struct judge_plan *plan, int64_t slot)
{
    int servers;

    if (slot < 0)
        slot = 0;
    servers = plan->servers[(size_t)slot < plan->slots ? (size_t)slot : plan->slots - 1];
    return (size_t)slot + 1 >= plan->slots && servers < 1 ? 1 : servers;
}

struct judge_score {
    int64_t count[DEMAND_CLASSES];
    int64_t violations[DEMAND_CLASSES]; /* of the target that is missed by most */
    double wait_s[DEMAND_CLASSES];      /* at the percentile */
    double ttft_s[DEMAND_CLASSES];      /* likewise, where there is such a target; otherwise 0 */
    double itl_s[DEMAND_CLASSES];
    bool is_met; /* all of both classes; true if no request arrives */
};

/* The figures of the worse class. */
static inline void judge_found(const struct judge_score *score, double found_s[REPLAY_FIGURES])
{
    const double *const of_class[] = { score->wait_s, score->ttft_s, score->itl_s };

    for (int i = 0; i < REPLAY_FIGURES; i++)
        found_s[i] = of_class[i][DEMAND_HIGH] > of_class[i][DEMAND_LOW] ? of_class[i][DEMAND_HIGH]
                                                                        : of_class[i][DEMAND_LOW];
}

/* What is judged, and by what. */
struct judge_setup {
    struct arrivals *arrivals; /* segments in the order of time */
    const struct replay_target *target;
    const struct wall_span *spans; /* sorted, without overlap; requests outside are not counted */
    size_t span_count;
};

/* A score for each span. */
void judge(const struct judge_setup *setup, const struct judge_plan *plan,
           struct judge_score *ret_scores);

/* The same for many plans, all with one begin, for which the arrivals are drawn once. */
struct judge_case {
    struct judge_plan plan;
    struct judge_score *scores; /* set */
};
void judge_all(const struct judge_setup *setup, const struct judge_case *cases, size_t count);
