/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Creating and changing objects: bodies, the five kinds of patches, dry runs, optimistic locks, and
 * the rules for metadata.  A resource's own rules are in its writer.
 */
#include "tools/simulator/apiserver/front.h"
#include "tools/simulator/apiserver/patch.h"
#include "tools/simulator/apiserver/writes.h"

bool api_read_dry_run(struct api_request *request, const json_t *options)
{
    owned(chars) char *query = url_query(request->call->request->target, "dryRun");
    const json_t *list = json_object_get(options, "dryRun");
    const char *word = query ?: json_string_value(json_array_get(list, 0));
    const char *kind = options                                       ? "DeleteOptions"
                       : request->call->request->method == HTTP_POST ? "CreateOptions"
                       : request->call->request->method == HTTP_PUT  ? "UpdateOptions"
                                                                     : "PatchOptions";

    request->is_dry = word != NULL;
    if (!word || text_equal(word, "All"))
        return true;
    sim_kube_status(request->call->answer, 422, "Invalid",
                    "%s.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"%s\"]: "
                    "supported values: \"All\"",
                    kind, word);
    return false;
}

/* ---- metadata ---- */

static bool label_is_right(struct api_request *request, const char *key, const json_t *value)
{
    const char *chars = json_string_value(value);
    const char *fault = label_key_fault(key);
    bool is_key = fault != NULL;
    owned(chars) char *sentence = NULL;

    if (!chars) {
        sim_kube_status(request->call->answer, 400, "BadRequest",
                        "%s in version \"%s\" cannot be handled as a %s: json: cannot unmarshal "
                        "a value of metadata.labels into Go type string",
                        request->resource->kind, request->version, request->resource->kind);
        return false;
    }
    if (!fault)
        fault = label_value_fault(chars);
    if (!fault)
        return true;
    sentence = text_format("Invalid value: \"%s\": %s", is_key ? key : chars, fault);
    api_invalid(request, "metadata.labels", "FieldValueInvalid", sentence);
    return false;
}

static bool metadata_is_right(struct api_request *request, const json_t *object)
{
    const char *key, *fault;
    json_t *value;

    json_object_foreach(json_at(object, "metadata/labels"), key, value) {
        if (!label_is_right(request, key, value))
            return false;
    }
    json_object_foreach(json_at(object, "metadata/annotations"), key, value) {
        fault = label_key_fault(key);
        if (fault || !json_is_string(value)) {
            owned(chars) char *sentence = text_format("Invalid value: \"%s\": %s", key,
                                                      fault ?: "must be a string");

            api_invalid(request, "metadata.annotations", "FieldValueInvalid", sentence);
            return false;
        }
    }
    return true;
}

/* "v1" and "Pod", if the body says them at all. */
static bool kind_is_right(struct api_request *request, const json_t *body)
{
    const struct api_resource *resource = request->resource;
    owned(chars) char *version = text_format("%s%s%s", resource->group,
                                             resource->group[0] ? "/" : "", request->version);
    const char *own_kind = json_text_or(body, "kind", resource->kind);
    const char *own_version = json_text_or(body, "apiVersion", version);

    if (text_equal(own_kind, resource->kind) && text_equal(own_version, version))
        return true;
    sim_kube_status(request->call->answer, 400, "BadRequest",
                    "%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" is registered "
                    "for version \"%s\" in scheme \"pkg/runtime/scheme.go:111\"",
                    own_kind, own_version, resource->kind, own_kind, own_version);
    return false;
}

/* ---- creating ---- */

static bool name_is_right(struct api_request *request)
{
    const char *name = request->name;
    bool is_label = text_equal(request->resource->plural, "namespaces");
    const char *known = is_label ? "abcdefghijklmnopqrstuvwxyz0123456789-"
                                 : "abcdefghijklmnopqrstuvwxyz0123456789-.";
    size_t length = strlen(name);
    owned(chars) char *sentence = NULL;

    if (length == 0) {
        api_invalid(request, "metadata.name", "FieldValueRequired",
                    "Required value: name or generateName is required");
        return false;
    }
    if (length < SIM_NAME_SIZE && strspn(name, known) == length && !strchr("-.", name[0]) &&
        !strchr("-.", name[length - 1]))
        return true;
    sentence = text_format(
        "Invalid value: \"%.250s\": a lowercase RFC 1123 %s must consist of lower case "
        "alphanumeric characters%s, and must start and end with an alphanumeric character",
        name, is_label ? "label" : "subdomain", is_label ? " or '-'" : ", '-' or '.'");
    api_invalid(request, "metadata.name", "FieldValueInvalid", sentence);
    return false;
}

