/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The published JSON Schemas of answers (docs/schemas): each answer of a test must fit its schema,
 * and have no member that the schema lacks.  When goldens are accepted, the schema learns from the
 * answer: members and types are added, and never taken away.  A member that an answer lacks is no
 * longer required.
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

/* A mapping by names that are no part of the interface, such as those of queues. */
static inline const json_t *schema_of_any(const json_t *schema)
{
    const json_t *any = json_object_get(schema, "additionalProperties");

    return json_is_object(any) ? any : NULL;
}

static inline const json_t *schema_of_member(const json_t *schema, const char *key)
{
    return json_object_get(json_object_get(schema, "properties"), key) ?: schema_of_any(schema);
}

/* is_member: any member may be null one day. */
static inline void schema_learn(json_t *schema, const json_t *value, bool is_member);

static inline void schema_add_type(json_t *schema, const char *type)
{
    json_t *types = json_object_get(schema, "type");

    if (!types)
        json_object_set_new(schema, "type", types = json_array());
    if (!schema_allows(types, type))
        json_array_append_new(types, json_text(type));
}

static inline void schema_learn_object(json_t *schema, const json_t *value)
{
    json_t *known = json_object_get(schema, "properties");
    const char *key;
    json_t *member;

    if (!known && !schema_of_any(schema))
        json_object_set_new(schema, "properties", known = json_object());
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        if (!schema_of_member(schema, key))
            json_object_set_new(known, key, json_object());
        schema_learn((json_t *)(uintptr_t)schema_of_member(schema, key), member,
                     !text_equal(key, "api_version"));
    }
}

static inline void schema_learn(json_t *schema, const json_t *value, bool is_member)
{
    const json_t *item;
    size_t i;

    schema_add_type(schema, schema_type(value));
    if (is_member)
        schema_add_type(schema, "null");
    if (json_is_object(value))
        schema_learn_object(schema, value);
    if (json_is_array(value) && !json_object_get(schema, "items"))
        json_object_set_new(schema, "items", json_object());
    json_array_foreach(value, i, item)
        schema_learn(json_object_get(schema, "items"), item, false);
}

/* Where a value stands in the answer. */
struct schema_place {
    const struct schema_place *above;
    const char *key; /* NULL: an item of a list */
};

static inline void schema_add_place(const struct schema_place *place, struct text *out)
{
    if (place->above)
        schema_add_place(place->above, out);
    text_add(out, "%s%s", place->above && place->key ? "." : "", place->key ?: "[]");
}

static inline void schema_refuse(const struct schema_place *place, const char *why)
{
    owned(text) struct text *path = text_new(1 << 16);

    schema_add_place(place, path);
    fail_msg("docs/schemas: %s %s", path->chars, why);
}

/* Each kind of event has members of its own. */
static inline bool schema_is_event(const struct schema_place *place)
{
    return !place->key && place->above && text_equal(place->above->key, "events");
}

/* Fails the test at the first place that does not fit. */
static inline void schema_check(const json_t *schema, const json_t *value,
                                const struct schema_place *place)
{
    const char *key;
    json_t *member;
    size_t i;

    if (!schema_allows(json_object_get(schema, "type"), schema_type(value)))
        schema_refuse(place, schema_type(value));
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        const struct schema_place below = { place, key };
        const json_t *of_member = schema_of_member(schema, key);

        if (!of_member && schema_is_event(place))
            continue;
        if (!of_member)
            schema_refuse(&below, "is not in the schema");
        schema_check(of_member, member, &below);
    }
    json_array_foreach(value, i, member)
        schema_check(json_object_get(schema, "items"), member,
                     &(struct schema_place){ place, NULL });
}

/* docs/schemas/v1/NAME.json, with "-" for the blanks of the name. */
static inline char *schema_path(const char *name)
{
    char *path = text_format(SLUICE_SOURCE "/docs/schemas/v1/%s.json", name);

    for (char *at = path + strlen(path) - strlen(name) - strlen(".json"); *at; at++)
        *at = *at == ' ' ? '-' : *at;
    return path;
}

static inline json_t *schema_read(const char *path, struct error *err)
{
    owned(text) struct text *text = file_read(path, 1 << 20, err);

    return text ? json_parse(text->chars, text->length, path, err) : NULL;
}

