/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE settings of sluice.yaml: one table for the top level, for each mapping below it, and for the
 * entries of each named section.  The same tables read the file and write the documentation.
 * Private to broker/config.
 */
#pragma once

#include "base/input/settings.h"
#include "broker/config/config.h"

#include <stddef.h>

enum config_table_id {
    CONFIG_TOP,
    CONFIG_DRAIN,
    CONFIG_GUARD,
    CONFIG_LEAD,
    CONFIG_JOIN,
    CONFIG_TRACES,
    CONFIG_LISTEN,
    CONFIG_ACCESS,
    CONFIG_TOKENS,
    CONFIG_VICTIMS,
    CONFIG_HEADROOM,
    CONFIG_CLUSTERS,
    CONFIG_RESERVATIONS,
    CONFIG_PROVIDERS,
    CONFIG_POOLS,
    CONFIG_SOURCES,
    CONFIG_QUEUES,
    CONFIG_ENGINES,
    CONFIG_WORKLOADS,
    CONFIG_SHARES,
    CONFIG_QUOTAS,
    CONFIG_WEBHOOKS,
    CONFIG_TABLE_COUNT,
};

/* config_reservation.c */
enum { CONFIG_RESERVATION_SETTINGS = 10 };
extern const struct setting config_reservation_settings[CONFIG_RESERVATION_SETTINGS];

/* Each price has a currency, and no currency is without a price. */
int config_check_prices(const struct config *config, struct error *err)
    __attribute__((warn_unused_result));

/* The target of the top level: the settings themselves, and the mappings still to be read. */
struct config_file {
    struct config config;
    const struct yaml_node *windows;
    const struct yaml_node *holidays;
    const struct yaml_node *events;
    const struct yaml_node *drain;
    const struct yaml_node *guard;
    const struct yaml_node *lead;
    const struct yaml_node *join;
    const struct yaml_node *traces;
    const struct yaml_node *listen;
    const struct yaml_node *access;
    const struct yaml_node *tokens;
    const struct yaml_node *victims;
    const struct yaml_node *headroom;
    const struct yaml_node *accelerators;
    const struct yaml_node *clusters;
    const struct yaml_node *reservations;
    const struct yaml_node *providers;
    const struct yaml_node *pools;
    const struct yaml_node *sources;
    const struct yaml_node *queues;
    const struct yaml_node *workloads;
    const struct yaml_node *quotas;
    const struct yaml_node *webhooks;
};

struct config_table {
    const char *title; /* the path of its keys: "pools.NAME" */
    const char *help;
    const struct setting *settings;
    size_t count;
    size_t item_size;    /* of one entry's struct; 0: not a named section */
    size_t name_offset;  /* of the name in that struct */
    size_t items_offset; /* of the array of entries in struct config */
    size_t count_offset; /* of the number of entries in struct config */

    /* Sections whose entries have keys of their kind; NULL: they have not. */
    settings_kinds_fn kinds;
    size_t own_offset; /* of struct config_own */
    /* The kind of one entry, or NULL and an error.  NULL: its key `kind` gives it. */
    const struct settings_kind *(*kind_of)(const struct config *config,
                                           const struct yaml_node *entry, struct error *err);
};

extern const struct config_table config_tables[CONFIG_TABLE_COUNT];

/* References, sums and other checks of more than one key: resolves names to pointers and ranks the
   zones.  Errors name file, line and key. config_check.c */
int config_check(struct config *config, struct error *err) __attribute__((warn_unused_result));

/* `accelerators`; NULL: it is absent.  config_accelerators.c */
int config_read_accelerators(struct config *config, const struct yaml_node *section,
                             struct error *err) __attribute__((warn_unused_result));

/* The schemas of `windows`, `events`, `holidays` and `accelerators`, by these names.
   config_schema_calendar.c */
json_t *config_schema_calendar(void) __attribute__((returns_nonnull, warn_unused_result));

/* `access`: each entry is a role's.  config_access.c */
int config_check_access(const struct config *config, struct error *err)
    __attribute__((warn_unused_result));

/* `webhooks`; config_webhooks.c */
enum { CONFIG_WEBHOOK_SETTINGS = 6 };
extern const struct setting config_webhook_settings[CONFIG_WEBHOOK_SETTINGS];
int config_check_webhooks(struct config *config, struct error *err)
    __attribute__((warn_unused_result));

