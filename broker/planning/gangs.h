/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The gangs of one cluster and the nodes they are on, from its snapshot: what the choice of nodes
 * weighs.  Borrows from the snapshot; valid until the next turn of the loop.
 */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "broker/planning/losses.h"
#include "broker/planning/victims.h"
#include "clusters/gpus.h"
#include "clusters/snapshot.h"

/* All clusters' gangs: nodes name them by index. */
struct gang_book {
    ARRAY(struct victim_gang) gangs;
};

/* What one gang takes of one node. */
struct gang_share {
    int64_t parts; /* of GPUs, asked for */
    bool is_whole; /* something among it cannot be read */
};

/* Adds a pod's GPUs on a node of so many GPUs.  A pod whose accelerators cannot be read raises the
   share to the whole node; a second such pod adds nothing.  Returns by how many parts of a GPU the
   share grew. */
int64_t gang_share_add(struct gang_share *share, struct gpu_demand demand, int64_t node_gpus);

/* The share in whole GPUs. */
int64_t gang_share_gpus(const struct gang_share *share, int64_t node_gpus);

struct node_work {
    ARRAY(size_t) gangs;             /* ascending */
    ARRAY(struct gang_share) shares; /* of the gangs */
    bool is_protected;
    bool is_reserved; /* by a person, now or within a day */
};

struct gang_survey {
    const struct config *config;
    const struct config_cluster *cluster;
    const struct snapshot *snapshot;
    const struct losses *losses;
    struct wall_time now;
    const struct snapshot *slurm; /* whose nodes are pods of this cluster: its jobs count in the
                                     place of these pods; NULL: none */
    bool is_hurried; /* a node that is chosen now leaves without notice, and without its drain's
                        time */
};

/* NULL: nothing is on the node. */
enum victim_rank gangs_rank(const struct node_work *work);

/* Adds the cluster's gangs to the book; node name -> struct node_work. */
struct map *gangs_survey(const struct gang_survey *survey, struct gang_book *book)
    __attribute__((returns_nonnull, warn_unused_result));

/* The node's topology block; NULL: none of the configured labels is on it. */
const char *gangs_block(const struct config *config, const struct node *node);
