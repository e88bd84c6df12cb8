/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases about pods: which there are, what they are, and deletes with their grace.
 */
#include "base/map.h"
#include "clusters/kube_verbs.h"
#include "tests/conformance/conformance.h"

#include <stdio.h>
#include <string.h>

enum { CROWD = 502 }; /* two more than a page holds */

/* How many of a PodList's pods are of this namespace; -1: not the first page. */
static int count_ours(const struct stage *stage, const json_t *list)
{
    int count = 0;
    size_t i;
    json_t *pod;

    json_array_foreach(json_at(list, "items"), i, pod) {
        count += text_equal(json_text_or(pod, "metadata/namespace", ""), stage->namespace);
    }
    return count;
}

static void read_pods(struct stage *stage, const char *node, const char *token, struct heard *heard)
{
    cluster_read_pods(stage->cluster, node, token, hear, heard);
    await_heard(stage, heard);
    if (heard->err.kind)
        fail_msg("%s", heard->err.text);
}

void a_late_pod_is_listed(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct heard heard = { 0 };

    stage_ask(stage, ASK_MERGE_PATCH, json_make("{s:{s:b}}", "spec", "unschedulable", 1),
              "/api/v1/nodes/%s", node);
    stage_expect(stage, 200);
    read_pods(stage, node, NULL, &heard);
    assert_int_equal(count_ours(stage, heard.body), 0);
    heard_clear(&heard);

    /* A scheduler that had not seen the cordon binds one all the same; the list at once has it. */
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s}, s:{s:s, s:[{s:s, s:s}]}}", "apiVersion", "v1", "kind",
                        "Pod", "metadata", "name", "late", "spec", "nodeName", node, "containers",
                        "name", "main", "image", "registry.example/main:1"),
              "/api/v1/namespaces/%s/pods", stage->namespace);
    stage_expect(stage, 201);
    read_pods(stage, node, NULL, &heard);
    assert_int_equal(count_ours(stage, heard.body), 1);
    heard_clear(&heard);
}

static const struct pod *daemon_of(const struct stage *stage, const char *node)
{
    void *value;

    for (size_t i = 0; map_next(cluster_snapshot(stage->cluster)->pods, &i, NULL, &value);) {
        const struct pod *pod = value;

        if (text_equal(pod->node_name, node) && pod_class_of(pod) == POD_CLASS_DAEMON)
            return pod;
    }
    return NULL;
}

static bool has_daemon(struct stage *stage, const void *context)
{
    const struct pod *pod = daemon_of(stage, context);

    return pod && pod->phase == POD_RUNNING;
}

static bool is_finished(struct stage *stage, const void *context)
{
    const struct pod *pod = stage_pod(stage, context);

    return pod && pod_class_of(pod) == POD_CLASS_FINISHED;
}

static void pods_have_classes(struct stage *stage)
{
    const char *node = stage_add_node(stage);

    mem_free(stage_add_pod(
        stage, &(struct pod_wish){ .name = "mirror", .node = node, .is_mirror = true }));
    mem_free(stage_add_pod(stage, &(struct pod_wish){ .name = "alone", .node = node }));
    mem_free(stage_add_pod(stage, &(struct pod_wish){ .name = "over", .node = node }));
    stage_await(stage, "the pod of the DaemonSet", has_daemon, node);
    assert_int_equal(pod_class_of(stage_pod(stage, "mirror")), POD_CLASS_MIRROR);
    assert_int_equal(pod_class_of(stage_pod(stage, "alone")), POD_CLASS_UNMANAGED);
    assert_false(pod_must_leave(stage_pod(stage, "mirror")));
    assert_false(pod_must_leave(daemon_of(stage, node)));
    assert_true(pod_must_leave(stage_pod(stage, "alone")));

    stage_ask(stage, ASK_STRATEGIC_PATCH, json_make("{s:{s:s}}", "status", "phase", "Succeeded"),
              "/api/v1/namespaces/%s/pods/over/status", stage->namespace);
    stage_expect(stage, 200);
    stage_await(stage, "the pod, finished", is_finished, "over");
    assert_false(pod_must_leave(stage_pod(stage, "over")));
}

static bool is_left_alone(struct stage *stage, const void *context)
{
    const struct pod *pod = stage_pod(stage, context);

    /* a real garbage collector has it soon; the simulator has none */
    return stage->choice.kubeconfig ? stage_is_gone(stage, context)
                                    : pod && pod_class_of(pod) == POD_CLASS_DAEMON;
}

