/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Refusals, and which objects a request is about; see answers.h.
 */
#include "tools/simulator/apiserver/answers.h"

#include "tools/simulator/apiserver/protobuf.h"

#include <stdarg.h>
#include <stdlib.h>

void api_answer_text(struct sim_call *call, int status, const char *chars)
{
    call->answer->status = status;
    call->answer->content_type = "text/plain; charset=utf-8";
    call->answer->body = text_new(strlen(chars) + 1);
    text_add(call->answer->body, "%s", chars);
}

json_t *api_body(struct sim_call *call)
{
    const struct sim_request *request = call->request;
    const char *type = http_header_find(request->headers, request->header_count, "Content-Type");
    struct error err = { 0 };
    json_t *body;

    if (!type || !text_starts_with(type, PROTOBUF_TYPE))
        return sim_kube_body(call);
    body = protobuf_decode(request->body ?: "", request->body_size, &err);
    if (!body)
        sim_kube_status(call->answer, 415, "UnsupportedMediaType",
                        "the body of the request was in an unknown format - accepted media types "
                        "include: application/json (%s)",
                        err.text);
    return body;
}

static json_t *details_of(const struct api_request *request, const char *kind)
{
    json_t *details = json_object();

    if (request->name[0])
        json_object_set_new(details, "name", json_text(request->name));
    if (request->resource->group[0])
        json_object_set_new(details, "group", json_string(request->resource->group));
    json_object_set_new(details, "kind", json_string(kind));
    return details;
}

static void refuse(struct sim_call *call, int code, const char *reason, const char *message,
                   json_t *details)
{
    sim_answer_json(call->answer, code,
                    json_make("{s:s, s:s, s:{}, s:s, s:s, s:s, s:o, s:i}", "kind", "Status",
                              "apiVersion", "v1", "metadata", "status", "Failure", "message",
                              message, "reason", reason, "details", details, "code", code));
}

void api_refuse(const struct api_request *request, int code, const char *reason, const char *format,
                ...)
{
    char message[2048];
    va_list arguments;

    va_start(arguments, format);
    text_print_arguments(message, sizeof message, format, arguments);
    va_end(arguments);
    refuse(request->call, code, reason, message, details_of(request, request->resource->plural));
}

void api_invalid(const struct api_request *request, const char *field, const char *reason,
                 const char *sentence)
{
    const char *group = request->resource->group;
    owned(chars) char *message = text_format("%s%s%s \"%s\" is invalid: %s: %s",
                                             request->resource->kind, group[0] ? "." : "", group,
                                             request->name, field, sentence);
    json_t *details = details_of(request, request->resource->kind);

    json_object_set_new(
        details, "causes",
        json_make("[{s:s, s:s, s:s}]", "reason", reason, "message", sentence, "field", field));
    refuse(request->call, 422, "Invalid", message, details);
}

void api_not_found(const struct api_request *request)
{
    char name[SIM_NAME_SIZE];

    api_resource_full_name(request->resource, name);
    api_refuse(request, 404, "NotFound", "%s \"%s\" not found", name, request->name);
}

/* ---- filters ---- */

static bool refuse_selector(const struct api_request *request, const struct error *err)
{
    sim_kube_status(request->call->answer, 400, "BadRequest", "%s", err->text);
    return false;
}

static bool check_fields(const struct api_request *request, const struct api_filter *filter)
{
    const char *known[16] = { "metadata.name" };
    size_t count = 1;
    const char *strange;

    if (request->resource->is_namespaced)
        known[count++] = "metadata.namespace";
    for (const char *const *field = request->resource->fields; field && *field; field++)
        known[count++] = *field;
    strange = selector_strange_field(filter->fields, known, count);
    if (strange)
        sim_kube_status(request->call->answer, 400, "BadRequest", "field label not supported: %s",
                        strange);
    return !strange;
}

