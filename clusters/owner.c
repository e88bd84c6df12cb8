/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See owner.h.
 */
#include "clusters/owner.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"

#include <string.h>

/* How each kind is suspended.  A RayCluster has no suspension of its own: its head, and the state
   in it, would be lost, although a worker can be replaced.  It is here for the RayJob above it. */
static const struct kind {
    const char *group;
    const char *version;
    const char *kind;
    const char *plural;
    const char *part;   /* member of the spec that holds it; NULL: the spec itself */
    const char *member; /* NULL: it cannot be told */
    bool stops_with;
    bool deletes_pods;
} kinds[] = {
    { "kueue.x-k8s.io", "v1beta2", "Workload", "workloads", NULL, "active", false, true },
    { "jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", NULL, "suspend", true, true },
    { "trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs", NULL, "suspend", true, true },
    { "kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", "runPolicy", "suspend", true, true },
    { "kubeflow.org", "v1", "TFJob", "tfjobs", "runPolicy", "suspend", true, true },
    { "kubeflow.org", "v1", "XGBoostJob", "xgboostjobs", "runPolicy", "suspend", true, true },
    { "kubeflow.org", "v1", "PaddleJob", "paddlejobs", "runPolicy", "suspend", true, true },
    { "kubeflow.org", "v1", "JAXJob", "jaxjobs", "runPolicy", "suspend", true, true },
    { "kubeflow.org", "v2beta1", "MPIJob", "mpijobs", "runPolicy", "suspend", true, true },
    { "ray.io", "v1", "RayJob", "rayjobs", NULL, "suspend", true, true },
    { "ray.io", "v1", "RayCluster", "rayclusters", NULL, NULL, false, false },
    { "argoproj.io", "v1alpha1", "Workflow", "workflows", NULL, "suspend", true, false },
    { "batch", "v1", "Job", "jobs", NULL, "suspend", true, true },
};

/* A controller's condition for suspending its object.  The API server accepts the member in any
   case; KubeRay then marks the RayJob as invalid, leaves its pods, and does not reconcile it any
   more. */
static const struct condition {
    const char *kind;
    const char *needs; /* member of the spec that must be true */
    const char *lacks; /* one that must be empty */
} conditions[] = {
    { "RayJob", "shutdownAfterJobFinishes", "clusterSelector" },
};

enum { BACKOFF_LIMIT = 6 }; /* of a Job that says nothing */

enum place { LABEL, ANNOTATION };

/* The keys by which a pod names its owner; the outermost first.  The value is the owner's name. */
static const struct sign {
    enum place place;
    const char *key;
    const char *kind;
    const char *version; /* NULL: the kind's */
    const char *is;      /* the training operator that the pod names; NULL: any */
} signs[] = {
    { ANNOTATION, "kueue.x-k8s.io/workload", "Workload", NULL, NULL },
    { LABEL, "kueue.x-k8s.io/pod-group-name", "Workload", NULL, NULL },
    { LABEL, "jobset.sigs.k8s.io/jobset-name", "JobSet", NULL, NULL },
    { LABEL, "training.kubeflow.org/job-name", "PyTorchJob", NULL, "pytorchjob-controller" },
    { LABEL, "training.kubeflow.org/job-name", "TFJob", NULL, "tfjob-controller" },
    { LABEL, "training.kubeflow.org/job-name", "XGBoostJob", NULL, "xgboostjob-controller" },
    { LABEL, "training.kubeflow.org/job-name", "PaddleJob", NULL, "paddlejob-controller" },
    { LABEL, "training.kubeflow.org/job-name", "JAXJob", NULL, "jaxjob-controller" },
    { LABEL, "training.kubeflow.org/job-name", "MPIJob", "v1", "mpijob-controller" },
    { LABEL, "training.kubeflow.org/job-name", "MPIJob", NULL, "mpi-operator" },
    { LABEL, "ray.io/cluster", "RayCluster", NULL, NULL },
    { LABEL, "workflows.argoproj.io/workflow", "Workflow", NULL, NULL },
    { LABEL, "batch.kubernetes.io/job-name", "Job", NULL, NULL },
};

