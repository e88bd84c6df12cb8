/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases about nodes: the cordon and its lock, what others wrote, and deletes by UID.
 */
#include "clusters/kube_verbs.h"
#include "tests/conformance/conformance.h"

#include <string.h>

#define LEAVING "sluice.dev/leaving"
#define NOTE "sluice.dev/transfer"
#define BALANCERS "node.kubernetes.io/exclude-from-external-load-balancers"

static const struct node *known_node(const struct stage *stage, const char *name)
{
    const struct node *node = stage_node(stage, name);

    assert_non_null(node);
    return node;
}

static json_t *cordon_patch(const struct node *node)
{
    owned(json) json_t *notes = json_make("{s:s}", NOTE, "1-test");
    owned(json) json_t *labels = json_make("{s:s}", BALANCERS, "true");
    struct node_change change = {
        .cordon = NODE_CORDON,
        .labels = labels,
        .taint_key = LEAVING,
        .taint_value = "1-test",
        .taint_effect = "NoSchedule",
        .annotations = notes,
    };

    return node_change_patch(node, &change);
}

/* The patch is made before `meanwhile` happens and sent after it. */
static struct error send_patch(struct stage *stage, const char *name, const json_t *patch)
{
    struct heard heard = { 0 };
    struct error err;

    cluster_patch_node(stage->cluster, name, patch, hear, &heard);
    await_heard(stage, &heard);
    json_decref(stage->body);
    stage->body = heard.body ? json_incref(heard.body) : json_object();
    err = heard.err;
    heard_clear(&heard);
    return err;
}

static bool has_taint(const json_t *object, const char *key)
{
    size_t i;
    json_t *taint;

    json_array_foreach(json_at(object, "spec/taints"), i, taint) {
        if (text_equal(json_text_or(taint, "key", ""), key))
            return true;
    }
    return false;
}

static const char *note_of(const json_t *object)
{
    return json_string_value(json_object_get(json_at(object, "metadata/annotations"), NOTE));
}

static bool is_closed(const json_t *object)
{
    return json_is_true(json_at(object, "spec/unschedulable"));
}

/* Asks the server itself. */
static const json_t *ask_node(struct stage *stage, const char *name)
{
    stage_ask(stage, ASK_GET, NULL, "/api/v1/nodes/%s", name);
    stage_expect(stage, 200);
    return stage->body;
}

/* The taint of an unschedulable node comes from a controller, with a version of its own. */
static bool is_settled(struct stage *stage, const void *context)
{
    const json_t *there = ask_node(stage, context); /* which lets the watch go on */
    const struct node *node = stage_node(stage, context);

    return node &&
           node_has_taint(node, "node.kubernetes.io/unschedulable") == node->is_unschedulable &&
           text_equal(node->resource_version, json_text_or(there, "metadata/resourceVersion", ""));
}

static void settle(struct stage *stage, const char *name)
{
    stage_await(stage, "the last version of the node", is_settled, name);
}

void cordon_is_one_patch(struct stage *stage)
{
    const char *name = stage_add_node(stage);

    settle(stage, name);

    owned(json) json_t *patch = cordon_patch(known_node(stage, name));

    assert_int_equal(send_patch(stage, name, patch).kind, ERROR_NONE);
    /* The answer is the one version that has all four. */
    assert_true(is_closed(stage->body));
    assert_true(has_taint(stage->body, LEAVING));
    assert_string_equal(note_of(stage->body), "1-test");
    assert_string_equal(
        json_string_value(json_object_get(json_at(stage->body, "metadata/labels"), BALANCERS))
            ?: "",
        "true");
}

static void add_foreign_taint(struct stage *stage, const char *name, const char *key)
{
    json_t *taints = json_deep_copy(json_at(ask_node(stage, name), "spec/taints")) ?: json_array();

    json_array_append_new(taints, json_make("{s:s, s:s}", "key", key, "effect", "NoSchedule"));
    stage_ask(stage, ASK_MERGE_PATCH, json_make("{s:{s:o}}", "spec", "taints", taints),
              "/api/v1/nodes/%s", name);
    stage_expect(stage, 200);
}

void a_stale_cordon_is_refused(struct stage *stage)
{
    const char *name = stage_add_node(stage);

    settle(stage, name);

    owned(json) json_t *stale = cordon_patch(known_node(stage, name));

    add_foreign_taint(stage, name, "example.com/theirs");
    assert_int_equal(send_patch(stage, name, stale).kind, ERROR_CONFLICT);
    assert_false(is_closed(ask_node(stage, name)));

    settle(stage, name);
    owned(json) json_t *fresh = cordon_patch(known_node(stage, name));

    assert_int_equal(send_patch(stage, name, fresh).kind, ERROR_NONE);
    assert_true(has_taint(ask_node(stage, name), "example.com/theirs"));
    assert_true(has_taint(ask_node(stage, name), LEAVING));
}

