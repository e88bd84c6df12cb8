/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The API server's front: who asks, for what, and the answers that are refusals.
 */
#include "tools/simulator/kube/kube_routes.h"
#include "tools/simulator/model/client.h"
#include "tools/simulator/model/cloud.h"

#include <stdarg.h>

static json_t *status_object(int code, const char *reason, const char *message)
{
    return json_make("{s:s, s:s, s:{}, s:s, s:s, s:s*, s:i}", "kind", "Status", "apiVersion", "v1",
                     "metadata", "status", "Failure", "message", message, "reason", reason, "code",
                     code);
}

void sim_kube_status(struct sim_answer *answer, int code, const char *reason, const char *format,
                     ...)
{
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    sim_answer_json(answer, code, status_object(code, reason, message));
}

void sim_kube_not_found(struct sim_call *call, const char *what, const char *name)
{
    sim_kube_status(call->answer, 404, "NotFound", "%s \"%s\" not found", what, name);
}

json_t *sim_kube_body(struct sim_call *call)
{
    struct error err = { 0 };
    json_t *body = json_parse(call->request->body ? call->request->body : "",
                              call->request->body_size, "body", &err);

    if (body && json_is_object(body))
        return body;
    json_decref(body);
    sim_kube_status(call->answer, 400, "BadRequest", "the body is no JSON object: %s", err.text);
    return NULL;
}

bool sim_kube_query_is_known(struct sim_call *call, const char *const *known, size_t count)
{
    const char *at = strchr(call->request->target, '?');

    while (at && *++at) {
        size_t length = strcspn(at, "=&");
        bool is_known = false;

        for (size_t i = 0; i < count; i++)
            is_known |= strlen(known[i]) == length && strncmp(known[i], at, length) == 0;
        if (!is_known) {
            sim_kube_status(call->answer, 400, "BadRequest", "unknown query parameter %.*s",
                            (int)length, at);
            return false;
        }
        at = strchr(at, '&');
    }
    return true;
}

bool sim_kube_is_content(struct sim_call *call, const char *wanted)
{
    const char *type = http_header_find(call->request->headers, call->request->header_count,
                                        "Content-Type");

    if (type && text_starts_with(type, wanted))
        return true;
    sim_kube_status(call->answer, 415, "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types "
                    "include: %s",
                    wanted);
    return false;
}

void sim_kube_answer_blob(struct sim_call *call, int code, const struct blob *blob)
{
    call->answer->status = code;
    call->answer->content_type = "application/json";
    call->answer->body = text_new(1 << 20);
    text_add_bytes(call->answer->body, blob->chars, blob->size);
}

bool sim_kube_uid_is(struct sim_call *call, const char *kind, const char *name, const char *uid,
                     const char *wanted)
{
    if (!wanted || text_equal(uid, wanted))
        return true;
    sim_kube_status(call->answer, 409, "Conflict",
                    "Operation cannot be fulfilled on %s \"%s\": the UID in the precondition (%s) "
                    "does not match the UID in record (%s). The object might have been deleted and "
                    "then recreated",
                    kind, name, wanted, uid);
    return false;
}

/* A patch may name the UID, and not change it. */
bool sim_kube_uid_stays(struct sim_call *call, const char *kind, const char *name, const char *uid,
                        const char *wanted)
{
    if (!wanted || text_equal(uid, wanted))
        return true;
    sim_kube_status(call->answer, 422, "Invalid",
                    "%s \"%s\" is invalid: metadata.uid: Invalid value: \"%s\": field is immutable",
                    kind, name, wanted);
    return false;
}

static bool is_authorized(struct sim_call *call)
{
    const char *header = http_header_find(call->request->headers, call->request->header_count,
                                          "Authorization");
    owned(chars) char *wanted = text_format("Bearer sim-%s", call->cluster->plan->name);
    const char *eks = call->cluster->plan->eks;

    if (header && (eks[0] ? text_starts_with(header, "Bearer ") &&
                                sim_eks_token_is_good(call->sim, header + strlen("Bearer "), eks)
                          : text_equal(header, wanted)))
        return true;
    sim_kube_status(call->answer, 401, "Unauthorized", "Unauthorized");
    return false;
}

static void get_object(struct sim_call *call, const struct blob *blob)
{
    if (!sim_kube_query_is_known(call, (const char *const[]){ "resourceVersion" }, 1))
        return;
    sim_kube_answer_blob(call, 200, blob);
}

/* ---- nodes ---- */

/* Or NULL, and it is answered that there is none. */
static struct kube_node *node_of(struct sim_call *call, char **parts)
{
    struct kube_node *node = map_get(call->cluster->nodes, parts[3]);

    if (!node)
        sim_kube_not_found(call, "nodes", parts[3]);
    return node;
}

static void list_nodes(struct sim_call *call, char **parts)
{
    (void)parts;
    sim_kube_list(call, OBJECT_NODE, NULL);
}

static void get_node(struct sim_call *call, char **parts)
{
    const struct kube_node *node = node_of(call, parts);

    if (node)
        get_object(call, node->blob);
}

static void patch_node(struct sim_call *call, char **parts)
{
    if (node_of(call, parts))
        sim_kube_patch_node(call, parts[3]);
}

static void delete_node(struct sim_call *call, char **parts)
{
    if (node_of(call, parts))
        sim_kube_delete_node(call, parts[3]);
}

