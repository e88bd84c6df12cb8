/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The transfers of a plan, for people: the loss of each node, and its blockers.
 */
#include "base/input/json.h"
#include "broker/service/service_parts.h"

/* The blockers of the plan's nodes that leave the cluster, in the plan's order. */
static json_t *blockers_of(const struct service *service, const struct config_cluster *cluster,
                           const struct plan *plan)
{
    const char **nodes = mem_new_array(plan->transfers.count, sizeof *nodes);
    size_t count = 0;
    json_t *rows;

    for (size_t i = 0; i < plan->transfers.count; i++)
        if (plan->transfers.items[i].source->cluster == cluster)
            nodes[count++] = plan->transfers.items[i].node->facts.name;
    rows = side_of(service->runner, cluster)
               ->blockers(service->runner, cluster, nodes, count,
                          service->config->drain.deadline_ms);
    mem_free(nodes);
    return rows;
}

static json_t *describe(const struct plan_transfer *transfer)
{
    return json_make("{ss ss ss sf so sb}", "node", transfer->node->facts.name, "from",
                     transfer->source->name, "to", transfer->target->name, "lost_gpu_hours",
                     (double)transfer->lost_gpu_s / 3600.0, "due", json_wall(transfer->due),
                     "is_emergency", (int)transfer->is_emergency);
}

json_t *moves_describe(const struct plan *plan, enum bill_part part)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < plan->transfers.count; i++)
        if (part == BILL_ALL || plan->transfers.items[i].is_emergency)
            json_array_append_new(rows, describe(&plan->transfers.items[i]));
    return rows;
}

json_t *moves_describe_blocked(const struct service *service, const struct plan *plan,
                               enum bill_part part)
{
    const struct config *config = service->config;
    owned(json) json_t *blockers = json_array(); /* as config->clusters */
    size_t *next = mem_new_array(config->cluster_count, sizeof *next);
    json_t *rows = json_array();

    for (size_t i = 0; i < config->cluster_count; i++)
        json_array_append_new(blockers, blockers_of(service, &config->clusters[i], plan));
    for (size_t i = 0; i < plan->transfers.count; i++) {
        const struct plan_transfer *transfer = &plan->transfers.items[i];
        size_t cluster = (size_t)(transfer->source->cluster - config->clusters);
        json_t *found = json_array_get(json_array_get(blockers, cluster), next[cluster]++);
        json_t *row;

        if (part != BILL_ALL && !transfer->is_emergency)
            continue;
        row = describe(transfer);
        json_object_set(row, "blockers", found);
        json_array_append_new(rows, row);
    }
    for (size_t i = 0; i < config->cluster_count; i++) /* each node had its row */
        require(json_array_size(json_array_get(blockers, i)) == next[i]);
    mem_free(next);
    return rows;
}
