/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas: each workload has, in each cluster, the number that the schedules in force want.  It
 * grows with the nodes that are ready, ahead of its window and at the window's begin in any case;
 * it shrinks before nodes leave.  Where an autoscaler owns the replicas its least is set instead,
 * or, if the configuration does not say so, nothing: two controllers of one number fight.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/planning/replica_capacity.h"
#include "broker/service/setpoint.h"
#include "broker/service/supply.h"

struct scaler {
    struct service *service;
    struct setpoint *setpoints; /* each `of` its struct config_workload */
    struct share {
        const struct config_workload *workload;
        struct target target;
        int64_t
            has; /* as last known: a write makes the setpoint's value unknown until it is read */
        int64_t base;    /* replicas that it has or must have, whatever nodes are ready */
        int64_t planned; /* at least 0: `base`, and replicas that have found room since */
    } * shares;          /* as setpoints */
    size_t count;
};

static const struct config_workload *workload_of(const struct setpoint *setpoint)
{
    return setpoint->of;
}

static void tell(const struct setpoint *setpoint, json_t *event)
{
    json_object_set_new(event, "workload", json_text(workload_of(setpoint)->name));
}

static const struct setpoint_kind replicas_kind = { .name = "scale", .tell = tell };

struct scaler *scaler_new(struct service *service)
{
    const struct config *config = service->config;
    struct scaler *scaler = mem_new(sizeof *scaler);
    size_t count = 0;

    for (size_t i = 0; i < config->workload_count; i++)
        count += config->workloads[i].share_count;
    scaler->service = service;
    scaler->setpoints = mem_new_array(count, sizeof *scaler->setpoints);
    scaler->shares = mem_new_array(count, sizeof *scaler->shares);
    for (size_t i = 0; i < config->workload_count; i++) {
        for (size_t k = 0; k < config->workloads[i].share_count; k++) {
            const struct config_workload *workload = &config->workloads[i];
            const struct config_cluster *cluster = workload->shares[k].cluster;
            struct share *share = &scaler->shares[scaler->count];

            share->workload = workload;
            share->has = -1;
            setpoint_init(&scaler->setpoints[scaler->count++],
                          &(struct setpoint){
                              .service = service,
                              .kind = &replicas_kind,
                              .number = side_of(service->runner, cluster)->replicas(workload),
                              .cluster = cluster,
                              .of = workload,
                              .id = text_format("%s@%s", workload->name, cluster->name),
                          });
        }
    }
    return scaler;
}

void scaler_free(struct scaler *scaler)
{
    if (!scaler)
        return;
    for (size_t i = 0; i < scaler->count; i++)
        setpoint_clear(&scaler->setpoints[i]);
    mem_free(scaler->setpoints);
    mem_free(scaler->shares);
    mem_free(scaler);
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct scaler *scaler = context;

    for (size_t i = 0; i < scaler->count; i++)
        if (text_equal(scaler->setpoints[i].id, id))
            return setpoint_load(&scaler->setpoints[i], rev, value, err);
    return 0;
}

int scaler_load(struct scaler *scaler, struct error *err)
{
    return journal_load(scaler->service->world->journal, "scale", load_one, scaler, err);
}

/* Tolerations are often added to pods by a webhook, and a missing replica is worse than a pending
   one: only a node in trouble, or of another controller, is not counted. */
static bool is_welcome(const void *context, const struct node *node)
{
    (void)context;
    return !node_rival(node) && !node_is_in_trouble(node);
}

/* GPUs of the nodes on which replicas can start, in the pools that the schedules share out. */
static int64_t ready_gpus(const struct scaler *scaler, const struct config_cluster *cluster)
{
    const struct config *config = scaler->service->config;
    int64_t gpus = 0;

    for (size_t i = 0; i < config->pool_count; i++)
        if (config->pools[i].cluster == cluster)
            gpus += supply_units(scaler->service, &config->pools[i], NULL, is_welcome, NULL);
    return gpus;
}

/* The replica counts of a cluster that do not depend on nodes: those of the window in force, or
   those that run already for the coming window. */
static int64_t set_bases(struct scaler *scaler, const struct config_cluster *cluster)
{
    struct service *service = scaler->service;
    const struct horizon horizon = survey_horizon(service, service->book, cluster);
    int64_t gpus = 0;

    for (size_t i = 0; i < scaler->count; i++) {
        struct share *share = &scaler->shares[i];
        const struct setpoint *setpoint = &scaler->setpoints[i];

        if (setpoint->cluster != cluster)
            continue;
        share->has = setpoint->value >= 0 ? setpoint->value : share->has;
        share->target = target_replicas(&horizon, share->workload, cluster);
        share->base = share->has < share->target.wanted ? share->has : share->target.wanted;
        if (share->base < share->target.now)
            share->base = share->target.now;
        share->planned = share->base > 0 ? share->base : 0;
        gpus += share->planned * share->workload->gpus;
    }
    return gpus;
}

