/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the API's JSON to struct node and struct pod.  What a decision could hang on is checked:
 * an object whose member has the wrong type is refused whole, never half read.
 */
#include "base/json.h"
#include "base/text.h"
#include "clusters/snapshot.h"

#include <limits.h>
#include <string.h>

static const char GPU_RESOURCE[] = "nvidia.com/gpu";

enum { GRACE_OTHERWISE_S = 30 };

/* "8", 8, "2k" or "8000m": what the API may write for a whole number of devices. */
static int gpu_count(const json_t *quantity, const char *where, int *ret_count, struct error *err)
{
    long long number = 0;
    if (json_is_integer(quantity)) {
        number = json_integer_value(quantity);
    } else if (json_is_string(quantity)) {
        owned(chars) char *digits = mem_copy_chars(json_string_value(quantity));
        size_t length = strlen(digits);
        char suffix = length > 1 ? digits[length - 1] : '\0';
        if (suffix == 'k' || suffix == 'm')
            digits[length - 1] = '\0';
        if (!text_to_int(digits, 0, INT_MAX, &number) || (suffix == 'm' && number % 1000 != 0))
            return error_set(err, ERROR_CORRUPT, "%s/%s: \"%s\" is no number of devices", where,
                             GPU_RESOURCE, json_string_value(quantity));
        number = suffix == 'k' ? number * 1000 : suffix == 'm' ? number / 1000 : number;
    } else {
        return error_set(err, ERROR_CORRUPT, "%s/%s: expected a quantity", where, GPU_RESOURCE);
    }
    if (number < 0 || number > INT_MAX)
        return error_set(err, ERROR_CORRUPT, "%s/%s: %lld is out of range", where, GPU_RESOURCE,
                         number);
    *ret_count = (int)number;
    return 0;
}

/* The GPUs in a map of quantities; 0 where there is none.  An absent map counts as empty. */
static int gpus_in(const json_t *object, const char *path, int *ret_count, struct error *err)
{
    json_t *quantities = NULL;
    if (json_find_object(object, path, &quantities, err) < 0)
        return -1;

    const json_t *quantity = json_object_get(quantities, GPU_RESOURCE);
    *ret_count = 0;
    return quantity ? gpu_count(quantity, path, ret_count, err) : 0;
}

static int find_time(const json_t *object, const char *path, struct wall_time *ret_wall,
                     struct error *err)
{
    const char *chars = NULL;
    if (json_find_text(object, path, &chars, err) < 0)
        return -1;
    if (!chars)
        return 0;
    if (wall_parse(chars, false, ret_wall, err) < 0) {
        err->kind = ERROR_CORRUPT;
        return error_context(err, "%s", path);
    }
    return 0;
}

static int copy_text(const json_t *object, const char *path, char **ret_copy, struct error *err)
{
    const char *chars = "";
    if (json_find_text(object, path, &chars, err) < 0)
        return -1;
    *ret_copy = mem_copy_chars(chars);
    return 0;
}

static int copy_name(const json_t *object, const char *path, char **ret_copy, struct error *err)
{
    const char *chars = NULL;
    if (json_need_text(object, path, &chars, err) < 0)
        return -1;
    if (chars[0] == '\0')
        return error_set(err, ERROR_CORRUPT, "%s: is empty", path);
    *ret_copy = mem_copy_chars(chars);
    return 0;
}

/* The map of texts at the path as a value of its own: the rest of the object may go. */
static int copy_texts(const json_t *object, const char *path, json_t **ret_map, struct error *err)
{
    json_t *found = NULL;
    if (json_find_object(object, path, &found, err) < 0)
        return -1;

    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(found, key, value)
    {
        if (!json_is_string(value))
            return error_set(err, ERROR_CORRUPT, "%s: \"%s\" is no text", path, key);
    }
    *ret_map = found ? json_incref(found) : json_object();
    return 0;
}

