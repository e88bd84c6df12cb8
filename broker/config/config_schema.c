/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The settings as a JSON Schema (draft 7, which editors know), made from their tables: an editor
 * completes keys, shows their help and marks mistakes.  It knows what a table knows; references
 * between entries and checks of several keys are `sluice validate`'s.
 */
#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "broker/config/config_tables.h"

#include <string.h>

/* What each type of setting looks like; numbers that are meant as texts need no quotes. */
static const char *const types[] = {
    [SETTING_TEXT] = "{\"type\": [\"string\", \"number\", \"boolean\"]}",
    [SETTING_PATH] = "{\"type\": [\"string\", \"number\"]}",
    [SETTING_URL] = "{\"type\": \"string\", \"pattern\": \"^https?://\"}",
    [SETTING_INT] = "{\"type\": \"integer\"}",
    [SETTING_DOUBLE] = "{\"type\": \"number\"}",
    [SETTING_BOOL] = "{\"type\": \"boolean\"}",
    [SETTING_DURATION] =
        "{\"type\": \"string\", \"pattern\": \"^([0-9]+(ms|m|h|d)|[0-9]+([.][0-9]+)?s)+$\"}",
    [SETTING_SECONDS] =
        "{\"type\": \"string\", \"pattern\": \"^([0-9]+([.][0-9]+)?(us|ms|s|m|h|d))+$\"}",
    [SETTING_NODE] = "{}",
};

static json_t *parse(const char *text)
{
    json_t *json = json_parse(text, strlen(text), "schema", NULL);

    require(json);
    return json;
}

static bool is_number(enum setting_type type)
{
    return type == SETTING_INT || type == SETTING_DOUBLE;
}

static void add_default(json_t *schema, const struct setting *setting)
{
    const char *text = setting->otherwise;

    if (!text || text[0] == '\0')
        return;
    json_object_set_new(schema, "default",
                        is_number(setting->type) || setting->type == SETTING_BOOL
                            ? json_loads(text, JSON_DECODE_ANY, NULL) ?: json_text(text)
                            : json_text(text));
}

static json_t *describe(const struct setting *setting)
{
    json_t *schema = parse(types[setting->type]);

    if (setting->help[0] != '\0')
        json_object_set_new(schema, "description", json_text(setting->help));
    if (is_number(setting->type) && setting->min != setting->max) {
        json_object_set_new(schema, "minimum", json_integer(setting->min));
        json_object_set_new(schema, "maximum", json_integer(setting->max));
    }
    add_default(schema, setting);
    return schema;
}

/* Adds the settings to the mapping's schema; an earlier one of the same key stays. */
static void add_settings(json_t *schema, const struct setting *settings, size_t count,
                         bool may_require)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *required = json_object_get(schema, "required");

    for (size_t i = 0; i < count; i++) {
        if (!json_object_get(properties, settings[i].key))
            json_object_set_new(properties, settings[i].key, describe(&settings[i]));
        if (may_require && !settings[i].otherwise)
            json_array_append_new(required, json_text(settings[i].key));
    }
}

static json_t *mapping_new(const char *help)
{
    return json_make("{ss ss so so sb}", "type", "object", "description", help, "properties",
                     json_object(), "required", json_array(), "additionalProperties", 0);
}

/* If the entry is of this kind, it has what the kind requires, and no key of another kind alone. */
static json_t *rule_of(const struct config_table *table, const struct settings_kind *kind)
{
    owned(json) json_t *mine = mapping_new("");
    json_t *names = json_array();
    const char *key;
    json_t *value;

    add_settings(mine, table->settings, table->count, false);
    add_settings(mine, kind->settings, kind->count, true);
    json_object_foreach(json_object_get(mine, "properties"), key, value)
        json_array_append_new(names, json_text(key));
    return json_make("{s{s{s{ss}} s[s]} s{sO s{so}}}", "if", "properties", "kind", "const",
                     kind->name, "required", "kind", "then", "required",
                     json_object_get(mine, "required"), "propertyNames", "enum", names);
}

static void add_kinds(json_t *schema, const struct config_table *table)
{
    const struct settings_kind *kind;
    json_t *rules = json_array();
    json_t *names = json_array();
    json_t *own = json_at(schema, "properties/kind");

    for (size_t i = 0; (kind = table->kinds(i)); i++) {
        add_settings(schema, kind->settings, kind->count, false);
        json_array_append_new(names, json_text(kind->name));
        json_array_append_new(rules, rule_of(table, kind));
    }
    if (own) {
        json_object_set(own, "enum", names);
        json_object_set(schema, "allOf", rules);
    }
    json_decref(names);
    json_decref(rules);
}

/* Whether the part of a title stands for any name: "NAME", "ROLE". */
static bool is_name(const char *part, size_t length)
{
    return length > 0 && part[0] >= 'A' && part[0] <= 'Z';
}

/* Puts the schema of one mapping where its title says: "workloads.NAME.clusters.CLUSTER". */
static void put(json_t *root, const char *title, json_t *schema)
{
    json_t *at = root;

    for (const char *part = title; part[0] != '\0';) {
        size_t length = strcspn(part, ".");
        const char *rest = part[length] == '.' ? part + length + 1 : part + length;
        owned(chars) char *key = text_format("%.*s", (int)length, part);
        bool is_any = is_name(part, length);
        json_t *parent = is_any ? at : json_object_get(at, "properties");
        const char *member = is_any ? "additionalProperties" : key;

        if (rest[0] == '\0')
            json_object_set(parent, member, schema);
        at = json_object_get(parent, member);
        require(json_is_object(at)); /* tables come before those of the mappings in them */
        if (rest[0] != '\0' && is_name(rest, strcspn(rest, ".")))
            json_object_set_new(at, "type", json_text("object"));
        part = rest;
    }
    json_decref(schema);
}

/* A workload may have a headroom of its own; its keys are those of the top-level one. */
static void share_headroom(json_t *root)
{
    json_t *own = json_at(root, "properties/workloads/additionalProperties/properties/headroom");
    json_t *shared = json_at(root, "properties/headroom");

    json_object_update_missing(own, shared);
}

json_t *config_schema(void)
{
    json_t *root = NULL;
    owned(json) json_t *others = config_schema_calendar();
    const char *key;
    json_t *value;

    for (size_t i = 0; i < CONFIG_TABLE_COUNT; i++) {
        const struct config_table *table = &config_tables[i];
        json_t *schema = mapping_new(table->help);

        add_settings(schema, table->settings, table->count, true);
        if (table->kinds)
            add_kinds(schema, table);
        if (i == CONFIG_TOP)
            root = schema;
        else
            put(root, table->title, schema);
    }
    json_object_foreach(others, key, value)
        json_object_update(json_object_get(json_object_get(root, "properties"), key), value);
    share_headroom(root);
    json_object_set_new(root, "$schema", json_text("http://json-schema.org/draft-07/schema#"));
    json_object_set_new(root, "title", json_text("sluice.yaml"));
    return root;
}
