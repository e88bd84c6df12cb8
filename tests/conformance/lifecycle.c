/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases about the last of a pod and the first of a node: what is deleted past its deadline, on a
 * node that answers or does not, what of a new node is believed; and whether there is a Kueue.
 */
#include "clusters/gpus.h"
#include "clusters/kube_verbs.h"
#include "clusters/kueue.h"
#include "tests/conformance/conformance.h"

#include <string.h>

static const json_t *ask_pod(struct stage *stage, const char *name)
{
    stage_ask(stage, ASK_GET, NULL, "/api/v1/namespaces/%s/pods/%s", stage->namespace, name);
    stage_expect(stage, 200);
    return stage->body;
}

static const json_t *condition_of(const json_t *object, const char *type)
{
    size_t i;
    json_t *condition;

    json_array_foreach(json_at(object, "status/conditions"), i, condition) {
        if (text_equal(json_text_or(condition, "type", ""), type))
            return condition;
    }
    return NULL;
}

static void mark(struct stage *stage, const char *pod, const char *uid, enum error_kind expected)
{
    struct heard heard = { 0 };

    cluster_mark_pod(stage->cluster,
                     &(struct pod_ref){ .namespace = stage->namespace, .name = pod, .uid = uid },
                     "the node moves", hear, &heard);
    await_heard(stage, &heard);
    assert_int_equal(heard.err.kind, expected);
    heard_clear(&heard);
}

/* A budget that lets nothing go does not hold a delete; the mark tells the owner what it was, and
   the grace is what was granted. */
void a_delete_passes_a_budget_and_is_marked(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct pod_wish wish = { .name = "work", .node = node, .app = "chat", .stops_in = "3s" };
    owned(chars) char *uid = stage_add_pod(stage, &wish);
    struct error err;

    stage_add_budget(stage, "keep", "chat", 1, false);
    stage_await_healthy(stage, "keep", 1);
    err = stage_evict(stage, "work", uid);
    assert_true(cluster_is_budget(&err));
    mark(stage, "work", "00000000-0000-4000-8000-000000000000", ERROR_CONFLICT);
    assert_null(condition_of(ask_pod(stage, "work"), "DisruptionTarget"));
    mark(stage, "work", uid, ERROR_NONE);
    assert_int_equal(stage_delete(stage, "work", uid, 12).kind, ERROR_NONE);

    const json_t *pod = ask_pod(stage, "work");
    const json_t *condition = condition_of(pod, "DisruptionTarget");

    assert_int_equal(json_int_or(pod, "metadata/deletionGracePeriodSeconds", 0), 12);
    assert_string_equal(json_text_or(condition, "status", ""), "True");
    assert_string_equal(json_text_or(condition, "reason", ""), "DeletionByCapacityBroker");
    stage_await_gone(stage, "work");
}

static struct error post_event(struct stage *stage, const char *name, const char *uid)
{
    struct kube_event event = {
        .name = name,
        .kind = "Pod",
        .namespace = stage->namespace,
        .object = "work",
        .uid = uid,
        .reason = "ForcedDelete",
        .message = "was not gone in time and is deleted with 12 s of its 3600 s to stop",
        .is_warning = true,
    };
    struct heard heard = { 0 };
    struct error err;

    cluster_post_event(stage->cluster, &event, hear, &heard);
    await_heard(stage, &heard);
    err = heard.err;
    heard_clear(&heard);
    return err;
}

/* A grace that is longer than any drain is read as it is, and its cut is told once. */
void a_cut_grace_is_told_once(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct pod_wish wish = { .name = "work", .node = node, .grace_s = 3600 };
    owned(chars) char *uid = stage_add_pod(stage, &wish);

    assert_int_equal(stage_pod(stage, "work")->grace_s, 3600);
    assert_int_equal(post_event(stage, "sluice-1", uid).kind, ERROR_NONE);
    assert_int_equal(post_event(stage, "sluice-1", uid).kind, ERROR_CONFLICT);
}

static bool is_silent(struct stage *stage, const void *context)
{
    const struct node *node = stage_node(stage, context);

    return node && node->is_silent && !node->is_ready;
}

/* A node whose state is Unknown is seen to be silent; a pod on it that was told to stop stays, and
   only grace 0 takes it away. */