static void patch_node_status(struct sim_call *call, char **parts)
{
    struct kube_node *node = node_of(call, parts);

    if (node)
        sim_kube_patch_node_status(call, node);
}

static void refuse_on_node(struct sim_call *call, char **parts)
{
    (void)parts;
    sim_kube_status(call->answer, 405, "MethodNotAllowed", "not allowed on a node");
}

/* ---- pods ---- */

/* Or NULL, and it is answered that there is none. */
static struct kube_pod *pod_of(struct sim_call *call, char **parts)
{
    owned(chars) char *key = text_format("%s/%s", parts[3], parts[5]);
    struct kube_pod *pod = map_get(call->cluster->pods, key);

    if (!pod)
        sim_kube_not_found(call, "pods", parts[5]);
    return pod;
}

static void list_pods(struct sim_call *call, char **parts)
{
    (void)parts;
    sim_kube_list(call, OBJECT_POD, NULL);
}

static void list_pods_of_namespace(struct sim_call *call, char **parts)
{
    sim_kube_list(call, OBJECT_POD, parts[3]);
}

static void get_pod(struct sim_call *call, char **parts)
{
    const struct kube_pod *pod = pod_of(call, parts);

    if (pod)
        get_object(call, pod->blob);
}

static void patch_pod(struct sim_call *call, char **parts)
{
    struct kube_pod *pod = pod_of(call, parts);

    if (pod)
        sim_kube_patch_pod(call, pod);
}

static void delete_pod(struct sim_call *call, char **parts)
{
    struct kube_pod *pod = pod_of(call, parts);

    if (pod)
        sim_kube_delete_pod(call, pod);
}

static void mark_pod(struct sim_call *call, char **parts)
{
    struct kube_pod *pod = pod_of(call, parts);

    if (pod)
        sim_kube_mark_pod(call, pod);
}

static void evict_pod(struct sim_call *call, char **parts)
{
    struct kube_pod *pod = pod_of(call, parts);

    if (pod)
        sim_kube_evict_pod(call, pod);
}

static void refuse_on_pod(struct sim_call *call, char **parts)
{
    (void)parts;
    sim_kube_status(call->answer, 405, "MethodNotAllowed", "not allowed on a pod");
}

#define POD "api/v1/namespaces/*/pods/*"

const struct kube_route kube_core_routes[] = {
    { ON(GET), "api/v1/nodes", NULL, list_nodes },
    { ON(GET), "api/v1/nodes/*", "get_node", get_node },
    { ON(PATCH), "api/v1/nodes/*", "patch_node", patch_node },
    { ON(DELETE), "api/v1/nodes/*", "delete_node", delete_node },
    { ANY_METHOD, "api/v1/nodes/*", NULL, refuse_on_node },
    { ON(PATCH), "api/v1/nodes/*/status", "patch_node_status", patch_node_status },
    { ON(GET), "api/v1/pods", NULL, list_pods },
    { ON(GET), "api/v1/namespaces/*/pods", NULL, list_pods_of_namespace },
    { ON(GET), POD, "get_pod", get_pod },
    { ON(PATCH), POD, "patch_pod", patch_pod },
    { ON(DELETE), POD, "delete_pod", delete_pod },
    { ON(PATCH), POD "/status", "mark_pod", mark_pod },
    { ON(POST), POD "/eviction", "evict_pod", evict_pod },
    { ANY_METHOD, POD, NULL, refuse_on_pod },
    { ANY_METHOD, POD "/*", NULL, refuse_on_pod },
    { 0 },
};

/* ---- the way to a route ---- */

static const struct kube_route *const tables[] = {
    kube_create_routes, kube_budget_routes,     kube_rule_routes,   kube_volume_routes,
    kube_core_routes,   kube_deployment_routes, kube_device_routes, kube_access_routes,
};

static bool fits(const struct kube_route *route, enum http_method method, char **parts,
                 size_t count)
{
    const char *at = route->path;
    size_t seen = 0;

    if ((route->methods >> method & 1) == 0)
        return false;
    for (;; at++, seen++) {
        size_t length = strcspn(at, "/");

        if (seen == count ||
            ((length != 1 || *at != '*') &&
             (strlen(parts[seen]) != length || memcmp(parts[seen], at, length) != 0)))
            return false;
        at += length;
        if (*at == '\0')
            return seen + 1 == count;
    }
}

static const struct kube_route *route_of(enum http_method method, char **parts, size_t count)
{
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        for (const struct kube_route *route = tables[i]; route->path; route++)
            if (fits(route, method, parts, count))
                return route;
    return NULL;
}

void sim_kube_serve(struct sim_call *call, size_t at)
{
    char **parts = call->path->items + at;
    const struct kube_route *route;

    if (sim_kube_discover(call, at))
        return;
    route = route_of(call->request->method, parts, call->path->count - at);
    if (!route) {
        if (!sim_kube_custom(call, at))
            sim_kube_status(call->answer, 404, "NotFound",
                            "the server could not find the requested resource");
        return;
    }
    call->verb = route->verb;
    if (!route->verb || !sim_call_fault(call))
        route->answer(call, parts);
}

void sim_kube_answer(struct sim_call *call, size_t at)
{
    if (is_authorized(call))
        sim_kube_serve(call, at);
}
