/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas into clusters, clusters into nodes, nodes into pools.  Replicas are split by weight
 * (largest remainder), packed into nodes (best fit, the largest first: exact for sizes that divide
 * each other), and the nodes spread over the cluster's pools in proportion to what each may hold,
 * within what the reservations have.  One more node never takes one from another pool, except where
 * reservations are so tight that only an exchange makes room.
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
   PLACE_GPUS_MAX. */
int place_pack(const int counts[PLACE_GPUS_MAX + 1], int gpus_per_node);

/* Nodes per pool for each cluster's `needs` (at least the floors).  Returns how many found no room;
   ret_missing (per cluster, may be NULL) says whose. */
int place_nodes(const struct place *place, const int *needs, size_t cluster_count, int *ret_nodes,
                int *ret_missing);
