/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading sluice.yaml.  config_tables.c says which keys there are, config_check.c what must hold
 * between them, config_find.c where the file is.  The configuration owns its document: what refers
 * to nodes of it lives as long.
 */
#include "broker/config/config.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "broker/config/config_tables.h"
#include "providers/kinds.h"
#include "windows/calendar/calendar.h"
#include "windows/servers/engine_lengths.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { NAME_LENGTH_MAX = 63 };

/* Names become parts of paths, of labels and of keys in schedules. */
static bool is_name(const char *name)
{
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    size_t length = strlen(name);

    return length <= NAME_LENGTH_MAX && strspn(name, LETTERS) > 0 &&
           strspn(name, LETTERS "._-") == length;
}

static char **item_name(const struct config_table *table, void *items, size_t at)
{
    require(table->item_size > 0 && table->name_offset < table->item_size);
    return (char **)(void *)((char *)items + at * table->item_size + table->name_offset);
}

static void section_free(enum config_table_id id, void *items, size_t count)
{
    const struct config_table *table = &config_tables[id];

    for (size_t i = 0; items && i < count; i++) {
        mem_free(*item_name(table, items, i));
        config_clear_entry(table, (char *)items + i * table->item_size);
    }
    mem_free(items);
}

int config_refuse_empty(const struct yaml_node *mapping, struct error *err)
{
    for (size_t i = 0; i < mapping->count; i++) {
        const struct yaml_node *node = &mapping->children[i];

        if (node->kind == YAML_SCALAR && node->text[0] == '\0')
            return yaml_error(err, node, "must not be empty");
    }
    return 0;
}

static int entry_read(const struct config *config, const struct config_table *table,
                      const struct yaml_node *entry, void *item, struct error *err)
{
    if (!is_name(entry->key))
        return yaml_error(err, entry,
                          "a name has up to %d letters, digits, \".\", \"_\" and \"-\", and "
                          "begins with a letter or digit",
                          NAME_LENGTH_MAX);
    return config_read_entry(config, table, entry, item, err);
}

/* The entries of a named section as an array of its struct; NULL on failure. */
static void *section_read(const struct config *config, enum config_table_id id,
                          const struct yaml_node *section, size_t *ret_count, struct error *err)
{
    const struct config_table *table = &config_tables[id];

    if (yaml_expect(section, YAML_MAPPING, err) < 0)
        return NULL;
    if (section->count == 0) {
        yaml_error(err, section, "is empty, at least one entry is needed");
        return NULL;
    }
    void *items = mem_new_array(section->count, table->item_size);

    for (size_t i = 0; i < section->count; i++) {
        const struct yaml_node *entry = &section->children[i];

        if (entry_read(config, table, entry, (char *)items + i * table->item_size, err) < 0) {
            section_free(id, items, i);
            return NULL;
        }
        *item_name(table, items, i) = mem_copy_chars(entry->key);
    }
    *ret_count = section->count;
    return items;
}

/* A mapping whose keys all have defaults. */
static int optional_read(enum config_table_id id, const struct yaml_node *mapping, void *object,
                         struct error *err)
{
    const struct config_table *table = &config_tables[id];

    if (mapping)
        return settings_read(mapping, table->settings, table->count, object, err);
    settings_default(table->settings, table->count, object);
    return 0;
}

/* Keys that a workload does not give are those of all. */
static int read_headrooms(struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->workload_count; i++) {
        struct config_workload *workload = &config->workloads[i];
        const struct yaml_node *node = workload->headroom_node;

        if (optional_read(CONFIG_HEADROOM, node, &workload->headroom, err) < 0)
            return -1;
        if (!node || !yaml_get(node, "node"))
            workload->headroom.node = config->headroom.node;
        if (!node || !yaml_get(node, "zone"))
            workload->headroom.zone = config->headroom.zone;
    }
    return 0;
}

