/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler: waiting pods in order, each onto the fullest open node with room.  Jobs come
 * after, where room is left.
 */
#include "tools/simulator/model/model.h"

enum { PASS_MS = 500 };

struct kube_node *sim_scheduler_pick(const struct kube_cluster *cluster, int gpus)
{
    struct kube_node *best = NULL;
    void *value;

    for (size_t i = 0; map_next(cluster->nodes, &i, NULL, &value);) {
        struct kube_node *node = value;
        int left = node->gpus - node->gpus_used;

        if (node->is_open && left >= gpus && (!best || left < best->gpus - best->gpus_used))
            best = node;
    }
    return best;
}

void sim_schedule_now(struct simulator *sim, struct kube_cluster *cluster)
{
    int hopeless = 1 << 20; /* fewest GPUs for which there was no room in this pass */

    for (size_t i = 0; i < cluster->waiting.count;) {
        struct kube_pod *pod = cluster->waiting.items[i];
        struct kube_node *node = pod->gpus < hopeless ? sim_scheduler_pick(cluster, pod->gpus)
                                                      : NULL;

        if (node) {
            sim_pod_bind(sim, pod, node);
            continue;
        }
        if (pod->gpus < hopeless)
            hopeless = pod->gpus;
        i++;
    }
    if (!cluster->plan->is_production)
        sim_jobs_place(sim, cluster);
}

static void pass(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_cluster *cluster = &sim->clusters[stamp];

    (void)actor;
    cluster->is_scheduling = false;
    sim_schedule_now(sim, cluster);
}

void sim_schedule_soon(struct simulator *sim, struct kube_cluster *cluster)
{
    if (cluster->is_scheduling || !sim->is_started)
        return;
    cluster->is_scheduling = true;
    sim_after(sim, PASS_MS, pass, &sim->actor, cluster->index);
}
