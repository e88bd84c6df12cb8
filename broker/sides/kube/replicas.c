/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the replicas of a workload are kept: in the object that runs it, or in the autoscaler that
 * owns them.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/sides/kube/kube_side.h"
#include "broker/transfer/runner.h"
#include "clusters/accelerators.h"
#include "clusters/field_manager.h"
#include "clusters/kube_verbs.h"

#include <string.h>

#define AUTOSCALING "autoscaling/v2"

/* Where the number is, by what the workload keeps. */
static const struct way {
    const char *kind;
    const char *group; /* and its version, which is replaced by the server's */
    const char *plural;
    const char *value; /* path in the object */
    const char *key;   /* its last part */
    int64_t absent;    /* what a missing value means */
    const char *below; /* the subresource that is written; "": the object itself */
} ways[] = {
    { "Deployment", "apps/v1", "deployments", "spec/replicas", "replicas", 1, "/scale" },
    { "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets", "spec/replicas",
      "replicas", 1, "/scale" },
    { "HorizontalPodAutoscaler", AUTOSCALING, "horizontalpodautoscalers", "spec/minReplicas",
      "minReplicas", 1, "" },
    { "ScaledObject", "keda.sh/v1alpha1", "scaledobjects", "spec/minReplicaCount",
      "minReplicaCount", 0, "" },
};

enum { WAY_DEPLOYMENT, WAY_LEADER_WORKER_SET, WAY_HPA, WAY_KEDA, WAY_COUNT };

static int way_index(const struct config_workload *workload)
{
    switch (workload->keeps) {
    case KEEPS_HPA:
        return WAY_HPA;
    case KEEPS_KEDA:
        return WAY_KEDA;
    case KEEPS_REPLICAS:
        break;
    }
    return workload->is_leader_worker_set ? WAY_LEADER_WORKER_SET : WAY_DEPLOYMENT;
}

static const char *object_of(const struct config_workload *workload)
{
    return workload->keeps != KEEPS_REPLICAS && workload->autoscaler ? workload->autoscaler
                                                                     : workload->name;
}

/* Names in Kubernetes need no escapes. */
static char *path_of(const struct config_workload *workload, const char *below)
{
    const struct way *way = &ways[way_index(workload)];

    return text_format("/apis/%s/namespaces/%s/%s/%s%s", way->group, workload->namespace,
                       way->plural, object_of(workload), below);
}

static struct cluster *cluster_of(const struct side_holder *holder)
{
    return fleet_cluster(holder->runner->fleet, holder->cluster);
}

static void read_object(const struct side_holder *holder, side_done_fn done, void *context)
{
    owned(chars) char *path = path_of(holder->of, "");

    cluster_read_at(cluster_of(holder), path, done, context);
}

/* Adds the requests of so many pods of a template, in parts of a GPU.  False: unknown, because they
   use claims of devices, or a resource without a row. */
static bool add_gpus(const json_t *template, int64_t pods, int64_t *parts)
{
    static const struct gpu_facts plain = { 0 };
    const json_t *container;
    const char *resource;
    const json_t *count;
    size_t i;

    if (json_array_size(json_at(template, "spec/resourceClaims")) > 0)
        return false;
    json_array_foreach(json_at(template, "spec/containers"), i, container) {
        json_object_foreach((json_t *)json_at(container, "resources/limits"), resource, count) {
            struct gpu_share share = accelerator_share(NULL, resource, &plain);
            long long units = json_integer_value(count);

            if (share.kind == GPU_SHARE_NONE)
                continue;
            if (share.kind == GPU_SHARE_UNKNOWN ||
                (json_is_string(count) && !text_to_int(json_string_value(count), 0, 1024, &units)))
                return false;
            *parts += pods * units * share.parts;
        }
    }
    return true;
}

/* A group whose GPUs differ from the plan's would need other nodes than it gets. */
static int check_group(const struct config_workload *workload, const json_t *object,
                       struct error *err)
{
    const json_t *template = json_at(object, "spec/leaderWorkerTemplate");
    const json_t *leader = json_object_get(template, "leaderTemplate");
    int64_t size = json_int_or(template, "size", 1);
    int64_t parts = 0;

    require(workload->is_leader_worker_set && workload->gpus > 0);
    if (!add_gpus(json_object_get(template, "workerTemplate"), leader ? size - 1 : size, &parts) ||
        !add_gpus(leader, 1, &parts) || parts == 0 || parts == workload->gpus * GPU_PARTS)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "LeaderWorkerSet %s/%s: the %lld pods of a group ask for %lld GPUs, and "
                     "workload %s has gpus: %lld: correct one of the two",
                     workload->namespace, object_of(workload), (long long)size,
                     (long long)gpu_parts_whole(parts), workload->name, (long long)workload->gpus);
}

/* A server that does not know its kind (one without KEDA) has no such object either. */
static int decode(const void *of, const json_t *object, const struct error *failure,
                  int64_t *ret_value, struct error *err)
{
    const struct config_workload *workload = of;
    const struct way *way = &ways[way_index(workload)];

    if (failure && (failure->kind == ERROR_NOT_FOUND || cluster_serves_none(failure)))
        return error_set(err, ERROR_NOT_FOUND, "there is no %s %s/%s", way->kind,
                         workload->namespace, object_of(workload));
    if (failure) {
        *err = *failure;
        return -1;
    }
    if (way == &ways[WAY_LEADER_WORKER_SET] && check_group(workload, object, err) < 0)
        return -1;
    *ret_value = way->absent;
    return json_find_int(object, way->value, ret_value, err);
}

