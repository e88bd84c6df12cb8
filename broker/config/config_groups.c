/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas and nodes: a replica is a whole part of a node, or takes some whole nodes of one pool.
 * The second kind are groups of a LeaderWorkerSet; their pool gets its nodes in groups.
 */
#include "base/text.h"
#include "broker/config/config_tables.h"
#include "windows/allocation/place.h"

#include <inttypes.h>

/* The most nodes that the pool can have. */
static int64_t most_nodes(const struct config_pool *pool)
{
    return pool->node_max ?: pool->reservation->nodes;
}

static int check_size(const struct config_workload *workload, const struct config_pool *pool,
                      const struct yaml_node *place, struct error *err)
{
    int64_t gpus_per_node = pool->reservation->gpus_per_node;

    if (workload->gpus <= gpus_per_node && gpus_per_node % workload->gpus != 0)
        return yaml_error(err, place,
                          "%" PRId64 " does not divide the %" PRId64 " GPUs of a node of pool %s",
                          workload->gpus, gpus_per_node, pool->name);
    if (workload->gpus > gpus_per_node && workload->gpus % gpus_per_node != 0)
        return yaml_error(err, place,
                          "%" PRId64 " is no multiple of the %" PRId64 " GPUs of a node of pool %s",
                          workload->gpus, gpus_per_node, pool->name);
    if (workload->gpus > gpus_per_node && !workload->is_leader_worker_set)
        return yaml_error(err, place,
                          "one replica takes %" PRId64 " nodes of pool %s, which requires kind: "
                          "leaderworkerset",
                          workload->gpus / gpus_per_node, pool->name);
    return 0;
}

int config_check_gpus(struct config *config, size_t at, const struct yaml_node *share,
                      const struct config_cluster *cluster, struct error *err)
{
    const struct config_workload *workload = &config->workloads[at];
    const struct yaml_node *place = config_place(config, "workloads", at, "gpus");
    bool has_pool = false;

    for (size_t i = 0; i < config->pool_count; i++) {
        struct config_pool *pool = &config->pools[i];

        if (pool->cluster != cluster)
            continue;
        has_pool = true;
        if (check_size(workload, pool, place, err) < 0)
            return -1;
        pool->group = place_group((int)pool->group, (int)workload->gpus,
                                  (int)pool->reservation->gpus_per_node);
        if (pool->group > 1 && pool->group > most_nodes(pool))
            return yaml_error(err, place,
                              "pool %s gets its nodes in groups of %" PRId64 ", and holds at most "
                              "%" PRId64,
                              pool->name, pool->group, most_nodes(pool));
    }
    return has_pool ? 0 : yaml_error(err, share, "the cluster has no pool");
}

/* A group whose nodes may never move together would never move. */
static int check_cap(const struct config *config, const char *key, int64_t cap, struct error *err)
{
    const struct yaml_node *guard = yaml_get(yaml_root(config->document), "guard");
    const struct yaml_node *place = guard ? yaml_get(guard, key) : NULL;

    for (size_t i = 0; i < config->pool_count; i++)
        if (config->pools[i].group > cap)
            return yaml_error(err, place ?: yaml_root(config->document),
                              "pool %s gets its nodes in groups of %" PRId64 ": at least as many "
                              "must be allowed at once",
                              config->pools[i].name, config->pools[i].group);
    return 0;
}

int config_check_groups(const struct config *config, struct error *err)
{
    if (check_cap(config, "in_flight", config->guard.in_flight, err) < 0 ||
        check_cap(config, "in_flight_per_cluster", config->guard.in_flight_per_cluster, err) < 0)
        return -1;
    return 0;
}
