/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How the objects of other clients take effect.  What sluice may do too goes the same way as
 * sluice's requests (sim_kube_serve()), so that it has the same effect.
 */
#include "tools/simulator/apiserver/writes.h"

#include "tools/simulator/kube/deployments.h"
#include "tools/simulator/kube/kube_gangs.h"
#include "tools/simulator/kube/kube_versions.h"

#include <inttypes.h>

/* ---- through the server that sluice speaks to ---- */

void api_pass(struct sim_call *call, const struct api_passed *passed)
{
    owned(chars) char *body = passed->body ? json_print(passed->body) : NULL;
    const struct http_header headers[] = { { "Content-Type", passed->type ?: "application/json" } };
    struct sim_request request = { .method = passed->method,
                                   .target = passed->target,
                                   .headers = headers,
                                   .header_count = COUNT_OF(headers),
                                   .body = body ?: "",
                                   .body_size = body ? strlen(body) : 0 };
    struct url_segments path = url_split(passed->target);
    struct sim_call inner = *call;

    inner.request = &request;
    inner.path = &path;
    sim_kube_serve(&inner, 0);
    url_segments_free(&path);
}

char *api_path_of(const struct api_request *request, bool is_collection)
{
    const struct api_resource *resource = request->resource;
    owned(text) struct text *out = text_new(2048);

    text_add(out, "%s%s%s/", resource->group[0] ? "/apis/" : "/api", resource->group, "");
    text_add(out, "%s", api_resource_version(request->call, resource));
    if (resource->is_namespaced)
        text_add(out, "/namespaces/%s", request->namespace);
    text_add(out, "/%s", resource->plural);
    if (!is_collection)
        text_add(out, "/%s", request->name);
    return text_take(steal(&out));
}

/* The object as it is now, in the form that the client wants. */
void api_answer_present(const struct api_request *request, int status)
{
    owned(json) json_t *object = api_find(request->call, request->resource, request->namespace,
                                          request->name);

    if (!object) {
        api_not_found(request);
        return;
    }
    owners_show(request->call, request->resource, object);
    sim_answer_clear(request->call->answer);
    request->call->answer->content_type = "application/json";
    api_answer_object(request, status, object);
}

/* What a dry run of a create shows: the object with a UID that no object has. */
static void answer_rehearsed(const struct api_request *request, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    char now[WALL_TEXT_SIZE];

    json_object_set_new(metadata, "uid", json_string("00000000-0000-4000-8000-000000000000"));
    json_object_set_new(
        metadata, "creationTimestamp",
        json_string(sim_time(request->call->sim, sim_now(request->call->sim), now)));
    api_answer_object(request, 201, object);
}

static bool is_right_pod(struct api_request *request, const json_t *object)
{
    if (json_array_size(json_at(object, "spec/containers")))
        return true;
    api_invalid(request, "spec.containers", "FieldValueRequired", "Required value");
    return false;
}

void api_create_by_post(struct api_request *request, json_t *object)
{
    owned(chars) char *path = api_path_of(request, true);
    bool is_pod = text_equal(request->resource->plural, "pods");

    if (is_pod && !is_right_pod(request, object))
        return;
    if (request->is_dry) {
        answer_rehearsed(request, object);
        return;
    }
    if (request->resource->is_namespaced)
        sim_namespace_add(request->call->cluster, request->namespace);
    api_pass(request->call,
             &(struct api_passed){ .method = HTTP_POST, .target = path, .body = object });
    if (request->call->answer->status == 201) {
        owners_note(request, NULL, object, NULL);
        api_answer_present(request, 201);
    }
}

void api_create_namespace(struct api_request *request, json_t *object)
{
    if (request->is_dry) {
        answer_rehearsed(request, object);
        return;
    }
    sim_namespace_add(request->call->cluster, request->name);
    api_answer_present(request, 201);
}

void api_remove_by_delete(struct api_request *request, const json_t *object)
{
    const json_t *options = request->options;
    owned(chars) char *path = api_path_of(request, false);

    (void)object;
    if (text_equal(json_text_or(options, "propagationPolicy", ""), "Orphan")) {
        api_invalid(request, "propagationPolicy", "FieldValueNotSupported",
                    "Unsupported value: \"Orphan\": supported values: \"Background\", "
                    "\"Foreground\"");
        return;
    }
    api_pass(request->call,
             &(struct api_passed){ .method = HTTP_DELETE, .target = path, .body = options });
    if (request->call->answer->status < 300)
        owners_forget(request, object);
}

