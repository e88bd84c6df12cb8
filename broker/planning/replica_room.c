/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See replica_room.h.
 */
#include "broker/planning/replica_room.h"

#include "base/memory.h"

/* Replicas that the pool holds when it is empty. */
static int64_t capacity_of(const struct room_pool *pool, int64_t gpus)
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

int64_t replica_room(const struct room *room, int64_t gpus)
{
    int64_t free_replicas = 0;
    int64_t odd_gpus = 0; /* in which no such replica fits */
    int64_t small_gpus = 0;

    require(gpus >= 1);
    for (size_t i = 0; i < room->pool_count; i++) {
        int64_t capacity = capacity_of(&room->pools[i], gpus);

        free_replicas += capacity;
        odd_gpus += room->pools[i].nodes * room->pools[i].gpus_per_node - capacity * gpus;
    }
    for (size_t i = 0; i < room->replicas_count; i++) {
        const struct room_replicas *other = &room->replicas[i];

        if (other->gpus >= gpus)
            free_replicas -= other->count * up(other->gpus, gpus);
        else
            small_gpus += other->count * other->gpus;
    }
    if (small_gpus > odd_gpus)
        free_replicas -= up(small_gpus - odd_gpus, gpus);
    return free_replicas > 0 ? free_replicas : 0;
}
