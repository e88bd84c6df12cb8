/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What follows from a decoded node or pod alone: its class, its labels, and the patch that changes
 * a node.
 */
#include "clusters/snapshot.h"

#include "base/json.h"
#include "base/text.h"

void node_free(struct node *node)
{
    if (!node)
        return;
    mem_free(node->name);
    mem_free(node->uid);
    mem_free(node->resource_version);
    mem_free(node->provider_id);
    json_decref(node->labels);
    json_decref(node->annotations);
    json_decref(node->taints);
    mem_free(node);
}

void pod_free(struct pod *pod)
{
    if (!pod)
        return;
    mem_free(pod->namespace);
    mem_free(pod->name);
    mem_free(pod->uid);
    mem_free(pod->node_name);
    mem_free(pod->owner_kind);
    mem_free(pod->owner_name);
    json_decref(pod->labels);
    gang_ref_clear(&pod->gang);
    mem_free(pod);
}

enum pod_class pod_class_of(const struct pod *pod)
{
    if (pod->is_mirror)
        return POD_CLASS_MIRROR;
    if (text_equal(pod->owner_kind, "DaemonSet"))
        return POD_CLASS_DAEMON;
    if (pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED)
        return POD_CLASS_FINISHED;
    return pod->owner_kind[0] != '\0' ? POD_CLASS_WORK : POD_CLASS_UNMANAGED;
}

bool pod_must_leave(const struct pod *pod)
{
    enum pod_class class = pod_class_of(pod);
    return class == POD_CLASS_WORK || class == POD_CLASS_UNMANAGED;
}

const char *node_label(const struct node *node, const char *key)
{
    return json_string_value(json_object_get(node->labels, key));
}

const char *node_annotation(const struct node *node, const char *key)
{
    return json_string_value(json_object_get(node->annotations, key));
}

const char *pod_label(const struct pod *pod, const char *key)
{
    return json_string_value(json_object_get(pod->labels, key));
}

bool node_has_taint(const struct node *node, const char *key)
{
    size_t at = 0;
    const json_t *taint = NULL;
    json_array_foreach(node->taints, at, taint)
    {
        if (text_equal(json_text_or(taint, "key", ""), key))
            return true;
    }
    return false;
}

/* The whole list as it shall be: the others as the server wrote them, ours last. */
static json_t *changed_taints(const struct node *node, const struct node_change *change)
{
    json_t *taints = json_array();
    size_t at = 0;
    json_t *taint = NULL;
    json_array_foreach(node->taints, at, taint)
    {
        if (!text_equal(json_text_or(taint, "key", ""), change->taint_key))
            json_array_append(taints, taint);
    }
    if (change->taint_effect)
        json_array_append_new(taints,
                              json_make("{s:s, s:s, s:s}", "key", change->taint_key, "value",
                                        change->taint_value ?: "", "effect", change->taint_effect));
    return taints;
}

json_t *node_change_patch(const struct node *node, const struct node_change *change)
{
    json_t *metadata = json_make("{s:s, s:s}", "uid", node->uid, "resourceVersion",
                                 node->resource_version);
    if (change->annotations)
        json_object_set_new(metadata, "annotations", json_deep_copy(change->annotations));
    if (change->labels)
        json_object_set_new(metadata, "labels", json_deep_copy(change->labels));

    json_t *spec = json_object();
    if (change->cordon != NODE_KEEP)
        json_object_set_new(spec, "unschedulable", json_boolean(change->cordon == NODE_CORDON));
    if (change->taint_key)
        json_object_set_new(spec, "taints", changed_taints(node, change));

    json_t *patch = json_make("{s:o}", "metadata", metadata);
    if (json_object_size(spec) > 0)
        json_object_set_new(patch, "spec", spec);
    else
        json_decref(spec);
    return patch;
}