static inline void schema_learn_required(json_t *schema, const json_t *answer)
{
    json_t *required = json_object_get(schema, "required");
    const char *key;
    json_t *member;

    if (!required) {
        json_object_set_new(schema, "required", required = json_array());
        json_object_foreach((json_t *)(uintptr_t)answer, key, member)
            json_array_append_new(required, json_text(key));
    }
    for (size_t i = json_array_size(required); i-- > 0;)
        if (!json_object_get(answer, json_string_value(json_array_get(required, i))))
            json_array_remove(required, i);
}

static inline void schema_accept(const char *name, const json_t *answer, const char *path)
{
    struct error err = { 0 };
    owned(json) json_t *schema = schema_read(path, &err)
                                     ?: json_make("{ss ss}", "$schema",
                                                  "https://json-schema.org/draft/2020-12/schema",
                                                  "title", name);
    owned(chars) char *next = NULL;

    schema_learn_required(schema, answer);
    schema_learn(schema, answer, false);
    next = json_print_pretty(schema);
    if (file_write(path, next, strlen(next), 0644, &err) < 0)
        fail_msg("%s", err.text);
}

/* The answer of `sluice NAME -o json` against docs/schemas/v1/NAME.json. */
static inline void schema_fits(const char *name, const json_t *answer)
{
    owned(chars) char *path = schema_path(name);
    owned(json) json_t *schema = NULL;
    struct error err = { 0 };
    json_t *member;
    size_t i;

    if (getenv("SLUICE_ACCEPT_GOLDENS")) {
        schema_accept(name, answer, path);
        return;
    }
    schema = schema_read(path, &err);
    if (!schema)
        fail_msg("%s", err.text);
    schema_check(schema, answer, &(struct schema_place){ NULL, name });
    json_array_foreach(json_object_get(schema, "required"), i, member)
        if (!json_object_get(answer, json_string_value(member)))
            fail_msg("docs/schemas: %s lacks %s", name, json_string_value(member));
}

/* What code made for a command, before the command adds the version. */
static inline void schema_fits_made(const char *name, const json_t *made)
{
    owned(json) json_t *answer = json_copy((json_t *)(uintptr_t)made);

    json_object_set_new(answer, "api_version", json_text("v1"));
    schema_fits(name, answer);
}

/* Commands whose answer depends on a word; "*": any argument. */
static const struct {
    const char *command;
    const char *word;
    const char *name; /* NULL: it has no published schema */
} schema_names[] = {
    { "allocate", "--shard", "allocate shard" },
    { "approve", "list", "approve list" },
    { "approve", "*", "approve" },
    { "approve", "", "approve list" },
    { "config", "schema", NULL }, /* the answer is itself a schema, of sluice.yaml */
    { "config", "show", "config show" },
    { "forecast", "--in-force", "forecast in-force" },
    { "hosts", "release", "hosts release" },
    { "reclaim", "end", "reclaim end" },
    { "reclaim", "list", "reclaim list" },
    { "transfers", "*", "transfer" },
    { "wait", "--for", "wait for" },
    { "webhooks", "test", "webhooks test" },
    { "windows", "--suggest", "windows suggest" },
};

/* words[0] is the program, words[1] the command, and an argument comes right after it. */
static inline bool schema_has_word(char **words, int count, const char *word)
{
    if (text_equal(word, ""))
        return true;
    if (text_equal(word, "*"))
        return count > 2 && words[2][0] != '-';
    for (int i = 2; i < count; i++)
        if (text_equal(words[i], word))
            return true;
    return false;
}

static inline const char *schema_name(char **words, int count)
{
    for (size_t i = 0; i < COUNT_OF(schema_names); i++)
        if (text_equal(schema_names[i].command, words[1]) &&
            schema_has_word(words, count, schema_names[i].word))
            return schema_names[i].name;
    return words[1];
}

/* What the command said, if that is one answer as JSON. */
static inline void schema_fits_said(char **words, int count, const struct text *out)
{
    const char *name = count > 1 ? schema_name(words, count) : NULL;
    bool is_json = false, is_watched = false;
    owned(json) json_t *answer = NULL;

    for (int i = 2; i < count; i++) {
        is_json |= text_equal(words[i], "json") && text_equal(words[i - 1], "-o");
        is_watched |= text_equal(words[i], "-w") || text_equal(words[i], "--watch");
    }
    if (!name || !is_json || is_watched || out->length == 0)
        return;
    answer = json_parse(out->chars, out->length, name, &(struct error){ 0 });
    if (!answer)
        fail_msg("sluice %s -o json: is no JSON:\n%s", name, out->chars);
    schema_fits(name, answer);
}
