/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Entries of which a part of the keys depends on their kind: clusters, providers, pools and
 * sources.  A kind brings its own table, and the struct that the table fills; nothing here knows a
 * key of it.
 */
#include "base/memory.h"
#include "base/text.h"
#include "broker/config/config_tables.h"
#include "providers/common/provider.h"

#include <string.h>

static struct config_own *own_of(const struct config_table *table, void *item)
{
    require(table->kinds && table->own_offset < table->item_size);
    return (struct config_own *)(void *)((char *)item + table->own_offset);
}

int config_singular_length(const struct config_table *table)
{
    size_t length = strcspn(table->title, ".");

    require(length > 1 && table->title[length - 1] == 's');
    return (int)length - 1;
}

/* The value of the key `kind`, or its default; NULL and an error: it is required. */
static const char *kind_name(const struct config_table *table, const struct yaml_node *entry,
                             struct error *err)
{
    const struct setting *setting = settings_find(table->settings, table->count, "kind");
    const struct yaml_node *node;
    const char *name;

    require(setting);
    if (setting->otherwise && !yaml_get(entry, "kind"))
        return setting->otherwise;
    node = settings_need(entry, "kind", err);
    return node && yaml_text(node, &name, err) == 0 ? name : NULL;
}

/* The kind of an entry, by its key `kind`. */
static const struct settings_kind *kind_by_name(const struct config_table *table,
                                                const struct yaml_node *entry, struct error *err)
{
    const char *name = kind_name(table, entry, err);
    owned(text) struct text *known = text_new(ERROR_TEXT_SIZE);
    const struct settings_kind *kind;

    if (!name)
        return NULL;
    for (size_t i = 0; (kind = table->kinds(i)); i++) {
        if (text_equal(kind->name, name))
            return kind;
        text_add(known, "%s%s", i > 0 ? ", " : "", kind->name);
    }
    yaml_error(err, yaml_get(entry, "kind") ?: entry, "unknown %.*s kind \"%s\"; known kinds: %s",
               config_singular_length(table), table->title, name, known->chars);
    return NULL;
}

const struct settings_kind *config_kind_of_pool(const struct config *config,
                                                const struct yaml_node *entry, struct error *err)
{
    const struct yaml_node *node = settings_need(entry, "provider", err);
    const struct config_provider *provider;
    const char *name;

    if (!node || yaml_text(node, &name, err) < 0)
        return NULL;
    provider = config_resolve(config, CONFIG_PROVIDERS, name, node, err);
    return provider ? &provider->kind->pool : NULL;
}

/* A key that only other kinds know: says which. */
static int refuse_foreign(const struct config_table *table, const struct settings_kind *own,
                          const struct yaml_node *node, struct error *err)
{
    owned(text) struct text *others = text_new(ERROR_TEXT_SIZE);
    const struct settings_kind *kind;

    if (settings_find(table->settings, table->count, node->key) ||
        settings_find(own->settings, own->count, node->key))
        return 0;
    for (size_t i = 0; (kind = table->kinds(i)); i++)
        if (settings_find(kind->settings, kind->count, node->key))
            text_add(others, "%s%s", others->length > 0 ? ", " : "", kind->name);
    if (others->length == 0)
        return 0;
    return yaml_error(err, node, "not valid for the %.*s kind %s; valid for: %s",
                      config_singular_length(table), table->title, own->name, others->chars);
}

static int check_own(const struct config_own *own, const struct yaml_node *entry, struct error *err)
{
    const char *key = "";
    struct error why = { 0 };

    if (!own->kind->check || own->kind->check(own->settings, &key, &why) == 0)
        return 0;
    return yaml_error(err, yaml_get(entry, key) ?: entry, "%s", why.text);
}

static int read_own(const struct config *config, const struct config_table *table,
                    const struct yaml_node *entry, void *item, struct error *err)
{
    struct config_own *own = own_of(table, item);

    own->kind = table->kind_of ? table->kind_of(config, entry, err)
                               : kind_by_name(table, entry, err);
    if (!own->kind)
        return -1;
    for (size_t i = 0; i < entry->count; i++)
        if (refuse_foreign(table, own->kind, &entry->children[i], err) < 0)
            return -1;
    require(own->kind->size > 0 && !own->settings);
    own->settings = mem_new(own->kind->size);

    const struct settings_part parts[] = {
        { table->settings, table->count, item },
        { own->kind->settings, own->kind->count, own->settings },
    };

    if (settings_read_parts(entry, parts, COUNT_OF(parts), err) == 0)
        return 0;
    mem_free(steal(&own->settings));
    return -1;
}

