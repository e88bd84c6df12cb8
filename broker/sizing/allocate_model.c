/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names become indices here: production clusters, queues that a workload serves, reservations.
 * What research pools keep (their static nodes) is taken out of the reservations first.
 */
#include "broker/sizing/allocate_model.h"

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
    struct wall_time until; /* the end of the time that is planned for */
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

/* Requests per second over the known part of the days that are planned from. */
static double mean_rate(const struct demand_series *series, const struct allocate_model *model)
{
    double requests = 0;
    double seconds = 0;

    for (size_t i = 0; i < series->count; i++) {
        int64_t at = demand_time(series, i).ms;

        if (at < model->from.ms || at >= model->to.ms || !demand_is_known(series, i))
            continue;
        requests += demand_at(series, DEMAND_HIGH, i) + (double)demand_at(series, DEMAND_LOW, i);
        seconds += (double)series->step_ms / SECOND_MS;
    }
    return seconds > 0 ? requests / seconds : 0;
}

static bool is_queue_or_workload(const struct model *model, const struct allocate_queue *queue,
                                 const char *name)
{
    if (text_equal(queue->name, name))
        return true;
    for (size_t i = 0; i < model->model.workload_count; i++)
        if (text_equal(model->tables.workloads[i].name, name) &&
            &model->tables.queues[model->tables.workloads[i].queue] == queue)
            return true;
    return false;
}

/* NULL: the option names none. */
static struct allocate_queue *find_queue(const struct model *model, const char *option,
                                         const char *name, struct error *err)
{
    for (size_t at = 0; at < model->model.queue_count; at++)
        if (is_queue_or_workload(model, &model->tables.queues[at], name))
            return &model->tables.queues[at];
    error_set(err, ERROR_INVALID, "--%s: there is no queue or workload \"%s\"", option, name);
    return NULL;
}

static int set_waiting(struct model *model, const struct allocate_model_options *options,
                       struct error *err)
{
    for (size_t i = 0; i < options->waiting.list.count; i++) {
        const struct allocate_amount *waiting = &options->waiting.list.items[i];
        struct allocate_queue *queue = find_queue(model, "waiting", waiting->name, err);

        if (!queue)
            return -1;
        queue->waiting += waiting->value;
    }
    return 0;
}

static int set_rates(struct model *model, const struct allocate_model_options *options,
                     struct error *err)
{
    for (size_t i = 0; i < options->rates.list.count; i++) {
        const struct allocate_amount *rate = &options->rates.list.items[i];
        struct allocate_queue *queue = find_queue(model, "rate", rate->name, err);

        if (!queue)
            return -1;

        double mean = mean_rate(queue->demand, &model->model);

        require(mean >= 0);

        if (!(mean > 0))
            return error_set(err, ERROR_INVALID,
                             "--rate %s: nothing arrives on these days, so there is no shape to "
                             "give the rate to",
                             rate->name);
        queue->scale *= rate->value / mean;
    }
    return 0;
}

static bool is_left_out(const struct config_workload *workload,
                        const struct allocate_model_options *options)
{
    return text_equal(workload->name, options->without);
}

static int add_queues(struct model *model, const struct config *config, const struct demand *demand,
                      const struct allocate_model_options *options, struct error *err)
{
    model->tables.queues = mem_new_array(config->workload_count, sizeof *model->tables.queues);
    for (size_t i = 0; i < config->workload_count; i++) {
        const struct config_queue *queue = config->workloads[i].queue;

        if (queue_index(model, queue->name) < model->model.queue_count ||
            is_left_out(&config->workloads[i], options))
            continue;

        struct allocate_queue *item = &model->tables.queues[model->model.queue_count++];

        require(model->model.queue_count <= config->workload_count); /* one of each workload */
        *item = (struct allocate_queue){
            .name = queue->name,
            .demand = demand_need(demand, queue->name, err),
            .target = config_target(queue, options->percentile),
            .service_s = (double)queue->service_ms / SECOND_MS,
            .service_cv = queue->service_cv,
            .shape = queue->service,
            .scale = queue->scale_up * options->scale,
            .is_each_day = text_equal(options->slo ? options->slo : queue->slo, "each-day"),
            .survives_node = options->loses_node,
            .survives_zone = options->loses_zone,
        };
        if (!item->demand)
            return error_context(err, "workload %s", config->workloads[i].name);
    }
    return 0;
}

