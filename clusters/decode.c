/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the API's JSON to struct node and struct pod.  Members on which a decision depends are
 * checked: an object with a member of the wrong type is refused whole, never half read.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "clusters/fields.h"
#include "clusters/slurm_pods.h"
#include "clusters/snapshot.h"

#include <limits.h>
#include <string.h>

enum { GRACE_OTHERWISE_S = 30, ANNOTATION_MOST = 256 };

/* A pod may have any number of seconds.  Below 0 a server uses 1, and values over thirty years make
   no difference. */
static const int64_t grace_most_s = 1000000000;

/* Annotations may hold anything.  Those that controllers write for each other are left out, and so
   are values that are too long to be a setting for sluice. */
static bool is_kept(const char *key, const char *value)
{
    static const char *const noise[] = {
        "cni.projectcalico.org/", "k8s.v1.cni.cncf.io/",    "k8s.ovn.org/",
        "kubectl.kubernetes.io/", "volumes.kubernetes.io/", "csi.volume.kubernetes.io/",
        "projectcalico.org/",
    };
    for (size_t i = 0; i < COUNT_OF(noise); i++) {
        if (text_starts_with(key, noise[i]))
            return false;
    }
    return strlen(value) <= ANNOTATION_MOST;
}

static int node_fill(struct node *node, const json_t *object, struct error *err)
{
    json_t *taints = NULL;
    if (field_name(object, "metadata/name", &node->name, err) < 0 ||
        field_name(object, "metadata/uid", &node->uid, err) < 0 ||
        field_name(object, "metadata/resourceVersion", &node->resource_version, err) < 0 ||
        field_text(object, "spec/providerID", &node->provider_id, err) < 0 ||
        field_map(object, "metadata/labels", NULL, &node->labels, err) < 0 ||
        field_map(object, "metadata/annotations", is_kept, &node->annotations, err) < 0 ||
        json_find_array(object, "spec/taints", &taints, err) < 0 ||
        json_find_bool(object, "spec/unschedulable", &node->is_unschedulable, err) < 0 ||
        field_time(object, "metadata/creationTimestamp", &node->created, err) < 0 ||
        field_condition(object, "Ready", "True", &node->is_ready, err) < 0 ||
        field_condition(object, "Ready", "Unknown", &node->is_silent, err) < 0 ||
        field_troubles(object, &node->troubles, err) < 0 ||
        field_marks(object, &node->marks, err) < 0)
        return -1;

    struct wall_time deletion = { 0 };
    if (field_time(object, "metadata/deletionTimestamp", &deletion, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *taint = NULL;
    json_array_foreach(taints, at, taint) {
        const char *key = NULL;
        if (json_need_text(taint, "key", &key, err) < 0)
            return error_context(err, "spec/taints");
    }
    owned(json) json_t *devices = json_object();
    if (field_devices(object, "status/allocatable", devices, err) < 0)
        return -1;
    node->devices = devices_pack(devices);
    node->gpu_facts = gpu_facts_of(node->labels);
    node->is_leaving = deletion.ms != 0;
    /* A copy, as of everything that is kept: it counts as the cluster's memory. */
    node->taints = taints ? json_deep_copy(taints) : json_array();
    return 0;
}

struct node *node_decode(const json_t *object, struct error *err)
{
    struct error why = { 0 };
    struct node *node = mem_new(sizeof *node);
    if (node_fill(node, object, &why) < 0) {
        error_set(err, ERROR_CORRUPT, "nodes/%s: %s", json_text_or(object, "metadata/name", "?"),
                  why.text);
        node_free(node);
        return NULL;
    }
    return node;
}

/* The requests of one container.  The server copies limits to requests, but not on every path. */
static json_t *container_devices(const json_t *container, struct error *err)
{
    json_t *counts = json_object();
    if (field_devices(container, "resources/requests", counts, err) < 0 ||
        field_devices(container, "resources/limits", counts, err) < 0) {
        json_decref(counts);
        return NULL;
    }
    return counts;
}

/* A sum that no node can have counts as unreadable: the pod is there, and must leave its node. */
static json_int_t sum_of(json_int_t left, json_int_t right)
{
    require(left <= INT_MAX && right <= INT_MAX);
    return left < 0 || right < 0 || left + right > INT_MAX ? DEVICES_UNREADABLE : left + right;
}

/* Raises each of `counts` to the sum of `taken` and `beside`. */
static void raise_all(json_t *counts, const json_t *taken, const json_t *beside)
{
    const char *resource = NULL;
    const json_t *count = NULL;

    json_object_foreach((json_t *)(uintptr_t)taken, resource, count) {
        json_int_t there = json_integer_value(json_object_get(beside, resource));
        devices_raise(counts, resource, sum_of(json_integer_value(count), there));
    }
}

/* As the scheduler counts: containers and sidecars run together, other init containers run one
   at a time beside the sidecars that started before them. */
static int pod_devices(struct pod *pod, const json_t *object, struct error *err)
{
    json_t *containers = NULL;
    json_t *starters = NULL;
    if (json_find_array(object, "spec/containers", &containers, err) < 0 ||
        json_find_array(object, "spec/initContainers", &starters, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *container = NULL;
    owned(json) json_t *together = json_object();
    owned(json) json_t *most = json_object();
    json_array_foreach(starters, at, container) {
        bool is_sidecar = text_equal(json_text_or(container, "restartPolicy", ""), "Always");
        owned(json) json_t *counts = container_devices(container, err);
        if (!counts)
            return error_context(err, "spec/initContainers");
        raise_all(is_sidecar ? together : most, counts, together);
    }
    json_array_foreach(containers, at, container) {
        owned(json) json_t *counts = container_devices(container, err);
        if (!counts)
            return error_context(err, "spec/containers");
        raise_all(together, counts, together);
    }
    raise_all(most, together, NULL);
    pod->devices = devices_pack(most);
    return 0;
}

/* The ResourceClaim of one of its claims, under the name that the pod has for it: the pod's own, or
   one that was made for it from a template.  "" while there is none; NULL: it needs none. */
static const char *claim_of(const json_t *pod, const json_t *claim)
{
    const char *own = json_text_or(claim, "resourceClaimName", NULL);
    const char *name = json_text_or(claim, "name", "");
    size_t at = 0;
    const json_t *made = NULL;

    if (own)
        return own;
    json_array_foreach(json_at(pod, "status/resourceClaimStatuses"), at, made) {
        if (text_equal(json_text_or(made, "name", ""), name))
            return json_text_or(made, "resourceClaimName", NULL);
    }
    return "";
}

/* Never refused: a pod whose claims cannot be read has one of no name. */
static void pod_claims(struct pod *pod, const json_t *object)
{
    static const char unread[] = "?";
    const json_t *claims = json_at(object, "spec/resourceClaims");
    owned(json) json_t *names = json_object();
    size_t at = 0;
    const json_t *claim = NULL;

    if (claims && !json_is_null(claims) && !json_is_array(claims))
        json_put(names, unread, json_text(""));
    json_array_foreach(claims, at, claim) {
        const char *name = json_text_or(claim, "name", "");
        const char *named = claim_of(object, claim);

        if (named)
            json_put(names, name[0] != '\0' ? name : unread, json_text(named));
    }
    pod->device_claims = packed_map_new(names, NULL);
}

static int pod_owner(struct pod *pod, const json_t *object, struct error *err)
{
    json_t *owners = NULL;
    if (json_find_array(object, "metadata/ownerReferences", &owners, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *owner = NULL;
    const json_t *controller = NULL;
    json_array_foreach(owners, at, owner) {
        bool is_controller = false;
        if (json_find_bool(owner, "controller", &is_controller, err) < 0)
            return error_context(err, "metadata/ownerReferences");
        if (is_controller)
            controller = owner;
        if (text_equal(json_text_or(owner, "kind", ""), "Node"))
            pod->is_mirror = true;
    }
    if (controller && (field_name(controller, "kind", &pod->owner_kind, err) < 0 ||
                       field_name(controller, "name", &pod->owner_name, err) < 0 ||
                       field_text(controller, "apiVersion", &pod->owner_version, err) < 0))
        return error_context(err, "metadata/ownerReferences");
    if (!controller) {
        pod->owner_kind = shared_text_of("");
        pod->owner_name = shared_text_of("");
        pod->owner_version = shared_text_of("");
    }
    return 0;
}

/* Their names, "a, b": reported when they hold a pod, and never lifted. */
static int pod_finalizers(struct pod *pod, const json_t *object, struct error *err)
{
    owned(text) struct text *names = text_new(512);
    json_t *finalizers = NULL;
    if (json_find_array(object, "metadata/finalizers", &finalizers, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *name = NULL;
    json_array_foreach(finalizers, at, name) {
        if (!json_is_string(name))
            return error_set(err, ERROR_CORRUPT, "metadata/finalizers: expected texts");
        text_add(names, "%s%s", at > 0 ? ", " : "", json_string_value(name));
    }
    pod->finalizers = shared_text_new(names->chars, names->length);
    return 0;
}

/* A pod that was deleted with grace 0, and that only the Job controller's finalizer keeps, is only
   still to be counted: its containers have ended, or a client gave up on it.  Other finalizers may
   need the node. */
static int pod_count(struct pod *pod, const json_t *object, struct error *err)
{
    int64_t grace_s = -1;
    if (json_find_int(object, "metadata/deletionGracePeriodSeconds", &grace_s, err) < 0)
        return -1;
    pod->awaits_count = pod->deletion.ms != 0 && grace_s == 0 &&
                        text_equal(pod->finalizers, POD_JOB_FINALIZER);
    return 0;
}

/* Storage that is lost with the pod although it is on a disk: emptyDir and hostPath; memory is no
   disk. */
static int pod_storage(struct pod *pod, const json_t *object, struct error *err)
{
    json_t *volumes = NULL;
    if (json_find_array(object, "spec/volumes", &volumes, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *volume = NULL;
    json_array_foreach(volumes, at, volume) {
        const json_t *empty = json_object_get(volume, "emptyDir");
        if (json_object_get(volume, "hostPath") ||
            (empty && !text_equal(json_text_or(empty, "medium", ""), "Memory")))
            pod->has_local_storage = true;
        if (json_object_get(volume, "persistentVolumeClaim") ||
            json_object_get(volume, "ephemeral")) /* claimed for this pod alone */
            pod->claims++;
    }
    return 0;
}

static int pod_phase(const json_t *object, enum pod_phase *ret_phase, struct error *err)
{
    static const struct {
        const char *name;
        enum pod_phase phase;
    } phases[] = {
        { "Pending", POD_PENDING }, { "Running", POD_RUNNING }, { "Succeeded", POD_SUCCEEDED },
        { "Failed", POD_FAILED },   { "Unknown", POD_UNKNOWN },
    };
    const char *name = "Pending";
    if (json_find_text(object, "status/phase", &name, err) < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(phases); i++) {
        if (text_equal(phases[i].name, name)) {
            *ret_phase = phases[i].phase;
            return 0;
        }
    }
    return error_set(err, ERROR_CORRUPT, "status/phase: there is no phase \"%s\"", name);
}

static int pod_priority(struct pod *pod, const json_t *object, struct error *err)
{
    int64_t priority = 0;
    if (field_text(object, "spec/priorityClassName", &pod->priority_class, err) < 0 ||
        json_find_int(object, "spec/priority", &priority, err) < 0)
        return -1;
    if (priority < INT_MIN || priority > INT_MAX)
        return error_set(err, ERROR_CORRUPT, "spec/priority: %lld is out of range",
                         (long long)priority);
    pod->priority = (int)priority;
    return 0;
}

static int pod_names(struct pod *pod, const json_t *object, struct error *err)
{
    return field_name(object, "metadata/namespace", &pod->namespace, err) < 0 ||
                   field_name(object, "metadata/name", &pod->name, err) < 0 ||
                   field_name(object, "metadata/uid", &pod->uid, err) < 0 ||
                   field_text(object, "spec/nodeName", &pod->node_name, err) < 0
               ? -1
               : 0;
}

static int pod_maps(struct pod *pod, const json_t *object, struct error *err)
{
    return field_map(object, "metadata/labels", NULL, &pod->labels, err) < 0 ||
                   field_map(object, "metadata/annotations", is_kept, &pod->annotations, err) < 0
               ? -1
               : 0;
}

static int pod_state(struct pod *pod, const json_t *object, struct error *err)
{
    return pod_phase(object, &pod->phase, err) < 0 ||
                   field_condition(object, "Ready", "True", &pod->is_ready, err) < 0
               ? -1
               : 0;
}

static int pod_grace(struct pod *pod, const json_t *object, struct error *err)
{
    int64_t grace_s = GRACE_OTHERWISE_S;

    if (json_find_int(object, "spec/terminationGracePeriodSeconds", &grace_s, err) < 0)
        return -1;
    pod->grace_s = grace_s < 0 ? 1 : grace_s > grace_most_s ? grace_most_s : grace_s;
    return 0;
}

static int pod_times(struct pod *pod, const json_t *object, struct error *err)
{
    return field_time(object, "metadata/creationTimestamp", &pod->created, err) < 0 ||
                   field_time(object, "metadata/deletionTimestamp", &pod->deletion, err) < 0 ||
                   field_time(object, "status/startTime", &pod->started, err) < 0 ||
                   pod_grace(pod, object, err) < 0
               ? -1
               : 0;
}

/* The parts of a pod, in an order in which no part needs a later one. */
static int (*const pod_parts[])(struct pod *pod, const json_t *object, struct error *err) = {
    pod_names, pod_maps,  pod_finalizers, pod_storage, pod_owner,
    pod_state, pod_times, pod_priority,   pod_count,   pod_devices,
};

/* The members that cannot fail, and those that follow from others. */
static void pod_conclude(struct pod *pod, const json_t *object)
{
    pod_claims(pod, object);
    pod->slurm = slurm_pod_kind(pod);
    if (pod->slurm != POD_SLURM_NONE) {
        const char *node = slurm_pod_name(pod, json_object_get(object, "spec"));

        pod->slurm_node = node[0] ? shared_text_of(node) : NULL;
    }
    if (pod_annotation(pod, "kubernetes.io/config.mirror"))
        pod->is_mirror = true;
    pod->gang = gang_of_pod(object);
}

static int pod_fill(struct pod *pod, const json_t *object, struct error *err)
{
    pod->grace_s = GRACE_OTHERWISE_S;
    for (size_t i = 0; i < COUNT_OF(pod_parts); i++)
        if (pod_parts[i](pod, object, err) < 0)
            return -1;
    pod_conclude(pod, object);
    return 0;
}

struct pod *pod_decode(const json_t *object, struct error *err)
{
    struct error why = { 0 };
    struct pod *pod = mem_new(sizeof *pod);
    if (pod_fill(pod, object, &why) < 0) {
        error_set(err, ERROR_CORRUPT, "pods/%s/%s: %s",
                  json_text_or(object, "metadata/namespace", "?"),
                  json_text_or(object, "metadata/name", "?"), why.text);
        pod_free(pod);
        return NULL;
    }
    return pod;
}

/* Texts that could not be read are "?" where a name must stand, else "". */
static void fill_gaps(struct pod *pod)
{
    const char **const names[] = { &pod->namespace, &pod->name, &pod->uid };
    const char **const others[] = { &pod->node_name,     &pod->owner_kind,     &pod->owner_name,
                                    &pod->owner_version, &pod->finalizers,     &pod->labels,
                                    &pod->annotations,   &pod->priority_class, &pod->devices };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        *names[i] = *names[i] ?: shared_text_of("?");
    for (size_t i = 0; i < COUNT_OF(others); i++)
        *others[i] = *others[i] ?: shared_text_of("");
}

struct pod *pod_stand_in(const json_t *object, const struct pod *former)
{
    struct pod *pod;

    if (former && !former->is_unread &&
        text_equal(former->node_name, json_text_or(object, "spec/nodeName", "")))
        return NULL;
    pod = mem_new(sizeof *pod);
    pod->is_unread = true;
    pod->grace_s = GRACE_OTHERWISE_S;
    for (size_t i = 0; i < COUNT_OF(pod_parts); i++) {
        struct error ignored;

        (void)!pod_parts[i](pod, object, &ignored);
    }
    fill_gaps(pod);
    pod_conclude(pod, object);
    return pod;
}
