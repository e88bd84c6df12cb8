/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The controllers behind objects that own gangs (JobSets, training jobs, Jobs, Workflows): as many
 * pods as spec.parallelism says, of spec.template, whatever the kind's own form would be.  One that
 * is suspended has none: they are deleted with their own grace; a Workflow's stay to their end.  A
 * Kueue Workload that is not active suspends the object that owns it, and starts it again when it
 * is.
 */
#include "tools/simulator/kube/kube_gangs.h"

#include "tools/simulator/model/model.h"

#include <string.h>

enum { CONTROLLER_MS = 500 };

static bool is_suspended(const json_t *object)
{
    return json_bool_or(object, "spec/suspend", false) ||
           json_bool_or(object, "spec/runPolicy/suspend", false);
}

static const char *owner_uid(const json_t *metadata)
{
    return json_text_or(json_array_get(json_object_get(metadata, "ownerReferences"), 0), "uid", "");
}

/* The pod of the object's template, as a client would have posted it. */
static json_t *pod_of(const json_t *object)
{
    const json_t *own = json_object_get(object, "metadata");
    json_t *pod = json_deep_copy(json_at(object, "spec/template"));
    json_t *metadata = json_object_get(pod, "metadata");

    json_object_set_new(metadata, "namespace",
                        json_string(json_text_or(own, "namespace", "default")));
    json_object_set_new(metadata, "ownerReferences",
                        json_make("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion",
                                  json_text_or(object, "apiVersion", "batch/v1"), "kind",
                                  json_text_or(object, "kind", "Job"), "name",
                                  json_text_or(own, "name", ""), "uid",
                                  json_text_or(own, "uid", ""), "controller", true));
    return pod;
}

static int gpus_of(const json_t *pod)
{
    const json_t *container = json_array_get(json_at(pod, "spec/containers"), 0);
    const json_t *limits = json_at(container, "resources/limits");
    long long gpus = 0;

    if (!text_to_int(json_string_value(json_object_get(limits, SIM_GPU)) ?: "", 0, 1024, &gpus))
        return 0;
    return (int)gpus;
}

void sim_gang_pod(struct simulator *sim, struct kube_cluster *cluster, const char *name,
                  json_t *written)
{
    struct kube_pod *pod = sim_pod_new(sim, cluster,
                                       json_text_or(written, "metadata/namespace", ""), name);

    pod->written = written;
    pod->grace_s = json_int_or(pod->written, "spec/terminationGracePeriodSeconds", 30);
    pod->gpus = gpus_of(pod->written);
    sim_pod_changed(sim, pod, CHANGE_ADDED);
    sim_schedule_soon(sim, cluster);
}

static void start_pod(struct simulator *sim, struct kube_cluster *cluster, const json_t *object)
{
    char name[SIM_NAME_SIZE], tail[6];

    random_hex(&sim->names, tail, sizeof tail);
    snprintf(name, sizeof name, "%.40s-%s", json_text_or(object, "metadata/name", ""), tail);
    sim_gang_pod(sim, cluster, name, pod_of(object));
}

static void review_owner(struct simulator *sim, struct kube_cluster *cluster, const char *path,
                         const json_t *object)
{
    bool is_stopped = is_suspended(object);
    int64_t missing = json_int_or(object, "spec/parallelism", 1);
    ARRAY(struct kube_pod *) leaving = { 0 };
    void *value;

    for (size_t i = 0; map_next(cluster->pods, &i, NULL, &value);) {
        struct kube_pod *pod = value;

        if (!pod->written || !text_equal(owner_uid(json_object_get(pod->written, "metadata")),
                                         json_text_or(object, "metadata/uid", "")))
            continue;
        missing--;
        if (is_stopped && !strstr(path, "/workflows/") && pod->deletion_ms == 0)
            *array_add(&leaving) = pod;
    }
    for (size_t i = 0; i < leaving.count; i++)
        sim_pod_terminate(sim, leaving.items[i], -1);
    array_clear(&leaving);
    for (; !is_stopped && missing > 0; missing--)
        start_pod(sim, cluster, object);
}

/* The object of that UID is suspended or not, as the Workload wants it. */
static void review_workload(struct simulator *sim, struct kube_cluster *cluster,
                            const json_t *workload)
{
    const char *uid = owner_uid(json_object_get(workload, "metadata"));
    bool is_active = json_bool_or(workload, "spec/active", true);
    void *value;

    for (size_t i = 0; map_next(cluster->objects, &i, NULL, &value);) {
        json_t *object = value;

        if (!text_equal(json_text_or(object, "metadata/uid", ""), uid) ||
            is_suspended(object) == !is_active)
            continue;
        json_object_set_new(json_object_get(object, "spec"), "suspend", json_boolean(!is_active));
        sim_gangs_soon(sim, cluster);
    }
}

static void review(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_cluster *cluster = &sim->clusters[stamp];
    const char *path;
    void *value;

    (void)actor;
    cluster->is_reviewing = false;
    for (size_t i = 0; map_next(cluster->objects, &i, &path, &value);) {
        json_t *object = value;

        if (strstr(path, "/workloads/"))
            review_workload(sim, cluster, object);
        else if (json_at(object, "spec/leaderWorkerTemplate/workerTemplate/spec"))
            sim_leader_workers_review(sim, cluster, object);
        else if (json_at(object, "spec/template/spec"))
            review_owner(sim, cluster, path, object);
    }
}

void sim_gangs_soon(struct simulator *sim, struct kube_cluster *cluster)
{
    if (cluster->is_reviewing || map_count(cluster->objects) == 0)
        return;
    cluster->is_reviewing = true;
    sim_after(sim, CONTROLLER_MS, review, &sim->actor, cluster->index);
}
