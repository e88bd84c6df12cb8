/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything here is integers and order, but for the pressure by which scarce nodes are shared.
 */
#include "windows/allocate_window.h"

#include <string.h>

/* One share of one workload, and what it gets. */
struct slot {
    size_t workload;
    const struct allocate_share *share;
    int replicas;
};

struct layout {
    ARRAY(struct slot) slots; /* in the order of workloads */
    int *nodes;               /* per pool */
    int *needs;               /* per cluster */
};

static void layout_init(struct layout *layout, const struct allocate_model *model)
{
    *layout = (struct layout){
        .nodes = mem_new_array(model->place.pool_count, sizeof *layout->nodes),
        .needs = mem_new_array(model->cluster_count, sizeof *layout->needs),
    };
    for (size_t i = 0; i < model->workload_count; i++)
        for (size_t at = 0; at < model->workloads[i].share_count; at++)
            *array_add(&layout->slots) = (struct slot){ i, &model->workloads[i].shares[at], 0 };
}

static void layout_clear(struct layout *layout)
{
    array_clear(&layout->slots);
    mem_free(layout->nodes);
    mem_free(layout->needs);
}

/* Splits a queue's replicas over all shares of all workloads that serve it. */
static void split_queue(const struct allocate_model *model, struct layout *layout, size_t queue,
                        int replicas)
{
    size_t count = layout->slots.count;
    int *numbers = mem_new_array(3 * count, sizeof *numbers);
    int *weights = numbers;
    int *minimums = numbers + count;
    int *parts = numbers + 2 * count;
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        const struct slot *slot = &layout->slots.items[i];

        if (model->workloads[slot->workload].queue != queue)
            continue;
        weights[found] = slot->share->weight;
        minimums[found++] = slot->share->replica_min;
    }
    place_split(replicas, weights, minimums, found, parts);
    found = 0;
    for (size_t i = 0; i < count; i++)
        if (model->workloads[layout->slots.items[i].workload].queue == queue)
            layout->slots.items[i].replicas = parts[found++];
    mem_free(numbers);
}

static int cluster_need(const struct allocate_model *model, const struct layout *layout,
                        size_t cluster)
{
    int counts[PLACE_GPUS_MAX + 1] = { 0 };
    int floor = model->clusters[cluster].static_nodes;

    for (size_t i = 0; i < layout->slots.count; i++) {
        const struct slot *slot = &layout->slots.items[i];

        if (slot->share->cluster == cluster)
            counts[model->workloads[slot->workload].gpus] += slot->replicas;
    }

    int nodes = place_pack(counts, model->clusters[cluster].gpus_per_node);

    if (nodes > 0)
        nodes += model->repack_nodes;
    return nodes > floor ? nodes : floor;
}

/* Lays out what is granted now; returns the nodes that found no room. */
static int lay_out(const struct window_work *work, struct layout *layout)
{
    const struct allocate_model *model = work->model;

    for (size_t i = 0; i < model->queue_count; i++)
        split_queue(model, layout, i, work->cells[i].granted);
    for (size_t i = 0; i < model->cluster_count; i++)
        layout->needs[i] = cluster_need(model, layout, i);
    return place_nodes(&model->place, layout->needs, model->cluster_count, layout->nodes, NULL);
}

static int least_replicas(const struct allocate_model *model, size_t queue)
{
    int sum = 0;

    for (size_t i = 0; i < model->workload_count; i++)
        for (size_t at = 0;
             model->workloads[i].queue == queue && at < model->workloads[i].share_count; at++)
            sum += model->workloads[i].shares[at].replica_min;
    return sum;
}

static double pressure_of(const struct window_work *work, size_t queue)
{
    const struct replay_target *target = &work->model->queues[queue].target;

    return estimate_pressure(&work->estimates[queue], work->cells[queue].granted,
                             target->percentile / 100, (double)target->wait_ms / SECOND_MS);
}

/* The queue under the most pressure that still wants a replica; queue_count when none does. */
static size_t most_pressed(const struct window_work *work, const int *wanted,
                           const double *pressures)
{
    size_t best = work->model->queue_count;

    for (size_t i = 0; i < work->model->queue_count; i++)
        if (work->cells[i].granted < wanted[i] &&
            (best == work->model->queue_count || pressures[i] > pressures[best]))
            best = i;
    return best;
}

/* One replica at a time to the queue under the most pressure for whose replica there is room. */
static void share_scarce(const struct window_work *work, struct layout *layout)
{
    size_t count = work->model->queue_count;
    int *wanted = mem_new_array(count, sizeof *wanted);
    double *pressures = mem_new_array(count, sizeof *pressures);

    for (size_t i = 0; i < count; i++) {
        wanted[i] = work->cells[i].granted;
        work->cells[i].granted = least_replicas(work->model, i);
        pressures[i] = pressure_of(work, i);
    }
    for (size_t at; (at = most_pressed(work, wanted, pressures)) < count;) {
        work->cells[at].granted++;
        if (lay_out(work, layout) > 0)
            wanted[at] = --work->cells[at].granted; /* no room: never again */
        pressures[at] = pressure_of(work, at);
    }
    mem_free(wanted);
    mem_free(pressures);
}

static void write_nodes(const struct allocate_model *model, const struct layout *layout,
                        struct schedule *schedule)
{
    for (size_t i = 0; i < model->place.pool_count; i++) {
        const struct allocate_pool *pool = &model->pools[i];
        size_t cluster = model->place.pools[i].cluster;
        int counts[SCHEDULE_ZONES_MAX] = { 0 };

        for (size_t j = 0; j < model->place.pool_count; j++)
            if (model->place.pools[j].cluster == cluster &&
                text_equal(model->pools[j].machine, pool->machine) &&
                text_equal(model->pools[j].region, pool->region))
                counts[model->pools[j].zone] += layout->nodes[j];
        schedule_set_nodes(schedule, pool->machine, pool->region, model->clusters[cluster].name,
                           counts, pool->zone_count);
    }
}

int allocate_window(const struct window_work *work, struct schedule *schedule)
{
    const struct allocate_model *model = work->model;
    struct layout layout;

    layout_init(&layout, model);
    for (size_t i = 0; i < model->queue_count; i++) {
        int least = least_replicas(model, i);

        work->cells[i].granted = work->cells[i].search.servers;
        if (work->cells[i].granted < least)
            work->cells[i].granted = least;
    }

    int missing = lay_out(work, &layout);

    if (missing > 0) {
        share_scarce(work, &layout);
        (void)lay_out(work, &layout);
    }
    for (size_t i = 0; i < layout.slots.count; i++) {
        const struct slot *slot = &layout.slots.items[i];

        schedule_set_replicas(schedule, model->workloads[slot->workload].name,
                              model->clusters[slot->share->cluster].name, slot->replicas);
    }
    write_nodes(model, &layout, schedule);
    layout_clear(&layout);
    return missing;
}
