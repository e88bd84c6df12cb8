/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See owners.h.  A set of fields is a JSON object: the field's name as kubectl shows it
 * (".spec.replicas") -> the way to it, an array of member names and, for an entry of a list, of
 * objects with its key.
 */
#include "tools/simulator/apiserver/owners.h"

#include "tools/simulator/apiserver/answers.h"
#include "tools/simulator/apiserver/patch.h"

static void free_json(void *json)
{
    json_decref(json);
}

struct client_memory *client_memory_of(struct kube_cluster *cluster)
{
    if (!cluster->memory) {
        cluster->memory = mem_new(sizeof *cluster->memory);
        cluster->memory->owners = map_new(free_json);
        cluster->memory->lists = map_new(free_json);
    }
    return cluster->memory;
}

void sim_other_clients_forget(struct kube_cluster *cluster)
{
    if (!cluster->memory)
        return;
    map_free(cluster->memory->owners);
    map_free(cluster->memory->lists);
    mem_free(cluster->memory);
    cluster->memory = NULL;
}

static char *key_of(const struct api_resource *resource, const json_t *object)
{
    char name[SIM_NAME_SIZE], key[3 * SIM_NAME_SIZE];

    api_resource_full_name(resource, name);
    api_object_key(object, key);
    return text_format("%s/%s", name, key);
}

/* ---- sets of fields ---- */

struct way {
    char name[1024];
    json_t *steps;
};

static void add_leaves(const struct way *way, const json_t *value, json_t *set);

/* entry: {"name": "x"} */
static void name_entry(const struct way *way, const json_t *entry, struct way *ret)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)entry, key, value) {
        if (json_is_integer(value))
            snprintf(ret->name, sizeof ret->name, "%.900s[%s=%lld]", way->name, key,
                     (long long)json_integer_value(value));
        else
            snprintf(ret->name, sizeof ret->name, "%.900s[%s=\"%.80s\"]", way->name, key,
                     json_string_value(value) ?: "");
    }
}

static void add_entry(const struct way *way, const char *key, const json_t *entry, json_t *set)
{
    struct way next = { .steps = json_deep_copy(way->steps) };
    json_t *step = json_object_get(entry, key)
                       ? json_make("{s:O}", key, json_object_get(entry, key))
                       : json_object();

    name_entry(way, step, &next);
    json_array_append_new(next.steps, step);
    add_leaves(&next, entry, set);
    json_decref(next.steps);
}

static void add_leaves(const struct way *way, const json_t *value, json_t *set)
{
    const char *last = json_string_value(
        json_array_get(way->steps, json_array_size(way->steps) - 1));
    const char *list_key = json_is_array(value) && last ? patch_merge_key(last) : NULL;
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_object(value) && json_object_size(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, member) {
            struct way next = { .steps = json_deep_copy(way->steps) };

            snprintf(next.name, sizeof next.name, "%.900s.%.100s", way->name, key);
            json_array_append_new(next.steps, json_text(key));
            add_leaves(&next, member, set);
            json_decref(next.steps);
        }
    } else if (list_key) {
        json_array_foreach(value, i, member)
            add_entry(way, list_key, member, set);
    } else {
        json_object_set(set, way->name, way->steps);
    }
}

/* The fields that a client sets; not what names the object or what only the server writes. */
static json_t *fields_of(const json_t *object)
{
    static const char *const served[] = { "name",          "namespace",
                                          "uid",           "resourceVersion",
                                          "generation",    "creationTimestamp",
                                          "managedFields", "generateName" };
    json_t *own = json_deep_copy(object), *set = json_object();
    struct way start = { .steps = json_array() };

    json_object_del(own, "apiVersion");
    json_object_del(own, "kind");
    json_object_del(own, "status");
    for (size_t i = 0; i < COUNT_OF(served); i++)
        json_object_del(json_object_get(own, "metadata"), served[i]);
    if (json_object_size(json_object_get(own, "metadata")) == 0)
        json_object_del(own, "metadata");
    if (json_object_size(own))
        add_leaves(&start, own, set);
    json_decref(start.steps);
    json_decref(own);
    return set;
}

