/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurmd.h.
 */
#include "broker/sides/kube/slurmd.h"

#include "base/text.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/tenant.h"

/* How old the last list of the tenant's jobs may be when its pod is asked to leave. */
enum { LOOK_MS = 10 * SECOND_MS };

/* The tenant's node as its cluster shows it; NULL: it does not. */
static const struct node *tenant_node(const struct runner *runner, const struct transfer *transfer)
{
    struct tenant tenant;

    return tenant_find(runner, transfer, &tenant)
               ? map_get(fleet_snapshot(runner->fleet, tenant.cluster)->nodes, tenant.node)
               : NULL;
}

enum verdict slurmd_is_known(struct runner *runner, struct transfer *transfer)
{
    const struct pod *pod = tenant_stranger(runner, transfer);

    if (!pod)
        return STEP_DONE;
    transfer_wait_for(transfer,
                      "node %s runs slurmd (%s): pod %.100s/%.100s has to be drained in Slurm",
                      transfer->node, pod_slurm_tool(pod), pod->namespace, pod->name);
    return STEP_UNDO;
}

enum verdict slurmd_check(struct runner *runner, struct transfer *transfer)
{
    const struct side_origin *tenant = tenant_side(runner, transfer);

    return tenant ? tenant->check(runner, transfer) : STEP_DONE;
}

bool slurmd_is_told(struct runner *runner, struct transfer *transfer)
{
    const struct side_origin *tenant = tenant_side(runner, transfer);
    const struct node *node = tenant ? tenant_node(runner, transfer) : NULL;

    if (!tenant || (node && side_is_told(node, transfer)))
        return true;
    if (node)
        tenant->announce(runner, transfer, node);
    return false;
}

enum verdict slurmd_close(struct runner *runner, struct transfer *transfer)
{
    const struct side_origin *tenant = tenant_side(runner, transfer);

    return tenant ? tenant->close(runner, transfer) : STEP_DONE;
}

enum verdict slurmd_empty(struct runner *runner, struct transfer *transfer)
{
    const struct side_origin *tenant = tenant_side(runner, transfer);

    return tenant ? tenant->empty(runner, transfer) : STEP_DONE;
}

enum verdict slurmd_force(struct runner *runner, struct transfer *transfer)
{
    const struct side_origin *tenant = tenant_side(runner, transfer);

    return tenant ? tenant->force(runner, transfer) : STEP_DONE;
}

enum verdict slurmd_may_remove(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    const struct side_origin *tenant = tenant_side(runner, transfer);

    return tenant ? tenant->may_remove(runner, transfer, since_ms) : STEP_DONE;
}

bool slurmd_is_in_use(const struct runner *runner, const struct transfer *transfer,
                      int64_t asked_ms)
{
    const struct side_origin *tenant = tenant_side(runner, transfer);

    return tenant && tenant->is_in_use(runner, transfer, asked_ms);
}

/* Wherever its pod is now.  Nothing of ours is left on a tenant that was asked for nothing. */
enum verdict slurmd_clear(struct runner *runner, struct transfer *transfer)
{
    struct tenant tenant;

    return tenant_find(runner, transfer, &tenant) && tenant.is_asked
               ? side_of(runner, tenant.cluster)->origin.clear(runner, transfer)
               : STEP_DONE;
}

enum verdict slurmd_undo(struct runner *runner, struct transfer *transfer)
{
    struct tenant tenant;

    return tenant_find(runner, transfer, &tenant)
               ? side_of(runner, tenant.cluster)->origin.undo(runner, transfer)
               : STEP_DONE;
}

bool slurmd_may_go(struct runner *runner, struct transfer *transfer, const struct pod *pod)
{
    int64_t look_ms = loop_now(runner->world->loop) - LOOK_MS;
    int64_t since_ms = look_ms > transfer->step_began_ms ? look_ms : transfer->step_began_ms;
    struct tenant tenant;

    if (!tenant_find(runner, transfer, &tenant) || !text_equal(pod_slurm_node(pod), tenant.node)) {
        transfer_wait_for(transfer,
                          "pod %.100s/%.100s is a node of a Slurm cluster: %s removes it, and has "
                          "not ended yet",
                          pod->namespace, pod->name, pod_slurm_tool(pod));
        return false;
    }
    if (!tenant_node(runner, transfer)) {
        transfer_wait_for(transfer, "pod %.100s/%.100s, as Slurm does not list its node %s",
                          pod->namespace, pod->name, tenant.node);
        return false;
    }
    return side_of(runner, tenant.cluster)->origin.may_remove(runner, transfer, since_ms) ==
           STEP_DONE;
}

bool slurmd_is_idle(const struct runner *runner, const struct transfer *transfer)
{
    struct tenant tenant;
    const struct snapshot *snapshot;
    const struct node *node = tenant_node(runner, transfer);
    size_t jobs;

    if (!node || !tenant_find(runner, transfer, &tenant))
        return false;
    snapshot = fleet_snapshot(runner->fleet, tenant.cluster);
    (void)snapshot_pods_on(snapshot, tenant.node, &jobs);
    return node->is_unschedulable && jobs == 0;
}
