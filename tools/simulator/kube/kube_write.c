/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writes to nodes: the merge patch with its optimistic lock, and the delete.
 */
#include "tools/simulator/model/model.h"

#include <inttypes.h>

/* The result of a patch of a node; committed only when all of it is valid. */
struct draft {
    json_t *labels;
    json_t *annotations;
    json_t *taints;
    json_t *finalizers;
    bool is_unschedulable;
};

static void clear_draft(struct draft *draft)
{
    json_decref(draft->labels);
    json_decref(draft->annotations);
    json_decref(draft->taints);
    json_decref(draft->finalizers);
}

static bool bad(struct sim_call *call, int code, const char *what)
{
    sim_kube_status(call->answer, code, code == 422 ? "Invalid" : "BadRequest", "%s", what);
    return false;
}

static bool merge_texts(struct sim_call *call, json_t *into, json_t *patch)
{
    const char *key;
    json_t *value;

    if (!json_is_object(patch))
        return bad(call, 400, "labels and annotations must be objects");
    json_object_foreach(patch, key, value) {
        if (json_is_null(value))
            json_object_del(into, key);
        else if (json_is_string(value))
            json_object_set(into, key, value);
        else
            return bad(call, 400, "a label or annotation must be a string");
    }
    return true;
}

static bool check_versions(struct sim_call *call, const struct kube_node *node, json_t *metadata)
{
    const char *uid = json_text_or(metadata, "uid", NULL);
    const char *name = json_text_or(metadata, "name", node->name);
    const char *version = json_text_or(metadata, "resourceVersion", NULL);
    char current[24];

    snprintf(current, sizeof current, "%" PRIu64, node->version);
    if (!text_equal(name, node->name))
        return bad(call, 400, "the name of the object does not match the URL");
    if (!version || text_equal(version, current))
        return sim_kube_uid_stays(call, "Node", node->name, node->uid, uid);
    sim_kube_status(call->answer, 409, "Conflict",
                    "Operation cannot be fulfilled on nodes \"%s\": the object has been modified; "
                    "please apply your changes to the latest version and try again",
                    node->name);
    return false;
}

static bool patch_metadata(struct sim_call *call, const struct kube_node *node, json_t *metadata,
                           struct draft *draft)
{
    const char *key;
    json_t *value;

    if (!json_is_object(metadata))
        return bad(call, 400, "metadata must be an object");
    json_object_foreach(metadata, key, value) {
        if (text_equal(key, "labels") || text_equal(key, "annotations")) {
            if (!merge_texts(call, key[0] == 'l' ? draft->labels : draft->annotations, value))
                return false;
        } else if (text_equal(key, "finalizers") && json_is_array(value)) {
            json_decref(draft->finalizers);
            draft->finalizers = json_incref(value);
        } else if (!text_equal(key, "resourceVersion") && !text_equal(key, "uid") &&
                   !text_equal(key, "name"))
            return bad(call, 400, "unknown member of metadata");
        else if (!json_is_string(value))
            return bad(call, 400, "resourceVersion, uid and name must be strings");
    }
    return check_versions(call, node, metadata);
}

static bool check_taints(struct sim_call *call, json_t *taints)
{
    size_t i, k;
    json_t *taint;

    if (!json_is_array(taints))
        return bad(call, 400, "spec.taints must be an array");
    json_array_foreach(taints, i, taint) {
        const char *key = json_text_or(taint, "key", "");
        const char *effect = json_text_or(taint, "effect", "");

        if (!key[0] || (!text_equal(effect, "NoSchedule") && !text_equal(effect, "NoExecute") &&
                        !text_equal(effect, "PreferNoSchedule")))
            return bad(call, 422, "spec.taints: a taint needs a key and a known effect");
        for (k = 0; k < i; k++)
            if (text_equal(json_text_or(json_array_get(taints, k), "key", ""), key) &&
                text_equal(json_text_or(json_array_get(taints, k), "effect", ""), effect))
                return bad(call, 422, "spec.taints: key and effect must be unique");
    }
    return true;
}

