/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Settings tables.  A default is written as people would write it and read by the same rules as
 * the file, so that the documentation shows what really holds.
 */
#include "base/input/settings.h"

#include "base/input/nearest.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "base/url.h"

#include <float.h>
#include <inttypes.h>

enum { MICRO = 1000 * 1000 }; /* limits of seconds are in these */

/* The field of the object, by its type. */
union field {
    void *any;
    char **text;
    int64_t *integer;
    double *real;
    bool *boolean;
    const struct yaml_node **node;
};

static union field field_of(const struct setting *setting, void *object)
{
    return (union field){ .any = (char *)object + setting->offset };
}

static bool is_text(const struct setting *setting)
{
    return setting->type == SETTING_TEXT || setting->type == SETTING_PATH ||
           setting->type == SETTING_URL;
}

static bool has_limits(const struct setting *setting)
{
    return setting->min != 0 || setting->max != 0;
}

static void set_default(const struct setting *setting, void *object)
{
    union field field = field_of(setting, object);
    const char *otherwise = setting->otherwise;
    long long integer = 0;

    switch (setting->type) {
    case SETTING_TEXT:
    case SETTING_PATH:
    case SETTING_URL:
        *field.text = otherwise && *otherwise ? mem_copy_chars(otherwise) : NULL;
        return;
    case SETTING_INT:
        require(!otherwise || text_to_int(otherwise, INT64_MIN, INT64_MAX, &integer));
        *field.integer = integer;
        return;
    case SETTING_DOUBLE:
        *field.real = 0;
        require(!otherwise || text_to_double(otherwise, field.real));
        return;
    case SETTING_BOOL:
        require(!otherwise || text_equal(otherwise, "true") || text_equal(otherwise, "false"));
        *field.boolean = text_equal(otherwise, "true");
        return;
    case SETTING_DURATION:
        *field.integer = 0;
        require(!otherwise || duration_parse(otherwise, field.integer, NULL) == 0);
        return;
    case SETTING_SECONDS:
        *field.real = 0;
        require(!otherwise || seconds_parse(otherwise, field.real, NULL) == 0);
        return;
    case SETTING_NODE:
        *field.node = NULL;
        return;
    }
}

void settings_default(const struct setting *table, size_t count, void *object)
{
    for (size_t i = 0; i < count; i++)
        set_default(&table[i], object);
}

void settings_clear(const struct setting *table, size_t count, void *object)
{
    for (size_t i = 0; i < count; i++) {
        union field field = field_of(&table[i], object);

        if (is_text(&table[i]))
            mem_free(steal(field.text));
        else if (table[i].type == SETTING_NODE)
            *field.node = NULL;
    }
}

static int read_text(const struct yaml_node *node, char **field, struct error *err)
{
    const char *chars;

    if (yaml_text(node, &chars, err) < 0)
        return -1;
    mem_free(*field);
    *field = mem_copy_chars(chars);
    return 0;
}

/* An empty one is refused where all empty texts are. */
static int read_url(const struct yaml_node *node, char **field, struct error *err)
{
    struct error why = { 0 };
    struct url url;

    if (read_text(node, field, err) < 0)
        return -1;
    if (**field == '\0' || url_parse(*field, &url, &why) == 0)
        return 0;
    return yaml_error(err, node, "%s", why.text);
}

static int read_field(const struct setting *setting, const struct yaml_node *node, void *object,
                      struct error *err)
{
    union field field = field_of(setting, object);
    int64_t min = has_limits(setting) ? setting->min : INT64_MIN;
    int64_t max = has_limits(setting) ? setting->max : INT64_MAX;

    switch (setting->type) {
    case SETTING_TEXT:
    case SETTING_PATH:
        return read_text(node, field.text, err);
    case SETTING_URL:
        return read_url(node, field.text, err);
    case SETTING_INT:
        return yaml_int(node, min, max, field.integer, err);
    case SETTING_DOUBLE:
        return yaml_double(node, has_limits(setting) ? (double)min : -DBL_MAX,
                           has_limits(setting) ? (double)max : DBL_MAX, field.real, err);
    case SETTING_BOOL:
        return yaml_bool(node, field.boolean, err);
    case SETTING_DURATION:
        return yaml_duration(node, min, max, field.integer, err);
    case SETTING_SECONDS:
        return yaml_seconds(node, has_limits(setting) ? (double)min / MICRO : 0,
                            has_limits(setting) ? (double)max / MICRO : DBL_MAX, field.real, err);
    case SETTING_NODE:
        *field.node = node;
        return 0;
    }
    return 0;
}

const struct setting *settings_find(const struct setting *table, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(table[i].key, key))
            return &table[i];
    return NULL;
}