void a_human_cordon_stays(struct stage *stage)
{
    const char *name = stage_add_node(stage);
    owned(json) json_t *none = json_make("{s:n}", NOTE);
    struct node_change undo = { .cordon = NODE_KEEP, .taint_key = LEAVING, .annotations = none };

    stage_ask(stage, ASK_MERGE_PATCH, json_make("{s:{s:b}}", "spec", "unschedulable", 1),
              "/api/v1/nodes/%s", name);
    stage_expect(stage, 200);
    settle(stage, name);
    assert_true(known_node(stage, name)->is_unschedulable);

    owned(json) json_t *cordon = cordon_patch(known_node(stage, name));

    assert_int_equal(send_patch(stage, name, cordon).kind, ERROR_NONE);
    settle(stage, name);
    owned(json) json_t *restore = node_change_patch(known_node(stage, name), &undo);

    assert_int_equal(send_patch(stage, name, restore).kind, ERROR_NONE);
    assert_true(is_closed(ask_node(stage, name)));
    assert_true(has_taint(stage->body, "node.kubernetes.io/unschedulable"));
    assert_false(has_taint(stage->body, LEAVING));
    assert_null(note_of(stage->body));
}

static void delete_raw(struct stage *stage, const char *name)
{
    stage_ask(stage, ASK_DELETE, NULL, "/api/v1/nodes/%s", name);
    stage_expect(stage, 200);
}

static void post_namesake(struct stage *stage, const char *name)
{
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Node", "metadata",
                        "name", name),
              "/api/v1/nodes");
    stage_expect(stage, 201);
}

static struct error delete_node(struct stage *stage, const char *name, const char *uid)
{
    struct heard heard = { 0 };
    struct error err;

    cluster_delete_node(stage->cluster, name, uid, hear, &heard);
    await_heard(stage, &heard);
    err = heard.err;
    heard_clear(&heard);
    return err;
}

void a_node_made_again_is_left_alone(struct stage *stage)
{
    const char *name = stage_add_node(stage);

    settle(stage, name);

    owned(chars) char *uid = mem_copy_chars(known_node(stage, name)->uid);
    owned(json) json_t *patch = cordon_patch(known_node(stage, name));

    delete_raw(stage, name);
    post_namesake(stage, name);
    assert_int_equal(send_patch(stage, name, patch).kind, ERROR_CONFLICT);
    assert_false(is_closed(ask_node(stage, name)));
    /* Deleting the old one is done, and the new one is another. */
    assert_int_equal(delete_node(stage, name, uid).kind, ERROR_NONE);
    assert_string_not_equal(json_text_or(ask_node(stage, name), "metadata/uid", ""), uid);
}

void a_node_gone_already_is_deleted(struct stage *stage)
{
    const char *name = stage_add_node(stage);
    owned(chars) char *uid = mem_copy_chars(known_node(stage, name)->uid);

    delete_raw(stage, name);
    assert_int_equal(delete_node(stage, name, uid).kind, ERROR_NONE);
}

static bool is_leaving(struct stage *stage, const void *context)
{
    const struct node *node = stage_node(stage, context);

    return node && node->is_leaving;
}

void a_foreign_finalizer_of_a_node_stays(struct stage *stage)
{
    const char *name = stage_add_node(stage);
    owned(chars) char *uid = mem_copy_chars(known_node(stage, name)->uid);

    stage_ask(stage, ASK_MERGE_PATCH,
              json_make("{s:{s:[s]}}", "metadata", "finalizers", "example.com/theirs"),
              "/api/v1/nodes/%s", name);
    stage_expect(stage, 200);
    assert_int_equal(delete_node(stage, name, uid).kind, ERROR_NONE);
    stage_await(stage, "the node, leaving", is_leaving, name);
    assert_string_equal(
        json_string_value(json_array_get(json_at(ask_node(stage, name), "metadata/finalizers"), 0)),
        "example.com/theirs");
    /* Asked again it is still no error. */
    assert_int_equal(delete_node(stage, name, uid).kind, ERROR_NONE);
}

static bool shows_rival(struct stage *stage, const void *context)
{
    const struct node *node = stage_node(stage, context);

    return node && text_equal(node_rival(node), "ToBeDeletedByClusterAutoscaler");
}

void a_foreign_taint_is_seen(struct stage *stage)
{
    const char *name = stage_add_node(stage);

    add_foreign_taint(stage, name, "ToBeDeletedByClusterAutoscaler");
    stage_await(stage, "the taint of the autoscaler", shows_rival, name);
}
