/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Deployments with their ReplicaSets, the DaemonSet, Jobs, budgets and stored objects for other
 * clients.
 */
#include "tools/simulator/apiserver/resources.h"
#include "tools/simulator/kube/deployments.h"
#include "tools/simulator/kube/kube_versions.h"

#include <inttypes.h>

static json_t *time_of(const struct sim_call *call, int64_t loop_ms)
{
    char chars[WALL_TEXT_SIZE];

    return json_string(sim_time(call->sim, loop_ms + call->cluster->plan->ahead_ms, chars));
}

static json_t *number_text(uint64_t number)
{
    char chars[24];

    snprintf(chars, sizeof chars, "%" PRIu64, number);
    return json_string(chars);
}

/* A pod template as the simulator's own pods are made. */
static json_t *template_of(json_t *labels, int gpus, const char *restart)
{
    json_t *container = json_make("{s:s, s:s, s:{}}", "name", "main", "image",
                                  "registry.example/main:1", "resources");
    char count[16];

    snprintf(count, sizeof count, "%d", gpus);
    if (gpus)
        json_object_set_new(
            container, "resources",
            json_make("{s:{s:s}, s:{s:s}}", "limits", SIM_GPU, count, "requests", SIM_GPU, count));
    return json_make("{s:{s:o}, s:{s:[o], s:s}}", "metadata", "labels", labels, "spec",
                     "containers", container, "restartPolicy", restart);
}

/* The version changes with each change of the Deployment or of its pods. */
static uint64_t version_of(const struct deployment *deployment)
{
    uint64_t version = deployment->version;

    for (size_t i = 0; i < deployment->pods.count; i++)
        if (deployment->pods.items[i]->version > version)
            version = deployment->pods.items[i]->version;
    return version;
}

static int ready_of(const struct deployment *deployment)
{
    int count = 0;

    for (size_t i = 0; i < deployment->pods.count; i++)
        count += deployment->pods.items[i]->is_ready && !deployment->pods.items[i]->deletion_ms;
    return count;
}

static json_t *selector_of(const struct deployment *deployment)
{
    const json_t *posted = json_at(deployment->written, "spec/selector");

    return posted ? json_deep_copy(posted)
                  : json_make("{s:{s:s}}", "matchLabels", "app", deployment->plan->name);
}

static json_t *deployment_template(const struct deployment *deployment)
{
    const json_t *posted = json_at(deployment->written, "spec/template");

    return posted ? json_deep_copy(posted)
                  : template_of(json_make("{s:s}", "app", deployment->plan->name),
                                deployment->plan->gpus, "Always");
}

static json_t *deployment_status(const struct sim_call *call, const struct deployment *deployment)
{
    int staying = sim_deployment_staying(deployment), ready = ready_of(deployment);
    bool is_available = ready >= deployment->replicas;

    return json_make(
        "{s:i, s:i, s:i, s:i, s:i, s:i, s:[{s:s, s:s, s:s, s:s, s:o, s:o},"
        " {s:s, s:s, s:s, s:s, s:o, s:o}]}",
        "observedGeneration", 1, "replicas", staying, "updatedReplicas",
        staying - deployment->outdated, "readyReplicas", ready, "availableReplicas", ready,
        "unavailableReplicas", is_available ? 0 : deployment->replicas - ready, "conditions",
        "type", "Available", "status", is_available ? "True" : "False", "reason",
        is_available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable", "message",
        is_available ? "Deployment has minimum availability."
                     : "Deployment does not have minimum availability.",
        "lastUpdateTime", time_of(call, call->sim->start_ms), "lastTransitionTime",
        time_of(call, call->sim->start_ms), "type", "Progressing", "status", "True", "reason",
        "NewReplicaSetAvailable", "message", "ReplicaSet has successfully progressed.",
        "lastUpdateTime", time_of(call, call->sim->start_ms), "lastTransitionTime",
        time_of(call, call->sim->start_ms));
}