char **settings_next_path(const struct setting *table, size_t count, void *object, size_t *at)
{
    while (*at < count) {
        const struct setting *setting = &table[(*at)++];

        if (setting->type == SETTING_PATH)
            return field_of(setting, object).text;
    }
    return NULL;
}

/* Names the key that was probably meant, or else all that there are. */
static int fail_unknown(const struct yaml_node *node, const struct settings_part *parts,
                        size_t count, struct error *err)
{
    owned(text) struct text *known = text_new(ERROR_TEXT_SIZE);
    struct nearest nearest = nearest_to(node->key);

    for (size_t at = 0; at < count; at++)
        for (size_t i = 0; i < parts[at].count; i++) {
            nearest_offer(&nearest, parts[at].settings[i].key);
            text_add(known, "%s%s", known->length > 0 ? ", " : "", parts[at].settings[i].key);
        }
    if (nearest.name)
        return yaml_error(err, node, "unknown key, did you mean \"%s\"?", nearest.name);
    return yaml_error(err, node, "unknown key, expected one of: %s", known->chars);
}

static int read_key(const struct yaml_node *node, const struct settings_part *parts, size_t count,
                    struct error *err)
{
    for (size_t at = 0; at < count; at++) {
        const struct setting *setting = settings_find(parts[at].settings, parts[at].count,
                                                      node->key);

        if (setting)
            return read_field(setting, node, parts[at].object, err);
    }
    return fail_unknown(node, parts, count, err);
}

static int change(const struct yaml_node *mapping, const struct settings_part *parts, size_t count,
                  struct error *err)
{
    if (yaml_expect(mapping, YAML_MAPPING, err) < 0)
        return -1;
    for (size_t i = 0; i < mapping->count; i++)
        if (read_key(&mapping->children[i], parts, count, err) < 0)
            return -1;
    return 0;
}

int settings_change(const struct yaml_node *mapping, const struct setting *table, size_t count,
                    void *object, struct error *err)
{
    return change(mapping, &(struct settings_part){ table, count, object }, 1, err);
}

const struct yaml_node *settings_need(const struct yaml_node *mapping, const char *key,
                                      struct error *err)
{
    const struct yaml_node *node = yaml_get(mapping, key);

    if (!node)
        yaml_error(err, mapping, "the key \"%s\" is missing", key);
    return node;
}

static int check_required(const struct yaml_node *mapping, const struct settings_part *part,
                          struct error *err)
{
    for (size_t i = 0; i < part->count; i++)
        if (part->settings[i].otherwise == NULL &&
            !settings_need(mapping, part->settings[i].key, err))
            return -1;
    return 0;
}

int settings_read_parts(const struct yaml_node *mapping, const struct settings_part *parts,
                        size_t count, struct error *err)
{
    int result;

    for (size_t i = 0; i < count; i++)
        settings_default(parts[i].settings, parts[i].count, parts[i].object);
    result = change(mapping, parts, count, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = check_required(mapping, &parts[i], err);
    for (size_t i = 0; i < count && result < 0; i++)
        settings_clear(parts[i].settings, parts[i].count, parts[i].object);
    return result;
}

int settings_read(const struct yaml_node *mapping, const struct setting *table, size_t count,
                  void *object, struct error *err)
{
    return settings_read_parts(mapping, &(struct settings_part){ table, count, object }, 1, err);
}

static void add_type(struct text *out, const struct setting *setting)
{
    static const char *const names[] = {
        [SETTING_TEXT] = "text",         [SETTING_PATH] = "text",
        [SETTING_URL] = "text",          [SETTING_INT] = "whole number",
        [SETTING_DOUBLE] = "number",     [SETTING_BOOL] = "boolean",
        [SETTING_DURATION] = "duration", [SETTING_SECONDS] = "duration",
        [SETTING_NODE] = "see below",
    };
    char min[DURATION_TEXT_SIZE], max[DURATION_TEXT_SIZE];

    text_add(out, "%s", names[setting->type]);
    if (!has_limits(setting))
        return;
    if (setting->type == SETTING_DURATION)
        text_add(out, ", %s to %s", duration_format(setting->min, min),
                 duration_format(setting->max, max));
    else if (setting->type == SETTING_SECONDS)
        text_add(out, ", %s to %s", seconds_format((double)setting->min / MICRO, min),
                 seconds_format((double)setting->max / MICRO, max));
    else
        text_add(out, ", %" PRId64 " to %" PRId64, setting->min, setting->max);
}

void settings_document(const struct setting *table, size_t count, struct text *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *otherwise = table[i].otherwise;

        text_add(out, "| `%s` | ", table[i].key);
        add_type(out, &table[i]);
        if (otherwise == NULL)
            text_add(out, " | required");
        else if (*otherwise == '\0')
            text_add(out, " | none");
        else
            text_add(out, " | `%s`", otherwise);
        text_add(out, " | %s |\n", table[i].help);
    }
}
