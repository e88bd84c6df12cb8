/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Allocation: for every window the fewest replicas with which every queue meets its target on the
 * days of the demand, split over clusters, packed into nodes, placed in pools; one schedule a
 * window.  A queue that has to survive the loss of a node or a zone gets so many more that those
 * which stay keep its waits within twice the target.  If the nodes do not suffice, replicas go, one
 * by one, first to queues that are not even stable, then to the queue furthest from its target.
 * The plan then names the queues that fall short and by how much.  A saturated plan gives each
 * remaining replica to the queue whose wait is nearest to its target, until no node is left.
 *
 * The model is plain data that borrows everything; a caller that has a configuration translates it.
 * Several threads work on cells (queue, window).  Neither the number of threads nor another queue
 * changes the answer of a cell.
 */
#pragma once

#include "base/progress.h"
#include "windows/allocation/place.h"
#include "windows/allocation/schedule.h"
#include "windows/queueing/search_targets.h"

struct allocate_queue {
    const char *name;
    const struct demand_series *demand;
    struct replay_target target;
    double service_s;
    double service_cv;
    const struct service_shape *shape; /* borrowed; NULL: the law that service_cv stands for */
    double scale;
    bool is_each_day;   /* every day of a window meets the target by itself */
    bool survives_node; /* its waits stay within twice the target when the worst node is lost */
    bool survives_zone; /* the same when the worst zone is lost */
    double waiting;     /* requests that wait already, when the plan is made */
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
    int gpus;     /* per replica; above a node's, a multiple of them */
    const struct allocate_share *shares;
    size_t share_count;
};

struct allocate_pool { /* of a production cluster; place.pools has its numbers */
    const char *machine;
    const char *region;
    const char *zone_name;
    size_t zone;       /* index among those of machine and region */
    size_t zone_count; /* of machine and region */
};

struct allocate_model {
    const struct window_set *windows;
    size_t window_first;   /* those that are planned: [window_first, window_end) */
    size_t window_end;     /* 0: all */
    struct wall_time from; /* the demand's days */
    struct wall_time to;
    const struct allocate_queue *queues;
    size_t queue_count;
    const double *scales; /* [window * queue_count + queue], on top of the queues' own; NULL: 1 */
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
    bool is_estimate;  /* windows/queueing/transient.h instead of replays: quick, and not confirmed
                          by one */
    bool is_saturated; /* spends the nodes that are left over */
    struct progress_report report; /* hears how far allocate_search() is */
};

struct allocate_cell {
    struct search_result search; /* of an estimate: no seeds, no waits */
    int degraded;  /* replicas that keep the waits within twice the target; 0: not asked for */
    int needed;    /* search.servers, or more for the least that always run and for losses */
    int catch_up;  /* on top of those, for requests that wait already (windows/queueing/backlog.h),
                      where there is room */
    int granted;   /* below `needed` where nodes are short, above it in a saturated plan */
    int lost;      /* lost replicas, of `granted`, with the worst node or zone that the queue has to
                      survive */
    double wait_s; /* at the percentile with the granted replicas, of the worse class and seed */
    struct search_day worst_day;   /* with the granted replicas; begins at 0 if no replay computed
                                      it */
    struct search_targets targets; /* with the granted replicas; token figures if they are targets
                                      and a replay computed them, else 0 */
    bool is_known;                 /* searched, or read from another run's part */
};

static inline bool allocate_is_met(const struct allocate_cell *cell)
{
    return cell->granted >= cell->search.servers && cell->granted - cell->lost >= cell->degraded;
}

/* Why a cluster has as many nodes as it has in a window. */
struct allocate_need {
    int gpus;   /* of all replicas */
    int packed; /* nodes that hold them */
    int repack; /* spare ones */
    int group;  /* nodes that serve only together, at least 1 */
    int rest;   /* that make packed and repack whole groups */
    int placed; /* packed, repack and rest: in whole groups */
    int floor;  /* static nodes, which are there anyway and may be no whole groups */
    int nodes;  /* placed, or the floor */
};

struct allocate_plan {
    struct allocate_cell *cells; /* [window * queue_count + queue] */
    struct schedule **schedules; /* one a window; NULL for an event that is over when the demand
                                    ends */
    struct allocate_need *needs; /* [window * cluster_count + cluster] */
    int *missing_nodes;          /* one a window: how many more all targets would take */
    bool *is_met;                /* one a window: every target and loss */
    bool *is_withheld;   /* one per window: a saturated plan that adds nothing, because added nodes
                            would make a zone too large for a queue that has to survive its loss */
    size_t window_first; /* the others of the set have no schedule */
    size_t window_end;
    size_t window_count;
    size_t queue_count;
    size_t cluster_count;
    bool is_feasible;
};

/* A plan in two steps, so that several computers can share the first.  First the searches, of which
   part `part` (from 0) of `parts` is a fixed share.  Then the rest for each window, once every cell
   is known.  Known cells are not searched again. */
struct allocate_plan *allocate_plan_new(const struct allocate_model *model)
    __attribute__((returns_nonnull, warn_unused_result));
int allocate_search(const struct allocate_model *model, struct allocate_plan *plan, size_t part,
                    size_t parts, struct error *err) __attribute__((warn_unused_result));
int allocate_fill(const struct allocate_model *model, struct allocate_plan *plan, struct error *err)
    __attribute__((warn_unused_result));

/* Whether the plan has a schedule for this window: an event that is over has none. */
bool allocate_has_window(const struct allocate_model *model, size_t window);

/* The part whose cell this is: neighbours are in different ones. */
size_t allocate_part(size_t window, size_t queue, size_t parts);

/* The setup of a cell's search, without segments and service. */
struct search_setup allocate_setup(const struct allocate_model *model, size_t window, size_t queue);

/* An estimate in place of a search (windows/queueing/transient.h): enough for all days pooled, or
   for each day. */
int allocate_estimate(const struct search_setup *setup);

/* Both steps. */
struct allocate_plan *allocate_plan(const struct allocate_model *model, struct error *err)
    __attribute__((warn_unused_result));
void allocate_plan_free(struct allocate_plan *plan);

static inline void owned_allocate_plan(struct allocate_plan **plan)
{
    allocate_plan_free(*plan);
}
