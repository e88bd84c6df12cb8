/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The plan: computes, from the present and the wanted state, the transfers that should begin.
 * Pure: the same input gives the same plan, and nothing is asked or sent.  The guard then decides
 * for each transfer whether it may begin.
 *
 * Within a reservation production pools come first.  Those that can spare nodes give to those that
 * lack nodes.  Nodes that are then still lacking come from research.  Nodes that are still spare go
 * to the research pools furthest from their share by weight.  Research pools do not trade with each
 * other.  How many nodes a pool gives is decided first; which ones is the choice of victims.h, pool
 * by pool.
 *
 * A pool whose replicas are larger than a node gets and gives its nodes in whole groups
 * (config_pool.group): what makes a group whole comes together, or not at all, and counts that no
 * group fills are rounded up.
 *
 * A move keeps the reservation's total, so it needs to know its own two pools and no third one.  A
 * pool that is not known neither gives nor takes, and the others are planned without it.
 */
#pragma once

#include "base/array.h"
#include "broker/config/config.h"
#include "broker/planning/victims.h"

#include <stdbool.h>
#include <stdint.h>

/* A node that could be taken. */
struct plan_node {
    struct victim_node facts; /* gangs are those of the input */
    const char *uid;
    const char *instance;
    int64_t
        named; /* production: its place among those that an applied plan named, from 1; 0: none */
};

/* A live transfer, as far as planning cares. */
struct plan_live {
    const char *id;
    const struct config_pool *source;
    const struct config_pool *target;
    bool can_withdraw; /* not cordoned yet, and no emergency */
};

/* Nodes of a pool that could be taken if no pod on them ran slurmd.  The texts are the program's.
 */
struct plan_kept {
    const char *tool; /* that runs them: "Slinky" */
    const char *why;  /* what keeps them, or ends that: "Slurm does not answer" */
    int64_t nodes;
};

/* A reclaim in force: nodes that its pool should have.  Those above the schedule's number, and
   above the next lower reclaim's, are its own. */
struct plan_reclaim {
    int64_t level;
    const char *from; /* the one research cluster that gives its own nodes; "": any */
    const char *id;   /* of its record; NULL: it is only weighed */
};

struct plan_pool {
    const struct config_pool *config;
    int64_t present;      /* machines that exist in it and do not leave */
    int64_t unseen;       /* of `present`, without a Node: they serve nothing */
    int64_t useless;      /* production: of `present`, without a Node that pods can use */
    int64_t incoming;     /* of live transfers, not among `present` */
    int64_t unplaced;     /* not among `present`: machines that this pool or another may have, of
                             which no cluster has a Node.  They serve nothing, and take room. */
    int64_t wanted;       /* production: the target, -1: left alone; research: not used */
    int64_t in_force;     /* production: what the window in force alone wants, -1: nothing */
    bool is_known;        /* its cluster and its list were seen lately */
    bool is_heard;        /* both answered when last asked; such pools come first */
    struct wall_time due; /* when the wanted number is needed; 0: now */
    ARRAY(struct plan_reclaim) reclaims;
    ARRAY(struct plan_node) nodes; /* movable ones */
    ARRAY(struct plan_kept) kept;  /* one for each tool and reason */
    int64_t frozen;                /* nodes that people froze, and that could be taken otherwise */
};

struct plan_input {
    const struct config *config;
    struct plan_pool *pools; /* as config->pools */
    const struct plan_live *live;
    size_t live_count;
    const struct victim_gang *gangs; /* of all clusters */
    size_t gang_count;
};

struct plan_transfer {
    const struct config_pool *source;
    const struct config_pool *target;
    const struct plan_node *node; /* of the input */
    struct wall_time due;
    bool is_emergency;
    int64_t lost_gpu_s; /* what it loses that the transfers before it do not */
    size_t unit;        /* those with the same number begin together or not at all */
};

/* The nodes that one pool gives. */
struct plan_choice {
    size_t pool;   /* index */
    size_t *nodes; /* of the pool, in the order in which they go */
    size_t count;
    bool is_exact; /* no other set loses less */
};

/* A reclaim that a plan passed over, because its one cluster has too few nodes to give. */
struct plan_pass {
    const struct plan_pool *pool;
    const struct plan_reclaim *reclaim;
    int64_t nodes;  /* that it lacks */
    bool is_served; /* nodes of a reclaim above it come */
};

struct plan {
    ARRAY(struct plan_transfer) transfers; /* emergencies first */
    ARRAY(const char *) withdrawn;         /* ids of live transfers that are not wanted any more */
    struct plan_lack {
        const struct config_pool *pool;
        int64_t nodes; /* that no pool can give */
    } * lacks;
    size_t lack_count;
    ARRAY(struct plan_choice) choices;
    ARRAY(struct plan_pass) passes; /* of each pool the lowest first */
};

struct plan *plan_make(const struct plan_input *input)
    __attribute__((returns_nonnull, warn_unused_result));
void plan_free(struct plan *plan);

/* The most nodes that a pool may have, in whole groups. */
int64_t plan_limit(const struct plan_pool *pool);

/* The number that the reclaims want of a pool; 0: there are none. */
int64_t plan_level(const struct plan_pool *pool);

/* The level of one of the pool's reclaims once the plan's transfers begin: what was passed over
   then stands above what is served.  Otherwise the nodes that come would count as those of the
   reclaim that was passed over, and the next plan would take its nodes from another cluster. */
int64_t plan_level_after(const struct plan *plan, const struct plan_pool *pool,
                         const struct plan_reclaim *reclaim);

/* How many more nodes a pool may be given; none when it is not known. */
int64_t plan_room(const struct plan_pool *pool);

/* How many more nodes a pool may be promised from a research cluster, or from any (""): those of
   pools that are known, because a number from an old list would be wrong. */
int64_t plan_can_have(const struct plan_input *input, const struct plan_pool *pool,
                      const char *from);
/* The research cluster that could give the pool most nodes, at least a group of them, other than
   `except`; NULL: none. */
const struct config_cluster *plan_giver(const struct plan_input *input,
                                        const struct plan_pool *pool, const char *except);

/* What a pool should have, in whole groups: the greater of schedule and reclaim; -1: it is left
   alone. */
int64_t plan_wanted(const struct plan_pool *pool);

/* Whether a reclaim lacks nodes, or one for the cluster `asking` (or NULL) is weighed, that this
   cluster may give: then its nodes leave at once. */
bool plan_is_hurried(const struct plan_input *input, const struct config_cluster *cluster,
                     const struct config_cluster *asking);

/* How many nodes complete the next group of a pool that has (or will have) so many. */
int64_t plan_unit(const struct plan_pool *pool, int64_t have);

/* The total loss on the nodes that research pools give, and the loss of other ways to choose them.
   Takes longer than the plan. */
struct plan_bill {
    struct victim_bill bill; /* gangs are those of the input */
    size_t node_count;
    int64_t rival_gpu_s[RIVAL_COUNT];
    int64_t next_best_gpu_s; /* when the dearest gang is spared; -1: it cannot be */
    bool is_exact;
};
enum bill_part { BILL_ALL, BILL_EMERGENCIES };
void plan_bill(const struct plan_input *input, const struct plan *plan, enum bill_part part,
               struct plan_bill *ret_bill);

/* Frees the arrays of `count` pools and the pools. */
void plan_pools_free(struct plan_pool *pools, size_t count);

static inline void owned_plan(struct plan **plan)
{
    plan_free(*plan);
}
