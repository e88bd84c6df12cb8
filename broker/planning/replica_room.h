/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many replicas more the ready nodes of a cluster have room for, where a replica is larger than
 * a node: it takes whole nodes of one pool, so odd nodes and GPUs that are free here and there are
 * no room.  Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct room_pool {
    int64_t nodes; /* that can be used, with all their GPUs */
    int64_t gpus_per_node;
};

struct room_replicas { /* of one workload */
    int64_t gpus;      /* of a replica */
    int64_t count;     /* that stand there, or have to */
};

struct room {
    const struct room_pool *pools;
    size_t pool_count;
    const struct room_replicas *replicas; /* of all workloads of the cluster */
    size_t replicas_count;
};

/* The number of replicas of `gpus` GPUs.  Smaller replicas count as placed first on nodes where
   no group fits: the answer is never too small.  Exact if no smaller replica is on a node of a
   group. */
int64_t replica_room(const struct room *room, int64_t gpus);
