/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many more replicas fit on the ready nodes of a cluster, if a replica is larger than a node:
 * it takes whole nodes of one pool, so odd nodes and GPUs that are free here and there do not
 * count.  Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct capacity_pool {
    int64_t nodes; /* that can be used, with all their GPUs */
    int64_t gpus_per_node;
};

struct capacity_replicas { /* of one workload */
    int64_t gpus;          /* of a replica */
    int64_t count;         /* that stand there, or have to */
};

struct replica_capacity {
    const struct capacity_pool *pools;
    size_t pool_count;
    const struct capacity_replicas *replicas; /* of all workloads of the cluster */
    size_t replicas_count;
};

/* How many more replicas of `gpus` GPUs fit.  Smaller replicas count as placed first on nodes where
   no group fits: the answer is never too small.  Exact if no smaller replica is on a node of a
   group. */
int64_t replica_capacity_left(const struct replica_capacity *capacity, int64_t gpus);
