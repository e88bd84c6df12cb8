/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The controller of LeaderWorkerSets: spec.replicas groups, each of leaderWorkerTemplate.size pods
 * of its workerTemplate, made at once.  A group that has lost a pod is made again as a whole
 * (RecreateGroupOnPodRestart): its other pods are told to stop first.  The highest indexes go
 * first.
 */
#include "tools/simulator/kube/kube_gangs.h"
#include "tools/simulator/model/model.h"

#include <inttypes.h>
#include <string.h>

#define LABEL "leaderworkerset.sigs.k8s.io/"

enum { GROUPS_MAX = 256 };

/* The pods of one LeaderWorkerSet, by group. */
struct groups {
    int64_t size;
    int64_t wanted;
    int64_t there[GROUPS_MAX]; /* pods, those that stop too */
    int64_t leaving[GROUPS_MAX];
    ARRAY(struct kube_pod *) pods;
};

/* -1: the pod is of no group of the object. */
static int64_t group_of(const struct kube_pod *pod, const json_t *object)
{
    const json_t *metadata = json_object_get(pod->written, "metadata");
    const json_t *owner = json_array_get(json_object_get(metadata, "ownerReferences"), 0);
    const char *index = sim_pod_label(pod, LABEL "group-index");
    long long group;

    if (!index ||
        !text_equal(json_text_or(owner, "uid", ""), json_text_or(object, "metadata/uid", "?")))
        return -1;
    return text_to_int(index, 0, GROUPS_MAX - 1, &group) ? group : -1;
}

static void count(struct groups *groups, const struct kube_cluster *cluster, const json_t *object)
{
    void *value;

    *groups = (struct groups){
        .size = json_int_or(object, "spec/leaderWorkerTemplate/size", 1),
        .wanted = json_int_or(object, "spec/replicas", 1),
    };
    for (size_t i = 0; map_next(cluster->pods, &i, NULL, &value);) {
        struct kube_pod *pod = value;
        int64_t group = pod->written ? group_of(pod, object) : -1;

        if (group < 0)
            continue;
        groups->there[group]++;
        groups->leaving[group] += pod->deletion_ms > 0;
        *array_add(&groups->pods) = pod;
    }
}

/* Groups with a pod: terminating ones count, as in a StatefulSet's status. */
static void write_status(const struct groups *groups, json_t *object)
{
    int there = 0;

    for (size_t i = 0; i < GROUPS_MAX; i++)
        there += groups->there[i] > 0;
    json_object_set_new(object, "status",
                        json_make("{s:i, s:i}", "replicas", there, "updatedReplicas", there));
}

static void start_worker(struct simulator *sim, struct kube_cluster *cluster, const json_t *object,
                         int group, int worker)
{
    const char *set = json_text_or(object, "metadata/name", "");
    json_t *pod = json_deep_copy(json_at(object, "spec/leaderWorkerTemplate/workerTemplate"));
    json_t *metadata = json_object();
    owned(chars) char *name = worker == 0 ? text_format("%.40s-%d", set, group)
                                          : text_format("%.40s-%d-%d", set, group, worker);
    owned(chars) char *index = text_format("%d", group);
    owned(chars) char *number = text_format("%d", worker);

    json_object_set_new(metadata, "namespace",
                        json_string(json_text_or(object, "metadata/namespace", "default")));
    json_object_set_new(metadata, "labels",
                        json_make("{s:s, s:s, s:s}", LABEL "name", set, LABEL "group-index", index,
                                  LABEL "worker-index", number));
    json_object_set_new(metadata, "ownerReferences",
                        json_make("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion",
                                  "leaderworkerset.x-k8s.io/v1", "kind", "LeaderWorkerSet", "name",
                                  set, "uid", json_text_or(object, "metadata/uid", ""),
                                  "controller", true));
    json_object_set_new(pod, "metadata", metadata);
    sim_gang_pod(sim, cluster, name, pod);
}

void sim_leader_workers_review(struct simulator *sim, struct kube_cluster *cluster, json_t *object)
{
    struct groups groups;

    count(&groups, cluster, object);
    for (size_t i = 0; i < groups.pods.count; i++) {
        struct kube_pod *pod = groups.pods.items[i];
        int64_t group = group_of(pod, object);
        bool is_whole = groups.there[group] == groups.size && groups.leaving[group] == 0;

        if (pod->deletion_ms == 0 && (group >= groups.wanted || !is_whole))
            sim_pod_terminate(sim, pod, -1);
    }
    array_clear(&groups.pods);
    for (int group = 0; group < groups.wanted && group < GROUPS_MAX; group++)
        for (int worker = 0; groups.there[group] == 0 && worker < groups.size; worker++)
            start_worker(sim, cluster, object, group, worker);
    count(&groups, cluster, object);
    array_clear(&groups.pods);
    write_status(&groups, object);
}
