/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Quantities, times, texts, maps and conditions: checked, never half read.
 */
#include "clusters/fields.h"

#include "base/input/json.h"
#include "base/text.h"
#include "clusters/snapshot.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "8", 8, "2k" or "8000m": what the API may write for a whole number of devices.  All else is
   DEVICES_UNREADABLE. */
static json_int_t device_count(const json_t *quantity)
{
    owned(chars) char *digits = mem_copy_chars(json_string_value(quantity) ?: "");
    size_t length = strlen(digits);
    char suffix = length > 1 ? digits[length - 1] : '\0';
    long long number = json_integer_value(quantity);

    if (suffix == 'k' || suffix == 'm')
        digits[length - 1] = '\0';
    if (!json_is_integer(quantity) &&
        (!text_to_int(digits, 0, INT_MAX, &number) || (suffix == 'm' && number % 1000 != 0)))
        return DEVICES_UNREADABLE;
    number = suffix == 'k' ? number * 1000 : suffix == 'm' ? number / 1000 : number;
    return number >= 0 && number <= INT_MAX ? number : DEVICES_UNREADABLE;
}

/* Extended resources have a domain before their name, and none of Kubernetes' own has. */
static bool is_extended(const char *resource)
{
    const char *slash = strchr(resource, '/');

    return slash && slash != resource && slash[1] != '\0' &&
           !text_starts_with(resource, "kubernetes.io/") && !strstr(resource, ".kubernetes.io/");
}

int field_devices(const json_t *object, const char *path, json_t *counts, struct error *err)
{
    json_t *quantities = NULL;
    const char *resource = NULL;
    const json_t *quantity = NULL;

    if (json_find_object(object, path, &quantities, err) < 0)
        return -1;
    json_object_foreach(quantities, resource, quantity)
        if (is_extended(resource))
            devices_raise(counts, resource, device_count(quantity));
    return 0;
}

void devices_raise(json_t *counts, const char *resource, json_int_t count)
{
    const json_t *known = json_object_get(counts, resource);

    if (count == 0 || (known && json_integer_value(known) < 0))
        return;
    if (!known || count < 0 || json_integer_value(known) < count)
        json_put(counts, resource, json_integer(count));
}

const char *devices_pack(const json_t *counts)
{
    owned(json) json_t *texts = json_object();
    const char *resource = NULL;
    const json_t *count = NULL;

    json_object_foreach((json_t *)(uintptr_t)counts, resource, count) {
        char digits[24];

        text_print(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(count));
        json_put(texts, resource, json_text(digits));
    }
    return packed_map_new(texts, NULL);
}

double field_quantity(const char *quantity)
{
    static const struct {
        const char *suffix;
        double factor;
    } suffixes[] = {
        { "", 1 },        { "n", 1e-9 },    { "u", 1e-6 },    { "m", 1e-3 },
        { "k", 1e3 },     { "M", 1e6 },     { "G", 1e9 },     { "T", 1e12 },
        { "P", 1e15 },    { "E", 1e18 },    { "Ki", 0x1p10 }, { "Mi", 0x1p20 },
        { "Gi", 0x1p30 }, { "Ti", 0x1p40 }, { "Pi", 0x1p50 }, { "Ei", 0x1p60 },
    };
    char *end = NULL;
    double number;

    if (quantity[strspn(quantity, "0123456789.eE+-numkMGTPEi")] != '\0' ||
        strspn(quantity, "0123456789.") == 0)
        return NAN;
    number = strtod(quantity, &end);
    for (size_t i = 0; i < COUNT_OF(suffixes); i++)
        if (text_equal(end, suffixes[i].suffix))
            return number * suffixes[i].factor;
    return NAN;
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
    json_object_foreach(found, key, value) {
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
    json_array_foreach(conditions, at, condition) {
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
    json_array_foreach(conditions, at, condition) {
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
    json_array_foreach(conditions, at, condition) {
        if (!text_equal(json_text_or(condition, "status", ""), "True") ||
            !text_equal(json_text_or(condition, "reason", ""), NODE_MARK_REASON))
            continue;
        for (int i = 0; i < NODE_MARK_COUNT; i++)
            if (text_equal(json_text_or(condition, "type", ""), node_mark_name(i)))
                *ret_marks |= 1u << i;
    }
    return 0;
}