static const struct kind *kind_named(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (text_equal(kinds[i].kind, name))
            return &kinds[i];
    return NULL;
}

static char *path_of(const struct kind *kind, const char *version, const char *namespace,
                     const char *name)
{
    return url_format("/apis/%s/%s/namespaces/%s/%s/%s", kind->group, version ?: kind->version,
                      namespace, kind->plural, name);
}

/* The segments of a path that this file made: apis GROUP VERSION namespaces NAMESPACE PLURAL
   NAME. */
enum { AT_GROUP = 1, AT_NAMESPACE = 4, AT_PLURAL, AT_NAME, PATH_SEGMENTS };

static const struct kind *kind_of(const char *path, struct url_segments *ret_segments)
{
    *ret_segments = url_split(path);
    require(ret_segments->count == PATH_SEGMENTS);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (text_equal(kinds[i].group, ret_segments->items[AT_GROUP]) &&
            text_equal(kinds[i].plural, ret_segments->items[AT_PLURAL]))
            return &kinds[i];
    require(false); /* a kind of the table */
    return NULL;
}

static const struct kind *kind_at(const char *path)
{
    struct url_segments segments;
    const struct kind *kind = kind_of(path, &segments);

    url_segments_free(&segments);
    return kind;
}

/* The path of the object that a reference names, in the API version of the reference.  NULL: its
   kind is not in the table.  The group counts too: Volcano's Job is not the Job of batch. */
static char *path_of_reference(const char *version, const char *kind_name, const char *namespace,
                               const char *name)
{
    const struct kind *kind = kind_named(kind_name);
    size_t length = strcspn(version, "/");

    if (!kind || version[length] == '\0' || strncmp(kind->group, version, length) != 0 ||
        kind->group[length] != '\0')
        return NULL;
    return path_of(kind, version + length + 1, namespace, name);
}

char *owner_of_pod(const struct pod *pod)
{
    const char *operator= pod_label(pod, "training.kubeflow.org/operator-name");

    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        const struct sign *sign = &signs[i];
        const char *name = sign->place == LABEL ? pod_label(pod, sign->key)
                                                : pod_annotation(pod, sign->key);

        if (name && name[0] != '\0' && (!sign->is || text_equal(sign->is, operator)))
            return path_of(kind_named(sign->kind), sign->version, pod->namespace, name);
    }
    return path_of_reference(pod->owner_version, pod->owner_kind, pod->namespace, pod->owner_name);
}

char *owner_job_of_pod(const struct pod *pod)
{
    if (!text_equal(pod->owner_kind, "Job"))
        return NULL;
    return path_of_reference(pod->owner_version, pod->owner_kind, pod->namespace, pod->owner_name);
}

/* The Job's controller lifts the pod's finalizer once it has counted the pod. */
bool owner_counts_pod(const struct pod *pod)
{
    return pod_must_leave(pod) &&
           (pod->deletion.ms == 0 || strstr(pod->finalizers, POD_JOB_FINALIZER));
}

bool owner_is_queued(const struct pod *pod)
{
    return pod_annotation(pod, "kueue.x-k8s.io/workload") ||
           pod_label(pod, "kueue.x-k8s.io/pod-group-name") ||
           pod_label(pod, "kueue.x-k8s.io/podset") || pod_label(pod, "kueue.x-k8s.io/queue-name");
}

char *owner_name(const char *path)
{
    struct url_segments segments;
    const struct kind *kind = kind_of(path, &segments);
    char *name = text_format("%s %s/%s", kind->kind, segments.items[AT_NAMESPACE],
                             segments.items[AT_NAME]);

    url_segments_free(&segments);
    return name;
}

bool owner_deletes_pods(const char *path)
{
    return kind_at(path)->deletes_pods;
}

bool owner_is_workload(const char *path)
{
    return kind_at(path) == &kinds[0];
}

