/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kueue quotas follow the nodes: a quota is its fixed GPUs and the GPUs of the movable nodes that
 * can be used and do not leave.  So the giver's shrinks when departures are announced, and has to
 * be seen smaller before anything is drained; the taker's grows when the GPUs are there.  Kueue
 * admits nothing more over a smaller quota, and evicts nothing for it.
 *
 * A reserved quota is a promise to its teams: it is never written.  No node leaves a cluster while
 * its reserved quotas, together with the fixed GPUs of its other quotas, exceed its static nodes,
 * or are not known.
 *
 * While a quota cannot be set no scheduled move of its nodes begins, and announced nodes are not
 * cordoned.  A transfer that waits for the quota keeps the wanted number as it is, so only the
 * write is tried again.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/service/setpoint.h"
#include "broker/service/supply.h"
#include "clusters/gpus.h"

#include <inttypes.h>

enum { QUOTA_NAMES_SIZE = 4096 }; /* of a list of quotas */

struct quotas {
    struct service *service;
    struct setpoint *setpoints; /* each `of` its struct config_quota */
    size_t count;
};

static const struct config_quota *quota_of(const struct setpoint *setpoint)
{
    return setpoint->of;
}

static void tell(const struct setpoint *setpoint, json_t *members)
{
    json_object_set_new(members, "quota", json_text(quota_of(setpoint)->name));
    json_object_set_new(members, "cluster_queue", json_text(quota_of(setpoint)->cluster_queue));
}

static const struct setpoint_kind quota_kind = { .name = "quota", .tell = tell };

struct quotas *quotas_new(struct service *service)
{
    const struct config *config = service->config;
    struct quotas *quotas = mem_new(sizeof *quotas);

    quotas->service = service;
    quotas->count = config->quota_count;
    quotas->setpoints = mem_new_array(quotas->count, sizeof *quotas->setpoints);
    for (size_t i = 0; i < quotas->count; i++)
        setpoint_init(&quotas->setpoints[i],
                      &(struct setpoint){
                          .service = service,
                          .kind = &quota_kind,
                          .number = side_of(service->runner, config->quotas[i].cluster)->quota,
                          .cluster = config->quotas[i].cluster,
                          .of = &config->quotas[i],
                          .id = mem_copy_chars(config->quotas[i].name),
                      });
    return quotas;
}

void quotas_free(struct quotas *quotas)
{
    if (!quotas)
        return;
    for (size_t i = 0; i < quotas->count; i++)
        setpoint_clear(&quotas->setpoints[i]);
    mem_free(quotas->setpoints);
    mem_free(quotas);
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct quotas *quotas = context;

    for (size_t i = 0; i < quotas->count; i++)
        if (text_equal(quotas->setpoints[i].id, id))
            return setpoint_load(&quotas->setpoints[i], rev, value, err);
    return 0;
}

int quotas_load(struct quotas *quotas, struct error *err)
{
    return journal_load(quotas->service->world->journal, "quota", load_one, quotas, err);
}

static bool is_movable(const void *context, const struct node *node)
{
    return fleet_is_ephemeral(context, node);
}

/* -1: the cluster is not known, and the quota keeps its value. */
static int64_t wanted_gpus(const struct quotas *quotas, const struct config_quota *quota)
{
    const struct service *service = quotas->service;
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, quota->cluster);
    int64_t gpus = quota->fixed_gpus;
    void *value;

    require(!quota->is_reserved); /* a promise is never written */
    if (!snapshot->is_known)
        return -1;
    if (quota->pool)
        return gpus +
               supply_units(service, quota->pool, quota->resource, is_movable, service->config);
    for (size_t i = 0; map_next(snapshot->nodes, &i, NULL, &value);) {
        const struct node *node = value;

        if (is_movable(service->config, node) && supply_counts(service, quota->cluster, node))
            gpus += gpus_units(snapshot, node, quota->resource);
    }
    return gpus;
}

void quotas_advance(struct quotas *quotas)
{
    for (size_t i = 0; i < quotas->count && !quotas->service->runner->is_broken; i++) {
        struct setpoint *setpoint = &quotas->setpoints[i];

        if (quota_of(setpoint)->is_reserved)
            setpoint_watch(setpoint);
        else
            setpoint_advance(setpoint, wanted_gpus(quotas, quota_of(setpoint)));
    }
}

static bool is_static(const void *context, const struct node *node)
{
    return !fleet_is_ephemeral(context, node);
}

/* The nodes that can be used, out of the expected number; while unknown, all of them count.
 */
static int64_t static_units(const struct service *service, const struct config_cluster *cluster,
                            const char *resource)
{
    const struct config *config = service->config;
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, cluster);
    int64_t sum = 0;

    for (size_t i = 0; i < config->pool_count; i++) {
        const struct config_pool *pool = &config->pools[i];
        int64_t gpus = pool->static_nodes * pool->reservation->gpus_per_node;
        int64_t units = gpus_to_units(snapshot, gpus, resource);
        int64_t usable = units;

        if (pool->cluster != cluster)
            continue;
        if (snapshot->is_known && fleet_pool(service->fleet, pool)->is_known)
            usable = supply_units(service, pool, resource, is_static, config);
        sum += usable < units ? usable : units;
    }
    require(sum >= 0);
    return sum;
}