static int condition_is_true(const json_t *object, const char *type, bool *ret_true,
                             struct error *err)
{
    json_t *conditions = NULL;
    if (json_find_array(object, "status/conditions", &conditions, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *condition = NULL;
    *ret_true = false;
    json_array_foreach(conditions, at, condition)
    {
        if (text_equal(json_text_or(condition, "type", ""), type))
            *ret_true = text_equal(json_text_or(condition, "status", ""), "True");
    }
    return 0;
}

static int node_fill(struct node *node, const json_t *object, struct error *err)
{
    json_t *taints = NULL;
    if (copy_name(object, "metadata/name", &node->name, err) < 0 ||
        copy_name(object, "metadata/uid", &node->uid, err) < 0 ||
        copy_name(object, "metadata/resourceVersion", &node->resource_version, err) < 0 ||
        copy_text(object, "spec/providerID", &node->provider_id, err) < 0 ||
        copy_texts(object, "metadata/labels", &node->labels, err) < 0 ||
        copy_texts(object, "metadata/annotations", &node->annotations, err) < 0 ||
        json_find_array(object, "spec/taints", &taints, err) < 0 ||
        json_find_bool(object, "spec/unschedulable", &node->is_unschedulable, err) < 0 ||
        find_time(object, "metadata/creationTimestamp", &node->created, err) < 0 ||
        condition_is_true(object, "Ready", &node->is_ready, err) < 0 ||
        gpus_in(object, "status/allocatable", &node->gpus, err) < 0)
        return -1;

    struct wall_time deletion = { 0 };
    if (find_time(object, "metadata/deletionTimestamp", &deletion, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *taint = NULL;
    json_array_foreach(taints, at, taint)
    {
        const char *key = NULL;
        if (json_need_text(taint, "key", &key, err) < 0)
            return error_context(err, "spec/taints");
    }
    node->is_leaving = deletion.ms != 0;
    node->taints = taints ? json_incref(taints) : json_array();
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

/* What one container asks for.  The server copies limits to requests, but not on every path. */
static int container_gpus(const json_t *container, int *ret_count, struct error *err)
{
    int requested = 0;
    int limited = 0;
    if (gpus_in(container, "resources/requests", &requested, err) < 0 ||
        gpus_in(container, "resources/limits", &limited, err) < 0)
        return -1;
    *ret_count = requested > limited ? requested : limited;
    return 0;
}

/* As the scheduler counts: containers and sidecars run together, other init containers run one
   at a time beside the sidecars that started before them. */
static int pod_gpus(const json_t *object, int *ret_count, struct error *err)
{
    json_t *containers = NULL;
    json_t *starters = NULL;
    if (json_find_array(object, "spec/containers", &containers, err) < 0 ||
        json_find_array(object, "spec/initContainers", &starters, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *container = NULL;
    int64_t sidecars = 0;
    int64_t peak = 0;
    json_array_foreach(starters, at, container)
    {
        int count = 0;
        if (container_gpus(container, &count, err) < 0)
            return error_context(err, "spec/initContainers");
        if (text_equal(json_text_or(container, "restartPolicy", ""), "Always"))
            sidecars += count;
        else if (sidecars + count > peak)
            peak = sidecars + count;
    }
    int64_t together = sidecars;
    json_array_foreach(containers, at, container)
    {
        int count = 0;
        if (container_gpus(container, &count, err) < 0)
            return error_context(err, "spec/containers");
        together += count;
    }
    int64_t most = together > peak ? together : peak;
    if (most > INT_MAX)
        return error_set(err, ERROR_CORRUPT, "spec/containers: the GPUs are out of range");
    *ret_count = (int)most;
    return 0;
}

static int pod_owner(struct pod *pod, const json_t *object, struct error *err)
{
    json_t *owners = NULL;
    if (json_find_array(object, "metadata/ownerReferences", &owners, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *owner = NULL;
    const json_t *controller = NULL;
    json_array_foreach(owners, at, owner)
    {
        bool is_controller = false;
        if (json_find_bool(owner, "controller", &is_controller, err) < 0)
            return error_context(err, "metadata/ownerReferences");
        if (is_controller)
            controller = owner;
        if (text_equal(json_text_or(owner, "kind", ""), "Node"))
            pod->is_mirror = true;
    }
    if (controller && (copy_name(controller, "kind", &pod->owner_kind, err) < 0 ||
                       copy_name(controller, "name", &pod->owner_name, err) < 0))
        return error_context(err, "metadata/ownerReferences");
    if (!controller) {
        pod->owner_kind = mem_copy_chars("");
        pod->owner_name = mem_copy_chars("");
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

static int pod_fill(struct pod *pod, const json_t *object, struct error *err)
{
    json_t *annotations = NULL;
    json_t *finalizers = NULL;
    pod->grace_s = GRACE_OTHERWISE_S;
    if (copy_name(object, "metadata/namespace", &pod->namespace, err) < 0 ||
        copy_name(object, "metadata/name", &pod->name, err) < 0 ||
        copy_name(object, "metadata/uid", &pod->uid, err) < 0 ||
        copy_text(object, "spec/nodeName", &pod->node_name, err) < 0 ||
        copy_texts(object, "metadata/labels", &pod->labels, err) < 0 ||
        json_find_object(object, "metadata/annotations", &annotations, err) < 0 ||
        json_find_array(object, "metadata/finalizers", &finalizers, err) < 0 ||
        pod_owner(pod, object, err) < 0 || pod_phase(object, &pod->phase, err) < 0 ||
        condition_is_true(object, "Ready", &pod->is_ready, err) < 0 ||
        find_time(object, "metadata/creationTimestamp", &pod->created, err) < 0 ||
        find_time(object, "metadata/deletionTimestamp", &pod->deletion, err) < 0 ||
        find_time(object, "status/startTime", &pod->started, err) < 0 ||
        json_find_int(object, "spec/terminationGracePeriodSeconds", &pod->grace_s, err) < 0 ||
        pod_gpus(object, &pod->gpus, err) < 0)
        return -1;

    if (json_object_get(annotations, "kubernetes.io/config.mirror"))
        pod->is_mirror = true;
    pod->has_finalizers = json_array_size(finalizers) > 0;
    pod->gang = gang_of_pod(object);
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
