/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases about volumes: what is listed as attached to a node, and whose volumes stay there.
 */
#include "clusters/kube_verbs.h"
#include "tests/conformance/conformance.h"

static const char attachments_path[] = "/apis/storage.k8s.io/v1/volumeattachments";

/* How many attachments the product's own list has of the node. */
static int attached_to(struct stage *stage, const char *node)
{
    struct heard heard = { 0 };
    int count = 0;
    size_t i;
    json_t *item;

    cluster_read_attachments(stage->cluster, NULL, hear, &heard);
    await_heard(stage, &heard);
    if (heard.err.kind)
        fail_msg("%s", heard.err.text);
    json_array_foreach(json_at(heard.body, "items"), i, item) {
        count += text_equal(json_text_or(item, "spec/nodeName", ""), node);
    }
    heard_clear(&heard);
    return count;
}

/* One of the stage's name; its attacher holds it by a finalizer. */
static void attach(struct stage *stage, const char *node)
{
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s, s:[s]}, s:{s:s, s:s, s:{s:s}}}", "apiVersion",
                        "storage.k8s.io/v1", "kind", "VolumeAttachment", "metadata", "name",
                        stage->namespace, "finalizers", "external-attacher/csi-example-com", "spec",
                        "attacher", "csi.example.com", "nodeName", node, "source",
                        "persistentVolumeName", "data"),
              "%s", attachments_path);
    stage_expect(stage, 201);
}

static void delete_attachment(struct stage *stage)
{
    stage_ask(stage, ASK_DELETE, NULL, "%s/%s", attachments_path, stage->namespace);
    stage_expect(stage, 200);
}

/* What an attacher does when its volume is off the node. */
static void let_go(struct stage *stage)
{
    stage_ask(stage, ASK_MERGE_PATCH, json_make("{s:{s:[]}}", "metadata", "finalizers"), "%s/%s",
              attachments_path, stage->namespace);
    stage_expect(stage, 200);
}

void attachments_are_listed(struct stage *stage)
{
    const char *node = stage_add_node(stage);

    assert_int_equal(attached_to(stage, node), 0);
    attach(stage, node);
    assert_int_equal(attached_to(stage, node), 1);
    let_go(stage);
    delete_attachment(stage);
    assert_int_equal(attached_to(stage, node), 0);
}

/* Deleted is not detached: as long as the attacher says nothing, the volume counts. */
void a_silent_attacher_keeps_its_volume(struct stage *stage)
{
    const char *node = stage_add_node(stage);

    attach(stage, node);
    delete_attachment(stage);
    stage_run(stage, 2 * SECOND_MS);
    assert_int_equal(attached_to(stage, node), 1);
    let_go(stage);
    assert_int_equal(attached_to(stage, node), 0);
}

static void post_claimant(struct stage *stage, const char *name, const char *node, json_t *owners)
{
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s, s:o}, s:{s:s, s:[{s:s, s:s}], s:[{s:s, s:{s:s}}]}}",
                        "apiVersion", "v1", "kind", "Pod", "metadata", "name", name,
                        "ownerReferences", owners, "spec", "nodeName", node, "containers", "name",
                        "main", "image", "registry.example/main:1", "volumes", "name", "data",
                        "persistentVolumeClaim", "claimName", "data"),
              "/api/v1/namespaces/%s/pods", stage->namespace);
    stage_expect(stage, 201);
}

/* What the product reads of the claim by its own rights: the volume that it stands for. */
static void expect_volume_of_claim(struct stage *stage)
{
    struct heard heard = { 0 };
    owned(chars) char *path = text_format("/api/v1/namespaces/%s/persistentvolumeclaims",
                                          stage->namespace);
    owned(chars) char *claim = text_format("%s/data", path);

    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s}, s:{s:[s], s:s, s:s, s:{s:{s:s}}}}", "apiVersion", "v1",
                        "kind", "PersistentVolumeClaim", "metadata", "name", "data", "spec",
                        "accessModes", "ReadWriteMany", "storageClassName", "", "volumeName",
                        "volume-of-data", "resources", "requests", "storage", "1Gi"),
              "%s", path);
    stage_expect(stage, 201);
    cluster_read_at(stage->cluster, claim, hear, &heard);
    await_heard(stage, &heard);
    if (heard.err.kind)
        fail_msg("%s", heard.err.text);
    assert_string_equal(json_text_or(heard.body, "spec/volumeName", ""), "volume-of-data");
    heard_clear(&heard);
}

static bool is_seen(struct stage *stage, const void *context)
{
    return stage_pod(stage, context) != NULL;
}

/* The controllers would take a pod away whose DaemonSet is made up: they are held meanwhile. */
void a_daemons_volume_stays_with_it(struct stage *stage)
{
    const char *node = stage_add_node(stage);

    stage_hold_controllers(stage);
    post_claimant(stage, "worker", node, json_array());
    post_claimant(stage, "daemon", node,
                  json_make("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "apps/v1", "kind",
                            "DaemonSet", "name", "csi-node", "uid",
                            "00000000-0000-4000-8000-000000000000", "controller", 1));
    stage_await(stage, "the worker", is_seen, "worker");
    stage_await(stage, "the daemon", is_seen, "daemon");
    assert_int_equal(stage_pod(stage, "worker")->claims, 1);
    assert_true(pod_must_leave(stage_pod(stage, "worker")));
    assert_int_equal(stage_pod(stage, "daemon")->claims, 1);
    assert_false(pod_must_leave(stage_pod(stage, "daemon")));
    expect_volume_of_claim(stage);
    stage_continue_controllers(stage);
}
