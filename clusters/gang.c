/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See gang.h.  The order of the table is the rule: the outermost owner comes first.
 */
#include "clusters/gang.h"

#include "base/input/json.h"
#include "base/text.h"

enum place { LABEL, ANNOTATION, CONTROLLER };

/* One way to recognise a gang.  A row holds when the key is there (CONTROLLER: when the pod's
   controller is of that kind) and, with `when`, that label has that value.  The gang's name is
   the key's value (the controller's name), and `part`, another label, if one owner has several
   gangs. */
static const struct row {
    enum gang_kind kind;
    enum place place;
    const char *key;
    const char *part;
    const char *when;
    const char *is;
} rows[] = {
    { GANG_KUEUE_WORKLOAD, ANNOTATION, "kueue.x-k8s.io/workload", NULL, NULL, NULL },
    /* the Workload of a pod group has the group's name */
    { GANG_KUEUE_WORKLOAD, LABEL, "kueue.x-k8s.io/pod-group-name", NULL, NULL, NULL },
    { GANG_VOLCANO_GROUP, ANNOTATION, "scheduling.k8s.io/group-name", NULL, NULL, NULL },
    { GANG_VOLCANO_GROUP, ANNOTATION, "scheduling.volcano.sh/group-name", NULL, NULL, NULL },
    { GANG_KAI_GROUP, ANNOTATION, "pod-group-name", NULL, NULL, NULL },
    { GANG_SCHEDULER_GROUP, LABEL, "scheduling.x-k8s.io/pod-group", NULL, NULL, NULL },
    { GANG_SCHEDULER_GROUP, LABEL, "pod-group.scheduling.sigs.k8s.io/name", NULL, NULL, NULL },
    { GANG_RAY_CLUSTER, LABEL, "ray.io/cluster", NULL, NULL, NULL },
    { GANG_LEADER_WORKER_SET, LABEL, "leaderworkerset.sigs.k8s.io/name",
      "leaderworkerset.sigs.k8s.io/group-index", NULL, NULL },
    { GANG_JOB_SET, LABEL, "jobset.sigs.k8s.io/jobset-name", NULL, NULL, NULL },
    { GANG_MPI_JOB, LABEL, "training.kubeflow.org/job-name", NULL,
      "training.kubeflow.org/operator-name", "mpi-operator" },
    { GANG_MPI_JOB, LABEL, "training.kubeflow.org/job-name", NULL,
      "training.kubeflow.org/operator-name", "mpijob-controller" },
    { GANG_TRAINING_JOB, LABEL, "training.kubeflow.org/job-name", NULL, NULL, NULL },
    { GANG_ARGO_WORKFLOW, LABEL, "workflows.argoproj.io/workflow", NULL, NULL, NULL },
    { GANG_JOB, LABEL, "batch.kubernetes.io/job-name", NULL, NULL, NULL },
    { GANG_JOB, CONTROLLER, "Job", NULL, NULL, NULL },
    /* replicas of a server: one is lost without the others */
    { GANG_POD, CONTROLLER, "ReplicaSet", NULL, NULL, NULL },
    { GANG_POD, CONTROLLER, "ReplicationController", NULL, NULL, NULL },
    { GANG_OWNER, CONTROLLER, NULL, NULL, NULL, NULL }, /* of any kind */
};

static const char *const kind_names[GANG_KIND_COUNT] = {
    [GANG_POD] = "Pod",
    [GANG_KUEUE_WORKLOAD] = "Kueue Workload",
    [GANG_VOLCANO_GROUP] = "Volcano PodGroup",
    [GANG_KAI_GROUP] = "KAI PodGroup",
    [GANG_SCHEDULER_GROUP] = "PodGroup",
    [GANG_RAY_CLUSTER] = "RayCluster",
    [GANG_LEADER_WORKER_SET] = "LeaderWorkerSet",
    [GANG_JOB_SET] = "JobSet",
    [GANG_MPI_JOB] = "MPIJob",
    [GANG_TRAINING_JOB] = "training job",
    [GANG_ARGO_WORKFLOW] = "Argo Workflow",
    [GANG_JOB] = "Job",
    [GANG_OWNER] = "owner",
    [GANG_SLURM_JOB] = "Slurm job",
};