/* Fills in what the server knows from the path, and a name for generateName. */
static void complete(struct api_request *request, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    const char *stem = json_text_or(metadata, "generateName", NULL);
    owned(chars) char *version = text_format("%s%s%s", request->resource->group,
                                             request->resource->group[0] ? "/" : "",
                                             request->version);

    if (!json_is_object(metadata)) {
        metadata = json_object();
        json_object_set_new(object, "metadata", metadata);
    }
    if (stem && !json_object_get(metadata, "name")) {
        char tail[6];
        owned(chars) char *name = NULL;

        random_hex(&request->call->sim->names, tail, sizeof tail);
        name = text_format("%s%s", stem, tail);
        json_object_set_new(metadata, "name", json_text(name));
    }
    json_object_set_new(object, "kind", json_string(request->resource->kind));
    json_object_set_new(object, "apiVersion", json_text(version));
    if (request->resource->is_namespaced)
        json_object_set_new(metadata, "namespace", json_text(request->namespace));
}

/* The object is whole and is not there yet. */
static void create_object(struct api_request *request, json_t *object)
{
    const char *said = json_text_or(object, "metadata/namespace", request->namespace);
    owned(json) json_t *present = NULL;
    char full[SIM_NAME_SIZE];

    if (request->resource->is_namespaced && !text_equal(said, request->namespace)) {
        sim_kube_status(request->call->answer, 400, "BadRequest",
                        "the namespace of the provided object does not match the namespace sent on "
                        "the request");
        return;
    }
    complete(request, object);
    request->name = json_text_or(object, "metadata/name", "");
    if (request->resource->is_namespaced &&
        !api_namespace_exists(request->call, request->namespace)) {
        sim_kube_not_found(request->call, "namespaces", request->namespace);
        return;
    }
    if (!name_is_right(request) || !metadata_is_right(request, object))
        return;
    present = api_find(request->call, request->resource, request->namespace, request->name);
    api_resource_full_name(request->resource, full);
    if (present)
        api_refuse(request, 409, "AlreadyExists", "%s \"%s\" already exists", full, request->name);
    else
        request->resource->create(request, object);
}

/* Without a type a body is JSON. */
static json_t *whole_object(const struct api_request *request)
{
    const char *type = http_header_find(request->call->request->headers,
                                        request->call->request->header_count, "Content-Type");

    if (!type || text_starts_with(type, "application/json") || text_starts_with(type, "*/*") ||
        text_starts_with(type, "application/vnd.kubernetes.protobuf"))
        return api_body(request->call);
    sim_kube_status(request->call->answer, 415, "UnsupportedMediaType",
                    "415: Unsupported Media Type");
    return NULL;
}

void api_create(struct api_request *request)
{
    owned(json) json_t *body = whole_object(request);

    if (body && api_read_dry_run(request, NULL) && kind_is_right(request, body))
        create_object(request, body);
}

/* ---- changing ---- */

static void refuse_type(const struct api_request *request)
{
    sim_kube_status(request->call->answer, 415, "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types "
                    "include: application/json-patch+json, application/merge-patch+json%s, "
                    "application/apply-patch+yaml",
                    request->resource->is_custom ? "" : ", application/strategic-merge-patch+json");
}

static json_t *apply_operations(const struct api_request *request, const json_t *old)
{
    const struct sim_request *asked = request->call->request;
    struct error err = { 0 };
    owned(json) json_t *operations = json_parse(asked->body ?: "", asked->body_size, "body", &err);
    json_t *object;

    if (!json_is_array(operations)) {
        sim_kube_status(request->call->answer, 400, "BadRequest", "error decoding patch: %s",
                        operations ? "a JSON patch is an array" : err.text);
        return NULL;
    }
    object = json_deep_copy(old);
    if (patch_apply_operations(object, operations, &err) == 0)
        return object;
    json_decref(object);
    sim_kube_status(request->call->answer, 422, "Invalid",
                    "the server rejected our request due to an error in our request");
    return NULL;
}

/* The object as the patch makes it; NULL: answered.  *ret_config: of an apply. */
static json_t *patched(const struct api_request *request, const json_t *old, json_t **ret_config)
{
    const char *type = http_header_find(request->call->request->headers,
                                        request->call->request->header_count, "Content-Type")
                           ?: "";
    bool is_merge = text_starts_with(type, "application/merge-patch+json");
    bool is_strategic = text_starts_with(type, "application/strategic-merge-patch+json") &&
                        !request->resource->is_custom;
    owned(json) json_t *body = NULL;
    json_t *object;

    if (text_starts_with(type, "application/json-patch+json") && old)
        return apply_operations(request, old);
    if (text_starts_with(type, "application/apply-patch+yaml")) {
        *ret_config = api_body(request->call);
        return *ret_config ? owners_apply(request, old, *ret_config) : NULL;
    }
    if (!old) {
        api_not_found(request);
        return NULL;
    }
    if (!is_merge && !is_strategic) {
        refuse_type(request);
        return NULL;
    }
    body = api_body(request->call);
    if (!body)
        return NULL;
    object = json_deep_copy(old);
    if (is_merge)
        patch_merge(object, body);
    else
        patch_merge_strategic(object, body);
    return object;
}