static json_t *step_into(json_t *holder, const json_t *step)
{
    const char *key;
    json_t *value;
    size_t at;

    if (json_is_string(step))
        return json_object_get(holder, json_string_value(step));
    json_object_foreach((json_t *)(uintptr_t)step, key, value) {
        at = patch_find_entry(holder, key, step);
        return at == SIZE_MAX ? NULL : json_array_get(holder, at);
    }
    return NULL;
}

static json_t *value_at(const json_t *object, const json_t *steps)
{
    json_t *at = (json_t *)(uintptr_t)object, *step;
    size_t i;

    json_array_foreach(steps, i, step)
        at = at ? step_into(at, step) : NULL;
    return at;
}

static void remove_at(json_t *object, const json_t *steps)
{
    size_t count = json_array_size(steps);
    const json_t *last = json_array_get(steps, count - 1);
    json_t *at = object;

    for (size_t i = 0; at && i + 1 < count; i++)
        at = step_into(at, json_array_get(steps, i));
    if (at && json_is_string(last))
        json_object_del(at, json_string_value(last));
}

/* ---- managers ---- */

static char *manager_of(const struct sim_call *call)
{
    return url_query(call->request->target, "fieldManager") ?: mem_copy_chars("unknown");
}

static json_t *managers_of(const struct api_request *request, const json_t *object)
{
    struct client_memory *memory = client_memory_of(request->call->cluster);
    owned(chars) char *key = key_of(request->resource, object);
    json_t *managers = map_get(memory->owners, key);

    if (!managers) {
        managers = json_array();
        map_set(memory->owners, key, managers);
    }
    return managers;
}

static json_t *manager_find(json_t *managers, const char *name, const char *operation)
{
    size_t i;
    json_t *manager;

    json_array_foreach(managers, i, manager) {
        if (text_equal(json_text_or(manager, "manager", ""), name) &&
            text_equal(json_text_or(manager, "operation", ""), operation))
            return manager;
    }
    return NULL;
}

struct conflicts {
    struct text *words;
    json_t *causes;
    size_t count;
};

static void find_conflicts(const json_t *manager, const json_t *wanted, const json_t *old,
                           const json_t *config, struct conflicts *ret)
{
    const char *field;
    json_t *steps;

    json_object_foreach((json_t *)(uintptr_t)wanted, field, steps) {
        owned(chars) char *sentence = NULL;

        if (!json_object_get(json_object_get(manager, "fields"), field) ||
            json_equal(value_at(old, steps), value_at(config, steps)))
            continue;
        sentence = text_format("conflict with \"%s\" using %s",
                               json_text_or(manager, "manager", ""),
                               json_text_or(manager, "apiVersion", ""));
        text_add(ret->words, "%s%s: %s", ret->count ? ", " : "", sentence, field);
        json_array_append_new(ret->causes,
                              json_make("{s:s, s:s, s:s}", "reason", "FieldManagerConflict",
                                        "message", sentence, "field", field));
        ret->count++;
    }
}

