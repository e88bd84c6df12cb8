/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests of other clients than sluice: which resource, which verb, and the answer.  A resource or
 * verb that the simulator does not have is refused as a real server refuses an unknown one.
 */
#include "tools/simulator/apiserver/front.h"

#include "base/crypto.h"
#include "tools/simulator/apiserver/patch.h"
#include "tools/simulator/apiserver/writes.h"

#include <inttypes.h>

bool sim_is_other_client(const struct sim_call *call)
{
    const char *header = http_header_find(call->request->headers, call->request->header_count,
                                          "Authorization");
    owned(chars) char *wanted = text_format("Bearer admin-%s", call->cluster->plan->name);

    return header && text_equal(header, wanted);
}

static void answer_unknown(struct sim_call *call)
{
    sim_kube_status(call->answer, 404, "NotFound",
                    "the server could not find the requested resource");
}

void api_answer_no_method(struct sim_call *call)
{
    sim_kube_status(call->answer, 405, "MethodNotAllowed",
                    "the server does not allow this method on the requested resource");
}

void api_answer_deleted(const struct api_request *request, const json_t *object)
{
    json_t *details = json_make("{s:s, s:s, s:s}", "name", request->name, "kind",
                                request->resource->plural, "uid",
                                json_text_or(object, "metadata/uid", ""));

    if (request->resource->group[0])
        json_object_set_new(details, "group", json_string(request->resource->group));
    sim_answer_json(request->call->answer, 200,
                    json_make("{s:s, s:s, s:{}, s:s, s:o}", "kind", "Status", "apiVersion", "v1",
                              "metadata", "status", "Success", "details", details));
}

/* ---- reading ---- */

static bool is_watch(const struct sim_call *call)
{
    owned(chars) char *watch = url_query(call->request->target, "watch");

    return watch && (text_equal(watch, "1") || text_equal(watch, "true"));
}

struct page {
    size_t first, count;
};

/* The part of the list that was asked for; the token is the key of the last object, in base64. */
static bool read_page(const struct api_request *request, const json_t *items, struct page *ret)
{
    const char *target = request->call->request->target;
    owned(chars) char *limit = url_query(target, "limit");
    owned(chars) char *after = url_query(target, "continue");
    owned(text) struct text *key = NULL;
    struct error err = { 0 };
    long long most = 0;

    *ret = (struct page){ 0 };
    if (limit && !text_to_int(limit, 0, INT32_MAX, &most)) {
        sim_kube_status(request->call->answer, 400, "BadRequest",
                        "strconv.ParseInt: parsing \"%s\": invalid syntax", limit);
        return false;
    }
    if (after && after[0] && (key = crypto_decode_base64(after, &err)) == NULL) {
        sim_kube_status(request->call->answer, 400, "BadRequest",
                        "invalid continue token: continue key is not valid");
        return false;
    }
    for (; key && ret->first < json_array_size(items); ret->first++) {
        char own[3 * SIM_NAME_SIZE];

        api_object_key(json_array_get(items, ret->first), own);
        if (strcmp(own, key->chars) > 0)
            break;
    }
    ret->count = json_array_size(items) - ret->first;
    if (most && ret->count > (size_t)most)
        ret->count = (size_t)most;
    return true;
}

static json_t *list_metadata(const struct api_request *request, const json_t *items,
                             const struct page *page)
{
    size_t end = page->first + page->count, left = json_array_size(items) - end;
    char version[24], key[3 * SIM_NAME_SIZE];
    owned(text) struct text *token = text_new(1024);
    json_t *metadata;

    snprintf(version, sizeof version, "%" PRIu64, request->call->cluster->version);
    metadata = json_make("{s:s}", "resourceVersion", version);
    if (left == 0 || page->count == 0)
        return metadata;
    api_object_key(json_array_get(items, end - 1), key);
    crypto_add_base64(token, key, strlen(key));
    json_object_set_new(metadata, "continue", json_string(token->chars));
    json_object_set_new(metadata, "remainingItemCount", json_integer((json_int_t)left));
    return metadata;
}

