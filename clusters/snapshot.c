/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What follows from a decoded node or pod alone: its class, its labels, and the patch that changes
 * a node.
 */
#include "clusters/snapshot.h"

#include "base/index.h"
#include "base/input/json.h"
#include "base/shared_text.h"
#include "base/text.h"

#include <string.h>

const struct pod *const *snapshot_pods_on(const struct snapshot *snapshot, const char *node_name,
                                          size_t *ret_count)
{
    return (const struct pod *const *)index_find(snapshot->pods_by_node, node_name, ret_count);
}

const struct node *snapshot_node_of_provider(const struct snapshot *snapshot, const char *id,
                                             const char *name)
{
    size_t count = 0;
    void *const *nodes = index_find(snapshot->nodes_by_provider, id, &count);

    for (size_t i = 0; i < count; i++) {
        const struct node *node = nodes[i];

        if (text_equal(node->name, name))
            return node;
    }
    return count > 0 ? nodes[0] : NULL;
}

void node_share(struct node *node, struct shared_pool *pool)
{
    shared_pool_take(pool, &node->troubles);
    shared_pool_take(pool, &node->devices);
    shared_pool_take(pool, &node->labels);
    shared_pool_take(pool, &node->annotations);
}

/* Each pod's own texts (name, UID) would only fill the pool. */
void pod_share(struct pod *pod, struct shared_pool *pool)
{
    const char **texts[] = { &pod->namespace,     &pod->node_name,      &pod->owner_kind,
                             &pod->owner_name,    &pod->owner_version,  &pod->finalizers,
                             &pod->labels,        &pod->annotations,    &pod->devices,
                             &pod->device_claims, &pod->priority_class, &pod->slurm_node };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        shared_pool_take(pool, texts[i]);
}

void node_free(struct node *node)
{
    if (!node)
        return;
    shared_text_drop(node->name);
    shared_text_drop(node->uid);
    shared_text_drop(node->resource_version);
    shared_text_drop(node->provider_id);
    shared_text_drop(node->troubles);
    shared_text_drop(node->devices);
    shared_text_drop(node->labels);
    shared_text_drop(node->annotations);
    json_decref(node->taints);
    mem_free(node);
}

void pod_free(struct pod *pod)
{
    if (!pod)
        return;
    shared_text_drop(pod->namespace);
    shared_text_drop(pod->name);
    shared_text_drop(pod->uid);
    shared_text_drop(pod->node_name);
    shared_text_drop(pod->owner_kind);
    shared_text_drop(pod->owner_name);
    shared_text_drop(pod->owner_version);
    shared_text_drop(pod->finalizers);
    shared_text_drop(pod->devices);
    shared_text_drop(pod->device_claims);
    shared_text_drop(pod->priority_class);
    shared_text_drop(pod->slurm_node);
    shared_text_drop(pod->labels);
    shared_text_drop(pod->annotations);
    gang_ref_clear(&pod->gang);
    mem_free(pod);
}

enum pod_class pod_class_of(const struct pod *pod)
{
    if (pod->is_mirror)
        return POD_CLASS_MIRROR;
    if (text_equal(pod->owner_kind, "DaemonSet"))
        return POD_CLASS_DAEMON;
    if (pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED || pod->awaits_count)
        return POD_CLASS_FINISHED;
    return pod->owner_kind[0] != '\0' ? POD_CLASS_WORK : POD_CLASS_UNMANAGED;
}

bool pod_is_lost_for_good(const struct pod *pod)
{
    return pod->gang.kind == GANG_SLURM_JOB && pod_class_of(pod) == POD_CLASS_UNMANAGED;
}

bool pod_must_leave(const struct pod *pod)
{
    enum pod_class class = pod_class_of(pod);
    return class == POD_CLASS_WORK || class == POD_CLASS_UNMANAGED;
}

bool node_is_reserved(const struct node *node, struct wall_time before)
{
    return node->reserved.ms > 0 && node->reserved.ms < before.ms;
}

bool pod_is_protected(const struct pod *pod)
{
    const char *drain = pod_label(pod, "cluster.x-k8s.io/drain");

    return pod->gang.is_protected || text_equal(drain, "skip") ||
           text_equal(drain, "wait-completed");
}

const char *node_label(const struct node *node, const char *key)
{
    return packed_map_get(node->labels, key);
}

const char *node_annotation(const struct node *node, const char *key)
{
    return packed_map_get(node->annotations, key);
}

const char *pod_label(const struct pod *pod, const char *key)
{
    return packed_map_get(pod->labels, key);
}

const char *pod_annotation(const struct pod *pod, const char *key)
{
    return packed_map_get(pod->annotations, key);
}

bool node_has_taint(const struct node *node, const char *key)
{
    size_t at = 0;
    const json_t *taint = NULL;
    json_array_foreach(node->taints, at, taint) {
        if (text_equal(json_text_or(taint, "key", ""), key))
            return true;
    }
    return false;
}

const char *node_rival(const struct node *node)
{
    static const char *const taints[] = {
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
        NODE_TAINT_OUT_OF_SERVICE,
    };

    for (size_t i = 0; i < COUNT_OF(taints); i++)
        if (node_has_taint(node, taints[i]))
            return taints[i];
    return NULL;
}

bool node_is_in_trouble(const struct node *node)
{
    size_t i;
    const json_t *taint;

    json_array_foreach(node->taints, i, taint) {
        if (text_starts_with(json_text_or(taint, "key", ""), "node.kubernetes.io/") &&
            !text_equal(json_text_or(taint, "effect", ""), "PreferNoSchedule"))
            return true;
    }
    return false;
}

/* The whole list to be written: the others as the server wrote them, ours last. */
static json_t *changed_taints(const struct node *node, const struct node_change *change)
{
    json_t *taints = json_array();
    size_t at = 0;
    json_t *taint = NULL;
    json_array_foreach(node->taints, at, taint) {
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