static bool conflicts_are_solved(const struct api_request *request, json_t *managers,
                                 const json_t *wanted, const json_t *old, const json_t *config)
{
    owned(chars) char *force = url_query(request->call->request->target, "force");
    owned(chars) char *name = manager_of(request->call);
    owned(text) struct text *words = text_new(4096);
    struct conflicts found = { words, json_array(), 0 };
    size_t i;
    json_t *manager;

    json_array_foreach(managers, i, manager) {
        if (!text_equal(json_text_or(manager, "manager", ""), name) ||
            !text_equal(json_text_or(manager, "operation", ""), "Apply"))
            find_conflicts(manager, wanted, old, config, &found);
    }
    if (found.count == 0 || (force && text_equal(force, "true"))) {
        json_decref(found.causes);
        return true;
    }

    owned(chars) char *message = text_format("Apply failed with %zu conflict%s: %s", found.count,
                                             found.count > 1 ? "s" : "", words->chars);

    sim_answer_json(request->call->answer, 409,
                    json_make("{s:s, s:s, s:{}, s:s, s:s, s:s, s:{s:o}, s:i}", "kind", "Status",
                              "apiVersion", "v1", "metadata", "status", "Failure", "message",
                              message, "reason", "Conflict", "details", "causes", found.causes,
                              "code", 409));
    return false;
}

/* What the manager applied before and leaves out now goes, unless another manager owns it too. */
static void drop_left_out(json_t *managers, const char *name, const json_t *wanted, json_t *object)
{
    json_t *before = json_object_get(manager_find(managers, name, "Apply"), "fields");
    const char *field;
    json_t *steps, *manager;
    size_t i;

    json_object_foreach(before, field, steps) {
        bool is_shared = json_object_get(wanted, field) != NULL;

        json_array_foreach(managers, i, manager) {
            is_shared |= json_object_get(manager, "fields") != before &&
                         json_object_get(json_object_get(manager, "fields"), field);
        }
        if (!is_shared)
            remove_at(object, steps);
    }
}

json_t *owners_apply(const struct api_request *request, const json_t *old, const json_t *config)
{
    owned(chars) char *named = url_query(request->call->request->target, "fieldManager");
    owned(json) json_t *wanted = fields_of(config);
    json_t *managers, *object;

    if (!named || !named[0]) {
        sim_kube_status(request->call->answer, 422, "Invalid",
                        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: "
                        "is required for apply patch");
        return NULL;
    }
    if (!old)
        return json_deep_copy(config);
    managers = managers_of(request, old);
    if (!conflicts_are_solved(request, managers, wanted, old, config))
        return NULL;
    object = json_deep_copy(old);
    if (request->resource->is_custom)
        patch_merge(object, config);
    else
        patch_merge_strategic(object, config);
    drop_left_out(managers, named, wanted, object);
    return object;
}

/* Fields whose value the write changed. */
static json_t *changed_fields(const json_t *old, const json_t *written)
{
    json_t *set = fields_of(written), *steps;
    const char *field;
    void *next;

    json_object_foreach_safe(set, next, field, steps) {
        if (json_equal(value_at(old, steps), value_at(written, steps)))
            json_object_del(set, field);
    }
    return set;
}

void owners_note(const struct api_request *request, const json_t *old, const json_t *written,
                 const json_t *config)
{
    const char *operation = config ? "Apply" : "Update";
    owned(chars) char *name = manager_of(request->call);
    owned(json) json_t *set = config ? fields_of(config) : changed_fields(old, written);
    owned(json) json_t *taken = changed_fields(old, written);
    json_t *managers = managers_of(request, written), *own, *manager, *steps;
    const char *field;
    size_t i;

    json_array_foreach(managers, i, manager) {
        json_object_foreach(taken, field, steps)
            json_object_del(json_object_get(manager, "fields"), field);
    }
    own = manager_find(managers, name, operation);
    if (!own) {
        own = json_make("{s:s, s:s, s:s, s:{}}", "manager", name, "operation", operation,
                        "apiVersion", json_text_or(written, "apiVersion", ""), "fields");
        json_array_append_new(managers, own);
    }
    json_object_set_new(own, "at", json_integer(sim_now(request->call->sim)));
    if (config)
        json_object_set(own, "fields", set);
    else
        json_object_update(json_object_get(own, "fields"), set);
}