static bool patch_spec(struct sim_call *call, json_t *spec, struct draft *draft)
{
    const char *key;
    json_t *value;

    if (!json_is_object(spec))
        return bad(call, 400, "spec must be an object");
    json_object_foreach(spec, key, value) {
        if (text_equal(key, "unschedulable")) {
            if (!json_is_boolean(value) && !json_is_null(value))
                return bad(call, 400, "spec.unschedulable must be a boolean");
            draft->is_unschedulable = json_is_true(value);
        } else if (text_equal(key, "taints")) {
            json_t *taints = json_is_null(value) ? json_array() : json_deep_copy(value);

            json_decref(draft->taints);
            draft->taints = taints;
            if (!check_taints(call, draft->taints))
                return false;
        } else {
            return bad(call, 422, "spec: this member must not change");
        }
    }
    return true;
}

static bool apply_patch(struct sim_call *call, const struct kube_node *node, json_t *body,
                        struct draft *draft)
{
    const char *key;
    json_t *value;

    json_object_foreach(body, key, value) {
        if (text_equal(key, "metadata")) {
            if (!patch_metadata(call, node, value, draft))
                return false;
        } else if (text_equal(key, "spec")) {
            if (!patch_spec(call, value, draft))
                return false;
        } else if (!text_equal(key, "kind") && !text_equal(key, "apiVersion")) {
            return bad(call, 400, "unknown member of the patch");
        }
    }
    return true;
}

static void commit(struct simulator *sim, struct kube_node *node, struct draft *draft)
{
    if (json_equal(draft->labels, node->labels) &&
        json_equal(draft->annotations, node->annotations) &&
        json_equal(draft->taints, node->taints) &&
        (!draft->finalizers || json_equal(draft->finalizers, node->finalizers)) &&
        draft->is_unschedulable == node->is_unschedulable)
        return; /* nothing changed: no new version */
    json_object_clear(node->labels);
    json_object_update(node->labels, draft->labels);
    json_object_clear(node->annotations);
    json_object_update(node->annotations, draft->annotations);
    json_array_clear(node->taints);
    json_array_extend(node->taints, draft->taints);
    node->is_unschedulable = draft->is_unschedulable;
    if (draft->finalizers) {
        json_decref(node->finalizers);
        node->finalizers = json_deep_copy(draft->finalizers);
    }
    sim_node_changed(sim, node, CHANGE_MODIFIED);
    sim_node_review(sim, node);
}

void sim_kube_patch_node(struct sim_call *call, const char *name)
{
    static const char *const known[] = { "fieldManager", "fieldValidation" };
    struct kube_node *node = map_get(call->cluster->nodes, name);

    if (!sim_kube_is_content(call, "application/merge-patch+json") ||
        !sim_kube_query_is_known(call, known, COUNT_OF(known)))
        return;

    owned(json) json_t *body = sim_kube_body(call);

    if (!body)
        return;

    struct draft draft = { json_deep_copy(node->labels), json_deep_copy(node->annotations),
                           json_deep_copy(node->taints), NULL, node->is_unschedulable };

    if (apply_patch(call, node, body, &draft)) {
        referee_patch_node(call->sim, node, draft.is_unschedulable && !node->is_unschedulable);
        commit(call->sim, node, &draft);
        sim_kube_answer_blob(call, 200, node->blob);
        if (node->deletion_ms && !json_array_size(node->finalizers))
            sim_node_delete(call->sim, node);
    }
    clear_draft(&draft);
}

void sim_kube_delete_node(struct sim_call *call, const char *name)
{
    struct kube_node *node = map_get(call->cluster->nodes, name);
    owned(json) json_t *body = call->request->body_size ? sim_kube_body(call) : json_object();

    if (!body)
        return;

    const char *uid = json_text_or(body, "preconditions/uid", NULL);

    if (!sim_kube_uid_is(call, "Node", node->name, node->uid, uid))
        return;
    referee_delete_node(call->sim, node, uid != NULL);

    owned(json)
        json_t *done = json_make("{s:s, s:s, s:{}, s:s, s:{s:s, s:s, s:s}}", "kind", "Status",
                                 "apiVersion", "v1", "metadata", "status", "Success", "details",
                                 "name", node->name, "kind", "nodes", "uid", node->uid);

    if (sim_node_leave(call->sim, node))
        sim_answer_json(call->answer, 200, json_incref(done));
    else
        sim_kube_answer_blob(call, 200, node->blob);
}
