/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a case posts and looks at: nodes, pods, budgets; and what the product's verbs answer.
 */
#include "clusters/kube_verbs.h"
#include "tests/conformance/conformance.h"

#include <string.h>

static bool is_node_ready(struct stage *stage, const void *context)
{
    const struct node *node = stage_node(stage, context);

    return node && node->is_ready && !node_has_taint(node, "node.kubernetes.io/not-ready");
}

const char *stage_add_node(struct stage *stage)
{
    require(stage->node_count < STAGE_NODES);

    char *name = text_format("%s-n%zu", stage->namespace, stage->node_count);
    owned(chars) char *id = text_format("gce://p/r-a/%s", name);
    json_t *resources = json_make("{s:s, s:s, s:s, s:s}", "cpu", "192", "memory", "1800Gi", "pods",
                                  "110", "nvidia.com/gpu", "8");

    stage->nodes[stage->node_count++] = name;
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s, s:{s:s}}, s:{s:s}, s:{s:O, s:o}}", "apiVersion", "v1",
                        "kind", "Node", "metadata", "name", name, "labels",
                        "kubernetes.io/hostname", name, "spec", "providerID", id, "status",
                        "allocatable", resources, "capacity", resources),
              "/api/v1/nodes");
    stage_expect(stage, 201);
    stage_await(stage, "the node, Ready", is_node_ready, name);
    return name;
}

const struct node *stage_node(const struct stage *stage, const char *name)
{
    return map_get(cluster_snapshot(stage->cluster)->nodes, name);
}

const struct pod *stage_pod(const struct stage *stage, const char *name)
{
    void *value;

    for (size_t i = 0; map_next(cluster_snapshot(stage->cluster)->pods, &i, NULL, &value);) {
        const struct pod *pod = value;

        if (text_equal(pod->name, name) && text_equal(pod->namespace, stage->namespace))
            return pod;
    }
    return NULL;
}

static bool is_running(struct stage *stage, const void *context)
{
    const struct pod *pod = stage_pod(stage, context);

    return pod && pod->phase == POD_RUNNING && pod->is_ready;
}

static json_t *metadata_of(const struct stage *stage, const struct pod_wish *wish)
{
    json_t *metadata = json_make("{s:s, s:s}", "name", wish->name, "namespace", stage->namespace);
    json_t *notes = json_object();

    if (wish->app)
        json_object_set_new(metadata, "labels", json_make("{s:s}", "app", wish->app));
    if (wish->stops_in)
        json_object_set_new(notes, "test.sluice.dev/stops-in", json_string(wish->stops_in));
    if (wish->is_stuck)
        json_object_set_new(notes, "test.sluice.dev/stuck", json_string("true"));
    if (wish->is_mirror)
        json_object_set_new(notes, "kubernetes.io/config.mirror", json_string("0123456789abcdef"));
    json_object_set_new(metadata, "annotations", notes);
    if (wish->finalizer)
        json_object_set_new(metadata, "finalizers", json_make("[s]", wish->finalizer));
    return metadata;
}

char *stage_add_pod(struct stage *stage, const struct pod_wish *wish)
{
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:o, s:{s:s, s:I, s:[{s:s, s:s}]}}", "apiVersion", "v1", "kind",
                        "Pod", "metadata", metadata_of(stage, wish), "spec", "nodeName", wish->node,
                        "terminationGracePeriodSeconds",
                        (json_int_t)(wish->grace_s ? wish->grace_s : 30), "containers", "name",
                        "main", "image", "registry.example/main:1"),
              "/api/v1/namespaces/%s/pods", stage->namespace);
    stage_expect(stage, 201);

    char *uid = mem_copy_chars(json_text_or(stage->body, "metadata/uid", ""));

    stage_await(stage, "the pod, running", is_running, wish->name);
    return uid;
}

void stage_add_budget(struct stage *stage, const char *name, const char *app, int min_available,
                      bool allows_unready)
{
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:{s:{s:s}}, s:s}}", "apiVersion", "policy/v1",
                        "kind", "PodDisruptionBudget", "metadata", "name", name, "spec",
                        "minAvailable", min_available, "selector", "matchLabels", "app", app,
                        "unhealthyPodEvictionPolicy",
                        allows_unready ? "AlwaysAllow" : "IfHealthyBudget"),
              "/apis/policy/v1/namespaces/%s/poddisruptionbudgets", stage->namespace);
    stage_expect(stage, 201);
}

struct health {
    const char *budget;
    int healthy;
};

static bool counts(struct stage *stage, const void *context)
{
    const struct health *health = context;

    stage_ask(stage, ASK_GET, NULL, "/apis/policy/v1/namespaces/%s/poddisruptionbudgets/%s",
              stage->namespace, health->budget);
    return json_int_or(stage->body, "status/observedGeneration", 0) == 1 &&
           json_int_or(stage->body, "status/currentHealthy", -1) == health->healthy;
}

void stage_await_healthy(struct stage *stage, const char *budget, int healthy)
{
    struct health health = { budget, healthy };

    stage_await(stage, "the budget's count of healthy pods", counts, &health);
}

void hear(void *context, const json_t *body, const struct error *err)
{
    struct heard *heard = context;

    heard->is_done = true;
    heard->err = err ? *err : (struct error){ 0 };
    heard->body = body ? json_deep_copy(body) : NULL;
}

static bool is_heard(struct stage *stage, const void *context)
{
    (void)stage;
    return ((const struct heard *)context)->is_done;
}

void await_heard(struct stage *stage, struct heard *heard)
{
    stage_await(stage, "an answer to a verb", is_heard, heard);
}

void heard_clear(struct heard *heard)
{
    json_decref(heard->body);
    *heard = (struct heard){ 0 };
}

struct error stage_evict(struct stage *stage, const char *pod, const char *uid)
{
    struct heard heard = { 0 };
    struct error err;

    cluster_evict_pod(stage->cluster,
                      &(struct pod_ref){ .namespace = stage->namespace, .name = pod, .uid = uid },
                      0, hear, &heard);
    await_heard(stage, &heard);
    err = heard.err;
    heard_clear(&heard);
    return err;
}

struct error stage_delete(struct stage *stage, const char *pod, const char *uid, int64_t grace_s)
{
    struct heard heard = { 0 };
    struct error err;

    cluster_delete_pod(stage->cluster,
                       &(struct pod_ref){ .namespace = stage->namespace, .name = pod, .uid = uid },
                       grace_s, hear, &heard);
    await_heard(stage, &heard);
    err = heard.err;
    heard_clear(&heard);
    return err;
}

bool stage_is_gone(struct stage *stage, const char *pod)
{
    return stage_ask(stage, ASK_GET, NULL, "/api/v1/namespaces/%s/pods/%s", stage->namespace,
                     pod) == 404;
}

static bool is_gone(struct stage *stage, const void *context)
{
    return stage_is_gone(stage, context) && !stage_pod(stage, context);
}

void stage_await_gone(struct stage *stage, const char *pod)
{
    stage_await(stage, "the end of the pod", is_gone, pod);
}