void an_ownerless_daemon_holds_nothing(struct stage *stage)
{
    const char *node = stage_add_node(stage);

    stage_ask(
        stage, ASK_POST,
        json_make("{s:s, s:s, s:{s:s, s:[{s:s, s:s, s:s, s:s, s:b}]}, s:{s:s, s:[{s:s, s:s}]}}",
                  "apiVersion", "v1", "kind", "Pod", "metadata", "name", "orphan",
                  "ownerReferences", "apiVersion", "apps/v1", "kind", "DaemonSet", "name", "gone",
                  "uid", "00000000-0000-4000-8000-000000000000", "controller", 1, "spec",
                  "nodeName", node, "containers", "name", "main", "image",
                  "registry.example/main:1"),
        "/api/v1/namespaces/%s/pods", stage->namespace);
    stage_expect(stage, 201);
    stage_await(stage, "the orphan, left alone", is_left_alone, "orphan");
    pods_have_classes(stage);
}

struct daemon {
    const char *node;
    const char *old_uid;
};

static bool is_back(struct stage *stage, const void *context)
{
    const struct daemon *daemon = context;
    const struct pod *pod = daemon_of(stage, daemon->node);

    return pod && pod->phase == POD_RUNNING && !text_equal(pod->uid, daemon->old_uid);
}

void a_daemon_comes_back(struct stage *stage)
{
    const char *node = stage_add_node(stage);

    stage_await(stage, "the pod of the DaemonSet", has_daemon, node);

    const struct pod *pod = daemon_of(stage, node);
    owned(chars) char *uid = mem_copy_chars(pod->uid);
    struct daemon daemon = { node, uid };

    stage_ask(stage, ASK_DELETE, NULL, "/api/v1/namespaces/%s/pods/%s?gracePeriodSeconds=0",
              pod->namespace, pod->name);
    stage_expect(stage, 200);
    stage_await(stage, "another pod of the DaemonSet", is_back, &daemon);
    assert_false(pod_must_leave(daemon_of(stage, node)));
}

struct grace {
    const char *pod;
    int64_t at_most_s;
};

/* Seconds until the end of the grace that the server granted; -1: it does not leave. */
static int64_t grace_left_s(struct stage *stage, const char *name)
{
    const struct pod *pod = stage_pod(stage, name);

    if (!pod || pod->deletion.ms == 0)
        return -1;
    return (pod->deletion.ms - loop_wall(stage->loop).ms) / SECOND_MS;
}

static bool is_granted(struct stage *stage, const void *context)
{
    const struct grace *grace = context;
    int64_t left_s = grace_left_s(stage, grace->pod);

    return left_s >= 0 && left_s <= grace->at_most_s;
}

void grace_only_shortens(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct pod_wish wish = { .name = "slow", .node = node, .grace_s = 300, .is_stuck = true };
    owned(chars) char *uid = stage_add_pod(stage, &wish);
    struct grace whole = { "slow", 301 }, shorter = { "slow", 21 };

    assert_int_equal(stage_evict(stage, "slow", uid).kind, ERROR_NONE);
    stage_await(stage, "the whole grace", is_granted, &whole);
    assert_true(grace_left_s(stage, "slow") > 290);
    /* Evicting it again neither fails nor shortens. */
    assert_int_equal(stage_evict(stage, "slow", uid).kind, ERROR_NONE);
    stage_run(stage, SECOND_MS);
    assert_true(grace_left_s(stage, "slow") > 280);

    assert_int_equal(stage_delete(stage, "slow", uid, 20).kind, ERROR_NONE);
    stage_await(stage, "the shorter grace", is_granted, &shorter);
    assert_int_equal(stage_delete(stage, "slow", uid, 200).kind, ERROR_NONE);
    stage_run(stage, SECOND_MS);
    assert_true(is_granted(stage, &shorter));
}

void a_deaf_pod_needs_grace_zero(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct pod_wish wish = { .name = "deaf", .node = node, .is_stuck = true };
    owned(chars) char *uid = stage_add_pod(stage, &wish);

    assert_int_equal(stage_delete(stage, "deaf", uid, 1).kind, ERROR_NONE);
    stage_run(stage, 3 * SECOND_MS);
    assert_false(stage_is_gone(stage, "deaf"));
    /* Another pod's UID takes nothing away, and is no failure: that one is gone. */
    assert_int_equal(stage_delete(stage, "deaf", "00000000-0000-4000-8000-000000000000", 0).kind,
                     ERROR_NONE);
    assert_false(stage_is_gone(stage, "deaf"));
    assert_int_equal(stage_delete(stage, "deaf", uid, 0).kind, ERROR_NONE);
    stage_await_gone(stage, "deaf");
    assert_int_equal(stage_delete(stage, "deaf", uid, 0).kind, ERROR_NONE);
}