/* {"f:spec": {"f:replicas": {}}} */
static json_t *nested_of(const json_t *fields)
{
    json_t *top = json_object(), *steps, *step;
    const char *field;
    size_t i;

    json_object_foreach((json_t *)(uintptr_t)fields, field, steps) {
        json_t *at = top;

        json_array_foreach(steps, i, step) {
            owned(chars) char *printed = json_is_string(step) ? NULL : json_print(step);
            owned(chars) char *key = printed ? text_format("k:%s", printed)
                                             : text_format("f:%s", json_string_value(step));
            json_t *next = json_object_get(at, key);

            if (!next) {
                next = json_object();
                json_object_set_new(at, key, next);
            }
            at = next;
        }
    }
    return top;
}

/* The reverse of nested_of(). */
static void flatten(const struct way *way, const json_t *nested, json_t *set)
{
    const char *key;
    json_t *inner;
    bool is_leaf = true;

    json_object_foreach((json_t *)(uintptr_t)nested, key, inner) {
        struct way next = { .steps = json_deep_copy(way->steps) };
        struct error err = { 0 };
        json_t *entry = text_starts_with(key, "k:")
                            ? json_parse(key + 2, strlen(key + 2), "key", &err)
                            : NULL;

        if (text_starts_with(key, "f:")) {
            snprintf(next.name, sizeof next.name, "%.900s.%.100s", way->name, key + 2);
            json_array_append_new(next.steps, json_text(key + 2));
        } else if (entry) {
            name_entry(way, entry, &next);
            json_array_append(next.steps, entry);
        }
        if (text_starts_with(key, "f:") || entry) {
            flatten(&next, inner, set);
            is_leaf = false;
        }
        json_decref(entry);
        json_decref(next.steps);
    }
    if (is_leaf && way->name[0])
        json_object_set(set, way->name, way->steps);
}

void owners_take(const struct api_request *request, const json_t *object, const json_t *shown)
{
    json_t *managers = managers_of(request, object), *manager;
    size_t i;

    json_array_clear(managers);
    json_array_foreach(shown, i, manager) {
        struct way start = { .steps = json_array() };
        json_t *set = json_object();

        flatten(&start, json_object_get(manager, "fieldsV1"), set);
        json_decref(start.steps);
        json_array_append_new(managers,
                              json_make("{s:s, s:s, s:s, s:o, s:I}", "manager",
                                        json_text_or(manager, "manager", ""), "operation",
                                        json_text_or(manager, "operation", ""), "apiVersion",
                                        json_text_or(manager, "apiVersion", ""), "fields", set,
                                        "at", (json_int_t)sim_now(request->call->sim)));
    }
}

void owners_show(const struct sim_call *call, const struct api_resource *resource, json_t *object)
{
    owned(chars) char *key = key_of(resource, object);
    const json_t *managers = call->cluster->memory ? map_get(call->cluster->memory->owners, key)
                                                   : NULL;
    json_t *shown = json_array(), *manager;
    size_t i;

    json_array_foreach(managers, i, manager) {
        char time[WALL_TEXT_SIZE];

        if (json_object_size(json_object_get(manager, "fields")) == 0)
            continue;
        sim_time(call->sim, json_int_or(manager, "at", 0) + call->cluster->plan->ahead_ms, time);
        json_array_append_new(shown, json_make("{s:s, s:s, s:s, s:s, s:s, s:o}", "manager",
                                               json_text_or(manager, "manager", ""), "operation",
                                               json_text_or(manager, "operation", ""), "apiVersion",
                                               json_text_or(manager, "apiVersion", ""), "time",
                                               time, "fieldsType", "FieldsV1", "fieldsV1",
                                               nested_of(json_object_get(manager, "fields"))));
    }
    if (json_array_size(shown))
        json_object_set(json_object_get(object, "metadata"), "managedFields", shown);
    json_decref(shown);
}

void owners_forget(const struct api_request *request, const json_t *object)
{
    owned(chars) char *key = key_of(request->resource, object);

    if (request->call->cluster->memory)
        map_remove(request->call->cluster->memory->owners, key);
}
