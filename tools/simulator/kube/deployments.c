/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The controllers of Deployments and of the one DaemonSet: as many pods as asked for, replaced as
 * soon as they are told to leave.
 */
#include "tools/simulator/kube/deployments.h"

#include "tools/simulator/model/model.h"

static void pod_name(struct simulator *sim, const char *stem, char out[SIM_NAME_SIZE + 16])
{
    char tail[6];

    random_hex(&sim->names, tail, sizeof tail);
    snprintf(out, SIM_NAME_SIZE + 16, "%.56s-%s", stem, tail);
}

/* The ReplicaSet's UID is not drawn: the draws of a run stay what they are. */
static struct deployment *add(struct simulator *sim, struct kube_cluster *cluster,
                              const struct scenario_workload *plan)
{
    struct deployment *deployment = mem_new(sizeof *deployment);

    deployment->plan = plan;
    deployment->cluster = cluster;
    deployment->version = ++cluster->version;
    sim_uuid(sim, deployment->uid);
    random_hex(&sim->names, deployment->hash, sizeof deployment->hash);
    text_copy(deployment->set_uid, sizeof deployment->set_uid, deployment->uid);
    deployment->set_uid[0] = deployment->uid[0] == 'e' ? 'f' : 'e';
    *array_add(&cluster->deployments) = deployment;
    return deployment;
}

void sim_deployments_new(struct simulator *sim, struct kube_cluster *cluster)
{
    for (size_t i = 0; i < sim->scenario->workloads.count; i++) {
        const struct scenario_workload *plan = &sim->scenario->workloads.items[i];

        if (plan->replicas[cluster->index] < 0)
            continue;

        struct deployment *deployment = add(sim, cluster, plan);

        deployment->replicas = plan->replicas[cluster->index];
        sim_deployment_reconcile(sim, deployment);
    }
}

struct deployment *sim_deployment_post(struct simulator *sim, struct kube_cluster *cluster,
                                       struct scenario_workload *plan, json_t *written)
{
    struct deployment *deployment = add(sim, cluster, plan);

    deployment->own = plan;
    deployment->written = written;
    deployment->replicas = (int)json_int_or(written, "spec/replicas", 1);
    sim_deployment_reconcile(sim, deployment);
    return deployment;
}

void sim_deployments_clear(struct kube_cluster *cluster)
{
    for (size_t i = 0; i < cluster->deployments.count; i++) {
        struct deployment *deployment = cluster->deployments.items[i];

        array_clear(&deployment->pods);
        json_decref(deployment->written);
        if (deployment->own) {
            mem_free((char *)(uintptr_t)deployment->own->name);
            mem_free((char *)(uintptr_t)deployment->own->namespace);
            mem_free(deployment->own);
        }
        mem_free(deployment);
    }
    array_clear(&cluster->deployments);
}

struct deployment *sim_deployment_find(struct kube_cluster *cluster, const char *namespace,
                                       const char *name)
{
    for (size_t i = 0; i < cluster->deployments.count; i++) {
        struct deployment *deployment = cluster->deployments.items[i];

        if (!deployment->is_deleted && text_equal(deployment->plan->namespace, namespace) &&
            text_equal(deployment->plan->name, name))
            return deployment;
    }
    return NULL;
}

/* The pod to give up first: one that waits, then one that is not ready, then the youngest. */
static struct kube_pod *least_useful(const struct deployment *deployment)
{
    struct kube_pod *worst = NULL;
    int worst_rank = -1;

    for (size_t i = 0; i < deployment->pods.count; i++) {
        struct kube_pod *pod = deployment->pods.items[i];
        int rank = !pod->node_name[0] ? 2 : !pod->is_ready ? 1 : 0;

        if (pod->deletion_ms || rank < worst_rank)
            continue;
        worst = pod;
        worst_rank = rank;
    }
    return worst;
}

int sim_deployment_staying(const struct deployment *deployment)
{
    int count = 0;

    for (size_t i = 0; i < deployment->pods.count; i++)
        count += deployment->pods.items[i]->deletion_ms == 0;
    return count;
}

/* What a pod of a posted Deployment is made from; NULL: the simulator's own form. */
static json_t *template_of(const struct deployment *deployment)
{
    const json_t *posted = json_at(deployment->written, "spec/template");
    owned(chars) char *set = text_format("%s-%s", deployment->plan->name, deployment->hash);
    json_t *written, *metadata;

    if (!deployment->own || !posted)
        return NULL;
    written = json_deep_copy(posted);
    metadata = json_object_get(written, "metadata");
    json_object_set_new(json_object_get(metadata, "labels"), "pod-template-hash",
                        json_string(deployment->hash));
    json_object_set_new(metadata, "ownerReferences",
                        json_make("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", "apps/v1",
                                  "kind", "ReplicaSet", "name", set, "uid", deployment->set_uid,
                                  "controller", 1, "blockOwnerDeletion", 1));
    return written;
}

void sim_deployment_reconcile(struct simulator *sim, struct deployment *deployment)
{
    struct kube_cluster *cluster = deployment->cluster;
    int count = sim_deployment_staying(deployment);

    if (deployment->is_stalled)
        return;
    for (; count < deployment->replicas; count++) {
        char stem[SIM_NAME_SIZE], name[SIM_NAME_SIZE + 16];

        snprintf(stem, sizeof stem, "%.48s-%s", deployment->plan->name, deployment->hash);
        pod_name(sim, stem, name);

        struct kube_pod *pod = sim_pod_new(sim, cluster, deployment->plan->namespace, name);

        pod->deployment = deployment;
        pod->gpus = deployment->plan->gpus;
        pod->written = template_of(deployment);
        *array_add(&deployment->pods) = pod;
        sim_pod_changed(sim, pod, CHANGE_ADDED);
        sim_schedule_soon(sim, cluster);
    }
    if (count > deployment->replicas)
        sim_pod_terminate(sim, least_useful(deployment), -1); /* comes back here */
}

/* One pod per node that tolerates everything and does no work: it must never delay a drain. */
void sim_daemon_start(struct simulator *sim, struct kube_node *node)
{
    char name[SIM_NAME_SIZE + 16];

    for (size_t i = 0; i < node->pods.count; i++)
        if (!node->pods.items[i]->job && !node->pods.items[i]->deployment &&
            !node->pods.items[i]->written)
            return;
    pod_name(sim, SIM_DAEMON, name);

    struct kube_pod *pod = sim_pod_new(sim, node->cluster, "kube-system", name);

    sim_pod_changed(sim, pod, CHANGE_ADDED);
    sim_pod_bind(sim, pod, node);
    if (!sim->is_started)
        sim_pod_run(sim, pod);
}