int config_read_entry(const struct config *config, const struct config_table *table,
                      const struct yaml_node *entry, void *item, struct error *err)
{
    int result;

    if (table->kinds &&
        (yaml_expect(entry, YAML_MAPPING, err) < 0 || config_refuse_empty(entry, err) < 0))
        return -1;
    result = table->kinds ? read_own(config, table, entry, item, err)
                          : settings_read(entry, table->settings, table->count, item, err);
    if (result < 0)
        return -1;
    if (config_refuse_empty(entry, err) == 0 &&
        (!table->kinds || check_own(own_of(table, item), entry, err) == 0))
        return 0;
    config_clear_entry(table, item);
    return -1;
}

void config_clear_entry(const struct config_table *table, void *item)
{
    settings_clear(table->settings, table->count, item);
    if (table->kinds) {
        struct config_own *own = own_of(table, item);

        require(own->kind && own->settings);
        settings_clear(own->kind->settings, own->kind->count, own->settings);
        mem_free(steal(&own->settings));
    }
}

char **config_next_path(const struct config_own *own, size_t *at)
{
    char **path;

    require(own->kind && own->settings);
    while ((path = settings_next_path(own->kind->settings, own->kind->count, own->settings, at)))
        if (!own->kind->no_file || !text_equal(*path, own->kind->no_file))
            return path;
    return NULL;
}

const char *config_provider_file(const struct config_provider *provider)
{
    size_t at = 0;
    char **path;

    while ((path = config_next_path(&provider->own, &at)))
        if (*path)
            return *path;
    return NULL;
}

const char *config_cluster_access(const struct config_cluster *cluster, const char **ret_key)
{
    const struct settings_kind *kind = cluster->own.kind;

    for (size_t i = 0, at = 0; i < kind->count; i++, at = i)
        if (kind->settings[i].type == SETTING_PATH) {
            *ret_key = kind->settings[i].key;
            return *settings_next_path(kind->settings, kind->count, cluster->own.settings, &at);
        }
    return NULL;
}

static const struct setting *setting_of(const struct settings_kind *kind, const char *key)
{
    return settings_find(kind->settings, kind->count, key);
}

/* Whether all kinds know the key, in the same words, so that its row names none of them. */
static bool is_common(settings_kinds_fn kinds, const struct setting *setting)
{
    const struct settings_kind *kind;

    for (size_t i = 0; (kind = kinds(i)); i++) {
        const struct setting *theirs = setting_of(kind, setting->key);

        if (!theirs || !text_equal(theirs->help, setting->help))
            return false;
    }
    return true;
}

/* One row for a key: the help of each kind that has it. */
static void document_key(settings_kinds_fn kinds, const struct setting *setting, struct text *out)
{
    owned(text) struct text *help = text_new(TEXT_UNBOUNDED);
    struct setting row = *setting;
    const struct settings_kind *kind;

    for (size_t i = 0; (kind = kinds(i)); i++) {
        const struct setting *theirs = setting_of(kind, setting->key);

        if (!theirs)
            continue;
        if (theirs->otherwise)
            row.otherwise = theirs->otherwise; /* required only where all require it */
        text_add(help, "%s%s%s%s", help->length > 0 ? ". " : "", kind->name,
                 theirs->help[0] != '\0' ? ": " : "", theirs->help);
    }
    row.help = is_common(kinds, setting) ? setting->help : help->chars;
    settings_document(&row, 1, out);
}

static bool is_known_before(settings_kinds_fn kinds, size_t before, const char *key)
{
    for (size_t i = 0; i < before; i++)
        if (setting_of(kinds(i), key))
            return true;
    return false;
}

void config_document_kinds(settings_kinds_fn kinds, struct text *out)
{
    const struct settings_kind *kind;

    for (size_t at = 0; (kind = kinds(at)); at++)
        for (size_t i = 0; i < kind->count; i++)
            if (!is_known_before(kinds, at, kind->settings[i].key))
                document_key(kinds, &kind->settings[i], out);
}

void config_name_kinds(settings_kinds_fn kinds, struct text *out)
{
    const struct settings_kind *kind;

    for (size_t i = 0; (kind = kinds(i)); i++) {
        text_add(out, "%s`%s`", i == 0 ? "" : kinds(i + 1) ? ", " : " or ", kind->name);
        if (kind->maker)
            text_add(out, " (%s)", kind->maker);
    }
}
