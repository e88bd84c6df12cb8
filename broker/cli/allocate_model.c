/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names become indices here: production clusters, queues that a workload serves, reservations.
 * What research pools keep (their static nodes) is taken out of the reservations first.
 */
#include "broker/cli/allocate_model.h"

#include "base/text.h"

#include <inttypes.h>

/* The model owns its tables; through these they can be written. */
struct tables {
    struct allocate_queue *queues;
    struct allocate_cluster *clusters;
    struct allocate_workload *workloads;
    struct allocate_pool *pools;
    struct place_pool *place_pools;
    int *reservation_nodes;
};

struct model {
    struct allocate_model model; /* first: the caller's pointer is this one */
    struct tables tables;
};

void allocate_model_free(struct allocate_model *model)
{
    if (!model)
        return;

    struct tables *tables = &((struct model *)model)->tables;

    for (size_t i = 0; i < model->workload_count; i++)
        mem_free((void *)(uintptr_t)tables->workloads[i].shares);
    mem_free(tables->queues);
    mem_free(tables->clusters);
    mem_free(tables->workloads);
    mem_free(tables->pools);
    mem_free(tables->place_pools);
    mem_free(tables->reservation_nodes);
    mem_free(model);
}

static size_t cluster_index(const struct model *model, const char *name)
{
    size_t at = 0;

    while (at < model->model.cluster_count && !text_equal(model->tables.clusters[at].name, name))
        at++;
    return at;
}

static size_t queue_index(const struct model *model, const char *name)
{
    size_t at = 0;

    while (at < model->model.queue_count && !text_equal(model->tables.queues[at].name, name))
        at++;
    return at;
}

static void add_clusters(struct model *model, const struct config *config)
{
    model->tables.clusters = mem_new_array(config->cluster_count, sizeof *model->tables.clusters);
    for (size_t i = 0; i < config->cluster_count; i++)
        if (config->clusters[i].role == ROLE_PRODUCTION)
            model->tables.clusters[model->model.cluster_count++].name = config->clusters[i].name;
}

static int add_queues(struct model *model, const struct config *config, const struct demand *demand,
                      const struct allocate_model_options *options, struct error *err)
{
    model->tables.queues = mem_new_array(config->workload_count, sizeof *model->tables.queues);
    for (size_t i = 0; i < config->workload_count; i++) {
        const struct config_queue *queue = config->workloads[i].queue;

        if (queue_index(model, queue->name) < model->model.queue_count)
            continue;

        struct allocate_queue *item = &model->tables.queues[model->model.queue_count++];

        *item = (struct allocate_queue){
            .name = queue->name,
            .demand = demand_find(demand, queue->name),
            .target = { queue->wait_target_ms,
                        options->percentile > 0 ? options->percentile : queue->percentile },
            .service_s = (double)queue->service_ms / SECOND_MS,
            .service_cv = queue->service_cv,
            .scale = queue->scale_up * options->scale,
        };
        if (!item->demand)
            return error_set(err, ERROR_INVALID,
                             "queue %s: the demand has no rows for it, and workload %s serves it",
                             queue->name, config->workloads[i].name);
    }
    return 0;
}

static int add_workloads(struct model *model, const struct config *config, struct error *err)
{
    model->tables.workloads = mem_new_array(config->workload_count,
                                            sizeof *model->tables.workloads);
    for (size_t i = 0; i < config->workload_count; i++) {
        const struct config_workload *workload = &config->workloads[i];
        struct allocate_share *shares = mem_new_array(workload->share_count, sizeof *shares);

        model->tables.workloads[model->model.workload_count++] = (struct allocate_workload){
            .name = workload->name,
            .queue = queue_index(model, workload->queue->name),
            .gpus = (int)workload->gpus,
            .shares = shares,
            .share_count = workload->share_count,
        };
        for (size_t at = 0; at < workload->share_count; at++) {
            const struct config_share *share = &workload->shares[at];

            shares[at] = (struct allocate_share){
                .cluster = cluster_index(model, share->cluster->name),
                .weight = (int)share->weight,
                .replica_min = (int)share->replica_min,
            };
            if (shares[at].cluster == model->model.cluster_count)
                return error_set(err, ERROR_INVALID, "workload %s: cluster %s is not of production",
                                 workload->name, share->cluster->name);
        }
    }
    return 0;
}

/* Zones of a reservation's machine and region. */
static size_t zone_count(const struct config *config, const struct config_reservation *of)
{
    size_t count = 0;

    for (size_t i = 0; i < config->reservation_count; i++) {
        const struct config_reservation *item = &config->reservations[i];

        if (text_equal(item->machine, of->machine) && text_equal(item->region, of->region) &&
            item->zone_index >= count)
            count = item->zone_index + 1;
    }
    return count;
}

