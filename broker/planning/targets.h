/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many nodes and replicas are wanted now: the schedule of the window in force, and of every
 * window that begins before a node asked for now could be ready.  So a pool grows ahead of its
 * window by the lead time, and shrinks only once no window within that reach needs it.  Pure.
 *
 * An event (a dated window) counts as any other when it has a schedule; without one the windows of
 * the week go on beneath it.
 */
#pragma once

#include "base/map.h"
#include "broker/fleet/config.h"
#include "windows/schedule.h"

/* The schedules in force: window name -> struct schedule. */
struct map *targets_book_new(void) __attribute__((returns_nonnull, warn_unused_result));

struct target {
    int64_t wanted;     /* -1: no schedule names it; it is left alone */
    int64_t now;        /* what the window in force alone wants */
    const char *window; /* the window that decides */
};

/* Nodes of a production pool, looking `reach_ms` ahead. */
struct target target_nodes(const struct config *config, const struct map *book,
                           const struct config_pool *pool, struct wall_time now, int64_t reach_ms);

/* When a pool that will have so many nodes falls short: the begin of the first window within reach
   that wants more; 0: the one in force does already, or none does. */
struct wall_time target_due(const struct config *config, const struct map *book,
                            const struct config_pool *pool, struct wall_time now, int64_t reach_ms,
                            int64_t have);

/* Replicas of a workload in a cluster, likewise. */
struct target target_replicas(const struct config *config, const struct map *book,
                              const struct config_workload *workload,
                              const struct config_cluster *cluster, struct wall_time now,
                              int64_t reach_ms);