static const json_t *controller_of(const json_t *metadata)
{
    size_t at;
    const json_t *owner;

    json_array_foreach(json_object_get(metadata, "ownerReferences"), at, owner) {
        if (json_is_true(json_object_get(owner, "controller")))
            return owner;
    }
    return NULL;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *chars = json_string_value(json_object_get(object, key));

    return chars && chars[0] != '\0' ? chars : NULL;
}

/* The name of the gang by this row; NULL: the row does not hold. */
static const char *name_by(const struct row *row, const json_t *metadata, const json_t *controller)
{
    const json_t *labels = json_object_get(metadata, "labels");

    if (row->when && !text_equal(text_at(labels, row->when), row->is))
        return NULL;
    switch (row->place) {
    case LABEL:
        return text_at(labels, row->key);
    case ANNOTATION:
        return text_at(json_object_get(metadata, "annotations"), row->key);
    case CONTROLLER:
        break;
    }
    if (row->key && !text_equal(text_at(controller, "kind"), row->key))
        return NULL;
    return text_at(controller, "name");
}

/* Autoscalers' own annotations that a pod should not be moved; "30m" and similar values count as
   yes. */
static bool is_protected(const json_t *annotations)
{
    const char *disrupt = text_at(annotations, "karpenter.sh/do-not-disrupt");

    return (disrupt && !text_equal(disrupt, "false")) ||
           text_equal(text_at(annotations, "cluster-autoscaler.kubernetes.io/safe-to-evict"),
                      "false");
}

json_t *gang_times(const json_t *annotations)
{
    const char *key;
    json_t *value;
    json_t *times = NULL;

    json_object_foreach((json_t *)(uintptr_t)annotations, key, value) {
        struct wall_time wall;
        struct error ignored;

        if (!json_is_string(value) ||
            wall_parse(json_string_value(value), false, &wall, &ignored) < 0)
            continue;
        times = times ?: json_object();
        json_put(times, key, json_text(json_string_value(value)));
    }
    return times;
}

/* The first row that holds; NULL: none. */
static const struct row *row_of(const json_t *metadata, const json_t *controller,
                                const char **ret_name)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        *ret_name = name_by(&rows[i], metadata, controller);
        if (*ret_name)
            return &rows[i];
    }
    return NULL;
}

static char *key_of(const struct row *row, const char *name, const json_t *metadata,
                    const json_t *controller)
{
    const char *namespace = text_at(metadata, "namespace") ?: "";
    const char *part = row && row->part ? text_at(json_object_get(metadata, "labels"), row->part)
                                        : NULL;

    if (!row || row->kind == GANG_POD)
        return text_format("%s/%s", namespace, text_at(metadata, "name") ?: "");
    if (row->kind == GANG_OWNER)
        return text_format("%s/%s/%s", namespace, text_at(controller, "kind") ?: "", name);
    return text_format("%s/%s%s%s", namespace, name, part ? "/" : "", part ?: "");
}

struct gang_ref gang_of_pod(const json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    const json_t *annotations = json_object_get(metadata, "annotations");
    const json_t *controller = controller_of(metadata);
    const char *name = NULL;
    const struct row *row = row_of(metadata, controller, &name);

    return (struct gang_ref){
        .kind = row ? row->kind : GANG_POD,
        .key = key_of(row, name, metadata, controller),
        .times = gang_times(annotations),
        .is_protected = is_protected(annotations),
    };
}

void gang_ref_clear(struct gang_ref *gang)
{
    mem_free(gang->key);
    json_decref(gang->times);
    *gang = (struct gang_ref){ 0 };
}

struct wall_time gang_time(const struct gang_ref *gang, const char *annotation)
{
    const char *chars = json_string_value(json_object_get(gang->times, annotation));
    struct wall_time wall = { 0 };
    struct error ignored;

    if (!chars || wall_parse(chars, false, &wall, &ignored) < 0)
        return (struct wall_time){ 0 };
    return wall;
}

const char *gang_kind_name(enum gang_kind kind)
{
    return kind_names[kind];
}