static json_t *deployment_object(const struct sim_call *call, const struct deployment *deployment)
{
    const json_t *labels = json_at(deployment->written, "metadata/labels");
    const json_t *notes = json_at(deployment->written, "metadata/annotations");
    json_t *metadata = json_make(
        "{s:s, s:s, s:s, s:o, s:i, s:o, s:o}", "name", deployment->plan->name, "namespace",
        deployment->plan->namespace, "uid", deployment->uid, "resourceVersion",
        number_text(version_of(deployment)), "generation", 1, "creationTimestamp",
        time_of(call, call->sim->start_ms), "labels",
        labels ? json_deep_copy(labels) : json_make("{s:s}", "app", deployment->plan->name));

    if (notes)
        json_object_set_new(metadata, "annotations", json_deep_copy(notes));
    return json_make("{s:s, s:s, s:o, s:{s:i, s:o, s:o, s:{s:s, s:{s:s, s:s}}, s:i, s:i}, s:o}",
                     "apiVersion", "apps/v1", "kind", "Deployment", "metadata", metadata, "spec",
                     "replicas", deployment->replicas, "selector", selector_of(deployment),
                     "template", deployment_template(deployment), "strategy", "type",
                     "RollingUpdate", "rollingUpdate", "maxUnavailable", "25%", "maxSurge", "25%",
                     "revisionHistoryLimit", 10, "progressDeadlineSeconds", 600, "status",
                     deployment_status(call, deployment));
}

void api_collect_deployments(struct sim_call *call, const struct api_resource *resource,
                             json_t *items)
{
    (void)resource;
    for (size_t i = 0; i < call->cluster->deployments.count; i++)
        if (!call->cluster->deployments.items[i]->is_deleted)
            json_array_append_new(items,
                                  deployment_object(call, call->cluster->deployments.items[i]));
}

static json_t *replica_set_object(const struct sim_call *call, const struct deployment *deployment)
{
    owned(chars) char *name = text_format("%s-%s", deployment->plan->name, deployment->hash);
    json_t *template = deployment_template(deployment), *selector = selector_of(deployment);
    int staying = sim_deployment_staying(deployment), ready = ready_of(deployment);
    json_t *owner = json_make("{s:s, s:s, s:s, s:s, s:b, s:b}", "apiVersion", "apps/v1", "kind",
                              "Deployment", "name", deployment->plan->name, "uid", deployment->uid,
                              "controller", 1, "blockOwnerDeletion", 1);

    json_object_set_new(json_at(template, "metadata/labels"), "pod-template-hash",
                        json_string(deployment->hash));
    json_object_set_new(json_object_get(selector, "matchLabels"), "pod-template-hash",
                        json_string(deployment->hash));
    return json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:o, s:o, s:O, s:[o]}, s:{s:i, s:o, s:o},"
                     " s:{s:i, s:i, s:i, s:i}}",
                     "apiVersion", "apps/v1", "kind", "ReplicaSet", "metadata", "name", name,
                     "namespace", deployment->plan->namespace, "uid", deployment->set_uid,
                     "resourceVersion", number_text(version_of(deployment)), "creationTimestamp",
                     time_of(call, call->sim->start_ms), "labels",
                     json_at(template, "metadata/labels"), "ownerReferences", owner, "spec",
                     "replicas", deployment->replicas, "selector", selector, "template", template,
                     "status", "replicas", staying, "fullyLabeledReplicas", staying,
                     "readyReplicas", ready, "availableReplicas", ready);
}

void api_collect_replica_sets(struct sim_call *call, const struct api_resource *resource,
                              json_t *items)
{
    (void)resource;
    for (size_t i = 0; i < call->cluster->deployments.count; i++)
        if (!call->cluster->deployments.items[i]->is_deleted)
            json_array_append_new(items,
                                  replica_set_object(call, call->cluster->deployments.items[i]));
}

void api_collect_daemon_sets(struct sim_call *call, const struct api_resource *resource,
                             json_t *items)
{
    int nodes = (int)map_count(call->cluster->nodes), running = 0, ready = 0;
    json_t *template = template_of(json_make("{s:s}", "app", SIM_DAEMON), 0, "Always");
    void *value;

    (void)resource;
    for (size_t i = 0; map_next(call->cluster->pods, &i, NULL, &value);) {
        const struct kube_pod *pod = value;

        if (pod->job || pod->deployment || pod->written)
            continue;
        running++;
        ready += pod->is_ready;
    }
    json_object_set_new(json_object_get(template, "spec"), "tolerations",
                        json_make("[{s:s}]", "operator", "Exists"));
    json_array_append_new(
        items,
        json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:o, s:i, s:o}, s:{s:{s:{s:s}}, s:o},"
                  " s:{s:i, s:i, s:i, s:i, s:i, s:i, s:i}}",
                  "apiVersion", "apps/v1", "kind", "DaemonSet", "metadata", "name", SIM_DAEMON,
                  "namespace", "kube-system", "uid", SIM_DAEMON_UID, "resourceVersion",
                  number_text(call->cluster->version), "generation", 1, "creationTimestamp",
                  time_of(call, call->sim->start_ms), "spec", "selector", "matchLabels", "app",
                  SIM_DAEMON, "template", template, "status", "currentNumberScheduled", running,
                  "desiredNumberScheduled", nodes, "numberReady", ready, "numberAvailable", ready,
                  "numberMisscheduled", 0, "updatedNumberScheduled", running, "observedGeneration",
                  1));
}