static bool is_up_to_date(struct api_request *request, const json_t *old, const json_t *object)
{
    const char *name = json_text_or(object, "metadata/name", request->name);
    const char *version = json_text_or(object, "metadata/resourceVersion", "");
    const char *uid = json_text_or(object, "metadata/uid", "");
    char full[SIM_NAME_SIZE];

    if (!text_equal(name, request->name)) {
        sim_kube_status(request->call->answer, 400, "BadRequest",
                        "the name of the object (%s) does not match the name on the URL (%s)", name,
                        request->name);
        return false;
    }
    api_resource_full_name(request->resource, full);
    if (version[0] && !text_equal(version, json_text_or(old, "metadata/resourceVersion", ""))) {
        api_refuse(request, 409, "Conflict",
                   "Operation cannot be fulfilled on %s \"%s\": the object has been modified; "
                   "please apply your changes to the latest version and try again",
                   full, request->name);
        return false;
    }
    if (uid[0] && !text_equal(uid, json_text_or(old, "metadata/uid", ""))) {
        owned(chars) char *sentence = text_format("Invalid value: \"%s\": field is immutable", uid);

        api_invalid(request, "metadata.uid", "FieldValueInvalid", sentence);
        return false;
    }
    return true;
}

/* What only the server writes stays as it is, the status too. */
static void keep_own(const json_t *old, json_t *object)
{
    static const char *const members[] = { "uid",        "resourceVersion",   "creationTimestamp",
                                           "generation", "deletionTimestamp", "managedFields",
                                           "namespace",  "ownerReferences" };
    json_t *metadata = json_object_get(object, "metadata");

    if (!json_is_object(metadata)) {
        metadata = json_object();
        json_object_set_new(object, "metadata", metadata);
    }
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        json_t *own = json_object_get(json_object_get(old, "metadata"), members[i]);

        if (own)
            json_object_set(metadata, members[i], own);
        else
            json_object_del(metadata, members[i]);
    }
    if (json_object_get(old, "status"))
        json_object_set(object, "status", json_object_get(old, "status"));
    json_object_set(object, "kind", json_object_get(old, "kind"));
    json_object_set(object, "apiVersion", json_object_get(old, "apiVersion"));
    if (!json_object_size(json_object_get(metadata, "labels")))
        json_object_del(metadata, "labels");
    if (!json_object_size(json_object_get(metadata, "annotations")))
        json_object_del(metadata, "annotations");
}

/* The managers that a client wrote itself, as kubectl does once before its first server-side apply;
   NULL: they are as they were. */
static json_t *managers_written(const struct api_request *request, const json_t *old,
                                const json_t *object)
{
    json_t *managers = json_at(object, "metadata/managedFields");

    return request->config || !managers ||
                   json_equal(managers, json_at(old, "metadata/managedFields"))
               ? NULL
               : json_incref(managers);
}

static void change_to(struct api_request *request, const json_t *old, json_t *object)
{
    owned(json) json_t *managers = managers_written(request, old, object);

    if (!kind_is_right(request, object) || !is_up_to_date(request, old, object))
        return;
    keep_own(old, object);
    if (!metadata_is_right(request, object))
        return;
    request->resource->update(request, old, object);
    if (!request->is_dry && request->call->answer->status == 200) {
        if (managers)
            owners_take(request, object, managers);
        else
            owners_note(request, old, object, request->config);
        api_answer_present(request, 200);
    }
}

void api_change(struct api_request *request)
{
    bool is_put = request->call->request->method == HTTP_PUT;
    owned(json)
        json_t *old = api_find(request->call, request->resource, request->namespace, request->name);
    owned(json) json_t *object = NULL;
    owned(json) json_t *config = NULL;

    if (!api_read_dry_run(request, NULL))
        return;
    if (old)
        owners_show(request->call, request->resource, old);
    object = is_put ? whole_object(request) : patched(request, old, &config);
    if (!object)
        return;
    request->config = config;
    if (old)
        change_to(request, old, object);
    else if (config && kind_is_right(request, object))
        create_object(request, object);
    else if (!config)
        api_not_found(request);
}
