/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See patch.h.
 */
#include "tools/simulator/apiserver/patch.h"

#include "base/input/json.h"
#include "base/text.h"

#include <string.h>

void patch_merge(json_t *into, const json_t *patch)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        json_t *own = json_object_get(into, key);

        if (json_is_null(value)) {
            json_object_del(into, key);
        } else if (json_is_object(value)) {
            if (!json_is_object(own)) {
                own = json_object();
                json_object_set_new(into, key, own);
            }
            patch_merge(own, value);
        } else {
            json_object_set_new(into, key, json_deep_copy(value));
        }
    }
}

/* ---- JSON patch ---- */

/* A pointer's last part, and the value that holds it. */
struct place {
    json_t *holder;
    char *name;
};

/* "~1" is '/', "~0" is '~'. */
static char *unescape(const char *chars, size_t length)
{
    char *out = mem_new(length + 1);
    size_t count = 0;

    for (size_t i = 0; i < length; i++) {
        bool is_escape = chars[i] == '~' && i + 1 < length;

        out[count++] = !is_escape ? chars[i] : chars[++i] == '1' ? '/' : '~';
    }
    return out;
}

static json_t *child_of(json_t *holder, const char *name)
{
    long long at;

    if (json_is_object(holder))
        return json_object_get(holder, name);
    return text_to_int(name, 0, INT32_MAX, &at) ? json_array_get(holder, (size_t)at) : NULL;
}

static int find_place(json_t *object, const char *pointer, struct place *ret, struct error *err)
{
    const char *at = pointer;

    ret->holder = object;
    if (*at != '/')
        return error_set(err, ERROR_INVALID, "%s is no pointer", pointer);
    for (at++;;) {
        size_t length = strcspn(at, "/");
        owned(chars) char *name = unescape(at, length);

        if (at[length] == '\0') {
            ret->name = steal(&name);
            return 0;
        }
        ret->holder = child_of(ret->holder, name);
        if (!ret->holder)
            return error_set(err, ERROR_INVALID, "%s does not exist", pointer);
        at += length + 1;
    }
}

static int put(const struct place *place, json_t *value, bool must_exist)
{
    long long at;

    if (json_is_object(place->holder)) {
        if (must_exist && !json_object_get(place->holder, place->name))
            return -1;
        return json_object_set(place->holder, place->name, value);
    }
    if (!json_is_array(place->holder))
        return -1;
    if (text_equal(place->name, "-") && !must_exist)
        return json_array_append(place->holder, value);
    if (!text_to_int(place->name, 0, INT32_MAX, &at))
        return -1;
    return must_exist ? json_array_set(place->holder, (size_t)at, value)
                      : json_array_insert(place->holder, (size_t)at, value);
}

static int take_out(const struct place *place)
{
    long long at;

    if (json_is_object(place->holder))
        return json_object_del(place->holder, place->name);
    return json_is_array(place->holder) && text_to_int(place->name, 0, INT32_MAX, &at)
               ? json_array_remove(place->holder, (size_t)at)
               : -1;
}

static int copy_from(json_t *object, const json_t *operation, bool moves, json_t **ret,
                     struct error *err)
{
    struct place from = { 0 };
    json_t *value;
    int code = -1;

    if (find_place(object, json_text_or(operation, "from", ""), &from, err) < 0)
        return -1;
    value = child_of(from.holder, from.name);
    if (value) {
        *ret = json_deep_copy(value);
        code = moves ? take_out(&from) : 0;
    }
    mem_free(from.name);
    return code < 0 ? error_set(err, ERROR_INVALID, "there is nothing to copy") : 0;
}

static int operate(json_t *object, const json_t *operation, struct error *err)
{
    const char *word = json_text_or(operation, "op", "");
    const char *pointer = json_text_or(operation, "path", "");
    bool is_move = text_equal(word, "move"), is_copy = text_equal(word, "copy");
    owned(json) json_t *value = json_incref(json_object_get(operation, "value"));
    struct place place = { 0 };
    int code = -1;

    if ((is_move || is_copy) && copy_from(object, operation, is_move, &value, err) < 0)
        return -1;
    if (find_place(object, pointer, &place, err) < 0)
        return -1;
    if (text_equal(word, "remove"))
        code = take_out(&place);
    else if (value && text_equal(word, "test"))
        code = json_equal(child_of(place.holder, place.name), value) ? 0 : -1;
    else if (value && (is_move || is_copy || text_equal(word, "add")))
        code = put(&place, value, false);
    else if (value && text_equal(word, "replace"))
        code = put(&place, value, true);
    mem_free(place.name);
    return code < 0 ? error_set(err, ERROR_INVALID, "%s of %s failed", word, pointer) : 0;
}