/* GPUs that the quota promises even if the cluster has no movable node; -1: unknown. */
static int64_t promised_by(const struct setpoint *setpoint)
{
    return quota_of(setpoint)->is_reserved ? setpoint->value : quota_of(setpoint)->fixed_gpus;
}

/* The sum of all reserved quotas of that resource in that cluster, because the static nodes keep
   them together; `who` names them. */
static int64_t promised_beside(const struct quotas *quotas, const struct setpoint *of,
                               struct text *who)
{
    int64_t sum = 0;

    for (size_t i = 0; i < quotas->count; i++) {
        const struct setpoint *setpoint = &quotas->setpoints[i];
        int64_t gpus = promised_by(setpoint);

        if (setpoint->cluster != of->cluster || gpus <= 0 ||
            !text_equal(quota_of(setpoint)->resource, quota_of(of)->resource))
            continue;
        text_add(who, "%s%s %" PRId64, sum > 0 ? ", " : "", quota_of(setpoint)->name, gpus);
        sum = gpus < INT64_MAX - sum ? sum + gpus : INT64_MAX;
    }
    return sum;
}

static int allow_one(const struct quotas *quotas, const struct setpoint *setpoint,
                     struct error *err)
{
    const struct config_quota *quota = quota_of(setpoint);
    const char *cluster = setpoint->cluster->name;
    int64_t holds = static_units(quotas->service, setpoint->cluster, quota->resource);
    owned(text) struct text *who = text_new(QUOTA_NAMES_SIZE);
    int64_t promised;

    if (setpoint->value < 0)
        return error_set(err, ERROR_DENIED, "quota %s of %s is not known: %s", quota->name, cluster,
                         setpoint->trouble[0] != '\0' ? setpoint->trouble : "it is being read");
    promised = promised_beside(quotas, setpoint, who);
    if (setpoint->value > holds)
        return error_set(err, ERROR_DENIED,
                         "ClusterQueue %s of %s reserves %" PRId64 " GPUs of flavor %s, and the "
                         "static nodes have %" PRId64 " that can be used: lower it, or make more "
                         "nodes static",
                         quota->cluster_queue, cluster, setpoint->value, quota->flavor, holds);
    if (promised > holds)
        return error_set(err, ERROR_DENIED,
                         "the quotas of %s promise %" PRId64 " of %s (%s), and the static nodes "
                         "have %" PRId64 " that can be used: lower them, or make more nodes "
                         "static",
                         cluster, promised, quota->resource, who->chars, holds);
    return 0;
}

/* Nodes that leave the pool make the quota smaller. */
static bool follows(const struct setpoint *setpoint, const struct config_pool *pool)
{
    const struct config_quota *quota = quota_of(setpoint);

    return !quota->is_reserved && setpoint->cluster == pool->cluster &&
           (!quota->pool || quota->pool == pool);
}

/* If an operator keeps it smaller than the planned value, nothing has to be set. */
static bool is_stuck(const struct setpoint *setpoint)
{
    return setpoint->trouble[0] != '\0' &&
           (setpoint->value < 0 || setpoint->value >= setpoint->wanted);
}

int quotas_allow_leaving(const struct quotas *quotas, const struct config_pool *pool,
                         struct error *err)
{
    for (size_t i = 0; i < quotas->count; i++) {
        const struct setpoint *setpoint = &quotas->setpoints[i];

        if (setpoint->cluster == pool->cluster && quota_of(setpoint)->is_reserved &&
            allow_one(quotas, setpoint, err) < 0)
            return -1;
        if (follows(setpoint, pool) && is_stuck(setpoint))
            return error_set(err, ERROR_DENIED, "quota %s of %s cannot be set: %s",
                             quota_of(setpoint)->name, setpoint->cluster->name, setpoint->trouble);
    }
    return 0;
}

int quotas_allow_drain(const struct quotas *quotas, const struct config_pool *pool,
                       struct error *err)
{
    for (size_t i = 0; i < quotas->count; i++) {
        const struct setpoint *setpoint = &quotas->setpoints[i];

        if (!follows(setpoint, pool))
            continue;
        if (setpoint->wanted < 0 || setpoint->value < 0 || setpoint->value > setpoint->wanted)
            return error_set(err, setpoint->trouble[0] != '\0' ? ERROR_DENIED : ERROR_TRANSIENT,
                             "quota %s to shrink to %lld GPUs%s%s", quota_of(setpoint)->name,
                             (long long)setpoint->wanted, setpoint->trouble[0] != '\0' ? ": " : "",
                             setpoint->trouble);
    }
    return 0;
}

json_t *quotas_describe(const struct quotas *quotas)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < quotas->count; i++) {
        const struct setpoint *setpoint = &quotas->setpoints[i];
        const struct config_quota *quota = quota_of(setpoint);

        json_array_append_new(
            rows,
            json_make("{ss ss ss ss so so sb sb ss}", "quota", quota->name, "cluster",
                      setpoint->cluster->name, "cluster_queue", quota->cluster_queue, "flavor",
                      quota->flavor, "gpus",
                      setpoint->value < 0 ? json_null() : json_integer((json_int_t)setpoint->value),
                      "wanted_gpus",
                      setpoint->wanted < 0 ? json_null()
                                           : json_integer((json_int_t)setpoint->wanted),
                      "is_reserved", (int)quota->is_reserved, "is_contested",
                      (int)setpoint_is_contested(setpoint), "trouble", setpoint->trouble));
    }
    return rows;
}