static int read_engines(struct config *config, struct error *err)
{
    const struct config_table *table = &config_tables[CONFIG_ENGINES];

    for (size_t i = 0; i < config->queue_count; i++) {
        struct config_queue *queue = &config->queues[i];
        const struct yaml_node *block = queue->engine_node;

        queue->engine.scale_in = queue->engine.scale_out = 1;
        if (block &&
            (settings_read(block, table->settings, table->count, &queue->engine, err) < 0 ||
             config_refuse_empty(block, err) < 0))
            return -1;
        queue->engine.has_cv = block && yaml_get(block, "tokens_cv");
    }
    return 0;
}

static int read_sections(struct config *config, const struct config_file *file, struct error *err)
{
    if (optional_read(CONFIG_DRAIN, file->drain, &config->drain, err) < 0 ||
        optional_read(CONFIG_GUARD, file->guard, &config->guard, err) < 0 ||
        optional_read(CONFIG_LEAD, file->lead, &config->lead, err) < 0 ||
        optional_read(CONFIG_JOIN, file->join, &config->join, err) < 0 ||
        optional_read(CONFIG_TRACES, file->traces, &config->traces, err) < 0 ||
        (file->traces && config_refuse_empty(file->traces, err) < 0) ||
        optional_read(CONFIG_VICTIMS, file->victims, &config->victims, err) < 0 ||
        optional_read(CONFIG_HEADROOM, file->headroom, &config->headroom, err) < 0 ||
        config_read_accelerators(config, file->accelerators, err) < 0)
        return -1;

    config->clusters = section_read(config, CONFIG_CLUSTERS, file->clusters, &config->cluster_count,
                                    err);
    if (!config->clusters)
        return -1;
    config->reservations = section_read(config, CONFIG_RESERVATIONS, file->reservations,
                                        &config->reservation_count, err);
    if (!config->reservations)
        return -1;
    config->providers = section_read(config, CONFIG_PROVIDERS, file->providers,
                                     &config->provider_count, err);
    if (!config->providers)
        return -1;
    for (size_t i = 0; i < config->provider_count; i++) /* it reads the keys of its pools */
        config->providers[i].kind = provider_kind_find(config->providers[i].own.kind->name);
    config->pools = section_read(config, CONFIG_POOLS, file->pools, &config->pool_count, err);
    if (!config->pools)
        return -1;
    if (file->sources) {
        config->sources = section_read(config, CONFIG_SOURCES, file->sources, &config->source_count,
                                       err);
        if (!config->sources)
            return -1;
    }
    config->queues = section_read(config, CONFIG_QUEUES, file->queues, &config->queue_count, err);
    if (!config->queues)
        return -1;
    config->workloads = section_read(config, CONFIG_WORKLOADS, file->workloads,
                                     &config->workload_count, err);
    if (!config->workloads)
        return -1;
    if (file->quotas) {
        config->quotas = section_read(config, CONFIG_QUOTAS, file->quotas, &config->quota_count,
                                      err);
        if (!config->quotas)
            return -1;
    }
    if (file->webhooks) {
        config->webhooks = section_read(config, CONFIG_WEBHOOKS, file->webhooks,
                                        &config->webhook_count, err);
        if (!config->webhooks)
            return -1;
    }
    if (file->listen && optional_read(CONFIG_LISTEN, file->listen, &config->listen, err) < 0)
        return -1;
    if (file->tokens && optional_read(CONFIG_TOKENS, file->tokens, &config->tokens, err) < 0)
        return -1;
    if (file->access) {
        config->access = section_read(config, CONFIG_ACCESS, file->access, &config->access_count,
                                      err);
        if (!config->access)
            return -1;
    }
    return read_engines(config, err) < 0 ? -1 : read_headrooms(config, err);
}

static int read_windows(struct config *config, const struct config_file *file, struct error *err)
{
    const struct yaml_node *key = yaml_get(yaml_root(config->document), "time_zone");
    struct error why = { 0 };
    owned(time_zone) struct time_zone *zone = time_zone_open(config->time_zone, &why);

    if (!zone)
        return yaml_error(err, key, "%s", why.text);
    config->windows = window_set_read(file->windows, zone, err);
    if (!config->windows)
        return -1;
    zone = NULL; /* the set has it now */
    return calendar_read(config->windows, file->holidays, file->events, err);
}

