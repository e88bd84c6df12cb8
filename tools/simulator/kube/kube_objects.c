/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nodes and pods as the API server writes them.  An object is encoded when it changes, once, and
 * that text serves lists, watches and the history.
 */
#include "tools/simulator/kube/deployments.h"
#include "tools/simulator/kube/kube_devices.h"
#include "tools/simulator/model/model.h"

#include <inttypes.h>

struct blob *sim_blob_of(json_t *object)
{
    owned(chars) char *chars = json_print(object);
    size_t size = strlen(chars);
    struct blob *blob = mem_new(sizeof *blob + size + 1);

    blob->references = 1;
    blob->size = size;
    memcpy(blob->chars, chars, size + 1);
    json_decref(object);
    return blob;
}

void sim_blob_drop(struct blob *blob)
{
    if (blob && --blob->references == 0)
        mem_free(blob);
}

static json_t *version_text(uint64_t version)
{
    char chars[24];

    snprintf(chars, sizeof chars, "%" PRIu64, version);
    return json_string(chars);
}

static json_t *condition(const char *type, const char *status, const char *reason,
                         const char *since)
{
    return json_make("{s:s, s:s, s:s, s:s}", "type", type, "status", status, "reason", reason,
                     "lastTransitionTime", since);
}

static json_t *resources_of(const struct kube_node *node)
{
    json_t *resources = json_make("{s:s, s:s, s:s}", "cpu", "208", "memory", "1979685076Ki", "pods",
                                  "110");

    const char *accelerator = node->pool ? node->pool->accelerator : NULL;

    if (node->gpus && !node->cluster->devices) {
        char count[16];

        snprintf(count, sizeof count, "%d", accelerator ? 7 * node->gpus : node->gpus);
        json_object_set_new(resources, accelerator ?: SIM_GPU, json_string(count));
    }
    return resources;
}

/* A time by the clock of the cluster's API server. */
static const char *time_in(const struct simulator *sim, const struct kube_cluster *cluster,
                           int64_t loop_ms, char out[WALL_TEXT_SIZE])
{
    return sim_time(sim, loop_ms + cluster->plan->ahead_ms, out);
}

/* All members that Kubernetes requires: clients do not decode a Node without them. */
static json_t *node_info(const struct kube_node *node)
{
    return json_make("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "machineID", node->uid,
                     "systemUUID", node->uid, "bootID", node->uid, "kernelVersion", "6.6.93+",
                     "osImage", "Container-Optimized OS from Google", "containerRuntimeVersion",
                     "containerd://2.0.5", "kubeletVersion", "v1.33.5", "kubeProxyVersion",
                     "v1.33.5", "operatingSystem", "linux", "architecture", "amd64");
}

struct blob *sim_encode_node(const struct simulator *sim, const struct kube_node *node)
{
    static const char *const status[] = { "False", "True", "Unknown" };
    static const char *const reason[] = { "KubeletNotReady", "KubeletReady", "NodeStatusUnknown" };
    char created[WALL_TEXT_SIZE], changed[WALL_TEXT_SIZE];
    json_t *spec = json_object();

    if (node->provider_id[0])
        json_object_set_new(spec, "providerID", json_string(node->provider_id));

    if (node->is_unschedulable)
        json_object_set_new(spec, "unschedulable", json_true());
    if (json_array_size(node->taints))
        json_object_set_new(spec, "taints", json_deep_copy(node->taints));

    json_t *metadata = json_make(
        "{s:s, s:s, s:o, s:s, s:O}", "name", node->name, "uid", node->uid, "resourceVersion",
        version_text(node->version), "creationTimestamp",
        time_in(sim, node->cluster, node->created_ms, created), "labels", node->labels);

    if (json_object_size(node->annotations))
        json_object_set(metadata, "annotations", node->annotations);
    if (node->managed)
        json_object_set(metadata, "managedFields", node->managed);
    if (json_array_size(node->finalizers))
        json_object_set(metadata, "finalizers", node->finalizers);
    if (node->deletion_ms)
        json_object_set_new(metadata, "deletionTimestamp",
                            json_string(time_in(sim, node->cluster, node->deletion_ms, changed)));