static void write_object(const struct side_holder *holder, const json_t *object, int64_t value,
                         side_done_fn done, void *context)
{
    const struct way *way = &ways[way_index(holder->of)];
    owned(chars) char *path = path_of(holder->of, way->below);
    owned(json) json_t *patch = json_make("{s:{s:I}}", "spec", way->key, (json_int_t)value);

    (void)object;
    cluster_patch_at(cluster_of(holder), path, patch, done, context);
}

/* The autoscaler whose target this workload is, if there is one. */
static const json_t *autoscaler_of(const struct config_workload *workload, const json_t *list)
{
    const char *kind = ways[way_index(workload)].kind;
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(list, "items"), i, item) {
        const json_t *target = json_at(item, "spec/scaleTargetRef");

        if (text_equal(json_text_or(target, "kind", ""), kind) &&
            text_equal(json_text_or(target, "name", ""), workload->name))
            return item;
    }
    return NULL;
}

static char *objection(const void *of, const json_t *body, const struct error *err)
{
    const struct config_workload *workload = of;
    const json_t *found = body ? autoscaler_of(workload, body) : NULL;
    const json_t *owner = json_array_get(json_at(found, "metadata/ownerReferences"), 0);
    bool is_keda = text_equal(json_text_or(owner, "kind", ""), "ScaledObject");
    char *why = NULL;

    if (found)
        why = text_format("%s %s scales %s: set keeps: %s and autoscaler: %s of workload %s, or "
                          "remove it",
                          is_keda ? "ScaledObject" : "HorizontalPodAutoscaler",
                          json_text_or(is_keda ? owner : json_at(found, "metadata"), "name", "?"),
                          workload->name, is_keda ? "keda" : "hpa",
                          json_text_or(is_keda ? owner : json_at(found, "metadata"), "name", "?"),
                          workload->name);
    else if (err && !cluster_lacks_group(err)) /* a server without autoscalers has none */
        why = text_format("whether an autoscaler scales %s: %s", workload->name, err->text);
    return why;
}

static void check_autoscalers(const struct side_holder *holder, side_done_fn done, void *context)
{
    const struct config_workload *workload = holder->of;
    owned(chars) char *path = text_format(
        "/apis/" AUTOSCALING "/namespaces/%s/horizontalpodautoscalers", workload->namespace);

    cluster_read_at(cluster_of(holder), path, done, context);
}

/* A rollout has surplus pods for a while, and is not waited for. */
static bool is_rolled_out(const json_t *object)
{
    return json_int_or(object, "status/updatedReplicas", 0) >=
           json_int_or(object, "status/replicas", 0);
}

/* Pods that were told to stop are not counted here, and not waited for. */
static bool is_down(const struct side_holder *holder, const json_t *object, int64_t wanted)
{
    (void)holder;
    return json_int_or(object, "status/replicas", 0) <= wanted || !is_rolled_out(object);
}

/* Whether the pod is of a group of the workload that will be removed: those with the highest
   indexes.  Its gang is NAMESPACE/NAME/INDEX. */
static bool is_of_extra_group(const struct config_workload *workload, const struct pod *pod,
                              int64_t wanted)
{
    owned(chars) char *stem = text_format("%s/%s/", workload->namespace, workload->name);
    long long index;

    return pod->gang.kind == GANG_LEADER_WORKER_SET && text_starts_with(pod->gang.key, stem) &&
           text_to_int(pod->gang.key + strlen(stem), 0, INT32_MAX, &index) && index >= wanted;
}

/* The status of a LeaderWorkerSet counts terminating pods, and a pod that never terminates would
   keep the nodes forever: so the pods are read. */
static bool groups_are_down(const struct side_holder *holder, const json_t *object, int64_t wanted)
{
    const struct snapshot *snapshot = fleet_snapshot(holder->runner->fleet, holder->cluster);
    void *value;

    for (size_t i = 0; is_rolled_out(object) && map_next(snapshot->pods, &i, NULL, &value);) {
        const struct pod *pod = value;

        if (pod->deletion.ms == 0 && pod_must_leave(pod) &&
            is_of_extra_group(holder->of, pod, wanted))
            return false;
    }
    return true;
}

static char *replicas_setter(const json_t *object)
{
    return field_manager_of(object, "f:spec/f:replicas");
}

static char *hpa_setter(const json_t *object)
{
    return field_manager_of(object, "f:spec/f:minReplicas");
}

static char *keda_setter(const json_t *object)
{
    return field_manager_of(object, "f:spec/f:minReplicaCount");
}

#define NUMBER .read = read_object, .decode = decode, .write = write_object
#define CHECKED .check = check_autoscalers, .objection = objection
static const struct side_number numbers[WAY_COUNT] = {
    [WAY_DEPLOYMENT] = { NUMBER, CHECKED, .setter = replicas_setter, .is_followed = is_down },
    [WAY_LEADER_WORKER_SET] = { NUMBER, CHECKED, .setter = replicas_setter,
                                .is_followed = groups_are_down },
    [WAY_HPA] = { NUMBER, .setter = hpa_setter, .least = 1 },
    [WAY_KEDA] = { NUMBER, .setter = keda_setter },
};

const struct side_number *kube_replicas(const struct config_workload *workload)
{
    return &numbers[way_index(workload)];
}