/* Makes *path absolute, against the folder of the file; "~/" is the user's home. */
static void place(const char *file, char **path)
{
    const char *home = getenv("HOME");

    if (!*path)
        return;
    char *placed = home && text_starts_with(*path, "~/") ? text_format("%s%s", home, *path + 1)
                                                         : file_beside(file, *path);
    mem_free(*path);
    *path = placed;
}

static void place_queue(const char *file, struct config_queue *queue)
{
    place(file, &queue->service_file);
    place(file, &queue->engine.tokens_file);
}

static void place_own(const char *file, const struct config_own *own)
{
    size_t at = 0;
    char **path;

    while ((path = config_next_path(own, &at)))
        place(file, path);
}

static int place_all(struct config *config, struct error *err)
{
    char folder[PATH_MAX];

    if (!getcwd(folder, sizeof folder))
        return error_errno(err, ERROR_INVALID, "the current folder");
    owned(chars) char *file = config->path[0] == '/' ? mem_copy_chars(config->path)
                                                     : text_format("%s/%s", folder, config->path);
    place(file, &config->schedules);
    place(file, &config->socket);
    if (!text_equal(config->journal, ":memory:"))
        place(file, &config->journal);
    place(file, &config->listen.certificate);
    place(file, &config->listen.key);
    place(file, &config->listen.client_ca);
    place(file, &config->listen.client_crl);
    place(file, &config->tokens.keys);
    for (size_t i = 0; i < config->webhook_count; i++) {
        place(file, &config->webhooks[i].url_file);
        place(file, &config->webhooks[i].secret_file);
    }
    for (size_t i = 0; i < config->cluster_count; i++)
        place_own(file, &config->clusters[i].own);
    for (size_t i = 0; i < config->provider_count; i++)
        place_own(file, &config->providers[i].own);
    for (size_t i = 0; i < config->pool_count; i++)
        place_own(file, &config->pools[i].own);
    for (size_t i = 0; i < config->source_count; i++)
        place_own(file, &config->sources[i].own);
    for (size_t i = 0; i < config->queue_count; i++)
        place_queue(file, &config->queues[i]);

    size_t socket_max = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    const struct yaml_node *root = yaml_root(config->document);
    const struct yaml_node *socket = yaml_get(root, "socket");

    if (strlen(config->socket) > socket_max)
        return yaml_error(err, socket ? socket : root,
                          "the path of the socket has %zu characters with its folder, over %zu",
                          strlen(config->socket), socket_max);
    return 0;
}

struct config *config_read(const char *path, struct error *err)
{
    const struct config_table *top = &config_tables[CONFIG_TOP];
    owned(yaml_document) struct yaml_document *document = yaml_read(path, err);
    struct config_file file = { 0 };

    if (!document || settings_read(yaml_root(document), top->settings, top->count, &file, err) < 0)
        return NULL;

    owned(config) struct config *config = mem_new(sizeof *config);

    *config = file.config;
    config->path = mem_copy_chars(path);
    config->document = steal(&document);
    if (config_refuse_empty(yaml_root(config->document), err) < 0 ||
        read_sections(config, &file, err) < 0 || read_windows(config, &file, err) < 0 ||
        config_check(config, err) < 0 || config_check_join(config, err) < 0 ||
        config_check_drain(config, err) < 0 || config_check_access(config, err) < 0 ||
        config_check_webhooks(config, err) < 0 || place_all(config, err) < 0 ||
        config_read_services(config, err) < 0)
        return NULL;
    return steal(&config);
}

/* Frees the members that are not in the section's own table. */
static void queue_clear(struct config_queue *queue)
{
    const struct config_table *engine = &config_tables[CONFIG_ENGINES];

    service_shape_free(queue->service);
    if (queue->engine.pairs)
        token_pairs_clear(queue->engine.pairs);
    mem_free(queue->engine.pairs);
    settings_clear(engine->settings, engine->count, &queue->engine);
}