static int add_workloads(struct model *model, const struct config *config,
                         const struct allocate_model_options *options, struct error *err)
{
    model->tables.workloads = mem_new_array(config->workload_count,
                                            sizeof *model->tables.workloads);
    for (size_t i = 0; i < config->workload_count; i++) {
        const struct config_workload *workload = &config->workloads[i];

        if (is_left_out(workload, options))
            continue;

        struct allocate_share *shares = mem_new_array(workload->share_count, sizeof *shares);

        model->tables.workloads[model->model.workload_count++] = (struct allocate_workload){
            .name = workload->name,
            .queue = queue_index(model, workload->queue->name),
            .gpus = (int)workload->gpus,
            .shares = shares,
            .share_count = workload->share_count,
        };

        size_t served = queue_index(model, workload->queue->name);
        struct allocate_queue *queue = &model->tables.queues[served];

        require(served < model->model.queue_count);

        queue->survives_node = queue->survives_node || workload->headroom.node;
        queue->survives_zone = queue->survives_zone || workload->headroom.zone;
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

/* Neither its nodes nor the static ones among them are there. */
static bool is_gone(const struct model *model, const struct config_reservation *reservation,
                    const char *lost_zone)
{
    return text_equal(reservation->zone, lost_zone) ||
           !config_reservation_lasts(reservation, model->until);
}

static int add_pool(struct model *model, const struct config *config,
                    const struct config_pool *pool, const char *lost_zone, struct error *err)
{
    const struct config_reservation *reservation = pool->reservation;
    size_t at = model->model.place.pool_count++;
    size_t cluster = cluster_index(model, pool->cluster->name);
    struct allocate_cluster *production = &model->tables.clusters[cluster];
    size_t zones = zone_count(config, reservation);
    int64_t cap = model->tables.reservation_nodes[reservation - config->reservations];
    bool is_lost = is_gone(model, reservation, lost_zone);
    int64_t floor = is_lost ? 0 : pool->static_nodes;

    require(cluster < model->model.cluster_count && cap >= 0);
    require(reservation->zone_index < zones);
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
    production->static_nodes += (int)floor;
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
        .floor = (int)floor,
        .cap = (int)cap,
    };
    return 0;
}

/* The nodes of each reservation, with the changes of the options.  A schedule may not count on
   machines that end before or in the time that it is for. */
static int set_reservations(struct model *model, const struct config *config,
                            const struct allocate_model_options *options, struct error *err)
{
    int *nodes = mem_new_array(config->reservation_count, sizeof *nodes);
    bool is_zone_known = !options->lost_zone;

    model->tables.reservation_nodes = nodes;
    model->until = window_used_until(config->windows, model->model.to, options->window);
    model->model.place.reservation_count = config->reservation_count;
    for (size_t i = 0; i < config->reservation_count; i++)
        nodes[i] = (int)config->reservations[i].nodes;
    for (size_t i = 0; i < options->reservation_count; i++) {
        const struct allocate_reservation *change = &options->reservations[i];
        size_t at = 0;

        while (at < config->reservation_count &&
               !text_equal(config->reservations[at].name, change->name))
            at++;
        if (at == config->reservation_count)
            return error_set(err, ERROR_INVALID, "--reservation: there is no reservation \"%s\"",
                             change->name);
        if ((change->is_change ? nodes[at] : 0) + change->nodes < 0)
            return error_set(err, ERROR_INVALID, "--reservation: %s has %d nodes", change->name,
                             nodes[at]);
        nodes[at] = (int)((change->is_change ? nodes[at] : 0) + change->nodes);
    }
    for (size_t i = 0; i < config->reservation_count; i++)
        if (is_gone(model, &config->reservations[i], options->lost_zone)) {
            nodes[i] = 0;
            is_zone_known |= text_equal(config->reservations[i].zone, options->lost_zone);
        }
    return is_zone_known
               ? 0
               : error_set(err, ERROR_INVALID, "--lose-zone: no reservation is in a zone \"%s\"",
                           options->lost_zone);
}

/* The floors of a reservation that has lost nodes may be all it has. */
static int check_floors(const struct model *model, const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->reservation_count; i++) {
        int left = model->tables.reservation_nodes[i];

        for (size_t at = 0; at < model->model.place.pool_count; at++)
            if (model->tables.place_pools[at].reservation == i)
                left -= model->tables.place_pools[at].floor;
        if (left < 0)
            return error_set(err, ERROR_INVALID,
                             "--reservation: %s has %d static nodes more than that",
                             config->reservations[i].name, -left);
    }
    return 0;
}