    json_t *conditions = json_make(
        "[o, o]",
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                  time_in(sim, node->cluster, node->created_ms, created)),
        condition("Ready", status[node->readiness], reason[node->readiness],
                  time_in(sim, node->cluster, node->ready_changed_ms, changed)));

    if (node->conditions)
        json_array_extend(conditions, node->conditions);
    return sim_blob_of(json_make("{s:s, s:s, s:o, s:o, s:{s:o, s:o, s:o, s:o}}", "apiVersion", "v1",
                                 "kind", "Node", "metadata", metadata, "spec", spec, "status",
                                 "capacity", resources_of(node), "allocatable", resources_of(node),
                                 "conditions", conditions, "nodeInfo", node_info(node)));
}

static void add_deletion(const struct simulator *sim, const struct kube_pod *pod, json_t *metadata)
{
    char chars[WALL_TEXT_SIZE];

    if (!pod->deletion_ms)
        return;
    json_object_set_new(metadata, "deletionTimestamp",
                        json_string(time_in(sim, pod->cluster, pod->deletion_ms, chars)));
    json_object_set_new(metadata, "deletionGracePeriodSeconds",
                        json_integer(pod->deletion_grace_s));
}

/* The posted metadata, and the members that only the server may set.  Takes its part. */
static json_t *written_metadata(const struct simulator *sim, const struct kube_pod *pod,
                                json_t *ours)
{
    json_t *metadata = json_deep_copy(json_at(pod->written, "metadata"));

    json_object_update(metadata, ours);
    json_decref(ours);
    add_deletion(sim, pod, metadata);
    return metadata;
}

static json_t *written_spec(const struct kube_pod *pod)
{
    json_t *spec = json_deep_copy(json_at(pod->written, "spec"));

    json_object_set_new(spec, "terminationGracePeriodSeconds", json_integer(pod->grace_s));
    if (pod->node_name[0])
        json_object_set_new(spec, "nodeName", json_string(pod->node_name));
    return spec;
}

static json_t *pod_metadata(const struct simulator *sim, const struct kube_pod *pod)
{
    char chars[WALL_TEXT_SIZE];
    json_t *owner, *labels;
    json_t *metadata = json_make("{s:s, s:s, s:s, s:o, s:s}", "name", pod->name, "namespace",
                                 pod->namespace, "uid", pod->uid, "resourceVersion",
                                 version_text(pod->version), "creationTimestamp",
                                 time_in(sim, pod->cluster, pod->created_ms, chars));

    if (pod->written)
        return written_metadata(sim, pod, metadata);
    if (pod->job) {
        labels = json_make("{s:s, s:s, s:s}", "team", pod->job->team, "job-name", pod->job->name,
                           "batch.kubernetes.io/job-name", pod->job->name);
        owner = json_make("{s:s, s:s, s:s, s:s}", "apiVersion", "batch/v1", "kind", "Job", "name",
                          pod->job->name, "uid", pod->job->uid);
    } else if (pod->deployment) {
        owned(chars) char *set = text_format("%s-%s", pod->deployment->plan->name,
                                             pod->deployment->hash);

        labels = json_make("{s:s, s:s}", "app", pod->deployment->plan->name, "pod-template-hash",
                           pod->deployment->hash);
        owner = json_make("{s:s, s:s, s:s, s:s}", "apiVersion", "apps/v1", "kind", "ReplicaSet",
                          "name", set, "uid", pod->deployment->set_uid);
    } else {
        labels = json_make("{s:s}", "app", SIM_DAEMON);
        owner = json_make("{s:s, s:s, s:s, s:s}", "apiVersion", "apps/v1", "kind", "DaemonSet",
                          "name", SIM_DAEMON, "uid", SIM_DAEMON_UID);
    }
    json_object_set_new(owner, "controller", json_true());
    json_object_set_new(owner, "blockOwnerDeletion", json_true());
    json_object_set_new(metadata, "labels", labels);
    if (pod->labels)
        json_object_set(metadata, "labels", pod->labels);
    if (pod->annotations)
        json_object_set(metadata, "annotations", pod->annotations);
    json_object_set_new(metadata, "ownerReferences", json_make("[o]", owner));
    if (pod->has_finalizer)
        json_object_set_new(metadata, "finalizers",
                            json_make("[s]", "batch.kubernetes.io/job-tracking"));
    add_deletion(sim, pod, metadata);
    return metadata;
}

