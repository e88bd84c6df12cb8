/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Subresources: evictions, the scale of Deployments, and the status of nodes and pods.
 */
#include "tools/simulator/apiserver/front.h"
#include "tools/simulator/apiserver/patch.h"
#include "tools/simulator/apiserver/writes.h"

static char *path_of_part(const struct api_request *request)
{
    owned(chars) char *object = api_path_of(request, false);

    return text_format("%s/%s", object, request->part);
}

/* Clients may leave out what the path says already. */
static void evict(struct api_request *request)
{
    owned(json) json_t *body = api_body(request->call);
    owned(chars) char *path = path_of_part(request);
    owned(chars) char *query = url_query(request->call->request->target, "dryRun");
    owned(chars) char *target = query ? url_format("%s?dryRun=%s", "", query) : NULL;
    owned(chars) char *whole = text_format("%s%s", path, target ?: "");
    owned(json) json_t *sent = NULL;

    if (!body)
        return;
    sent = json_make("{s:s, s:s, s:{s:s, s:s}}", "apiVersion",
                     json_text_or(body, "apiVersion", "policy/v1"), "kind",
                     json_text_or(body, "kind", "Eviction"), "metadata", "name",
                     json_text_or(body, "metadata/name", request->name), "namespace",
                     json_text_or(body, "metadata/namespace", request->namespace));
    if (json_at(body, "deleteOptions"))
        json_object_set(sent, "deleteOptions", json_at(body, "deleteOptions"));
    api_pass(request->call,
             &(struct api_passed){ .method = HTTP_POST, .target = whole, .body = sent });
}

static json_t *scale_now(struct api_request *request)
{
    owned(chars) char *path = path_of_part(request);
    struct error err = { 0 };
    json_t *scale = NULL;

    api_pass(request->call, &(struct api_passed){ .method = HTTP_GET, .target = path });
    if (request->call->answer->status != 200)
        return NULL;
    scale = json_parse(request->call->answer->body->chars, request->call->answer->body->length,
                       "scale", &err);
    sim_answer_clear(request->call->answer);
    return scale;
}

static bool scale_is_right(struct api_request *request, const json_t *scale)
{
    const json_t *replicas = json_at(scale, "spec/replicas");

    if (json_is_integer(replicas) && json_integer_value(replicas) >= 0)
        return true;
    sim_kube_status(request->call->answer, 422, "Invalid",
                    "Scale.autoscaling \"%s\" is invalid: spec.replicas: Invalid value: %lld: must "
                    "be greater than or equal to 0",
                    request->name, (long long)json_integer_value(replicas));
    return false;
}

static void write_scale(struct api_request *request)
{
    const char *type = http_header_find(request->call->request->headers,
                                        request->call->request->header_count, "Content-Type")
                           ?: "";
    owned(chars) char *manager = url_query(request->call->request->target, "fieldManager");
    owned(chars) char *path = path_of_part(request);
    owned(chars) char *target = url_format("%s?fieldManager=%s", "", manager ?: "unknown");
    owned(chars) char *whole = text_format("%s%s", path, target);
    owned(json) json_t *scale = scale_now(request);
    owned(json) json_t *body = scale ? api_body(request->call) : NULL;

    if (!body || !api_read_dry_run(request, NULL))
        return;
    if (request->call->request->method == HTTP_PATCH && !strstr(type, "merge-patch+json")) {
        sim_kube_status(request->call->answer, 415, "UnsupportedMediaType",
                        "415: Unsupported Media Type");
        return;
    }
    patch_merge(scale, body);
    if (!scale_is_right(request, scale))
        return;
    if (request->is_dry)
        sim_answer_json(request->call->answer, 200, json_incref(scale));
    else
        api_pass(request->call,
                 &(struct api_passed){ .method = HTTP_PUT, .target = whole, .body = scale });
}

static void patch_status(struct api_request *request)
{
    const char *type = http_header_find(request->call->request->headers,
                                        request->call->request->header_count, "Content-Type")
                           ?: "";
    owned(json) json_t *body = api_body(request->call);
    owned(chars) char *path = path_of_part(request);

    if (!body || !api_read_dry_run(request, NULL))
        return;
    if (!request->is_dry)
        api_pass(request->call,
                 &(struct api_passed){
                     .method = HTTP_PATCH, .target = path, .type = type, .body = body });
    if (request->is_dry || request->call->answer->status == 200)
        api_answer_present(request, 200);
}

void api_serve_part(struct api_request *request)
{
    enum http_method method = request->call->request->method;
    const char *plural = request->resource->plural;
    bool is_pod = text_equal(plural, "pods");
    bool is_scale = text_equal(plural, "deployments") && text_equal(request->part, "scale");
    bool is_status = (is_pod || text_equal(plural, "nodes")) && text_equal(request->part, "status");
    bool is_eviction = is_pod && text_equal(request->part, "eviction");

    if (!is_scale && !is_status && !is_eviction) {
        sim_kube_status(request->call->answer, 404, "NotFound",
                        "the server could not find the requested resource");
    } else if (is_eviction && method == HTTP_POST) {
        evict(request);
    } else if (is_status && method == HTTP_PATCH) {
        patch_status(request);
    } else if (is_status && method == HTTP_GET) {
        api_answer_present(request, 200);
    } else if (is_scale && method == HTTP_GET) {
        owned(chars) char *path = path_of_part(request);

        api_pass(request->call, &(struct api_passed){ .method = HTTP_GET, .target = path });
    } else if (is_scale && (method == HTTP_PUT || method == HTTP_PATCH)) {
        write_scale(request);
    } else {
        api_answer_no_method(request->call);
    }
}