void a_silent_node_keeps_its_pods(struct stage *stage)
{
    const char *name = stage_add_node(stage);
    struct pod_wish wish = { .name = "work", .node = name, .is_stuck = true };
    owned(chars) char *uid = stage_add_pod(stage, &wish);

    stage_ask(
        stage, ASK_MERGE_PATCH,
        json_make("{s:{s:{s:s}}}", "metadata", "annotations", "test.sluice.dev/boots", "false"),
        "/api/v1/nodes/%s", name);
    stage_expect(stage, 200);
    stage_ask(stage, ASK_STRATEGIC_PATCH,
              json_make("{s:{s:[{s:s, s:s, s:s}]}}", "status", "conditions", "type", "Ready",
                        "status", "Unknown", "reason", "NodeStatusUnknown"),
              "/api/v1/nodes/%s/status", name);
    stage_expect(stage, 200);
    stage_await(stage, "the node, silent", is_silent, name);
    assert_int_equal(stage_evict(stage, "work", uid).kind, ERROR_NONE);
    assert_int_equal(stage_delete(stage, "work", uid, 1).kind, ERROR_NONE);
    stage_run(stage, 3 * SECOND_MS);
    assert_false(stage_is_gone(stage, "work"));
    assert_int_equal(stage_delete(stage, "work", uid, 0).kind, ERROR_NONE);
    stage_await_gone(stage, "work");
}

static const struct node *node_of_machine(const struct stage *stage, const char *name)
{
    owned(chars) char *id = text_format("gce://p/r-a/%s", name);

    return snapshot_node_of_provider(cluster_snapshot(stage->cluster), id, name);
}

struct renewal {
    const char *name;
    const char *old_uid;
};

static bool is_new(struct stage *stage, const void *context)
{
    const struct renewal *renewal = context;
    const struct node *node = node_of_machine(stage, renewal->name);

    return node && !text_equal(node->uid, renewal->old_uid);
}

static json_t *node_of(const char *name, const char *provider_id)
{
    return json_make("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "v1", "kind", "Node", "metadata",
                     "name", name, "spec", "providerID", provider_id);
}

/* A Node of the machine's name with another machine's provider ID is not the machine's. */
void a_node_is_found_by_its_machine(struct stage *stage)
{
    const char *name = stage_add_node(stage);
    owned(chars) char *uid = mem_copy_chars(stage_node(stage, name)->uid);
    owned(chars) char *id = text_format("gce://p/r-a/%s", name);
    struct renewal renewal = { name, uid };

    assert_ptr_equal(node_of_machine(stage, name), stage_node(stage, name));
    stage_ask(stage, ASK_DELETE, NULL, "/api/v1/nodes/%s", name);
    stage_expect(stage, 200);
    stage_ask(stage, ASK_POST, node_of(name, "gce://p/r-a/another"), "/api/v1/nodes");
    stage_expect(stage, 201);
    stage_run(stage, 2 * SECOND_MS);
    assert_non_null(stage_node(stage, name));
    assert_null(node_of_machine(stage, name));
    stage_ask(stage, ASK_DELETE, NULL, "/api/v1/nodes/%s", name);
    stage_expect(stage, 200);
    stage_ask(stage, ASK_POST, node_of(name, id), "/api/v1/nodes");
    stage_expect(stage, 201);
    stage_await(stage, "the machine's own Node", is_new, &renewal);
}

struct gpus {
    const char *node;
    int count;
};

static bool has_gpus(struct stage *stage, const void *context)
{
    const struct gpus *gpus = context;
    const struct node *node = stage_node(stage, gpus->node);

    return node && node->is_ready &&
           gpus_of_node(cluster_snapshot(stage->cluster), node) == gpus->count;
}

/* The kubelet says how many there are: none, and again eight; Ready says nothing of them. */
void gpus_are_counted_as_they_come_and_go(struct stage *stage)
{
    static const struct {
        const char *text;
        int count;
    } rows[] = { { "0", 0 }, { "8", 8 }, { "0", 0 }, { "7", 7 }, { "8", 8 } };
    const char *name = stage_add_node(stage);

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gpus gpus = { name, rows[i].count };

        stage_ask(
            stage, ASK_STRATEGIC_PATCH,
            json_make("{s:{s:{s:s}}}", "status", "allocatable", "nvidia.com/gpu", rows[i].text),
            "/api/v1/nodes/%s/status", name);
        stage_expect(stage, 200);
        stage_await(stage, "the count of GPUs", has_gpus, &gpus);
    }
}

/* A server without Kueue says so in plain text; one with it has no queue of that name. */
void a_missing_kueue_is_told_apart(struct stage *stage)
{
    owned(chars) char *path = kueue_path("none-such");
    struct heard heard = { 0 };
    bool is_there;

    stage_ask(stage, ASK_GET, NULL, "/apis/kueue.x-k8s.io");
    is_there = stage->status == 200;
    if (!is_there)
        stage_expect(stage, 404);
    cluster_read_at(stage->cluster, path, hear, &heard);
    await_heard(stage, &heard);
    assert_int_equal(heard.err.kind, is_there ? ERROR_NOT_FOUND : ERROR_INVALID);
    assert_non_null(
        strstr(heard.err.text, is_there ? "none-such" : "no version of kueue.x-k8s.io"));
    heard_clear(&heard);
}