static json_t *pod_spec(const struct kube_pod *pod)
{
    if (pod->written)
        return written_spec(pod);

    json_t *container = json_make("{s:s, s:s, s:{}}", "name", "main", "image",
                                  "registry.example/main:1", "resources");
    json_t *spec = json_make("{s:[o], s:I, s:s}", "containers", container,
                             "terminationGracePeriodSeconds", (json_int_t)pod->grace_s,
                             "restartPolicy", pod->job ? "Never" : "Always");

    json_t *claims = pod->gpus ? sim_claims_of_spec(pod) : NULL;

    if (claims) {
        json_object_set_new(spec, "resourceClaims", claims);
    } else if (pod->gpus) {
        char count[16];

        snprintf(count, sizeof count, "%d", pod->gpus);
        json_object_set_new(
            container, "resources",
            json_make("{s:{s:s}, s:{s:s}}", "limits", SIM_GPU, count, "requests", SIM_GPU, count));
    }
    if (pod->has_claim && pod->is_ephemeral)
        json_object_set_new(spec, "volumes",
                            json_make("[{s:s, s:{s:{s:{}}}}]", "name", "data", "ephemeral",
                                      "volumeClaimTemplate", "spec"));
    else if (pod->has_claim)
        json_object_set_new(spec, "volumes",
                            json_make("[{s:s, s:{s:s}}]", "name", "data", "persistentVolumeClaim",
                                      "claimName", pod->name));
    if (pod->node_name[0])
        json_object_set_new(spec, "nodeName", json_string(pod->node_name));
    if (!pod->job && !pod->deployment)
        json_object_set_new(spec, "tolerations", json_make("[{s:s}]", "operator", "Exists"));
    return spec;
}

static json_t *pod_status(const struct simulator *sim, const struct kube_pod *pod)
{
    static const char *const phases[] = { "Pending", "Running", "Succeeded", "Failed" };
    char since[WALL_TEXT_SIZE];
    size_t i;
    json_t *foreign;
    json_t *conditions = json_array();

    time_in(sim, pod->cluster, pod->started_ms ? pod->started_ms : pod->created_ms, since);
    json_array_append_new(conditions,
                          condition("PodScheduled", pod->node_name[0] ? "True" : "False",
                                    pod->node_name[0] ? "Scheduled" : "Unschedulable", since));
    if (pod->node_name[0])
        json_array_append_new(conditions, condition("Ready", pod->is_ready ? "True" : "False",
                                                    pod->is_ready ? "Ready" : "NotReady", since));
    json_array_foreach(pod->conditions, i, foreign)
        json_array_append(conditions, foreign);

    json_t *status = json_make("{s:s, s:o}", "phase", phases[pod->state], "conditions", conditions);

    json_t *claims = sim_claims_of_status(pod);

    if (claims)
        json_object_set_new(status, "resourceClaimStatuses", claims);
    if (pod->started_ms)
        json_object_set_new(status, "startTime", json_string(since));
    return status;
}

struct blob *sim_encode_pod(const struct simulator *sim, const struct kube_pod *pod)
{
    return sim_blob_of(json_make("{s:s, s:s, s:o, s:o, s:o}", "apiVersion", "v1", "kind", "Pod",
                                 "metadata", pod_metadata(sim, pod), "spec", pod_spec(pod),
                                 "status", pod_status(sim, pod)));
}

void sim_node_changed(struct simulator *sim, struct kube_node *node, enum change_type type)
{
    struct change change = { .kind = OBJECT_NODE, .type = type };

    node->version = change.version = ++node->cluster->version;
    sim_blob_drop(node->blob);
    node->blob = change.blob = sim_encode_node(sim, node);
    text_copy(change.name, sizeof change.name, node->name);
    sim_history_add(sim, node->cluster, &change);
    sim_devices_follow(sim, node, type == CHANGE_DELETED);
}

void sim_pod_changed(struct simulator *sim, struct kube_pod *pod, enum change_type type)
{
    struct change change = { .kind = OBJECT_POD, .type = type };
    bool was_bound = pod->blob && strstr(pod->blob->chars, "\"nodeName\":\"");

    pod->version = change.version = ++pod->cluster->version;
    sim_blob_drop(pod->blob);
    pod->blob = change.blob = sim_encode_pod(sim, pod);
    change.is_binding = pod->node_name[0] && !was_bound;
    text_copy(change.name, sizeof change.name, pod->name);
    text_copy(change.node_name, sizeof change.node_name, pod->node_name);
    sim_history_add(sim, pod->cluster, &change);
    sim_budgets_review(sim, pod);
}
