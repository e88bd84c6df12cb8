/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The nodes that replicas and quotas may count on: those that can be used and do not leave.
 */
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "clusters/gpus.h"

/* A transfer that takes this node away, and will not give it back. */
static bool is_leaving(const struct service *service, const struct config_cluster *cluster,
                       const struct node *node)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_of_node(service->runner, node->uid, &i));)
        if (!transfer->is_undoing && !transfer->wants_undo && transfer->source->cluster == cluster)
            return true;
    return false;
}

bool supply_counts(const struct service *service, const struct config_cluster *cluster,
                   const struct node *node)
{
    return node->is_ready && !node->is_unschedulable && !node->is_leaving &&
           !node_has_taint(node, SLUICE_TAINT_STARTING) && !is_leaving(service, cluster, node);
}

/* The pool's next node that counts and is wanted; *at begins as 0.  NULL: there are no more. */
static const struct node *next_node(const struct service *service, const struct config_pool *pool,
                                    supply_filter_fn is_wanted, const void *context, size_t *at)
{
    void *value;

    while (map_next(fleet_pool(service->fleet, pool)->instances, at, NULL, &value)) {
        const struct instance *instance = value;
        const struct node *node = fleet_node_of(service->fleet, pool, instance);

        if (node && supply_counts(service, pool->cluster, node) && is_wanted(context, node))
            return node;
    }
    return NULL;
}

int64_t supply_units(const struct service *service, const struct config_pool *pool,
                     const char *resource, supply_filter_fn is_wanted, const void *context)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, pool->cluster);
    const struct node *node;
    int64_t units = 0;

    for (size_t i = 0; (node = next_node(service, pool, is_wanted, context, &i));)
        units += gpus_units(snapshot, node, resource);
    return units;
}

int64_t supply_nodes(const struct service *service, const struct config_pool *pool,
                     supply_filter_fn is_wanted, const void *context)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, pool->cluster);
    const struct node *node;
    int64_t nodes = 0;

    for (size_t i = 0; (node = next_node(service, pool, is_wanted, context, &i));)
        nodes += gpus_units(snapshot, node, NULL) >= pool->reservation->gpus_per_node;
    return nodes;
}
