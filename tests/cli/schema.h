/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The published JSON Schemas of answers (docs/schemas): each answer of a test must fit its schema,
 * and have no member that the schema lacks.  When goldens are accepted, the schema learns from the
 * answer: members and types are added, and never taken away.
 */
#pragma once

#include "base/file.h"
#include "base/input/json.h"
#include "base/text.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static inline const char *schema_type(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        break;
    }
    return "null";
}

static inline bool schema_has(const json_t *list, const char *text)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
        if (text_equal(json_string_value(one), text))
            return true;
    return false;
}

/* Whether a list of types allows the type: a whole number is a number. */
static inline bool schema_allows(const json_t *types, const char *type)
{
    return schema_has(types, type) || (text_equal(type, "integer") && schema_has(types, "number"));
}

/* What is null in one moment may be there in another; no type is known of what was only null. */
static inline bool schema_may_be(const json_t *types, const char *type)
{
    bool is_unknown = json_array_size(types) == 1 && schema_has(types, "null");

    return text_equal(type, "null") || is_unknown || schema_allows(types, type);
}

static inline void schema_add_type(json_t *schema, const char *type)
{
    json_t *types = json_object_get(schema, "type");

    if (!types)
        json_object_set_new(schema, "type", types = json_array());
    if (!schema_allows(types, type))
        json_array_append_new(types, json_text(type));
}

static inline void schema_learn(json_t *schema, const json_t *value);

static inline void schema_learn_object(json_t *schema, const json_t *value)
{
    json_t *known = json_object_get(schema, "properties");
    const char *key;
    json_t *member;

    if (!known)
        json_object_set_new(schema, "properties", known = json_object());
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        if (!json_object_get(known, key))
            json_object_set_new(known, key, json_object());
        schema_learn(json_object_get(known, key), member);
    }
}

static inline void schema_learn(json_t *schema, const json_t *value)
{
    const json_t *item;
    size_t i;

    schema_add_type(schema, schema_type(value));
    if (json_is_object(value))
        schema_learn_object(schema, value);
    if (json_is_array(value) && !json_object_get(schema, "items"))
        json_object_set_new(schema, "items", json_object());
    json_array_foreach(value, i, item)
        schema_learn(json_object_get(schema, "items"), item);
}

/* Fails the test at the first place that does not fit. */
static inline void schema_check(const json_t *schema, const json_t *value, const char *path)
{
    const json_t *known = json_object_get(schema, "properties");
    const char *key;
    json_t *member;
    size_t i;

    if (!schema || !schema_may_be(json_object_get(schema, "type"), schema_type(value)))
        fail_msg("docs/schemas: %s is of type %s", path, schema_type(value));
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        owned(chars) char *below = text_format("%s.%s", path, key);

        /* each kind of event has members of its own */
        if (strstr(path, ".events[]") && !json_object_get(known, key))
            continue;
        schema_check(json_object_get(known, key), member, below);
    }
    json_array_foreach(value, i, member) {
        owned(chars) char *below = text_format("%s[]", path);

        schema_check(json_object_get(schema, "items"), member, below);
    }
}

/* The answer of `sluice NAME -o json` against docs/schemas/v1/NAME.json. */
static inline void schema_fits(const char *name, const json_t *answer)
{
    owned(chars) char *file = mem_copy_chars(name);
    owned(chars) char *path = NULL;
    owned(text) struct text *text = NULL;
    owned(json) json_t *schema = NULL;
    owned(chars) char *next = NULL;
    struct error err = { 0 };
    const char *key;
    json_t *member;
    size_t i;

    for (char *at = file; *at; at++)
        *at = *at == ' ' ? '-' : *at;
    path = text_format(SLUICE_SOURCE "/docs/schemas/v1/%s.json", file);
    text = file_read(path, 1 << 20, &err);
    schema = text ? json_parse(text->chars, text->length, path, &err) : NULL;
    if (!getenv("SLUICE_ACCEPT_GOLDENS")) {
        if (!schema)
            fail_msg("%s", err.text);
        schema_check(schema, answer, name);
        json_array_foreach(json_object_get(schema, "required"), i, member)
            if (!json_object_get(answer, json_string_value(member)))
                fail_msg("docs/schemas: %s lacks %s", name, json_string_value(member));
        return;
    }
    schema = schema
                 ?: json_make("{ss ss}", "$schema", "https://json-schema.org/draft/2020-12/schema",
                              "title", name);
    if (!json_object_get(schema, "required")) {
        json_t *required = json_array();

        json_object_foreach((json_t *)(uintptr_t)answer, key, member)
            json_array_append_new(required, json_text(key));
        json_object_set_new(schema, "required", required);
    }
    schema_learn(schema, answer);
    next = json_print_pretty(schema);
    if (file_write(path, next, strlen(next), 0644, &err) < 0)
        fail_msg("%s", err.text);
}