void a_foreign_finalizer_stays(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct pod_wish wish = { .name = "held", .node = node, .finalizer = "example.com/theirs" };
    owned(chars) char *uid = stage_add_pod(stage, &wish);

    assert_string_equal(stage_pod(stage, "held")->finalizers, "example.com/theirs");
    assert_int_equal(stage_delete(stage, "held", uid, 0).kind, ERROR_NONE);
    stage_run(stage, 2 * SECOND_MS);
    assert_false(stage_is_gone(stage, "held"));
    assert_string_equal(
        json_string_value(json_array_get(json_at(stage->body, "metadata/finalizers"), 0)),
        "example.com/theirs");
    stage_ask(stage, ASK_MERGE_PATCH, json_make("{s:{s:[]}}", "metadata", "finalizers"),
              "/api/v1/namespaces/%s/pods/held", stage->namespace);
    stage_expect(stage, 200);
    stage_await_gone(stage, "held");
}

void pages_hold_every_pod(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct heard first = { 0 }, rest = { 0 };

    for (int i = 0; i < CROWD; i++) {
        char name[24];

        snprintf(name, sizeof name, "one-%03d", i);
        stage_ask(stage, ASK_POST,
                  json_make("{s:s, s:s, s:{s:s}, s:{s:s, s:[{s:s, s:s}]}}", "apiVersion", "v1",
                            "kind", "Pod", "metadata", "name", name, "spec", "nodeName", node,
                            "containers", "name", "main", "image", "registry.example/main:1"),
                  "/api/v1/namespaces/%s/pods", stage->namespace);
        stage_expect(stage, 201);
    }
    read_pods(stage, node, NULL, &first);

    const char *token = json_text_or(first.body, "metadata/continue", "");

    assert_string_not_equal(token, "");
    read_pods(stage, node, token, &rest);
    assert_string_equal(json_text_or(rest.body, "metadata/continue", ""), "");
    assert_int_equal(count_ours(stage, first.body) + count_ours(stage, rest.body), CROWD);
    heard_clear(&first);
    heard_clear(&rest);
}

static bool is_down(struct stage *stage, const void *context)
{
    const struct node *node = stage_node(stage, context);

    return node && !node->is_ready;
}

/* A pod that never stops, on a node that is down: who is told that the node is out of service
   removes it, and no client used grace 0. */
void an_out_of_service_node_is_let_go(struct stage *stage)
{
    const char *name = stage_add_node(stage);
    struct pod_wish wish = { .name = "deaf", .node = name, .is_stuck = true, .grace_s = 1 };
    owned(chars) char *uid = stage_add_pod(stage, &wish);
    struct node_change change = {
        .taint_key = "node.kubernetes.io/out-of-service",
        .taint_value = "nodeshutdown",
        .taint_effect = "NoExecute",
    };
    owned(json) json_t *patch = NULL;
    struct heard heard = { 0 };

    assert_int_equal(stage_delete(stage, "deaf", uid, 1).kind, ERROR_NONE);
    stage_ask(
        stage, ASK_MERGE_PATCH,
        json_make("{s:{s:{s:s}}}", "metadata", "annotations", "test.sluice.dev/boots", "false"),
        "/api/v1/nodes/%s", name);
    stage_expect(stage, 200);
    stage_ask(stage, ASK_STRATEGIC_PATCH,
              json_make("{s:{s:[{s:s, s:s, s:s}]}}", "status", "conditions", "type", "Ready",
                        "status", "False", "reason", "KubeletNotReady"),
              "/api/v1/nodes/%s/status", name);
    stage_expect(stage, 200);
    stage_await(stage, "the node, down", is_down, name);
    stage_run(stage, 2 * SECOND_MS);
    assert_false(stage_is_gone(stage, "deaf"));
    patch = node_change_patch(stage_node(stage, name), &change);
    cluster_patch_node(stage->cluster, name, patch, hear, &heard);
    await_heard(stage, &heard);
    assert_int_equal(heard.err.kind, ERROR_NONE);
    heard_clear(&heard);
    stage_await_gone(stage, "deaf");
}
