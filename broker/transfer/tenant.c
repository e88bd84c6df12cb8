/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See tenant.h.  The journal keeps the tenant's name with the first effect on it.
 */
#include "broker/transfer/tenant.h"

#include "base/text.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"

#include <string.h>

static bool runs_slurmd(const struct pod *pod)
{
    return pod_slurm_tool(pod) && pod_must_leave(pod);
}

/* Its only pod that runs slurmd and stays; *ret_count: how many do. */
static const struct pod *find_pod(const struct snapshot *snapshot, const char *node, int *ret_count)
{
    const struct pod *found = NULL;
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node, &count);

    *ret_count = 0;
    for (size_t i = 0; i < count; i++)
        if (runs_slurmd(pods[i])) {
            found = pods[i];
            ++*ret_count;
        }
    return found;
}

const char *tenant_keeps(const struct fleet *fleet, const struct config_cluster *host,
                         const char *node, int64_t since_ms)
{
    int count;
    const struct pod *pod = find_pod(fleet_snapshot(fleet, host), node, &count);
    const char *name = pod ? pod_slurm_node(pod) : NULL;
    const struct snapshot *slurm = host->slurm ? fleet_snapshot(fleet, host->slurm) : NULL;
    const struct node *there = slurm && name ? map_get(slurm->nodes, name) : NULL;

    return !pod        ? NULL
           : !slurm    ? "drain them in Slurm"
           : count > 1 ? "several run on one node"
           : !name     ? "their names in Slurm are not known"
           : !slurm->is_known || slurm->nodes_seen_ms < since_ms ? "Slurm does not answer"
           : !there                                              ? "Slurm does not list them"
           : there->is_unschedulable ? "they are drained in Slurm by others"
                                     : NULL;
}

/* The node of an effect on the tenant's cluster: a job's name has a slash. */
static const char *name_of_effects(const struct runner *runner, const struct transfer *transfer)
{
    const struct side *side = side_of(runner, transfer->source->cluster->slurm);
    void *value;

    for (size_t i = 0; map_next(transfer->effects, &i, NULL, &value);) {
        const struct effect *effect = value;

        for (size_t k = 0; side->effects[k] && effect->kind->first < STEP_ACQUIRE; k++)
            if (side->effects[k] == effect->kind && !strchr(effect->name, '/'))
                return effect->name;
    }
    return NULL;
}

bool tenant_find(const struct runner *runner, const struct transfer *transfer, struct tenant *ret)
{
    const struct config_cluster *cluster = transfer->source->cluster->slurm;
    const char *asked = cluster ? name_of_effects(runner, transfer) : NULL;
    const char *name = asked;
    const struct pod *pod;
    int count;

    if (cluster && !asked) {
        pod = find_pod(side_origin_snapshot(runner, transfer), transfer->node, &count);
        name = pod && count == 1 ? pod_slurm_node(pod) : NULL;
    }
    if (!name || name[0] == '\0')
        return false;
    *ret = (struct tenant){ cluster, name, asked != NULL };
    return true;
}

bool tenant_is_elsewhere(const struct runner *runner, const struct transfer *transfer,
                         const struct tenant *tenant)
{
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);
    bool is_elsewhere = false;
    void *value;

    for (size_t i = 0; map_next(snapshot->pods, &i, NULL, &value);) {
        const struct pod *pod = value;

        if (!runs_slurmd(pod) || !text_equal(pod_slurm_node(pod), tenant->node))
            continue;
        if (text_equal(pod->node_name, transfer->node))
            return false;
        is_elsewhere |= pod->node_name[0] != '\0';
    }
    return is_elsewhere;
}

const struct side_origin *tenant_side(const struct runner *runner, const struct transfer *transfer)
{
    struct tenant tenant;

    return tenant_find(runner, transfer, &tenant) && !tenant_is_elsewhere(runner, transfer, &tenant)
               ? &side_of(runner, tenant.cluster)->origin
               : NULL;
}

const struct pod *tenant_stranger(const struct runner *runner, const struct transfer *transfer)
{
    struct tenant tenant = { 0 };
    bool is_known = tenant_find(runner, transfer, &tenant);
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(side_origin_snapshot(runner, transfer),
                                                     transfer->node, &count);

    for (size_t i = 0; i < count; i++)
        if (runs_slurmd(pods[i]) && pods[i]->deletion.ms == 0 &&
            !(is_known && text_equal(pod_slurm_node(pods[i]), tenant.node)))
            return pods[i];
    return NULL;
}
