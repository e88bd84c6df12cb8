/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * VolumeAttachments: which volume is attached to which node; and the claims of volumes.  A test
 * says which there are, and so may a client; no controller detaches them except from a node that is
 * out of service.
 */
#include "tools/simulator/kube/kube_volumes.h"

#include "tools/simulator/kube/kube_routes.h"

#include <inttypes.h>

static json_t *attachment_of(const char *name, const char *node)
{
    return json_make("{s:{s:s}, s:{s:s, s:s, s:{s:s}}, s:{s:b}}", "metadata", "name", name, "spec",
                     "attacher", "csi.example", "nodeName", node, "source", "persistentVolumeName",
                     name, "status", "attached", 1);
}

void sim_volume_attach(struct kube_cluster *cluster, const char *name, const char *node)
{
    map_set(cluster->attachments, name, attachment_of(name, node));
}

static void list_attachments(struct sim_call *call, char **parts)
{
    owned(chars) char *version = text_format("%" PRIu64, call->cluster->version);
    owned(json) json_t *items = json_array();
    void *attachment;

    (void)parts;
    if (!sim_kube_query_is_known(call, (const char *const[]){ "limit", "continue" }, 2))
        return;
    for (size_t i = 0; map_next(call->cluster->attachments, &i, NULL, &attachment);)
        json_array_append(items, attachment);
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:{s:s}, s:O}", "kind", "VolumeAttachmentList",
                              "apiVersion", "storage.k8s.io/v1", "metadata", "resourceVersion",
                              version, "items", items));
}

static void post_attachment(struct sim_call *call, char **parts)
{
    owned(json) json_t *body = sim_kube_body(call);
    const char *name = json_text_or(body, "metadata/name", "");

    (void)parts;
    if (!body)
        return;
    if (!name[0] || !json_text_or(body, "spec/nodeName", NULL) ||
        !json_text_or(body, "spec/attacher", NULL) ||
        !json_text_or(body, "spec/source/persistentVolumeName", NULL)) {
        sim_kube_status(call->answer, 422, "Invalid",
                        "an attachment has an attacher, a node and a volume");
        return;
    }
    map_set(call->cluster->attachments, name, json_incref(body));
    sim_answer_json(call->answer, 201, json_incref(body));
}

static bool is_held(const json_t *attachment)
{
    return json_array_size(json_at(attachment, "metadata/finalizers")) > 0;
}

/* The requested attachment; NULL: answered that there is none. */
static json_t *attachment_asked(struct sim_call *call, char **parts)
{
    json_t *attachment = map_get(call->cluster->attachments, parts[4]);

    if (!attachment)
        sim_kube_not_found(call, "volumeattachments.storage.k8s.io", parts[4]);
    return attachment;
}

/* An attachment whose attacher holds it by a finalizer stays until the attacher removes the
   finalizer. */
static void delete_attachment(struct sim_call *call, char **parts)
{
    json_t *attachment = attachment_asked(call, parts);
    char now[WALL_TEXT_SIZE];

    if (!attachment)
        return;
    if (is_held(attachment)) {
        json_object_set_new(json_object_get(attachment, "metadata"), "deletionTimestamp",
                            json_string(sim_time(call->sim, loop_now(call->sim->loop), now)));
        sim_answer_json(call->answer, 200, json_incref(attachment));
        return;
    }
    map_remove(call->cluster->attachments, parts[4]);
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:{}, s:s}", "kind", "Status", "apiVersion", "v1",
                              "metadata", "status", "Success"));
}

static void patch_attachment(struct sim_call *call, char **parts)
{
    json_t *attachment = attachment_asked(call, parts);
    owned(json) json_t *body = NULL;

    if (!attachment || !sim_kube_is_content(call, "application/merge-patch+json") ||
        !(body = sim_kube_body(call)))
        return;
    json_object_update_recursive(attachment, body);
    sim_answer_json(call->answer, 200, json_incref(attachment));
    if (json_at(attachment, "metadata/deletionTimestamp") && !is_held(attachment))
        map_remove(call->cluster->attachments, parts[4]);
}

void sim_claim_bind(struct kube_cluster *cluster, const char *namespace, const char *name,
                    const char *volume)
{
    owned(chars) char *key = text_format("%s/%s", namespace, name);

    map_set(cluster->claims, key,
            json_make("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "kind", "PersistentVolumeClaim",
                      "apiVersion", "v1", "metadata", "name", name, "namespace", namespace, "spec",
                      "volumeName", volume));
}

static void post_claim(struct sim_call *call, char **parts)
{
    const char *namespace = parts[3];
    owned(json) json_t *body = sim_kube_body(call);
    const char *name = json_text_or(body, "metadata/name", "");
    owned(chars) char *key = text_format("%s/%s", namespace, name);

    if (!body)
        return;
    if (!name[0] || !json_is_array(json_at(body, "spec/accessModes")) ||
        !json_text_or(body, "spec/resources/requests/storage", NULL)) {
        sim_kube_status(call->answer, 422, "Invalid", "a claim has a name, a mode and a size");
        return;
    }
    map_set(call->cluster->claims, key, json_incref(body));
    sim_answer_json(call->answer, 201, json_incref(body));
}

static void get_claim(struct sim_call *call, char **parts)
{
    const char *namespace = parts[3];
    const char *name = parts[5];
    owned(chars) char *key = text_format("%s/%s", namespace, name);
    json_t *claim = map_get(call->cluster->claims, key);

    if (claim)
        sim_answer_json(call->answer, 200, json_incref(claim));
    else
        sim_kube_not_found(call, "persistentvolumeclaims", name);
}

#define CLAIMS "api/v1/namespaces/*/persistentvolumeclaims"
#define ATTACHMENTS "apis/storage.k8s.io/v1/volumeattachments"

const struct kube_route kube_volume_routes[] = {
    { ON(POST), CLAIMS, NULL, post_claim },
    { ON(GET), CLAIMS "/*", "get_claim", get_claim },
    { ON(GET), ATTACHMENTS, "list_attachments", list_attachments },
    { ON(POST), ATTACHMENTS, NULL, post_attachment },
    { ON(DELETE), ATTACHMENTS "/*", NULL, delete_attachment },
    { ON(PATCH), ATTACHMENTS "/*", NULL, patch_attachment },
    { 0 },
};

void sim_volumes_let_go(struct kube_cluster *cluster, const char *node)
{
    const char *name;
    void *value;

    for (size_t i = 0; map_next(cluster->attachments, &i, &name, &value);)
        if (text_equal(json_text_or(value, "spec/nodeName", ""), node))
            map_remove(cluster->attachments, name);
}
