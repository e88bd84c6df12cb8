/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The API server's front: who asks, for what, and the answers that are refusals.
 */
#include "tools/simulator/kube_volumes.h"
#include "tools/simulator/model.h"

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

    if (header && text_equal(header, wanted))
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

static void answer_node(struct sim_call *call, const char *name)
{
    enum http_method method = call->request->method;
    struct kube_node *node = map_get(call->cluster->nodes, name);

    call->verb = method == HTTP_GET      ? "get_node"
                 : method == HTTP_PATCH  ? "patch_node"
                 : method == HTTP_DELETE ? "delete_node"
                                         : NULL;
    if (!call->verb) {
        sim_kube_status(call->answer, 405, "MethodNotAllowed", "not allowed on a node");
        return;
    }
    if (sim_call_fault(call))
        return;
    if (!node)
        sim_kube_not_found(call, "nodes", name);
    else if (method == HTTP_GET)
        get_object(call, node->blob);
    else if (method == HTTP_PATCH)
        sim_kube_patch_node(call, name);
    else
        sim_kube_delete_node(call, name);
}

static void answer_node_status(struct sim_call *call, const char *name)
{
    struct kube_node *node = map_get(call->cluster->nodes, name);

    call->verb = "patch_node_status";
    if (sim_call_fault(call))
        return;
    if (node)
        sim_kube_patch_node_status(call, node);
    else
        sim_kube_not_found(call, "nodes", name);
}

/* Below /namespaces/NS/pods/P. */
static void answer_pod(struct sim_call *call, const char *namespace, const char *name,
                       const char *below)
{
    enum http_method method = call->request->method;
    owned(chars) char *key = text_format("%s/%s", namespace, name);

    if (!below && method == HTTP_GET)
        call->verb = "get_pod";
    else if (!below && method == HTTP_DELETE)
        call->verb = "delete_pod";
    else if (!below && method == HTTP_PATCH)
        call->verb = "patch_pod";
    else if (text_equal(below, "status") && method == HTTP_PATCH)
        call->verb = "mark_pod";
    else if (text_equal(below, "eviction") && method == HTTP_POST)
        call->verb = "evict_pod";
    else {
        sim_kube_status(call->answer, 405, "MethodNotAllowed", "not allowed on a pod");
        return;
    }
    if (sim_call_fault(call))
        return;

    struct kube_pod *pod = map_get(call->cluster->pods, key);

    if (!pod)
        sim_kube_not_found(call, "pods", name);
    else if (text_equal(call->verb, "get_pod"))
        get_object(call, pod->blob);
    else if (text_equal(call->verb, "patch_pod"))
        sim_kube_patch_pod(call, pod);
    else if (text_equal(call->verb, "delete_pod"))
        sim_kube_delete_pod(call, pod);
    else if (text_equal(call->verb, "mark_pod"))
        sim_kube_mark_pod(call, pod);
    else
        sim_kube_evict_pod(call, pod);
}

static bool path_is(const struct url_segments *path, size_t at, const char *const *parts,
                    size_t count)
{
    if (path->count < at + count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (parts[i] && !text_equal(path->items[at + i], parts[i]))
            return false;
    return true;
}

#define PATH_IS(call, at, ...)                                                                     \
    path_is((call)->path, at, (const char *const[]){ __VA_ARGS__ },                                \
            COUNT_OF(((const char *const[]){ __VA_ARGS__ })))

void sim_kube_answer(struct sim_call *call, size_t at)
{
    char **items = call->path->items;
    size_t count = call->path->count - at;

    if (!is_authorized(call) || sim_kube_discover(call, at) || sim_kube_create(call, at) ||
        sim_kube_budgets(call, at) || sim_kube_rules(call, at) || sim_kube_attachments(call, at) ||
        sim_kube_claims(call, at))
        return;
    if (count == 3 && PATH_IS(call, at, "api", "v1", "nodes") && call->request->method == HTTP_GET)
        sim_kube_list(call, OBJECT_NODE, NULL);
    else if (count == 3 && PATH_IS(call, at, "api", "v1", "pods") &&
             call->request->method == HTTP_GET)
        sim_kube_list(call, OBJECT_POD, NULL);
    else if (count == 4 && PATH_IS(call, at, "apis", "policy", NULL, "poddisruptionbudgets") &&
             call->request->method == HTTP_GET)
        sim_kube_list(call, OBJECT_BUDGET, NULL);
    else if (count == 4 && call->cluster->devices && call->request->method == HTTP_GET &&
             PATH_IS(call, at, "apis", "resource.k8s.io", "v1", "resourceslices"))
        sim_kube_list(call, OBJECT_SLICE, NULL);
    else if (count == 4 && call->cluster->devices && call->request->method == HTTP_GET &&
             PATH_IS(call, at, "apis", "resource.k8s.io", "v1", "resourceclaims"))
        sim_kube_list(call, OBJECT_CLAIM, NULL);
    else if (count == 5 && PATH_IS(call, at, "api", "v1", "namespaces", NULL, "pods") &&
             call->request->method == HTTP_GET)
        sim_kube_list(call, OBJECT_POD, items[at + 3]);
    else if (count == 4 && PATH_IS(call, at, "api", "v1", "nodes", NULL))
        answer_node(call, items[at + 3]);
    else if (count == 5 && PATH_IS(call, at, "api", "v1", "nodes", NULL, "status") &&
             call->request->method == HTTP_PATCH)
        answer_node_status(call, items[at + 3]);
    else if ((count == 6 || count == 7) &&
             PATH_IS(call, at, "api", "v1", "namespaces", NULL, "pods", NULL))
        answer_pod(call, items[at + 3], items[at + 5], count == 7 ? items[at + 6] : NULL);
    else if (count == 8 && PATH_IS(call, at, "apis", "apps", "v1", "namespaces", NULL,
                                   "deployments", NULL, "scale"))
        sim_kube_scale(call, items[at + 4], items[at + 6]);
    else if (count == 7 && call->request->method == HTTP_GET &&
             PATH_IS(call, at, "apis", "apps", "v1", "namespaces", NULL, "deployments", NULL))
        sim_kube_deployment(call, items[at + 4], items[at + 6]);
    else if (!sim_kube_custom(call, at))
        sim_kube_status(call->answer, 404, "NotFound",
                        "the server could not find the requested resource");
}