/* The object that holds the member; NULL if it is absent. */
static const json_t *part_of(const struct kind *kind, const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");

    return kind->part ? json_object_get(spec, kind->part) : spec;
}

/* Pods of a Job that are not numbered, and run side by side, do not need each other. */
static bool is_bag(const struct kind *kind, const json_t *object)
{
    return text_equal(kind->kind, "Job") && json_int_or(object, "spec/parallelism", 1) > 1 &&
           !text_equal(json_text_or(object, "spec/completionMode", ""), "Indexed");
}

/* The action of the Job's own rules for an evicted pod: the first matching rule counts; "":
   none. */
static const char *rule_of_disruption(const json_t *job)
{
    const json_t *rule;
    const json_t *condition;
    size_t i;
    size_t k;

    json_array_foreach(json_at(job, "spec/podFailurePolicy/rules"), i, rule) {
        json_array_foreach(json_object_get(rule, "onPodConditions"), k, condition) {
            if (text_equal(json_text_or(condition, "type", ""), "DisruptionTarget") &&
                text_equal(json_text_or(condition, "status", "True"), "True"))
                return json_text_or(rule, "action", "");
        }
    }
    return "";
}

/* A Job counts an evicted pod as failed, and fails with all its pods when the limit is exceeded.
   For a limit per index the failures of the whole Job are used, which are no fewer. */
static int64_t spare_of(const struct kind *kind, const json_t *object)
{
    const char *rule = rule_of_disruption(object);
    int64_t per_index = json_int_or(object, "spec/backoffLimitPerIndex", INT32_MAX);
    int64_t limit = json_int_or(object, "spec/backoffLimit",
                                per_index < INT32_MAX ? INT32_MAX : BACKOFF_LIMIT);
    int64_t failed = json_int_or(object, "status/failed", 0) +
                     (int64_t)json_array_size(
                         json_at(object, "status/uncountedTerminatedPods/failed"));

    if (!text_equal(kind->kind, "Job") || text_equal(rule, "Ignore"))
        return INT64_MAX;
    limit = per_index < limit ? per_index : limit;
    return text_equal(rule, "FailJob") || text_equal(rule, "FailIndex") || failed >= limit
               ? 0
               : limit - failed;
}

static bool may_stop(const struct kind *kind, const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");

    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        const struct condition *condition = &conditions[i];

        if (text_equal(condition->kind, kind->kind) &&
            (!json_is_true(json_object_get(spec, condition->needs)) ||
             json_object_size(json_object_get(spec, condition->lacks)) > 0))
            return false;
    }
    return kind->member != NULL;
}

/* Reads which object controls this one.  A CronJob does not count, because it only made the object.
 */
static void read_controller(const json_t *object, const char *namespace, struct owner *owner)
{
    const json_t *reference;
    size_t i;

    json_array_foreach(json_at(object, "metadata/ownerReferences"), i, reference) {
        const char *kind = json_text_or(reference, "kind", "");

        if (!json_is_true(json_object_get(reference, "controller")) || text_equal(kind, "CronJob"))
            continue;
        owner->is_part = true;
        owned(chars) char *path = path_of_reference(json_text_or(reference, "apiVersion", ""), kind,
                                                    namespace, json_text_or(reference, "name", ""));
        text_copy(owner->above, sizeof owner->above, path ?: "");
    }
}

