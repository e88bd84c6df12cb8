/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The transfers of a plan, for people: what each node loses, and what will hold its pods.
 */
#include "base/json.h"
#include "broker/service/service_parts.h"
#include "broker/transfer/blockers.h"

/* What leaves each cluster by the plan, as config->clusters; the caller frees it. */
static struct leaving **leaving_of(const struct service *service, const struct plan *plan)
{
    const struct config *config = service->config;
    struct leaving **leaving = mem_new_array(config->cluster_count, sizeof(struct leaving *));

    for (size_t i = 0; i < config->cluster_count; i++)
        leaving[i] = leaving_new(fleet_snapshot(service->fleet, &config->clusters[i]),
                                 config->drain.deadline_ms, loop_wall(service->world->loop));
    for (size_t i = 0; i < plan->transfers.count; i++)
        leaving_add(leaving[plan->transfers.items[i].source->cluster - config->clusters],
                    plan->transfers.items[i].node->facts.name);
    return leaving;
}

static json_t *describe(const struct plan_transfer *transfer, const struct leaving *leaving)
{
    const char *node = transfer->node->facts.name;

    return json_make("{ss ss ss sf so sb so}", "node", node, "from", transfer->source->name, "to",
                     transfer->target->name, "lost_gpu_hours",
                     (double)transfer->lost_gpu_s / 3600.0, "due", json_wall(transfer->due),
                     "is_emergency", (int)transfer->is_emergency, "blockers",
                     blockers_of_node(leaving, node));
}

json_t *moves_describe(const struct service *service, const struct plan *plan, enum bill_part part)
{
    const struct config *config = service->config;
    struct leaving **leaving = leaving_of(service, plan);
    json_t *rows = json_array();

    for (size_t i = 0; i < plan->transfers.count; i++) {
        const struct plan_transfer *transfer = &plan->transfers.items[i];

        if (part == BILL_ALL || transfer->is_emergency)
            json_array_append_new(
                rows, describe(transfer, leaving[transfer->source->cluster - config->clusters]));
    }
    for (size_t i = 0; i < config->cluster_count; i++)
        leaving_free(leaving[i]);
    mem_free(leaving);
    return rows;
}
