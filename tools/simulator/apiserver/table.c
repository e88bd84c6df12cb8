/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Objects as kubectl prints them: the server makes the cells.  Which form a client gets, its Accept
 * says.
 */
#include "tools/simulator/apiserver/answers.h"

enum api_form api_form_of(const struct sim_call *call)
{
    const char *accept = http_header_find(call->request->headers, call->request->header_count,
                                          "Accept");

    for (const char *at = accept; at && *at; at += strcspn(at, ",")) {
        owned(chars) char *part = NULL;

        at += strspn(at, ", ");
        part = text_format("%.*s", (int)strcspn(at, ","), at);
        if (strstr(part, "as=Table") && strstr(part, "v=v1;"))
            return API_FORM_TABLE;
        if (strstr(part, "as=Table") && text_equal(strstr(part, "v=v1"), "v=v1"))
            return API_FORM_TABLE;
        if (strstr(part, "as=PartialObjectMetadata"))
            return API_FORM_METADATA;
        if (!strstr(part, "as=") &&
            (text_starts_with(part, "application/json") || text_starts_with(part, "*/*") ||
             text_starts_with(part, "application/*")))
            return API_FORM_PLAIN;
    }
    return accept && accept[0] ? API_FORM_NONE : API_FORM_PLAIN;
}

json_t *api_metadata_of(const json_t *object)
{
    return json_make("{s:s, s:s, s:O}", "kind", "PartialObjectMetadata", "apiVersion",
                     "meta.k8s.io/v1", "metadata", json_object_get(object, "metadata"));
}

static json_t *row_of(const struct sim_call *call, const struct api_column *columns,
                      const json_t *object, bool has_object)
{
    json_t *cells = json_array();

    for (; columns->name; columns++)
        json_array_append_new(cells, columns->cell(call, object));
    return json_make("{s:o, s:o}", "cells", cells, "object",
                     has_object ? json_incref((json_t *)(uintptr_t)object)
                                : api_metadata_of(object));
}

json_t *api_table(const struct sim_call *call, const struct api_resource *resource,
                  const json_t *items)
{
    const struct api_column *columns = resource->columns ?: api_plain_columns;
    owned(chars) char *include = url_query(call->request->target, "includeObject");
    json_t *heads = json_array(), *rows = json_array(), *object;
    size_t i;

    for (const struct api_column *column = columns; column->name; column++)
        json_array_append_new(
            heads, json_make("{s:s, s:s, s:s, s:s, s:i}", "name", column->name, "type",
                             column->type, "format", text_equal(column->name, "Name") ? "name" : "",
                             "description", column->name, "priority", column->is_wide ? 1 : 0));
    json_array_foreach(items, i, object) {
        json_array_append_new(
            rows, row_of(call, columns, object, include && text_equal(include, "Object")));
    }
    return json_make("{s:s, s:s, s:{}, s:o, s:o}", "kind", "Table", "apiVersion", "meta.k8s.io/v1",
                     "metadata", "columnDefinitions", heads, "rows", rows);
}

void api_answer_object(const struct api_request *request, int status, const json_t *object)
{
    enum api_form form = api_form_of(request->call);
    owned(json) json_t *items = NULL;
    json_t *body;

    if (form == API_FORM_TABLE) {
        items = json_make("[O]", object);
        body = api_table(request->call, request->resource, items);
        json_object_set_new(json_object_get(body, "metadata"), "resourceVersion",
                            json_text(json_text_or(object, "metadata/resourceVersion", "")));
    } else if (form == API_FORM_METADATA) {
        body = api_metadata_of(object);
    } else {
        body = json_deep_copy(object);
    }
    sim_answer_json(request->call->answer, status, body);
}
