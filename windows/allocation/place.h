/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas into clusters, clusters into nodes, nodes into pools.  Replicas are split by weight
 * (largest remainder), packed into nodes (best fit, the largest first: exact for sizes that divide
 * each other), and the nodes spread over the cluster's pools in proportion to what each may hold,
 * within what the reservations have.  One more node never takes one from another pool, except where
 * reservations are so tight that only an exchange makes room.
 *
 * A replica larger than a node takes whole nodes of one pool.  A pool of such replicas gets its
 * nodes in groups, and an odd node of it serves nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { PLACE_GPUS_MAX = 1024 };

struct place_pool {
    size_t cluster;
    size_t reservation;
    int floor; /* nodes that are always there */
    int cap;   /* nodes that the pool may have */
    int group; /* nodes that serve only together, at least 1: as many as the largest replica takes
                  of one pool */
};

struct place {
    const struct place_pool *pools;
    size_t pool_count;
    const int *reservation_nodes; /* for these pools, their floors included */
    size_t reservation_count;
};

/* Gives each share its part of `total` by weight, at least its minimum: the sum is `total`, or that
   of the minimums where this is more. */
void place_split(int total, const int *weights, const int *minimums, size_t count, int *ret_parts);

/* Nodes of `gpus_per_node` that counts[g] replicas of g GPUs each need, for g up to
   PLACE_GPUS_MAX.  Above gpus_per_node, g is a multiple of it. */
int place_pack(const int counts[PLACE_GPUS_MAX + 1], int gpus_per_node);

/* The group of nodes that replicas of `gpus` fill as well as those that fill `group` nodes: the
   least common multiple.  Replicas up to a node leave the group as it is. */
int place_group(int group, int gpus, int gpus_per_node);

/* Nodes per pool for each cluster's `needs` in whole groups (at least the floors).  Returns how
   many nodes found no room; ret_missing (per cluster, may be NULL): of which clusters. */
int place_nodes(const struct place *place, const int *needs, size_t cluster_count, int *ret_nodes,
                int *ret_missing);
