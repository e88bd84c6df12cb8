/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for metrics that no page for people has: counters since the start, ages, and how many
 * machines and values are not as they should be.
 */
#include "base/input/json.h"
#include "base/map.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/service/supply.h"
#include "broker/transfer/held.h"
#include "broker/transfer/tallies.h"

static int64_t cluster_seen_ms(const struct service *service, const struct config_cluster *cluster)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, cluster);

    return snapshot->nodes_seen_ms < snapshot->pods_seen_ms ? snapshot->nodes_seen_ms
                                                            : snapshot->pods_seen_ms;
}

static void add_source(json_t *rows, const char *kind, const char *name, int64_t age_ms)
{
    json_array_append_new(rows, json_make("{ss ss sf}", "kind", kind, "source", name, "age_s",
                                          (double)age_ms / SECOND_MS));
}

/* [{kind, source, age_s}]: how old what is known is; what was never seen has no age. */
static json_t *describe_sources(const struct service *service)
{
    int64_t now_ms = loop_now(service->world->loop);
    json_t *rows = json_array();

    for (size_t i = 0; i < service->config->cluster_count; i++) {
        const struct config_cluster *cluster = &service->config->clusters[i];

        if (fleet_snapshot(service->fleet, cluster)->is_known)
            add_source(rows, "cluster", cluster->name, now_ms - cluster_seen_ms(service, cluster));
    }
    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];

        if (fleet_pool(service->fleet, pool)->is_known)
            add_source(rows, "pool", pool->name,
                       now_ms - fleet_pool(service->fleet, pool)->began_ms);
    }
    return rows;
}

/* Machines that run, that no Node shows, and that no transfer takes or brings. */
static int64_t count_orphans(const struct service *service, const struct held *held,
                             const struct config_pool *pool)
{
    int64_t count = 0;
    void *value;

    for (size_t i = 0; map_next(fleet_pool(service->fleet, pool)->instances, &i, NULL, &value);) {
        const struct instance *instance = value;

        count += instance->state == INSTANCE_RUNNING && !held_has(held, pool, instance) &&
                 !fleet_node_of(service->fleet, pool, instance);
    }
    return count;
}

/* [{provider, cluster, kind, count}] for each pool that is known. */
static json_t *describe_orphans(const struct service *service)
{
    owned(held) struct held *held = held_new(service->runner);
    json_t *rows = json_array();
    struct error ignored;

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];

        if (survey_knows(service, pool, &ignored))
            json_array_append_new(rows, json_make("{ss ss ss sI}", "provider", pool->provider->name,
                                                  "cluster", pool->cluster->name, "kind", "machine",
                                                  "count",
                                                  (json_int_t)count_orphans(service, held, pool)));
    }
    return rows;
}

/* What the machine of a pool is to its cluster. */
enum node_state { NODE_READY, NODE_NOT_READY, NODE_DRAINING, NODE_JOINING, NODE_STATES };

static const char *const node_states[NODE_STATES] = { "ready", "not_ready", "draining", "joining" };

/* Live transfers by "POOL/MACHINE" that they take; borrowed. */
static struct map *find_leaving(const struct service *service)
{
    struct map *leaving = map_new(NULL);
    struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        owned(chars) char *name = text_format("%s/%s", transfer->source->name, transfer->instance);

        map_set(leaving, name, transfer);
    }
    return leaving;
}

static enum node_state state_of(const struct service *service, const struct config_pool *pool,
                                const struct instance *instance, const struct transfer *taken,
                                bool is_held)
{
    const struct node *node = fleet_node_of(service->fleet, pool, instance);

    if (instance->state == INSTANCE_DELETING || (taken && taken->cordoned.ms > 0))
        return NODE_DRAINING;
    if ((is_held && !taken) || instance->state == INSTANCE_CREATING ||
        (node && node_has_taint(node, SLUICE_TAINT_STARTING)))
        return NODE_JOINING;
    return node && supply_serves(service, pool, node) ? NODE_READY : NODE_NOT_READY;
}

/* Counts the machines of the pool by their state, each once. */
static void count_states(const struct service *service, const struct held *held,
                         const struct map *leaving, const struct config_pool *pool,
                         int64_t counts[NODE_STATES])
{
    void *value;

    for (size_t i = 0; map_next(fleet_pool(service->fleet, pool)->instances, &i, NULL, &value);) {
        const struct instance *instance = value;
        owned(chars) char *name = text_format("%s/%s", pool->name, instance->name);

        if (instance->state != INSTANCE_PARKED)
            counts[state_of(service, pool, instance, map_get(leaving, name),
                            held_has(held, pool, instance))]++;
    }
}

/* [{cluster, machine, zone, pool, state, count}] for each pool that is known. */
static json_t *describe_states(const struct service *service)
{
    owned(held) struct held *held = held_new(service->runner);
    owned(map) struct map *leaving = find_leaving(service);
    json_t *rows = json_array();

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];
        int64_t counts[NODE_STATES] = { 0 };

        if (!fleet_pool(service->fleet, pool)->is_known)
            continue;
        count_states(service, held, leaving, pool, counts);
        for (int state = 0; state < NODE_STATES; state++)
            json_array_append_new(
                rows, json_make("{ss ss ss ss ss sI}", "cluster", pool->cluster->name, "machine",
                                pool->reservation->machine, "zone", pool->reservation->zone, "pool",
                                pool->name, "state", node_states[state], "count",
                                (json_int_t)counts[state]));
    }
    return rows;
}

/* Adds a row for each number that sluice keeps: 1 while another writer contests it. */
static void add_drift(json_t *rows, const char *kind, json_t *values)
{
    const json_t *value;
    size_t i;

    json_array_foreach(values, i, value)
        json_array_append_new(
            rows, json_make("{ss ss si}", "cluster", json_text_or(value, "cluster", ""), "kind",
                            kind, "count", json_bool_or(value, "is_contested", false) ? 1 : 0));
    json_decref(values);
}

json_t *service_numbers(struct service *service)
{
    struct wall_time now = loop_wall(service->world->loop);
    struct wall_time change = window_next_change(service->config->windows, now);
    json_t *drift = json_array();

    add_drift(drift, "replicas", scaler_describe(service->scaler));
    add_drift(drift, "quota", quotas_describe(service->quotas));
    return json_make(
        "{so so so so so sf so so so so}", "counts", tallies_describe(service->runner->tallies),
        "window_left_s",
        change.ms > 0 ? json_real((double)(change.ms - now.ms) / SECOND_MS) : json_null(),
        "applied", json_wall(service->applied), "apply_success",
        service->apply_success < 0 ? json_null() : json_integer(service->apply_success), "sources",
        describe_sources(service), "fresh_s", (double)service->config->guard.fresh_ms / SECOND_MS,
        "orphans", describe_orphans(service), "states", describe_states(service), "drift", drift,
        "forecast", service_forecast(service));
}