void config_free(struct config *config)
{
    const struct config_table *top = &config_tables[CONFIG_TOP];

    if (!config)
        return;
    section_free(CONFIG_ACCESS, config->access, config->access_count);
    section_free(CONFIG_WEBHOOKS, config->webhooks, config->webhook_count);
    section_free(CONFIG_QUOTAS, config->quotas, config->quota_count);
    for (size_t i = 0; i < config->workload_count; i++)
        mem_free(config->workloads[i].shares);
    section_free(CONFIG_WORKLOADS, config->workloads, config->workload_count);
    for (size_t i = 0; i < config->queue_count; i++)
        queue_clear(&config->queues[i]);
    section_free(CONFIG_QUEUES, config->queues, config->queue_count);
    section_free(CONFIG_SOURCES, config->sources, config->source_count);
    section_free(CONFIG_POOLS, config->pools, config->pool_count);
    section_free(CONFIG_PROVIDERS, config->providers, config->provider_count);
    section_free(CONFIG_RESERVATIONS, config->reservations, config->reservation_count);
    section_free(CONFIG_CLUSTERS, config->clusters, config->cluster_count);
    array_clear(&config->accelerators.rows);
    window_set_free(config->windows);
    mem_free(config->path);

    struct config_file file = { .config = *config };

    settings_clear(top->settings, top->count, &file);
    settings_clear(config_tables[CONFIG_VICTIMS].settings, config_tables[CONFIG_VICTIMS].count,
                   &config->victims);
    settings_clear(config_tables[CONFIG_DRAIN].settings, config_tables[CONFIG_DRAIN].count,
                   &config->drain);
    settings_clear(config_tables[CONFIG_JOIN].settings, config_tables[CONFIG_JOIN].count,
                   &config->join);
    settings_clear(config_tables[CONFIG_TRACES].settings, config_tables[CONFIG_TRACES].count,
                   &config->traces);
    settings_clear(config_tables[CONFIG_LISTEN].settings, config_tables[CONFIG_LISTEN].count,
                   &config->listen);
    settings_clear(config_tables[CONFIG_TOKENS].settings, config_tables[CONFIG_TOKENS].count,
                   &config->tokens);
    mem_free(config->remote.url);
    mem_free(config->remote.ca_pem);
    mem_free(config->remote.certificate_pem);
    secret_free(config->remote.key_pem);
    secret_free(config->remote.authorization);
    yaml_document_free(config->document);
    mem_free(config);
}

bool config_reservation_lasts(const struct config_reservation *reservation, struct wall_time until)
{
    return reservation->ends.ms == 0 || until.ms < reservation->ends.ms;
}

char *config_place_of_pool(const struct config_pool *pool)
{
    return provider_place(pool->provider->kind, pool->provider->own.settings, pool->own.settings);
}

const struct config_cluster *config_cluster(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->cluster_count; i++)
        if (text_equal(config->clusters[i].name, name))
            return &config->clusters[i];
    return NULL;
}

int config_refuse_cluster(const struct config *config, const char *name, struct error *err)
{
    owned(text) struct text *names = text_new(ERROR_TEXT_SIZE / 2);

    for (size_t i = 0; i < config->cluster_count; i++)
        text_add(names, "%s%s", i > 0 ? ", " : "", config->clusters[i].name);
    return error_set(err, ERROR_INVALID, "there is no cluster %s in %s; there are: %s%s", name,
                     config->path, names->chars, names->is_cut ? "..." : "");
}

bool config_can_give(const struct config *config, const struct config_cluster *giver,
                     const struct config_cluster *taker)
{
    if (!giver || giver->role != ROLE_RESEARCH)
        return false;
    for (size_t i = 0; i < config->pool_count * config->pool_count; i++) {
        const struct config_pool *from = &config->pools[i / config->pool_count];
        const struct config_pool *to = &config->pools[i % config->pool_count];

        if (from->cluster == giver && to->cluster == taker && from->reservation == to->reservation)
            return true;
    }
    return false;
}

const struct config_pool *config_pool(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->pool_count; i++)
        if (text_equal(config->pools[i].name, name))
            return &config->pools[i];
    return NULL;
}
