/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The transfers of a plan, for people: what each node loses, and what will hold its pods.
 */
#include "base/json.h"
#include "broker/service/service_parts.h"
#include "broker/sides/kube/blockers.h"

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
    struct leaving **leaving = leaving_of(service, plan);
    json_t *rows = json_array();

    for (size_t i = 0; i < plan->transfers.count; i++) {
        const struct plan_transfer *transfer = &plan->transfers.items[i];
        json_t *row;

        if (part != BILL_ALL && !transfer->is_emergency)
            continue;
        row = describe(transfer);
        json_object_set_new(row, "blockers",
                            blockers_of_node(leaving[transfer->source->cluster - config->clusters],
                                             transfer->node->facts.name));
        json_array_append_new(rows, row);
    }
    for (size_t i = 0; i < config->cluster_count; i++)
        leaving_free(leaving[i]);
    mem_free(leaving);
    return rows;
}