static void answer_list(const struct api_request *request, const json_t *items)
{
    const struct api_resource *resource = request->resource;
    enum api_form form = api_form_of(request->call);
    json_t *shown = json_array(), *body;
    struct page page;

    if (!read_page(request, items, &page)) {
        json_decref(shown);
        return;
    }
    for (size_t i = page.first; i < page.first + page.count; i++) {
        json_t *object = json_array_get(items, i);

        json_array_append_new(shown, form == API_FORM_METADATA ? api_metadata_of(object)
                                                               : json_incref(object));
    }
    if (form == API_FORM_TABLE) {
        body = api_table(request->call, resource, shown);
        json_decref(shown);
    } else {
        owned(chars) char *kind = text_format(
            "%sList", form == API_FORM_METADATA ? "PartialObjectMetadata" : resource->kind);
        owned(chars) char *version = text_format("%s%s%s", resource->group,
                                                 resource->group[0] ? "/" : "", request->version);

        body = json_make("{s:s, s:s, s:o}", "kind", kind, "apiVersion",
                         form == API_FORM_METADATA ? "meta.k8s.io/v1" : version, "items", shown);
    }
    json_object_set_new(body, "metadata", list_metadata(request, items, &page));
    sim_answer_json(request->call->answer, 200, body);
}

static void list(struct api_request *request)
{
    struct api_filter filter;
    owned(json) json_t *items = NULL;
    size_t i;
    json_t *object;

    if (!api_filter_read(request, &filter)) {
        api_filter_clear(&filter);
        return;
    }
    if (is_watch(request->call)) {
        api_follow(request, &filter);
        return;
    }
    items = api_filter_collect(request->call, &filter);
    api_remember(request->call, &filter, items);
    json_array_foreach(items, i, object)
        owners_show(request->call, request->resource, object);
    answer_list(request, items);
    api_filter_clear(&filter);
}

static void get(struct api_request *request)
{
    owned(json) json_t *object = api_find(request->call, request->resource, request->namespace,
                                          request->name);

    if (!object) {
        api_not_found(request);
        return;
    }
    owners_show(request->call, request->resource, object);
    api_answer_object(request, 200, object);
}

/* ---- removing ---- */

static void remove_one(struct api_request *request)
{
    owned(json) json_t *object = api_find(request->call, request->resource, request->namespace,
                                          request->name);
    const char *uid = json_text_or(request->options, "preconditions/uid", NULL);

    if (!object) {
        api_not_found(request);
        return;
    }
    if (!sim_kube_uid_is(request->call, request->resource->kind, request->name,
                         json_text_or(object, "metadata/uid", ""), uid))
        return;
    if (!request->is_dry)
        request->resource->remove(request, object);
    else if (text_equal(request->resource->plural, "pods"))
        api_answer_object(request, 200, object);
    else
        api_answer_deleted(request, object);
}

static void remove_all(struct api_request *request)
{
    struct api_filter filter;
    owned(json) json_t *items = NULL;
    size_t i;
    json_t *object;

    if (!api_filter_read(request, &filter)) {
        api_filter_clear(&filter);
        return;
    }
    items = api_filter_collect(request->call, &filter);
    json_array_foreach(items, i, object) {
        struct api_request one = *request;

        one.name = json_text_or(object, "metadata/name", "");
        sim_answer_clear(request->call->answer);
        remove_one(&one);
        if (request->call->answer->status >= 300)
            break;
    }
    if (i == json_array_size(items)) {
        sim_answer_clear(request->call->answer);
        answer_list(request, items);
    }
    api_filter_clear(&filter);
}

static void remove_what(struct api_request *request)
{
    owned(json) json_t *options = request->call->request->body_size ? api_body(request->call)
                                                                    : json_object();
    static const char *const numbers[] = { "gracePeriodSeconds" };
    owned(chars) char *policy = url_query(request->call->request->target, "propagationPolicy");
    long long value;

    if (!options || !api_read_dry_run(request, options))
        return;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        owned(chars) char *chars = url_query(request->call->request->target, numbers[i]);

        if (chars && text_to_int(chars, 0, 1 << 20, &value) &&
            !json_object_get(options, numbers[i]))
            json_object_set_new(options, numbers[i], json_integer(value));
    }
    if (policy && !json_object_get(options, "propagationPolicy"))
        json_object_set_new(options, "propagationPolicy", json_text(policy));
    json_object_del(options, "orphanDependents");
    json_object_del(options, "dryRun"); /* is_dry has it */
    request->options = options;
    if (!(request->resource->verbs & API_DELETE))
        api_answer_no_method(request->call);
    else if (request->name[0])
        remove_one(request);
    else if (request->resource->is_namespaced && !request->namespace[0])
        api_answer_no_method(request->call);
    else
        remove_all(request);
}