static int add_pools(struct model *model, const struct config *config,
                     const struct allocate_model_options *options, struct error *err)
{
    model->tables.pools = mem_new_array(config->pool_count, sizeof *model->tables.pools);
    model->tables.place_pools = mem_new_array(config->pool_count,
                                              sizeof *model->tables.place_pools);
    for (size_t i = 0; i < config->pool_count; i++)
        if (config->pools[i].cluster->role == ROLE_PRODUCTION &&
            add_pool(model, config, &config->pools[i], options->lost_zone, err) < 0)
            return -1;
    for (size_t i = 0; i < config->pool_count; i++) {
        const struct config_pool *pool = &config->pools[i];

        if (pool->cluster->role != ROLE_PRODUCTION &&
            !is_gone(model, pool->reservation, options->lost_zone))
            model->tables.reservation_nodes[pool->reservation - config->reservations] -=
                (int)pool->static_nodes;
    }
    return check_floors(model, config, err);
}

static int set_window(struct allocate_model *model, const struct allocate_model_options *options,
                      struct error *err)
{
    const struct window *window = options->window ? window_find(model->windows, options->window)
                                                  : NULL;

    if (!options->window)
        return 0;
    if (!window)
        return window_refuse(model->windows, options->window, err);
    model->window_first = (size_t)(window - model->windows->items);
    model->window_end = model->window_first + 1;
    return 0;
}

static int check_workload(const struct model *model, const struct config *config,
                          const char *without, struct error *err)
{
    if (!without)
        return 0;
    if (model->model.workload_count == config->workload_count)
        return error_set(err, ERROR_INVALID, "--without: there is no workload \"%s\"", without);
    if (model->model.workload_count == 0)
        return error_set(err, ERROR_INVALID, "--without: %s is the only workload", without);
    return 0;
}

/* A replica fits on a machine of every cluster that runs it, or takes whole ones of a pool there.
 */
static int check_size(const struct allocate_workload *workload,
                      const struct allocate_cluster *cluster, struct error *err)
{
    bool is_large = workload->gpus > cluster->gpus_per_node;

    if (is_large && workload->gpus % cluster->gpus_per_node != 0)
        return error_set(err, ERROR_INVALID,
                         "workload %s: %d GPUs a replica, but the nodes of cluster %s have %d",
                         workload->name, workload->gpus, cluster->name, cluster->gpus_per_node);
    return 0;
}

/* The nodes that the cluster's replicas fill together. */
static int group_of(const struct model *model, size_t cluster)
{
    int gpus_per_node = model->tables.clusters[cluster].gpus_per_node;
    int group = 1;

    for (size_t i = 0; i < model->model.workload_count; i++)
        for (size_t at = 0; at < model->tables.workloads[i].share_count; at++)
            if (model->tables.workloads[i].shares[at].cluster == cluster)
                group = place_group(group, model->tables.workloads[i].gpus, gpus_per_node);
    return group;
}

static int set_groups(const struct model *model, struct error *err)
{
    for (size_t i = 0; i < model->model.workload_count; i++) {
        const struct allocate_workload *workload = &model->tables.workloads[i];

        for (size_t at = 0; at < workload->share_count; at++)
            if (check_size(workload, &model->tables.clusters[workload->shares[at].cluster], err) <
                0)
                return -1;
    }
    for (size_t i = 0; i < model->model.place.pool_count; i++)
        model->tables.place_pools[i].group = group_of(model, model->tables.place_pools[i].cluster);
    return 0;
}

struct allocate_model *allocate_model_new(const struct config *config, const struct demand *demand,
                                          const struct allocate_model_options *options,
                                          struct error *err)
{
    struct model *model = mem_new(sizeof *model);
    owned(allocate_model) struct allocate_model *result = &model->model;

    require(options->days > 0 && options->seeds > 0 && options->threads > 0);
    result->windows = config->windows;
    result->from = segments_days_before(config->windows->zone, demand->end, (int)options->days);
    result->to = demand->end;
    result->repack_nodes = (int)config->repack_nodes;
    result->seeds = options->seeds;
    result->threads = options->threads;
    result->seed = options->seed;
    result->is_estimate = options->is_estimate;
    result->is_saturated = options->is_saturated;
    add_clusters(model, config);
    if (add_queues(model, config, demand, options, err) < 0 ||
        add_workloads(model, config, options, err) < 0 ||
        check_workload(model, config, options->without, err) < 0 ||
        set_rates(model, options, err) < 0 || set_waiting(model, options, err) < 0 ||
        set_reservations(model, config, options, err) < 0 ||
        add_pools(model, config, options, err) < 0 || set_groups(model, err) < 0 ||
        set_window(result, options, err) < 0)
        return NULL;
    require(result->from.ms < result->to.ms && result->queue_count <= result->workload_count);
    result->queues = model->tables.queues;
    result->clusters = model->tables.clusters;
    result->workloads = model->tables.workloads;
    result->pools = model->tables.pools;
    result->place.pools = model->tables.place_pools;
    result->place.reservation_nodes = model->tables.reservation_nodes;
    return steal(&result);
}
