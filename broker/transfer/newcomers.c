/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See newcomers.h.  One record a pool: {"machines": [NAME, ...]}.
 */
#include "broker/transfer/newcomers.h"

#include "base/input/json.h"
#include "base/memory.h"

static const char record_kind[] = "accounted";

struct accounted {
    struct map *names; /* NULL: not known */
    uint64_t rev;      /* of the record; 0: none */
};

struct newcomers {
    const struct config *config;
    struct accounted *pools; /* as config->pools */
};

struct newcomers *newcomers_new(const struct config *config)
{
    struct newcomers *newcomers = mem_new(sizeof *newcomers);

    newcomers->config = config;
    newcomers->pools = mem_new_array(config->pool_count, sizeof *newcomers->pools);
    return newcomers;
}

void newcomers_free(struct newcomers *newcomers)
{
    if (!newcomers)
        return;
    for (size_t i = 0; i < newcomers->config->pool_count; i++)
        map_free(newcomers->pools[i].names);
    mem_free(newcomers->pools);
    mem_free(newcomers);
}

static struct accounted *of_pool(const struct newcomers *newcomers, const struct config_pool *pool)
{
    require(pool >= newcomers->config->pools &&
            pool < newcomers->config->pools + newcomers->config->pool_count);
    return &newcomers->pools[pool - newcomers->config->pools];
}

static void add(struct accounted *accounted, const char *name)
{
    map_set(accounted->names, name, accounted);
}

/* The record of a pool that the configuration no longer has is kept. */
static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct newcomers *newcomers = context;
    const struct config_pool *pool = config_pool(newcomers->config, id);
    struct accounted *accounted;
    json_t *machines = NULL;
    const json_t *name;
    size_t i;

    if (!pool)
        return 0;
    if (json_find_array(value, "machines", &machines, err) < 0)
        return error_context(err, "machines of pool %s", id);
    if (!machines)
        return error_set(err, ERROR_CORRUPT, "machines of pool %s: there is no list", id);
    json_array_foreach(machines, i, name) {
        if (!json_is_string(name))
            return error_set(err, ERROR_CORRUPT, "machines of pool %s: a name is no text", id);
    }
    accounted = of_pool(newcomers, pool);
    accounted->rev = rev;
    accounted->names = map_new(NULL);
    json_array_foreach(machines, i, name) {
        add(accounted, json_string_value(name));
    }
    return 0;
}

int newcomers_load(struct newcomers *newcomers, struct journal *journal, struct error *err)
{
    return journal_load(journal, record_kind, load_one, newcomers, err);
}

bool newcomers_are_known(const struct newcomers *newcomers, const struct config_pool *pool)
{
    return of_pool(newcomers, pool)->names != NULL;
}

static void put(struct accounted *accounted, const struct config_pool *pool,
                struct journal_batch *batch)
{
    json_t *names = json_array();
    owned(json) json_t *value = json_make("{so}", "machines", names);
    const char *name;

    for (size_t i = 0; map_next(accounted->names, &i, &name, NULL);)
        json_array_append_new(names, json_text(name));
    journal_put(batch, record_kind, pool->name, accounted->rev++, value);
}

void newcomers_begin(struct newcomers *newcomers, const struct config_pool *pool,
                     const struct map *instances, struct journal_batch *batch)
{
    struct accounted *accounted = of_pool(newcomers, pool);
    const char *name;

    map_free(accounted->names);
    accounted->names = map_new(NULL);
    for (size_t i = 0; map_next(instances, &i, &name, NULL);)
        add(accounted, name);
    put(accounted, pool, batch);
}

void newcomers_met(struct newcomers *newcomers, const struct config_pool *pool, const char *name,
                   struct journal_batch *batch)
{
    struct accounted *accounted = of_pool(newcomers, pool);

    require(accounted->names && !map_get(accounted->names, name));
    add(accounted, name);
    put(accounted, pool, batch);
}

bool newcomers_has(const struct newcomers *newcomers, const struct config_pool *pool,
                   const char *name)
{
    const struct accounted *accounted = of_pool(newcomers, pool);

    return accounted->names && map_get(accounted->names, name);
}
