/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * slurmd as a pod of a Kubernetes cluster: a dynamic node that lives as long as the pod's process.
 * Its record stays when the pod goes, and a pod that comes later under its name takes it.
 *   S6  such a pod is asked to leave, and its machine goes, only when its node drains and no job is
 *       on it
 */
#include "tools/simulator/slurm/ctld.h"

void sim_slurm_lodge(struct simulator *sim, struct ctld *slurm, struct kube_pod *pod,
                     const char *name)
{
    struct ctld_node *node = map_get(slurm->nodes, name)
                                 ?: ctld_node_new(slurm, name, CTLD_DYNAMIC);

    require(!pod->slurm_node);
    pod->slurm_node = node;
    node->pod = pod;
    node->stamp++;
    node->joins++;
    node->is_alive = node->is_movable = node->is_lodged = node->has_gpus = true;
    node->boot_ms = node->slurmd_ms = sim_now(sim) + 1;
    node->gpus = 8;
    sim_slurm_registers_soon(node);
}

static void falls_silent(struct ctld_node *node)
{
    node->is_alive = false;
    node->stamp++;
    sim_slurm_silence(node);
}

void sim_slurm_pod_gone(struct kube_pod *pod)
{
    struct ctld_node *node = pod->slurm_node;

    if (!node)
        return;
    pod->slurm_node = NULL;
    node->pod = NULL;
    if (node->is_alive)
        falls_silent(node);
}

void sim_slurm_pods_die(const struct kube_node *node)
{
    for (size_t i = 0; node && i < node->pods.count; i++) {
        struct ctld_node *lodged = node->pods.items[i]->slurm_node;

        if (lodged && lodged->is_alive)
            falls_silent(lodged);
    }
}

void sim_slurm_judge_pod(struct simulator *sim, const char *verb, const struct kube_pod *pod)
{
    const struct ctld_node *node = pod->slurm_node;
    const struct ctld *slurm = node ? node->slurm : NULL;

    if (!node || !node->is_alive)
        return;
    if (!(node->flags & CTLD_DRAIN))
        referee_report(sim, "S6", "%s of pod %s, whose node %s does not drain", verb, pod->name,
                       node->name);
    for (size_t i = 0; i < slurm->jobs.count; i++)
        if (ctld_job_is_on(slurm->jobs.items[i], node))
            referee_report(sim, "S6", "%s of pod %s while job %d is on it", verb, pod->name,
                           slurm->jobs.items[i]->id);
}