/* ---- nodes ---- */

static bool fault_of_taint(struct api_request *request, const json_t *taint, size_t at)
{
    const char *effect = json_text_or(taint, "effect", "");
    const char *key = json_text_or(taint, "key", "");
    const char *fault = label_key_fault(key);
    owned(chars) char *field = text_format("metadata.taints[%zu].%s", at, fault ? "key" : "effect");
    owned(chars) char *sentence = NULL;

    if (!fault && (text_equal(effect, "NoSchedule") || text_equal(effect, "NoExecute") ||
                   text_equal(effect, "PreferNoSchedule")))
        return false;
    sentence = fault ? text_format("Invalid value: \"%s\": %s", key, fault)
                     : text_format("Unsupported value: \"%s\": supported values: \"NoSchedule\", "
                                   "\"PreferNoSchedule\", \"NoExecute\"",
                                   effect);
    api_invalid(request, field, fault ? "FieldValueInvalid" : "FieldValueNotSupported", sentence);
    return true;
}

static bool taints_are_right(struct api_request *request, const json_t *taints)
{
    size_t i, k;
    json_t *taint, *other;

    json_array_foreach(taints, i, taint) {
        if (fault_of_taint(request, taint, i))
            return false;
        for (k = 0; k < i; k++) {
            other = json_array_get(taints, k);
            if (json_equal(json_object_get(taint, "key"), json_object_get(other, "key")) &&
                json_equal(json_object_get(taint, "effect"), json_object_get(other, "effect"))) {
                owned(chars) char *field = text_format("metadata.taints[%zu]", i);

                api_invalid(request, field, "FieldValueDuplicate", "Duplicate value");
                return false;
            }
        }
    }
    return true;
}

/* What the server lets a client change in a node's spec; the rest must be as it was. */
static bool node_spec_is_right(struct api_request *request, const json_t *old, const json_t *object)
{
    owned(json) json_t *before = json_deep_copy(json_object_get(old, "spec"));
    owned(json) json_t *after = json_deep_copy(json_object_get(object, "spec"));
    json_t *unschedulable = json_object_get(after, "unschedulable");

    if (unschedulable && !json_is_boolean(unschedulable)) {
        sim_kube_status(request->call->answer, 400, "BadRequest",
                        "Node in version \"v1\" cannot be handled as a Node: json: cannot "
                        "unmarshal string into Go struct field NodeSpec.spec.unschedulable of type "
                        "bool");
        return false;
    }
    if (!json_equal(json_object_get(before, "providerID"), json_object_get(after, "providerID"))) {
        api_invalid(request, "spec.providerID", "FieldValueForbidden",
                    "Forbidden: node updates may not change providerID except from \"\" to valid");
        return false;
    }
    json_object_del(before, "taints");
    json_object_del(after, "taints");
    json_object_del(before, "unschedulable");
    json_object_del(after, "unschedulable");
    if (!json_equal(before, after)) {
        api_invalid(request, "spec", "FieldValueForbidden",
                    "Forbidden: node updates may only change labels, taints, or capacity");
        return false;
    }
    return taints_are_right(request, json_at(object, "spec/taints"));
}

/* A merge patch that makes the one map of texts the other. */
static json_t *difference(const json_t *from, const json_t *to)
{
    json_t *patch = json_object(), *value;
    const char *key;

    json_object_foreach((json_t *)(uintptr_t)from, key, value)
        if (!json_object_get(to, key))
            json_object_set_new(patch, key, json_null());
    json_object_foreach((json_t *)(uintptr_t)to, key, value)
        json_object_set(patch, key, value);
    return patch;
}

void api_update_node(struct api_request *request, const json_t *old, json_t *object)
{
    owned(chars) char *path = api_path_of(request, false);
    owned(json) json_t *patch = NULL;
    json_t *taints, *finalizers;

    if (!node_spec_is_right(request, old, object))
        return;
    if (request->is_dry) {
        api_answer_object(request, 200, object);
        return;
    }
    taints = json_at(object, "spec/taints");
    finalizers = json_at(object, "metadata/finalizers");
    patch = json_make(
        "{s:{s:o, s:o, s:o}, s:{s:b, s:o}}", "metadata", "labels",
        difference(json_at(old, "metadata/labels"), json_at(object, "metadata/labels")),
        "annotations",
        difference(json_at(old, "metadata/annotations"), json_at(object, "metadata/annotations")),
        "finalizers", finalizers ? json_incref(finalizers) : json_array(), "spec", "unschedulable",
        json_is_true(json_at(object, "spec/unschedulable")), "taints",
        taints ? json_incref(taints) : json_array());
    api_pass(request->call, &(struct api_passed){ .method = HTTP_PATCH,
                                                  .target = path,
                                                  .type = "application/merge-patch+json",
                                                  .body = patch });
    if (request->call->answer->status == 200 &&
        map_get(request->call->cluster->nodes, request->name))
        api_answer_present(request, 200);
}