/* ---- the way to a resource ---- */

static void serve_object(struct api_request *request)
{
    unsigned verbs = request->resource->verbs;

    switch (request->call->request->method) {
    case HTTP_GET:
        if (is_watch(request->call))
            list(request);
        else
            get(request);
        return;
    case HTTP_PUT:
    case HTTP_PATCH:
        if (verbs & API_UPDATE)
            api_change(request);
        else
            api_answer_no_method(request->call);
        return;
    case HTTP_DELETE:
        remove_what(request);
        return;
    case HTTP_POST:
    case HTTP_METHOD_COUNT:
        api_answer_no_method(request->call);
    }
}

static void serve_collection(struct api_request *request)
{
    bool lacks_namespace = request->resource->is_namespaced && !request->namespace[0];

    switch (request->call->request->method) {
    case HTTP_GET:
        list(request);
        return;
    case HTTP_POST:
        if (request->resource->verbs & API_CREATE && !lacks_namespace)
            api_create(request);
        else
            api_answer_no_method(request->call);
        return;
    case HTTP_DELETE:
        remove_what(request);
        return;
    case HTTP_PUT:
    case HTTP_PATCH:
    case HTTP_METHOD_COUNT:
        api_answer_no_method(request->call);
    }
}

/* The parts of a path behind group and version. */
static bool read_place(struct sim_call *call, char **parts, size_t count,
                       struct api_request *ret_request)
{
    bool is_core = text_equal(parts[0], "api");
    size_t at = is_core ? 2 : 3;
    const char *group = is_core ? "" : parts[1];

    *ret_request = (struct api_request){ .call = call, .namespace = "", .name = "", .part = "" };
    if (count <= at)
        return false;
    ret_request->version = parts[at - 1];
    if (text_equal(parts[at], "namespaces") && count > at + 2) {
        ret_request->namespace = parts[at + 1];
        at += 2;
    }
    ret_request->resource = api_resource_find(call, group, ret_request->version, parts[at]);
    if (!ret_request->resource || count > at + 3)
        return false;
    ret_request->name = count > at + 1 ? parts[at + 1] : "";
    ret_request->part = count > at + 2 ? parts[at + 2] : "";
    if (ret_request->resource->is_namespaced)
        return !ret_request->name[0] || ret_request->namespace[0];
    return !ret_request->namespace[0];
}

static bool has_group(struct sim_call *call, const char *group, const char *version)
{
    for (const struct api_resource *row = api_resources; row->plural; row++)
        if (text_equal(row->group, group) &&
            api_resource_find(call, group, version, row->plural) == row)
            return true;
    return false;
}

void sim_other_client_answer(struct sim_call *call, size_t at)
{
    char **parts = call->path->items + at;
    size_t count = call->path->count - at;
    struct api_request request;

    if (api_form_of(call) == API_FORM_NONE) {
        sim_kube_status(call->answer, 406, "NotAcceptable",
                        "406: Not Acceptable\n\nAvailable representations: application/json");
        return;
    }
    if (api_review_access(call, parts, count) || api_discover(call, parts, count))
        return;
    if (count == 0 || !(text_equal(parts[0], "api") || text_equal(parts[0], "apis")) ||
        (text_equal(parts[0], "apis") && count > 2 && !has_group(call, parts[1], parts[2]))) {
        api_answer_text(call, 404, "404 page not found\n");
        return;
    }
    if (!read_place(call, parts, count, &request)) {
        answer_unknown(call);
        return;
    }
    if (request.part[0])
        api_serve_part(&request);
    else if (request.name[0])
        serve_object(&request);
    else
        serve_collection(&request);
}
