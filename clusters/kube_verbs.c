/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of cluster.h as requests.  Each is one exchange.  Its body carries the UID of the
 * object, so that the server refuses it if the object was created again under the same name.
 */
#include "clusters/kube_verbs.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "clusters/cluster_session.h"
#include "clusters/field_manager.h"
#include "clusters/kube/kube_list.h"

enum {
    READ_TIMEOUT_MS = 15 * SECOND_MS,
    LIST_TIMEOUT_MS = 60 * SECOND_MS,
    CHANGE_TIMEOUT_MS = 30 * SECOND_MS, /* an eviction may stand 10 s in the server */
};

static const char MERGE_PATCH[] = "application/merge-patch+json";
static const char STRATEGIC_PATCH[] = "application/strategic-merge-patch+json";

static void send_change(struct cluster *cluster, const struct kube_call *call, cluster_done_fn done,
                        void *context)
{
    struct kube_call whole = *call;
    whole.timeout_ms = CHANGE_TIMEOUT_MS;
    served_send(cluster_served(cluster), &whole, done, context);
}

static void send_read(struct cluster *cluster, const char *target, int64_t timeout_ms,
                      cluster_done_fn done, void *context)
{
    struct kube_call call = {
        .verb = KUBE_READ,
        .priority = HTTP_POLL,
        .target = target,
        .timeout_ms = timeout_ms,
    };
    served_send(cluster_served(cluster), &call, done, context);
}

static const char *time_of(struct cluster *cluster, char out[WALL_TEXT_SIZE])
{
    struct wall_time wall = loop_wall(kube_world(cluster_session(cluster))->loop);

    wall.ms -= wall.ms % SECOND_MS; /* the API's times have whole seconds */
    return wall_format(wall, out);
}

void cluster_patch_node(struct cluster *cluster, const char *name, const json_t *merge_patch,
                        cluster_done_fn done, void *context)
{
    owned(chars) char *target = url_format("/api/v1/nodes/%s", name);
    struct kube_call call = {
        .verb = KUBE_PATCH,
        .priority = HTTP_RECLAIM,
        .target = target,
        .content_type = MERGE_PATCH,
        .body = merge_patch,
    };
    send_change(cluster, &call, done, context);
}

/* Its deleteOptions bind the pod by UID; the other options are added. */
static json_t *eviction_of(const struct cluster *cluster, const struct pod_ref *pod)
{
    return json_make("{s:s, s:s, s:{s:s, s:s}, s:{s:{s:s}}}", "apiVersion",
                     cluster_policy_version(cluster), "kind", "Eviction", "metadata", "name",
                     pod->name, "namespace", pod->namespace, "deleteOptions", "preconditions",
                     "uid", pod->uid);
}

/* Borrows both. */
static struct kube_call eviction_call(const char *target, json_t *body)
{
    return (struct kube_call){
        .verb = KUBE_EVICT,
        .priority = HTTP_DRAIN,
        .target = target,
        .body = body,
    };
}

void cluster_evict_pod(struct cluster *cluster, const struct pod_ref *pod, int64_t grace_s,
                       cluster_done_fn done, void *context)
{
    owned(chars) char *target = url_format("/api/v1/namespaces/%s/pods/%s/eviction", pod->namespace,
                                           pod->name);
    owned(json) json_t *body = eviction_of(cluster, pod);
    struct kube_call call = eviction_call(target, body);

    if (grace_s > 0)
        json_object_set_new(json_object_get(body, "deleteOptions"), "gracePeriodSeconds",
                            json_integer(grace_s));
    send_change(cluster, &call, done, context);
}

int cluster_try_eviction(struct cluster *cluster, const struct pod_ref *pod, cluster_done_fn done,
                         void *context, struct error *err)
{
    owned(chars) char *target = url_format("/api/v1/namespaces/%s/pods/%s/eviction?dryRun=All",
                                           pod->namespace, pod->name);
    owned(json) json_t *body = eviction_of(cluster, pod);
    struct kube_call call = eviction_call(target, body);

    if (!cluster_knows_dry_runs(cluster))
        return error_set(
            err, ERROR_INVALID,
            "cluster %s has no policy/v1 (Kubernetes 1.21): an older server may take a "
            "dry run for an eviction",
            cluster_name(cluster));
    call.timeout_ms = CLUSTER_QUESTION_MS;
    /* What the address asks for, the body must ask for too. */
    json_object_set_new(json_object_get(body, "deleteOptions"), "dryRun", json_make("[s]", "All"));
    served_send(cluster_served(cluster), &call, done, context);
    return 0;
}

void cluster_read_admission(struct cluster *cluster, const char *resource, cluster_done_fn done,
                            void *context)
{
    owned(chars) char *target = url_format("/apis/admissionregistration.k8s.io/v1/%s", resource);

    send_read(cluster, target, CLUSTER_QUESTION_MS, done, context);
}

void cluster_mark_pod(struct cluster *cluster, const struct pod_ref *pod, const char *message,
                      cluster_done_fn done, void *context)
{
    char now[WALL_TEXT_SIZE];
    owned(chars) char *target = url_format("/api/v1/namespaces/%s/pods/%s/status", pod->namespace,
                                           pod->name);
    owned(json)
        json_t *body = json_make("{s:{s:s}, s:{s:[{s:s, s:s, s:s, s:s, s:s}]}}", "metadata", "uid",
                                 pod->uid, "status", "conditions", "type", "DisruptionTarget",
                                 "status", "True", "reason", "DeletionByCapacityBroker", "message",
                                 message, "lastTransitionTime", time_of(cluster, now));
    struct kube_call call = {
        .verb = KUBE_PATCH,
        .priority = HTTP_DRAIN,
        .target = target,
        .content_type = STRATEGIC_PATCH,
        .body = body,
    };
    send_change(cluster, &call, done, context);
}