/* How many replicas that take whole nodes fit. */
static int64_t fit_on_nodes(const struct scaler *scaler, const struct config_cluster *cluster,
                            int64_t gpus)
{
    const struct config *config = scaler->service->config;
    ARRAY(struct capacity_pool) pools = { 0 };
    ARRAY(struct capacity_replicas) replicas = { 0 };
    int64_t found;

    for (size_t i = 0; i < config->pool_count; i++)
        if (config->pools[i].cluster == cluster)
            *array_add(&pools) = (struct capacity_pool){
                supply_nodes(scaler->service, &config->pools[i], is_welcome, NULL),
                config->pools[i].reservation->gpus_per_node,
            };
    for (size_t i = 0; i < scaler->count; i++)
        if (scaler->setpoints[i].cluster == cluster)
            *array_add(&replicas) = (struct capacity_replicas){ scaler->shares[i].workload->gpus,
                                                                scaler->shares[i].planned };

    const struct replica_capacity capacity = { pools.items, pools.count, replicas.items,
                                               replicas.count };

    found = replica_capacity_left(&capacity, gpus);
    array_clear(&pools);
    array_clear(&replicas);
    return found;
}

static bool takes_nodes(const struct scaler *scaler, const struct config_cluster *cluster,
                        const struct config_workload *workload)
{
    const struct config *config = scaler->service->config;

    for (size_t i = 0; i < config->pool_count; i++)
        if (config->pools[i].cluster == cluster &&
            workload->gpus > config->pools[i].reservation->gpus_per_node)
            return true;
    return false;
}

/* How many replicas more fit now. */
static int64_t replicas_that_fit(const struct scaler *scaler, const struct config_cluster *cluster,
                                 const struct config_workload *workload, int64_t free_gpus)
{
    int64_t by_gpus = free_gpus > 0 ? free_gpus / workload->gpus : 0;
    int64_t whole = by_gpus;

    if (by_gpus > 0 && takes_nodes(scaler, cluster, workload))
        whole = fit_on_nodes(scaler, cluster, workload->gpus);
    return whole < by_gpus ? whole : by_gpus;
}

static void advance_cluster(struct scaler *scaler, const struct config_cluster *cluster)
{
    int64_t free_gpus = ready_gpus(scaler, cluster) - set_bases(scaler, cluster);

    for (size_t i = 0; i < scaler->count && !scaler->service->runner->is_broken; i++) {
        struct share *share = &scaler->shares[i];
        int64_t wanted = share->target.wanted;
        int64_t more = wanted - share->base;
        int64_t least = scaler->setpoints[i].number->least;
        int64_t room;

        if (scaler->setpoints[i].cluster != cluster)
            continue;
        room = replicas_that_fit(scaler, cluster, share->workload, free_gpus);
        if (wanted >= 0 && more > room) {
            wanted = share->base + room;
            more = room;
        }
        free_gpus -= wanted >= 0 ? more * share->workload->gpus : 0;
        share->planned += wanted >= 0 ? more : 0;
        setpoint_advance(&scaler->setpoints[i], wanted >= 0 && wanted < least ? least : wanted);
    }
}

void scaler_advance(struct scaler *scaler)
{
    const struct config *config = scaler->service->config;

    for (size_t i = 0; i < config->cluster_count; i++)
        if (config->clusters[i].role == ROLE_PRODUCTION)
            advance_cluster(scaler, &config->clusters[i]);
}

bool scaler_is_settled(const struct scaler *scaler, const struct config_cluster *cluster)
{
    for (size_t i = 0; i < scaler->count; i++)
        if (scaler->setpoints[i].cluster == cluster && !setpoint_is_settled(&scaler->setpoints[i]))
            return false;
    return true;
}

json_t *scaler_describe(const struct scaler *scaler)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < scaler->count; i++) {
        const struct setpoint *setpoint = &scaler->setpoints[i];

        json_array_append_new(
            rows,
            json_make("{ss ss so so sb ss}", "workload", scaler->shares[i].workload->name,
                      "cluster", setpoint->cluster->name, "replicas",
                      setpoint->value < 0 ? json_null() : json_integer((json_int_t)setpoint->value),
                      "wanted_replicas",
                      setpoint->wanted < 0 ? json_null()
                                           : json_integer((json_int_t)setpoint->wanted),
                      "is_contested", (int)setpoint_is_contested(setpoint), "trouble",
                      setpoint->trouble));
    }
    return rows;
}