int owner_read(const char *path, const json_t *object, struct owner *ret_owner, struct error *err)
{
    struct url_segments segments;
    const struct kind *kind = kind_of(path, &segments);
    const json_t *member = kind->member ? json_object_get(part_of(kind, object), kind->member)
                                        : NULL;
    const json_t *notes = json_at(object, "metadata/annotations");
    const char *by = json_string_value(json_object_get(notes, OWNER_NOTE_STOPPED_BY));
    const char *before = json_string_value(json_object_get(notes, OWNER_NOTE_WAS));
    struct owner owner = {
        .can_stop = may_stop(kind, object),
        .is_bag = is_bag(kind, object),
        .spare = spare_of(kind, object),
    };

    text_copy(owner.uid, sizeof owner.uid, json_text_or(object, "metadata/uid", ""));
    text_copy(owner.version, sizeof owner.version,
              json_text_or(object, "metadata/resourceVersion", ""));
    text_copy(owner.stopped_by, sizeof owner.stopped_by, by ?: "");
    text_copy(owner.before, sizeof owner.before, before ?: "absent");
    text_copy(owner.was, sizeof owner.was,
              json_is_true(member)    ? "true"
              : json_is_false(member) ? "false"
                                      : "absent");
    owner.is_stopped = kind->stops_with ? json_is_true(member) : json_is_false(member);
    read_controller(object, segments.items[AT_NAMESPACE], &owner);
    url_segments_free(&segments);
    if (owner.uid[0] == '\0' || owner.version[0] == '\0')
        return error_set(err, ERROR_CORRUPT, "%.150s: no uid or resourceVersion", path);
    *ret_owner = owner;
    return 0;
}

char *owner_workloads_path(const char *path, const char *uid)
{
    struct url_segments segments = url_split(path);
    owned(chars) char *selector = text_format("kueue.x-k8s.io/job-uid=%s", uid);
    char *list = url_format("/apis/kueue.x-k8s.io/v1beta2/namespaces/%s/workloads"
                            "?labelSelector=%s&limit=500",
                            segments.items[AT_NAMESPACE], selector);

    url_segments_free(&segments);
    return list;
}

static bool is_owned_by(const json_t *object, const char *uid)
{
    const json_t *reference;
    size_t i;

    json_array_foreach(json_at(object, "metadata/ownerReferences"), i, reference) {
        if (text_equal(json_text_or(reference, "uid", ""), uid))
            return true;
    }
    return false;
}

/* A Workload that ended stays for a while beside the next. */
static bool is_finished(const json_t *workload)
{
    const json_t *condition;
    size_t i;

    json_array_foreach(json_at(workload, "status/conditions"), i, condition) {
        if (text_equal(json_text_or(condition, "type", ""), "Finished") &&
            text_equal(json_text_or(condition, "status", ""), "True"))
            return true;
    }
    return false;
}

char *owner_workload_in(const json_t *list, const char *path, const char *uid)
{
    struct url_segments segments = url_split(path);
    char *found = NULL;
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(list, "items"), i, item) {
        if (!found && is_owned_by(item, uid) && !is_finished(item))
            found = path_of(&kinds[0], NULL, segments.items[AT_NAMESPACE],
                            json_text_or(item, "metadata/name", ""));
    }
    url_segments_free(&segments);
    return found;
}

/* value NULL: the member stays as it is. */
static json_t *patch_of(const char *path, const struct owner *owner, json_t *notes, json_t *value)
{
    const struct kind *kind = kind_at(path);
    json_t *patch = json_make("{s:{s:s, s:s, s:o}}", "metadata", "uid", owner->uid,
                              "resourceVersion", owner->version, "annotations", notes);

    if (!value)
        return patch;
    if (kind->part)
        json_object_set_new(patch, "spec", json_make("{s:{s:o}}", kind->part, kind->member, value));
    else
        json_object_set_new(patch, "spec", json_make("{s:o}", kind->member, value));
    return patch;
}

json_t *owner_stop_patch(const char *path, const struct owner *owner, const char *transfer)
{
    json_t *notes = json_make("{ssss}", OWNER_NOTE_STOPPED_BY, transfer, OWNER_NOTE_WAS,
                              owner->was);

    return patch_of(path, owner, notes, json_boolean(kind_at(path)->stops_with));
}

json_t *owner_restore_patch(const char *path, const struct owner *owner)
{
    json_t *notes = json_make("{snsn}", OWNER_NOTE_STOPPED_BY, OWNER_NOTE_WAS);
    json_t *value = text_equal(owner->before, "true")    ? json_true()
                    : text_equal(owner->before, "false") ? json_false()
                                                         : json_null();

    /* If another client resumed it meanwhile, that decision stands. */
    return patch_of(path, owner, notes, owner->is_stopped ? value : NULL);
}
