/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Allocation: for every window the fewest replicas with which every queue meets its target on the
 * days of the demand, split over clusters, packed into nodes, placed in pools; one schedule a
 * window.  Where the nodes do not suffice, the replicas go first to who is not even stable, then to
 * who is furthest from its target, one by one; the plan then names who falls short and by how much.
 *
 * The model is plain data that borrows everything; who has a configuration translates it.  Cells
 * (queue, window) are worked on by several threads; their number changes nothing in the answer, and
 * neither does another queue.
 */
#pragma once

#include "windows/place.h"
#include "windows/schedule.h"
#include "windows/search.h"

struct allocate_queue {
    const char *name;
    const struct demand_series *demand;
    struct replay_target target;
    double service_s;
    double service_cv;
    double scale;
};

struct allocate_cluster { /* of production */
    const char *name;
    int gpus_per_node;
    int static_nodes; /* over all its pools */
};

struct allocate_share { /* of a workload */
    size_t cluster;
    int weight;
    int replica_min;
};

struct allocate_workload {
    const char *name;
    size_t queue; /* several workloads may serve one: its replicas are split over all */
    int gpus;     /* per replica */
    const struct allocate_share *shares;
    size_t share_count;
};

struct allocate_pool { /* of a production cluster; place.pools has its numbers */
    const char *machine;
    const char *region;
    size_t zone;
    size_t zone_count; /* of machine and region */
};

struct allocate_model {
    const struct window_set *windows;
    struct wall_time from; /* the demand's days */
    struct wall_time to;
    const struct allocate_queue *queues;
    size_t queue_count;
    const struct allocate_cluster *clusters;
    size_t cluster_count;
    const struct allocate_workload *workloads;
    size_t workload_count;
    const struct allocate_pool *pools; /* beside place.pools */
    struct place place;
    int repack_nodes; /* spare nodes of each cluster that serves anything */
    int seeds;
    int threads;
    uint64_t seed;
};

struct allocate_cell {
    struct search_result search;
    int granted;   /* replicas; below search.servers where nodes are short */
    double wait_s; /* at the percentile with what was granted, of the worse class and seed */
};

struct allocate_plan {
    struct allocate_cell *cells; /* [window * queue_count + queue] */
    struct schedule **schedules; /* one a window */
    int *missing_nodes;          /* one a window: how many more all targets would take */
    size_t window_count;
    size_t queue_count;
    bool is_feasible;
};

struct allocate_plan *allocate_plan(const struct allocate_model *model, struct error *err)
    __attribute__((warn_unused_result));
void allocate_plan_free(struct allocate_plan *plan);

static inline void owned_allocate_plan(struct allocate_plan **plan)
{
    allocate_plan_free(*plan);
}