/* Entries with keys of their kind; config_kinds.c.  Reads one entry, with the keys of its kind. */
int config_read_entry(const struct config *config, const struct config_table *table,
                      const struct yaml_node *entry, void *item, struct error *err)
    __attribute__((warn_unused_result));
void config_clear_entry(const struct config_table *table, void *item);

/* Their paths, one a call; *at is 0 at first.  NULL: there are no more. */
char **config_next_path(const struct config_own *own, size_t *at);

/* The kind of a pool's provider decides which keys the pool has. */
const struct settings_kind *config_kind_of_pool(const struct config *config,
                                                const struct yaml_node *entry, struct error *err);

/* Appends the rows of all kinds: a key that several know has one row. */
void config_document_kinds(settings_kinds_fn kinds, struct text *out);

/* "`prometheus`, `cloudwatch` (AWS) or `monitoring` (Google Cloud)" */
void config_name_kinds(settings_kinds_fn kinds, struct text *out);

/* The length of the title's part that names one entry: "pool" of "pools.NAME". */
int config_singular_length(const struct config_table *table);

/* Whether it is made of characters that keys of labels and names in Kubernetes have, one at least.
   config_check.c */
bool config_is_name(const char *chars, size_t length);

/* The lists of `join`.  config_join.c */
int config_check_join(const struct config *config, struct error *err)
    __attribute__((warn_unused_result));

/* For the checks.  Where `key` of entry `at` in a section stands, or the entry itself when the key
   is absent; and the entry of a section with this name, or NULL and an error at `place`. */
const struct yaml_node *config_place(const struct config *config, const char *section, size_t at,
                                     const char *key);
const void *config_resolve(const struct config *config, enum config_table_id id, const char *name,
                           const struct yaml_node *place, struct error *err);

/* Refuses texts that are present and empty. */
int config_refuse_empty(const struct yaml_node *mapping, struct error *err)
    __attribute__((warn_unused_result));

/* The origin of a queue's service times, and the laws that they may have; config_service.c.  Its
   engine and its targets; config_engine.c. */
int config_check_service(const struct config *config, size_t at, struct config_queue *queue,
                         struct error *err) __attribute__((warn_unused_result));
int config_check_engine(const struct config *config, size_t at, struct config_queue *queue,
                        struct error *err) __attribute__((warn_unused_result));

/* The service times of all queues from files and laws, once paths are absolute. */
int config_read_services(struct config *config, struct error *err)
    __attribute__((warn_unused_result));

/* Whether iterations are known; false: none, or slots alone (the short form). */
bool config_engine_is_whole(const struct config_queue *queue);

/* Whether this key gives lengths, as "tokens_in" does; not tokens_file. */
bool config_engine_is_length(const char *key);

/* The shape of an engine that is whole. */
struct service_shape *config_engine_shape(const struct config_queue *queue, struct error *err)
    __attribute__((warn_unused_result));

/* Refuses targets that the engine cannot meet with any number of replicas. */
int config_check_floor(const struct config *config, size_t at, struct error *err)
    __attribute__((warn_unused_result));

/* Resolves what is done with gangs.  config_drain.c */
int config_check_drain(struct config *config, struct error *err)
    __attribute__((warn_unused_result));

/* config_quota.c: what of the clusters' own objects is kept. */
int config_check_quotas(struct config *config, struct error *err)
    __attribute__((warn_unused_result));
int config_check_scaling(const struct config *config, size_t workload, struct error *err)
    __attribute__((warn_unused_result));

/* Adds the settings of the node to an object, in the order of the file: dotted key -> {text, line}.
   Lists of scalars are one setting: "[a, b]".  config_flatten.c */
void config_flatten(const struct yaml_node *node, const char *key, json_t *settings);

/* config_groups.c: whether replicas of the workload fit the nodes of the cluster's pools, and their
   group size; `share` is the place that names the cluster.  Then, once all workloads are known,
   whether the guard lets groups move. */
int config_check_gpus(struct config *config, size_t workload, const struct yaml_node *share,
                      const struct config_cluster *cluster, struct error *err)
    __attribute__((warn_unused_result));
int config_check_groups(const struct config *config, struct error *err)
    __attribute__((warn_unused_result));
