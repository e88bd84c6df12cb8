/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See replica_capacity.h.
 */
#include "broker/planning/replica_capacity.h"

#include "base/memory.h"

/* Replicas that the pool holds when it is empty. */
static int64_t replicas_of(const struct capacity_pool *pool, int64_t gpus)
{
    require(pool->nodes >= 0 && pool->gpus_per_node >= 1);
    if (gpus > pool->gpus_per_node)
        return pool->nodes / (gpus / pool->gpus_per_node);
    return pool->nodes * (pool->gpus_per_node / gpus);
}

static int64_t up(int64_t dividend, int64_t divisor)
{
    return (dividend + divisor - 1) / divisor;
}

int64_t replica_capacity_left(const struct replica_capacity *capacity, int64_t gpus)
{
    int64_t free_replicas = 0;
    int64_t odd_gpus = 0; /* in which no such replica fits */
    int64_t small_gpus = 0;

    require(gpus >= 1);
    for (size_t i = 0; i < capacity->pool_count; i++) {
        int64_t replicas = replicas_of(&capacity->pools[i], gpus);

        free_replicas += replicas;
        odd_gpus += capacity->pools[i].nodes * capacity->pools[i].gpus_per_node - replicas * gpus;
    }
    for (size_t i = 0; i < capacity->replicas_count; i++) {
        const struct capacity_replicas *other = &capacity->replicas[i];

        if (other->gpus >= gpus)
            free_replicas -= other->count * up(other->gpus, gpus);
        else
            small_gpus += other->count * other->gpus;
    }
    if (small_gpus > odd_gpus)
        free_replicas -= up(small_gpus - odd_gpus, gpus);
    return free_replicas > 0 ? free_replicas : 0;
}
