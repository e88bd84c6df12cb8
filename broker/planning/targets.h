/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many nodes and replicas are wanted now: the schedule of the window in force, and of every
 * window that begins before the nodes asked for now could be ready.  So a pool grows ahead of its
 * window by the lead time, and shrinks only once no window within that reach needs it.  Where a
 * window wants more nodes than may move at once they come in waves, each a lead time long.  Pure.
 *
 * An event (a dated window) counts as any other when it has a schedule; without one the windows of
 * the week go on beneath it.
 */
#pragma once

#include "base/map.h"
#include "broker/config/config.h"
#include "windows/allocation/schedule.h"

/* The schedules in force: window name -> struct schedule. */
struct map *targets_book_new(void) __attribute__((returns_nonnull, warn_unused_result));

struct target {
    int64_t wanted;     /* -1: no schedule names it; it is left alone */
    int64_t now;        /* what the window in force alone wants */
    const char *window; /* the window that decides */
};

/* How far ahead a plan looks for growth. */
struct reach {
    int64_t notice_ms;  /* from the plan to the cordon */
    int64_t wave_ms;    /* until the last node of a wave is ready */
    int64_t wave_nodes; /* that may move at once, at least 1 */
};

/* The schedules in force, as a plan that is made at `now` looks ahead in them.  Borrowed. */
struct horizon {
    const struct config *config;
    const struct map *book;
    struct wall_time now;
    struct reach reach;
};

/* The window whose schedule counts at that time: an event that has none (nothing was applied since
   it was written into the configuration) leaves the week as it is. */
const struct window *target_window(const struct horizon *horizon, struct wall_time at);

/* The first change after `at`, also of the week inside such an event; 0: there is none. */
struct wall_time target_edge(const struct horizon *horizon, struct wall_time at);

/* The time that a change from the window in force at `now` to the one at `edge` takes, by the
   growth of all pools.  No plan needs to look further ahead.  At least one wave. */
int64_t reach_ms(const struct horizon *horizon, struct wall_time edge);

/* Nodes of a production pool. */
struct target target_nodes(const struct horizon *horizon, const struct config_pool *pool);

/* When a pool that will have so many nodes falls short: the begin of the first window within reach
   that wants more; 0: the one in force does already, or none does. */
struct wall_time target_due(const struct horizon *horizon, const struct config_pool *pool,
                            int64_t have);

/* Since when, without a break, the windows have wanted more nodes of the pool than it has, or at
   least as many as the one in force; at most for a week. */
struct wall_time target_since(const struct horizon *horizon, const struct config_pool *pool,
                              int64_t have);

/* Replicas of a workload in a cluster, likewise. */
struct target target_replicas(const struct horizon *horizon, const struct config_workload *workload,
                              const struct config_cluster *cluster);