int patch_apply_operations(json_t *object, const json_t *operations, struct error *err)
{
    size_t i;
    json_t *operation;

    json_array_foreach(operations, i, operation) {
        if (operate(object, operation, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- strategic merge ---- */

const char *patch_merge_key(const char *list)
{
    static const char *const keys[][2] = {
        { "containers", "name" },
        { "initContainers", "name" },
        { "env", "name" },
        { "volumes", "name" },
        { "volumeMounts", "mountPath" },
        { "conditions", "type" },
        { "ports", "containerPort" },
        { "addresses", "type" },
        { "ownerReferences", "uid" },
        { "imagePullSecrets", "name" },
    };

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (text_equal(keys[i][0], list))
            return keys[i][1];
    return NULL;
}

size_t patch_find_entry(const json_t *list, const char *key, const json_t *like)
{
    const json_t *wanted = json_object_get(like, key);

    for (size_t i = 0; wanted && i < json_array_size(list); i++)
        if (json_equal(json_object_get(json_array_get(list, i), key), wanted))
            return i;
    return SIZE_MAX;
}

static void merge_list(json_t *into, const json_t *patch, const char *key)
{
    size_t i;
    json_t *entry;

    json_array_foreach(patch, i, entry) {
        const char *directive = json_text_or(entry, "$patch", "");
        size_t at = patch_find_entry(into, key, entry);

        if (text_equal(directive, "replace")) {
            json_array_clear(into);
        } else if (text_equal(directive, "delete")) {
            if (at != SIZE_MAX)
                json_array_remove(into, at);
        } else if (at != SIZE_MAX) {
            patch_merge_strategic(json_array_get(into, at), entry);
        } else {
            json_t *fresh = json_object();

            patch_merge_strategic(fresh, entry);
            json_array_append_new(into, fresh);
        }
    }
}

/* "$deleteFromPrimitiveList/finalizers" */
static void drop_values(json_t *into, const char *list, const json_t *values)
{
    json_t *own = json_object_get(into, list);
    size_t i;
    json_t *value;

    json_array_foreach(values, i, value) {
        for (size_t k = json_array_size(own); k-- > 0;)
            if (json_equal(json_array_get(own, k), value))
                json_array_remove(own, k);
    }
}

static void merge_primitives(json_t *own, const json_t *values)
{
    size_t i, k;
    json_t *value;

    json_array_foreach(values, i, value) {
        for (k = 0; k < json_array_size(own) && !json_equal(json_array_get(own, k), value); k++)
            continue;
        if (k == json_array_size(own))
            json_array_append(own, value);
    }
}

static void merge_member(json_t *into, const char *key, json_t *value)
{
    json_t *own = json_object_get(into, key);

    if (json_is_null(value)) {
        json_object_del(into, key);
    } else if (json_is_object(value)) {
        if (!json_is_object(own) || text_equal(json_text_or(value, "$patch", ""), "replace")) {
            own = json_object();
            json_object_set_new(into, key, own);
        }
        patch_merge_strategic(own, value);
    } else if (json_is_array(value) && json_is_array(own) && patch_merge_key(key)) {
        merge_list(own, value, patch_merge_key(key));
    } else if (json_is_array(value) && json_is_array(own) && text_equal(key, "finalizers")) {
        merge_primitives(own, value);
    } else {
        json_object_set_new(into, key, json_deep_copy(value));
    }
}

void patch_merge_strategic(json_t *into, const json_t *patch)
{
    static const char drop[] = "$deleteFromPrimitiveList/";
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        if (text_starts_with(key, drop))
            drop_values(into, key + strlen(drop), value);
        else if (key[0] == '$' && text_equal(key, "$patch") &&
                 text_equal(json_string_value(value), "delete"))
            json_object_clear(into);
        else if (key[0] != '$')
            merge_member(into, key, value);
    }
}
