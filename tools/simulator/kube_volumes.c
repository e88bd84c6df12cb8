/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * VolumeAttachments: which volume is attached to which node.  A test says which there are, and so
 * may a client; nobody detaches them but from a node that is out of service.
 */
#include "tools/simulator/model.h"

#include <inttypes.h>

static void list_attachments(struct sim_call *call)
{
    owned(chars) char *version = text_format("%" PRIu64, call->cluster->version);
    owned(json) json_t *items = json_array();
    const char *name;
    void *node;

    call->verb = "list_attachments";
    if (sim_call_fault(call) ||
        !sim_kube_query_is_known(call, (const char *const[]){ "limit", "continue" }, 2))
        return;
    for (size_t i = 0; map_next(call->cluster->attachments, &i, &name, &node);)
        json_array_append_new(
            items, json_make("{s:{s:s}, s:{s:s, s:s, s:{s:s}}, s:{s:b}}", "metadata", "name", name,
                             "spec", "attacher", "csi.example", "nodeName", (const char *)node,
                             "source", "persistentVolumeName", name, "status", "attached", 1));
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:{s:s}, s:O}", "kind", "VolumeAttachmentList",
                              "apiVersion", "storage.k8s.io/v1", "metadata", "resourceVersion",
                              version, "items", items));
}

static void post_attachment(struct sim_call *call)
{
    owned(json) json_t *body = sim_kube_body(call);
    const char *name = json_text_or(body, "metadata/name", "");
    const char *node = json_text_or(body, "spec/nodeName", "");

    if (!body)
        return;
    if (!name[0] || !node[0] || !json_text_or(body, "spec/attacher", NULL) ||
        !json_text_or(body, "spec/source/persistentVolumeName", NULL)) {
        sim_kube_status(call->answer, 422, "Invalid",
                        "an attachment has an attacher, a node and a volume");
        return;
    }
    map_set(call->cluster->attachments, name, mem_copy_chars(node));
    sim_answer_json(call->answer, 201, json_incref(body));
}

static void delete_attachment(struct sim_call *call, const char *name)
{
    if (!map_get(call->cluster->attachments, name)) {
        sim_kube_not_found(call, "volumeattachments.storage.k8s.io", name);
        return;
    }
    map_remove(call->cluster->attachments, name);
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:{}, s:s}", "kind", "Status", "apiVersion", "v1",
                              "metadata", "status", "Success"));
}

bool sim_kube_attachments(struct sim_call *call, size_t at)
{
    char **items = call->path->items + at;
    size_t count = call->path->count - at;

    if (count < 4 || count > 5 || !text_equal(items[0], "apis") ||
        !text_equal(items[1], "storage.k8s.io") || !text_equal(items[2], "v1") ||
        !text_equal(items[3], "volumeattachments"))
        return false;
    if (count == 4 && call->request->method == HTTP_GET)
        list_attachments(call);
    else if (count == 4 && call->request->method == HTTP_POST)
        post_attachment(call);
    else if (count == 5 && call->request->method == HTTP_DELETE)
        delete_attachment(call, items[4]);
    else
        return false;
    return true;
}

void sim_volumes_let_go(struct kube_cluster *cluster, const char *node)
{
    const char *name;
    void *value;

    for (size_t i = 0; map_next(cluster->attachments, &i, &name, &value);)
        if (text_equal(value, node))
            map_remove(cluster->attachments, name);
}