/* ---- pods ---- */

static void set_member(json_t *object, const char *key, json_t *value)
{
    if (value)
        json_object_set_new(object, key, json_deep_copy(value));
    else
        json_object_del(object, key);
}

static void write_pod(struct sim_call *call, struct kube_pod *pod, const json_t *object)
{
    json_t *labels = json_at(object, "metadata/labels");
    json_t *annotations = json_at(object, "metadata/annotations");

    if (pod->written) {
        json_t *metadata = json_object_get(pod->written, "metadata");

        set_member(metadata, "labels", labels);
        set_member(metadata, "annotations", annotations);
        set_member(metadata, "finalizers", json_at(object, "metadata/finalizers"));
        pod->has_finalizer = json_array_size(json_at(object, "metadata/finalizers")) > 0;
    } else {
        json_decref(pod->labels);
        json_decref(pod->annotations);
        pod->labels = labels ? json_deep_copy(labels) : json_object();
        pod->annotations = annotations ? json_deep_copy(annotations) : NULL;
    }
    sim_pod_changed(call->sim, pod, CHANGE_MODIFIED);
}

void api_update_pod(struct api_request *request, const json_t *old, json_t *object)
{
    owned(chars) char *key = text_format("%s/%s", request->namespace, request->name);
    struct kube_pod *pod = map_get(request->call->cluster->pods, key);

    if (!json_equal(json_object_get(old, "spec"), json_object_get(object, "spec"))) {
        api_invalid(request, "spec", "FieldValueForbidden",
                    "Forbidden: pod updates may not change fields other than "
                    "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
                    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if "
                    "it was previously negative)");
        return;
    }
    if (request->is_dry) {
        api_answer_object(request, 200, object);
        return;
    }
    write_pod(request->call, pod, object);
    api_answer_present(request, 200);
    if (pod->written && !pod->has_finalizer && pod->deletion_ms && pod->deletion_grace_s == 0)
        sim_pod_remove(request->call->sim, pod);
}

/* ---- objects that are kept as they are ---- */

static json_t *stored_form(const struct api_request *request, const json_t *object, char *path)
{
    json_t *own = json_deep_copy(object);

    json_object_set_new(own, "kind", json_string(request->resource->kind));
    json_object_del(json_object_get(own, "metadata"), "managedFields");
    sim_version_keep(path, own);
    return own;
}

void api_create_stored(struct api_request *request, json_t *object)
{
    owned(chars) char *path = api_path_of(request, false);
    char now[WALL_TEXT_SIZE];

    if (request->is_dry) {
        answer_rehearsed(request, object);
        return;
    }
    json_object_set_new(
        json_object_get(object, "metadata"), "creationTimestamp",
        json_string(sim_time(request->call->sim, sim_now(request->call->sim), now)));
    json_object_set_new(object, "kind", json_string(request->resource->kind));
    sim_custom_put(request->call->sim, request->call->cluster, path, object);
    owners_note(request, NULL, object, request->config);
    api_answer_present(request, 201);
}

void api_update_stored(struct api_request *request, const json_t *old, json_t *object)
{
    struct kube_cluster *cluster = request->call->cluster;
    owned(chars) char *path = api_path_of(request, false);
    char version[24];
    json_t *own;

    (void)old;
    if (request->is_dry) {
        api_answer_object(request, 200, object);
        return;
    }
    own = stored_form(request, object, path);
    snprintf(version, sizeof version, "%" PRIu64, ++cluster->version);
    json_object_set_new(json_object_get(own, "metadata"), "resourceVersion", json_string(version));
    map_set(cluster->objects, path, own);
    sim_gangs_soon(request->call->sim, cluster);
    api_answer_present(request, 200);
}

void api_remove_stored(struct api_request *request, const json_t *object)
{
    owned(chars) char *path = api_path_of(request, false);

    sim_version_keep(path, NULL);
    map_remove(request->call->cluster->objects, path);
    request->call->cluster->version++;
    owners_forget(request, object);
    api_answer_deleted(request, object);
}
