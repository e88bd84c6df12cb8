/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Quantities, times, texts, maps and conditions: checked, never half read.
 */
#include "clusters/fields.h"

#include "base/json.h"
#include "base/text.h"
#include "clusters/snapshot.h"

#include <limits.h>
#include <string.h>

/* "8", 8, "2k" or "8000m": what the API may write for a whole number of devices. */
static int gpu_count(const json_t *quantity, const char *where, int *ret_count, struct error *err)
{
    long long number = 0;
    if (json_is_integer(quantity)) {
        number = json_integer_value(quantity);
    } else if (json_is_string(quantity)) {
        owned(chars) char *digits = mem_copy_chars(json_string_value(quantity));
        size_t length = strlen(digits);
        char suffix = length > 1 ? digits[length - 1] : '\0';
        if (suffix == 'k' || suffix == 'm')
            digits[length - 1] = '\0';
        if (!text_to_int(digits, 0, INT_MAX, &number) || (suffix == 'm' && number % 1000 != 0))
            return error_set(err, ERROR_CORRUPT, "%s/%s: \"%s\" is no number of devices", where,
                             GPU_RESOURCE, json_string_value(quantity));
        number = suffix == 'k' ? number * 1000 : suffix == 'm' ? number / 1000 : number;
    } else {
        return error_set(err, ERROR_CORRUPT, "%s/%s: expected a quantity", where, GPU_RESOURCE);
    }
    if (number < 0 || number > INT_MAX)
        return error_set(err, ERROR_CORRUPT, "%s/%s: %lld is out of range", where, GPU_RESOURCE,
                         number);
    *ret_count = (int)number;
    return 0;
}

/* The GPUs in a map of quantities; 0 where there is none.  An absent map counts as empty. */
int field_gpus(const json_t *object, const char *path, int *ret_count, struct error *err)
{
    json_t *quantities = NULL;
    if (json_find_object(object, path, &quantities, err) < 0)
        return -1;

    const json_t *quantity = json_object_get(quantities, GPU_RESOURCE);
    *ret_count = 0;
    return quantity ? gpu_count(quantity, path, ret_count, err) : 0;
}

/* Whether an extended resource is an accelerator: all that have "gpu" in their name, and what other
   makers call theirs.  A resource that is wrongly taken for one makes a node dearer, no more. */
static bool is_other_accelerator(const char *resource)
{
    static const char *const starts[] = {
        "mig-", "tpu", "npu", "xpu", "neuron", "gaudi", "ascend", "fpga", "dcu", "mlu", "i915",
    };
    const char *slash = strrchr(resource, '/');

    if (!slash || text_equal(resource, GPU_RESOURCE))
        return false;
    if (strcasestr(resource, "gpu"))
        return true;
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (strncasecmp(slash + 1, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static bool is_nothing(const json_t *quantity)
{
    return (json_is_number(quantity) && json_number_value(quantity) == 0) ||
           text_equal(json_string_value(quantity), "0");
}

char *field_other_gpus(const json_t *object, const char *path)
{
    const char *name = NULL;
    json_t *quantity = NULL;
    owned(text) struct text *found = text_new(200);

    json_object_foreach(json_at(object, path), name, quantity)
    {
        if (!is_other_accelerator(name) || is_nothing(quantity))
            continue;
        text_add(found, "%s%s", found->length > 0 ? ", " : "", name);
        if (json_is_string(quantity))
            text_add(found, " %s", json_string_value(quantity));
    }
    return found->length > 0 ? mem_copy_chars(found->chars) : NULL;
}

int field_time(const json_t *object, const char *path, struct wall_time *ret_wall,
               struct error *err)
{
    const char *chars = NULL;
    if (json_find_text(object, path, &chars, err) < 0)
        return -1;
    if (!chars)
        return 0;
    if (wall_parse(chars, false, ret_wall, err) < 0) {
        err->kind = ERROR_CORRUPT;
        return error_context(err, "%s", path);
    }
    return 0;
}

int field_text(const json_t *object, const char *path, const char **ret_copy, struct error *err)
{
    const char *chars = "";
    if (json_find_text(object, path, &chars, err) < 0)
        return -1;
    *ret_copy = shared_text_of(chars);
    return 0;
}

int field_name(const json_t *object, const char *path, const char **ret_copy, struct error *err)
{
    const char *chars = NULL;
    if (json_need_text(object, path, &chars, err) < 0)
        return -1;
    if (chars[0] == '\0')
        return error_set(err, ERROR_CORRUPT, "%s: is empty", path);
    *ret_copy = shared_text_of(chars);
    return 0;
}

int field_map(const json_t *object, const char *path, packed_filter_fn is_wanted,
              const char **ret_packed, struct error *err)
{
    json_t *found = NULL;
    if (json_find_object(object, path, &found, err) < 0)
        return -1;

    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(found, key, value)
    {
        if (!json_is_string(value))
            return error_set(err, ERROR_CORRUPT, "%s: \"%s\" is no text", path, key);
    }
    *ret_packed = packed_map_new(found, is_wanted);
    return 0;
}

int field_condition(const json_t *object, const char *type, const char *status, bool *ret_is,
                    struct error *err)
{
    json_t *conditions = NULL;
    if (json_find_array(object, "status/conditions", &conditions, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *condition = NULL;
    *ret_is = false;
    json_array_foreach(conditions, at, condition)
    {
        if (text_equal(json_text_or(condition, "type", ""), type))
            *ret_is = text_equal(json_text_or(condition, "status", ""), status);
    }
    return 0;
}

int field_troubles(const json_t *object, const char **ret_copy, struct error *err)
{
    json_t *conditions = NULL;
    if (json_find_array(object, "status/conditions", &conditions, err) < 0)
        return -1;

    owned(text) struct text *troubles = text_new(200);
    size_t at = 0;
    const json_t *condition = NULL;
    json_array_foreach(conditions, at, condition)
    {
        const char *type = json_text_or(condition, "type", "");
        const char *status = json_text_or(condition, "status", "");
        if (text_equal(status, text_equal(type, "Ready") ? "True" : "False"))
            continue;
        text_add(troubles, "%s%s is %s (%s)", troubles->length > 0 ? ", " : "", type, status,
                 json_text_or(condition, "reason", "no reason given"));
    }
    *ret_copy = shared_text_new(troubles->chars, troubles->length);
    return 0;
}

const char *node_mark_name(int mark)
{
    static const char *const names[NODE_MARK_COUNT] = {
        [NODE_MARK_PLANNED] = "MaintenancePlanned",
        [NODE_MARK_DRAINING] = "DrainInProgress",
        [NODE_MARK_DRAINED] = "Drained",
    };

    return names[mark];
}

int field_marks(const json_t *object, unsigned *ret_marks, struct error *err)
{
    json_t *conditions = NULL;
    if (json_find_array(object, "status/conditions", &conditions, err) < 0)
        return -1;

    size_t at = 0;
    const json_t *condition = NULL;
    *ret_marks = 0;
    json_array_foreach(conditions, at, condition)
    {
        if (!text_equal(json_text_or(condition, "status", ""), "True") ||
            !text_equal(json_text_or(condition, "reason", ""), NODE_MARK_REASON))
            continue;
        for (int i = 0; i < NODE_MARK_COUNT; i++)
            if (text_equal(json_text_or(condition, "type", ""), node_mark_name(i)))
                *ret_marks |= 1u << i;
    }
    return 0;
}