bool api_filter_read(const struct api_request *request, struct api_filter *ret)
{
    const char *target = request->call->request->target;
    owned(chars) char *labels = url_query(target, "labelSelector");
    owned(chars) char *fields = url_query(target, "fieldSelector");
    struct error err = { 0 };

    *ret = (struct api_filter){ .resource = request->resource,
                                .namespace = mem_copy_chars(request->namespace),
                                .name = mem_copy_chars(request->name) };
    ret->labels = selector_of_labels(labels, &err);
    ret->fields = ret->labels ? selector_of_fields(fields, &err) : NULL;
    if (!ret->fields)
        return refuse_selector(request, &err);
    return check_fields(request, ret);
}

void api_filter_clear(struct api_filter *filter)
{
    mem_free(filter->namespace);
    mem_free(filter->name);
    selector_free(filter->labels);
    selector_free(filter->fields);
    *filter = (struct api_filter){ 0 };
}

/* "spec.nodeName": "" when it is absent. */
static const char *value_at(const json_t *object, const char *field)
{
    owned(chars) char *path = mem_copy_chars(field);
    const json_t *value;

    if (text_equal(field, "source"))
        return json_text_or(object, "source/component", "");
    for (char *at = path; *at; at++)
        *at = *at == '.' ? '/' : *at;
    value = json_at(object, path);
    if (json_is_boolean(value) || (!value && text_equal(field, "spec.unschedulable")) ||
        (!value && text_equal(field, "spec.hostNetwork")))
        return json_is_true(value) ? "true" : "false";
    if (!value && text_equal(field, "spec.schedulerName"))
        return "default-scheduler";
    return json_string_value(value) ?: "";
}

void api_object_key(const json_t *object, char out[3 * SIM_NAME_SIZE])
{
    snprintf(out, 3 * SIM_NAME_SIZE, "%.120s/%.253s",
             json_text_or(object, "metadata/namespace", ""),
             json_text_or(object, "metadata/name", ""));
}

bool api_filter_takes(const struct api_filter *filter, const json_t *object)
{
    if (filter->namespace[0] &&
        !text_equal(filter->namespace, json_text_or(object, "metadata/namespace", "")))
        return false;
    if (filter->name[0] && !text_equal(filter->name, json_text_or(object, "metadata/name", "")))
        return false;
    return selector_takes_labels(filter->labels, json_at(object, "metadata/labels")) &&
           selector_takes_fields(filter->fields, object, value_at);
}

struct sorted {
    char key[3 * SIM_NAME_SIZE];
    json_t *object;
};

static int by_key(const void *left, const void *right)
{
    return strcmp(((const struct sorted *)left)->key, ((const struct sorted *)right)->key);
}

json_t *api_filter_collect(struct sim_call *call, const struct api_filter *filter)
{
    owned(json) json_t *all = json_array();
    json_t *items = json_array(), *object;
    ARRAY(struct sorted) rows = { 0 };
    size_t i;

    filter->resource->collect(call, filter->resource, all);
    json_array_foreach(all, i, object) {
        struct sorted *row;

        if (!api_filter_takes(filter, object))
            continue;
        row = array_add(&rows);
        row->object = object;
        api_object_key(object, row->key);
    }
    if (rows.count)
        qsort(rows.items, rows.count, sizeof *rows.items, by_key);
    for (i = 0; i < rows.count; i++)
        json_array_append(items, rows.items[i].object);
    array_clear(&rows);
    return items;
}

json_t *api_find(struct sim_call *call, const struct api_resource *resource, const char *namespace,
                 const char *name)
{
    owned(json) json_t *all = NULL;
    size_t i;
    json_t *object;

    if (resource->find)
        return resource->find(call, namespace, name);
    all = json_array();
    resource->collect(call, resource, all);
    json_array_foreach(all, i, object) {
        if (text_equal(name, json_text_or(object, "metadata/name", "")) &&
            text_equal(namespace, json_text_or(object, "metadata/namespace", "")))
            return json_incref(object);
    }
    return NULL;
}