/* A Job is here while its pod is. */
static json_t *job_object(const struct sim_call *call, const struct kube_pod *pod)
{
    const struct job *job = pod->job;
    bool is_done = pod->state == POD_IS_SUCCEEDED;
    json_t *labels = json_make("{s:s, s:s}", "team", job->team, "job-name", job->name);
    json_t *status = json_make("{s:o, s:i, s:i, s:i, s:i, s:{}}", "startTime",
                               time_of(call, pod->created_ms), "active", is_done ? 0 : 1, "ready",
                               pod->is_ready ? 1 : 0, "succeeded", is_done ? 1 : 0, "failed", 0,
                               "uncountedTerminatedPods");

    if (is_done)
        json_object_set_new(status, "conditions",
                            json_make("[{s:s, s:s}]", "type", "Complete", "status", "True"));
    return json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:o, s:i, s:o, s:O}, s:{s:i, s:i, s:i, s:s, s:b,"
                     " s:{s:{s:s}}, s:o}, s:o}",
                     "apiVersion", "batch/v1", "kind", "Job", "metadata", "name", job->name,
                     "namespace", pod->namespace, "uid", job->uid, "resourceVersion",
                     number_text(pod->version), "generation", 1, "creationTimestamp",
                     time_of(call, pod->created_ms), "labels", labels, "spec", "parallelism", 1,
                     "completions", 1, "backoffLimit", 6, "completionMode", "NonIndexed", "suspend",
                     0, "selector", "matchLabels", "job-name", job->name, "template",
                     template_of(labels, job->gpus, "Never"), "status", status);
}

void api_collect_jobs(struct sim_call *call, const struct api_resource *resource, json_t *items)
{
    void *value;

    (void)resource;
    for (size_t i = 0; map_next(call->cluster->pods, &i, NULL, &value);)
        if (((struct kube_pod *)value)->job)
            json_array_append_new(items, job_object(call, value));
}

void api_collect_budgets(struct sim_call *call, const struct api_resource *resource, json_t *items)
{
    (void)resource;
    for (size_t i = 0; i < call->cluster->budgets.count; i++) {
        const struct blob *blob = call->cluster->budgets.items[i]->blob;
        struct error err = { 0 };
        json_t *object = json_parse(blob->chars, blob->size, "budget", &err);

        require(object); /* we wrote it */
        json_object_set_new(json_object_get(object, "metadata"), "creationTimestamp",
                            time_of(call, call->sim->start_ms));
        json_array_append_new(items, object);
    }
}

/* Objects that no controller here acts on: their path ends with ".../PLURAL/NAME". */
void api_collect_stored(struct sim_call *call, const struct api_resource *resource, json_t *items)
{
    owned(chars) char *start = text_format("/apis/%s/", resource->group);
    owned(chars) char *shown = text_format("/apis/%s/%s/x", resource->group,
                                           api_resource_version(call, resource));
    owned(chars) char *middle = text_format("/%s/", resource->plural);
    const char *path;
    void *value;

    for (size_t i = 0; map_next(call->cluster->objects, &i, &path, &value);) {
        const char *at = text_starts_with(path, start) ? strstr(path + strlen(start) - 1, middle)
                                                       : NULL;
        json_t *object;

        if (!at || strchr(at + strlen(middle), '/'))
            continue;
        object = json_deep_copy(value);
        sim_version_show(shown, object);
        if (!json_object_get(object, "kind"))
            json_object_set_new(object, "kind", json_string(resource->kind));
        if (!json_at(object, "metadata/creationTimestamp"))
            json_object_set_new(json_object_get(object, "metadata"), "creationTimestamp",
                                time_of(call, call->sim->start_ms));
        json_array_append_new(items, object);
    }
}