void cluster_tell_node(struct cluster *cluster, const struct node_conditions *conditions,
                       cluster_done_fn done, void *context)
{
    char now[WALL_TEXT_SIZE];
    owned(chars) char *target = url_format("/api/v1/nodes/%s/status", conditions->node);
    json_t *rows = json_array();
    owned(json) json_t *body = json_make("{s:{s:s}, s:{s:o}}", "metadata", "uid", conditions->uid,
                                         "status", "conditions", rows);
    struct kube_call call = {
        .verb = KUBE_PATCH,
        .priority = HTTP_POLL,
        .target = target,
        .content_type = STRATEGIC_PATCH,
        .body = body,
    };

    time_of(cluster, now);
    for (int i = 0; i < NODE_MARK_COUNT; i++)
        json_array_append_new(rows,
                              json_make("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", node_mark_name(i),
                                        "status", conditions->marks & (1u << i) ? "True" : "False",
                                        "reason", NODE_MARK_REASON, "message", conditions->message,
                                        "lastTransitionTime", now, "lastHeartbeatTime", now));
    send_change(cluster, &call, done, context);
}

void cluster_post_event(struct cluster *cluster, const struct kube_event *event,
                        cluster_done_fn done, void *context)
{
    char now[WALL_TEXT_SIZE];
    const char *namespace = event->namespace[0] ? event->namespace : "default";
    owned(chars) char *target = url_format("/api/v1/namespaces/%s/events", namespace);
    json_t *about = json_make("{s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind", event->kind,
                              "name", event->object, "uid", event->uid);
    owned(json) json_t *body = json_make(
        "{s:s, s:s, s:{s:s, s:s}, s:o, s:s, s:s, s:s, s:i, s:{s:s}}", "apiVersion", "v1", "kind",
        "Event", "metadata", "name", event->name, "namespace", namespace, "involvedObject", about,
        "reason", event->reason, "message", event->message, "type",
        event->is_warning ? "Warning" : "Normal", "count", 1, "source", "component", "sluice");
    struct kube_call call = {
        .verb = KUBE_CREATE,
        .priority = HTTP_POLL,
        .target = target,
        .body = body,
    };

    time_of(cluster, now);
    json_object_set_new(body, "firstTimestamp", json_text(now));
    json_object_set_new(body, "lastTimestamp", json_text(now));
    if (event->namespace[0])
        json_object_set_new(about, "namespace", json_text(event->namespace));
    send_change(cluster, &call, done, context);
}

static json_t *delete_options(const char *uid)
{
    return json_make("{s:s, s:s, s:{s:s}, s:s}", "apiVersion", "v1", "kind", "DeleteOptions",
                     "preconditions", "uid", uid, "propagationPolicy", "Background");
}

void cluster_delete_pod(struct cluster *cluster, const struct pod_ref *pod, int64_t grace_s,
                        cluster_done_fn done, void *context)
{
    owned(chars) char *target = url_format("/api/v1/namespaces/%s/pods/%s", pod->namespace,
                                           pod->name);
    owned(json) json_t *body = delete_options(pod->uid);
    json_object_set_new(body, "gracePeriodSeconds", json_integer(grace_s));
    struct kube_call call = {
        .verb = KUBE_DELETE,
        .priority = HTTP_DRAIN,
        .target = target,
        .body = body,
    };
    send_change(cluster, &call, done, context);
}

void cluster_delete_node(struct cluster *cluster, const char *name, const char *uid,
                         cluster_done_fn done, void *context)
{
    owned(chars) char *target = url_format("/api/v1/nodes/%s", name);
    owned(json) json_t *body = delete_options(uid);
    struct kube_call call = {
        .verb = KUBE_DELETE,
        .priority = HTTP_RECLAIM,
        .target = target,
        .body = body,
    };
    send_change(cluster, &call, done, context);
}

void cluster_read_node(struct cluster *cluster, const char *name, cluster_done_fn done,
                       void *context)
{
    owned(chars) char *target = url_format("/api/v1/nodes/%s", name);
    send_read(cluster, target, READ_TIMEOUT_MS, done, context);
}

void cluster_read_pods(struct cluster *cluster, const char *node_name, const char *continue_token,
                       cluster_done_fn done, void *context)
{
    owned(chars) char *selector = text_format("spec.nodeName=%s", node_name);
    owned(chars) char *first = url_format("/api/v1/pods?fieldSelector=%s&limit=500", selector);
    owned(chars) char *target = kube_list_page(first, continue_token);
    send_read(cluster, target, LIST_TIMEOUT_MS, done, context);
}

void cluster_read_attachments(struct cluster *cluster, const char *continue_token,
                              cluster_done_fn done, void *context)
{
    owned(chars) char *target = kube_list_page(
        "/apis/storage.k8s.io/v1/volumeattachments?limit=500", continue_token);

    send_read(cluster, target, LIST_TIMEOUT_MS, done, context);
}

void cluster_read_at(struct cluster *cluster, const char *path, cluster_done_fn done, void *context)
{
    send_read(cluster, path, READ_TIMEOUT_MS, done, context);
}

void cluster_patch_at(struct cluster *cluster, const char *path, const json_t *merge_patch,
                      cluster_done_fn done, void *context)
{
    owned(chars) char *target = text_format("%s?fieldManager=" FIELD_MANAGER, path);
    struct kube_call call = {
        .verb = KUBE_PATCH,
        .priority = HTTP_RECLAIM,
        .target = target,
        .content_type = MERGE_PATCH,
        .body = merge_patch,
    };
    send_change(cluster, &call, done, context);
}
