/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each setting, its value, and where that comes from: the line of the file, or the default of its
 * table.  In the order of the tables; then what other folders read (windows, holidays).
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/config/config_tables.h"

#include <string.h>

struct walk {
    const struct config *config;
    json_t *left; /* of the file, and not told yet: key -> {text, line} */
    json_t *rows;
};

/* line 0: the default. */
static void add(struct walk *walk, const char *key, const char *value, int64_t line)
{
    owned(chars) char *origin = line > 0
                                    ? text_format("%s:%lld", walk->config->path, (long long)line)
                                    : mem_copy_chars("default");

    json_array_append_new(walk->rows,
                          json_make("{ss so ss so}", "key", key, "value",
                                    value ? json_text(value) : json_null(), "origin", origin,
                                    "line", line > 0 ? json_integer(line) : json_null()));
}

static bool take(struct walk *walk, const char *key)
{
    owned(json) json_t *said = json_incref(json_object_get(walk->left, key));

    if (!said)
        return false;
    add(walk, key, json_text_or(said, "text", ""), json_int_or(said, "line", 0));
    json_object_del(walk->left, key);
    return true;
}

static void add_settings(struct walk *walk, const char *prefix, const struct setting *settings,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *otherwise = settings[i].otherwise;
        owned(chars) char *key = text_format("%s%s%s", prefix, prefix[0] ? "." : "",
                                             settings[i].key);

        if (settings[i].type == SETTING_NODE || take(walk, key) || !otherwise)
            continue;
        add(walk, key, otherwise[0] ? otherwise : NULL, 0);
    }
}

/* The keys of the entry's kind; entries are in the order of the file. */
static void add_own(struct walk *walk, const struct config_table *table, size_t at,
                    const char *prefix)
{
    const char *items = *(const char *const *)((const char *)walk->config + table->items_offset);
    const struct config_own *own = (const struct config_own *)(const void *)(items +
                                                                             at * table->item_size +
                                                                             table->own_offset);

    add_settings(walk, prefix, own->kind->settings, own->kind->count);
}

static bool needs_something(const struct config_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (!table->settings[i].otherwise)
            return true;
    return false;
}

static bool is_any_name(const char *part)
{
    return part[0] >= 'A' && part[0] <= 'Z';
}

/* `title`: what is left of the table's, from the node on.  node NULL: the mapping is absent. */
static void add_places(struct walk *walk, const struct config_table *table, const char *title,
                       const struct yaml_node *node, const char *prefix)
{
    size_t length = strcspn(title, ".");
    const char *rest = title[length] == '.' ? title + length + 1 : title + length;
    owned(chars) char *part = text_format("%.*s", (int)length, title);

    if (title[0] == '\0') {
        if (node || !needs_something(table))
            add_settings(walk, prefix, table->settings, table->count);
        return;
    }
    if (!is_any_name(title)) {
        owned(chars) char *name = text_format("%s%s%s", prefix, prefix[0] ? "." : "", part);
        const struct yaml_node *child = node ? yaml_get(node, part) : NULL;

        if (child || (rest[0] == '\0' && prefix[0] == '\0'))
            add_places(walk, table, rest, child, name);
        return;
    }
    for (size_t i = 0; node && i < node->count; i++) {
        owned(chars) char *name = text_format("%s.%s", prefix, node->children[i].key);

        add_places(walk, table, rest, &node->children[i], name);
        if (table->kinds && rest[0] == '\0')
            add_own(walk, table, i, name);
    }
}

/* Sections that no table has here. */
static void add_others(struct walk *walk)
{
    const struct config_table *top = &config_tables[CONFIG_TOP];
    owned(json) json_t *left = json_copy(walk->left);
    const char *key;
    json_t *value;

    json_object_foreach(left, key, value)
        (void)take(walk, key);
    for (size_t i = 0; i < top->count; i++) {
        const char *name = top->settings[i].key;
        bool has_table = false;

        for (size_t k = 1; k < CONFIG_TABLE_COUNT; k++)
            has_table |= text_starts_with(config_tables[k].title, name);
        if (top->settings[i].type == SETTING_NODE && !has_table &&
            !yaml_get(yaml_root(walk->config->document), name))
            add(walk, name, NULL, 0);
    }
}

json_t *config_origins(const struct config *config)
{
    struct walk walk = { config, json_object(), json_array() };
    const struct yaml_node *root = yaml_root(config->document);

    config_flatten(root, "", walk.left);
    for (size_t i = 0; i < CONFIG_TABLE_COUNT; i++)
        add_places(&walk, &config_tables[i], config_tables[i].title, root, "");
    add_others(&walk);
    json_decref(walk.left);
    return walk.rows;
}