static int add_pool(struct model *model, const struct config *config,
                    const struct config_pool *pool, struct error *err)
{
    const struct config_reservation *reservation = pool->reservation;
    size_t at = model->model.place.pool_count++;
    size_t cluster = cluster_index(model, pool->cluster->name);
    struct allocate_cluster *production = &model->tables.clusters[cluster];
    size_t zones = zone_count(config, reservation);
    int64_t cap = reservation->nodes;

    if (pool->node_max > 0 && pool->node_max < cap)
        cap = pool->node_max;
    if (zones > SCHEDULE_ZONES_MAX)
        return error_set(err, ERROR_INVALID, "%s in %s: more than %d zones", reservation->machine,
                         reservation->region, SCHEDULE_ZONES_MAX);
    if (reservation->gpus_per_node > PLACE_GPUS_MAX ||
        (production->gpus_per_node != 0 && production->gpus_per_node != reservation->gpus_per_node))
        return error_set(err, ERROR_INVALID,
                         "cluster %s: its pools have machines with different numbers of GPUs, "
                         "which allocate cannot share out",
                         production->name);
    production->gpus_per_node = (int)reservation->gpus_per_node;
    production->static_nodes += (int)pool->static_nodes;
    model->tables.pools[at] = (struct allocate_pool){
        .machine = reservation->machine,
        .region = reservation->region,
        .zone_name = reservation->zone,
        .zone = reservation->zone_index,
        .zone_count = zones,
    };
    model->tables.place_pools[at] = (struct place_pool){
        .cluster = cluster,
        .reservation = (size_t)(reservation - config->reservations),
        .floor = (int)pool->static_nodes,
        .cap = (int)cap,
    };
    return 0;
}

static int add_pools(struct model *model, const struct config *config, struct error *err)
{
    model->tables.pools = mem_new_array(config->pool_count, sizeof *model->tables.pools);
    model->tables.place_pools = mem_new_array(config->pool_count,
                                              sizeof *model->tables.place_pools);
    model->tables.reservation_nodes = mem_new_array(config->reservation_count,
                                                    sizeof *model->tables.reservation_nodes);
    model->model.place.reservation_count = config->reservation_count;
    for (size_t i = 0; i < config->reservation_count; i++)
        model->tables.reservation_nodes[i] = (int)config->reservations[i].nodes;
    for (size_t i = 0; i < config->pool_count; i++) {
        const struct config_pool *pool = &config->pools[i];

        if (pool->cluster->role != ROLE_PRODUCTION)
            model->tables.reservation_nodes[pool->reservation - config->reservations] -=
                (int)pool->static_nodes;
        else if (add_pool(model, config, pool, err) < 0)
            return -1;
    }
    return 0;
}

/* A replica must fit on a machine of every cluster that runs it. */
static int check_sizes(const struct model *model, struct error *err)
{
    for (size_t i = 0; i < model->model.workload_count; i++) {
        const struct allocate_workload *workload = &model->tables.workloads[i];

        for (size_t at = 0; at < workload->share_count; at++) {
            const struct allocate_cluster *cluster =
                &model->tables.clusters[workload->shares[at].cluster];

            if (workload->gpus > cluster->gpus_per_node)
                return error_set(err, ERROR_INVALID,
                                 "workload %s: %d GPUs a replica, but the nodes of cluster %s have "
                                 "%d",
                                 workload->name, workload->gpus, cluster->name,
                                 cluster->gpus_per_node);
        }
    }
    return 0;
}

struct allocate_model *allocate_model_new(const struct config *config, const struct demand *demand,
                                          const struct allocate_model_options *options,
                                          struct error *err)
{
    struct model *model = mem_new(sizeof *model);
    owned(allocate_model) struct allocate_model *result = &model->model;

    result->windows = config->windows;
    result->from = segments_days_before(config->windows->zone, demand->end, (int)options->days);
    result->to = demand->end;
    result->repack_nodes = (int)config->repack_nodes;
    result->seeds = options->seeds;
    result->threads = options->threads;
    result->seed = options->seed;
    add_clusters(model, config);
    if (add_queues(model, config, demand, options, err) < 0 ||
        add_workloads(model, config, err) < 0 || add_pools(model, config, err) < 0 ||
        check_sizes(model, err) < 0)
        return NULL;
    result->queues = model->tables.queues;
    result->clusters = model->tables.clusters;
    result->workloads = model->tables.workloads;
    result->pools = model->tables.pools;
    result->place.pools = model->tables.place_pools;
    result->place.reservation_nodes = model->tables.reservation_nodes;
    return steal(&result);
}
