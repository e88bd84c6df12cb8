/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything here is integers and order: the same model gives the same layout everywhere.
 */
#include "windows/allocation/layout.h"

#include "base/text.h"

#include <string.h>

void layout_init(struct layout *layout, const struct allocate_model *model)
{
    *layout = (struct layout){
        .model = model,
        .needs = mem_new_array(model->cluster_count, sizeof *layout->needs),
        .nodes = mem_new_array(model->place.pool_count, sizeof *layout->nodes),
        .trial = mem_new_array(model->place.pool_count, sizeof *layout->trial),
    };
    for (size_t i = 0; i < model->workload_count; i++)
        for (size_t at = 0; at < model->workloads[i].share_count; at++)
            *array_add(&layout->slots) = (struct layout_slot){ i, &model->workloads[i].shares[at],
                                                               0 };
}

void layout_clear(struct layout *layout)
{
    array_clear(&layout->slots);
    mem_free(layout->needs);
    mem_free(layout->nodes);
    mem_free(layout->trial);
}

static bool serves(const struct layout *layout, const struct layout_slot *slot, size_t queue)
{
    return layout->model->workloads[slot->workload].queue == queue;
}

void layout_split(struct layout *layout, size_t queue, int replicas)
{
    size_t count = layout->slots.count;
    int *numbers = mem_new_array(3 * count, sizeof *numbers);
    int *weights = numbers;
    int *minimums = numbers + count;
    int *parts = numbers + 2 * count;
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        const struct layout_slot *slot = &layout->slots.items[i];

        if (!serves(layout, slot, queue))
            continue;
        weights[found] = slot->share->weight;
        minimums[found++] = slot->share->replica_min;
    }
    place_split(replicas, weights, minimums, found, parts);
    found = 0;
    for (size_t i = 0; i < count; i++)
        if (serves(layout, &layout->slots.items[i], queue))
            layout->slots.items[i].replicas = parts[found++];
    mem_free(numbers);
}

/* The group size of the cluster's pools: nodes that only serve together. */
static int group_of(const struct allocate_model *model, size_t cluster)
{
    int group = 1;

    for (size_t i = 0; i < model->place.pool_count; i++)
        if (model->place.pools[i].cluster == cluster && model->place.pools[i].group > group)
            group = model->place.pools[i].group;
    return group;
}

static struct allocate_need cluster_need(const struct layout *layout, size_t cluster)
{
    const struct allocate_model *model = layout->model;
    int counts[PLACE_GPUS_MAX + 1] = { 0 };
    struct allocate_need need = { .floor = model->clusters[cluster].static_nodes,
                                  .group = group_of(model, cluster) };

    for (size_t i = 0; i < layout->slots.count; i++) {
        const struct layout_slot *slot = &layout->slots.items[i];
        int gpus = model->workloads[slot->workload].gpus;

        if (slot->share->cluster != cluster)
            continue;
        counts[gpus] += slot->replicas;
        need.gpus += gpus * slot->replicas;
    }
    need.packed = place_pack(counts, model->clusters[cluster].gpus_per_node);
    need.repack = need.packed > 0 ? model->repack_nodes : 0;
    need.nodes = need.packed + need.repack;
    need.rest = (need.group - need.nodes % need.group) % need.group;
    need.nodes += need.rest;
    need.placed = need.nodes;
    if (need.nodes < need.floor)
        need.nodes = need.floor;
    return need;
}

/* Tries to place all nodes, into layout->trial. */
static int try_place(struct layout *layout)
{
    const struct allocate_model *model = layout->model;
    int *wanted = mem_new_array(model->cluster_count, sizeof *wanted);

    for (size_t i = 0; i < model->cluster_count; i++)
        wanted[i] = layout->needs[i].placed;

    int missing = place_nodes(&model->place, wanted, model->cluster_count, layout->trial, NULL);

    mem_free(wanted);
    return missing;
}

static void take_trial(struct layout *layout)
{
    memcpy(layout->nodes, layout->trial, layout->model->place.pool_count * sizeof *layout->nodes);
}

int layout_place(struct layout *layout)
{
    for (size_t i = 0; i < layout->model->cluster_count; i++)
        layout->needs[i] = cluster_need(layout, i);

    int missing = try_place(layout);

    take_trial(layout);
    return missing;
}

static bool add_to(struct layout *layout, struct layout_slot *slot)
{
    size_t cluster = slot->share->cluster;
    struct allocate_need before = layout->needs[cluster];

    slot->replicas++;
    layout->needs[cluster] = cluster_need(layout, cluster);
    if (layout->needs[cluster].placed == before.placed)
        return true;
    if (try_place(layout) == 0) {
        take_trial(layout);
        return true;
    }
    slot->replicas--;
    layout->needs[cluster] = before;
    return false;
}

/* The slot of the queue that is furthest below its weight and not tried yet. */
static size_t next_slot(const struct layout *layout, size_t queue, const bool *is_tried)
{
    size_t best = layout->slots.count;
    int64_t weights = 0;
    int64_t lack_best = 0;
    int64_t total = layout_replicas(layout, queue) + 1;

    for (size_t i = 0; i < layout->slots.count; i++)
        if (serves(layout, &layout->slots.items[i], queue))
            weights += layout->slots.items[i].share->weight;
    for (size_t i = 0; i < layout->slots.count; i++) {
        const struct layout_slot *slot = &layout->slots.items[i];
        int64_t lack = slot->share->weight * total - slot->replicas * weights;

        if (is_tried[i] || !serves(layout, slot, queue))
            continue;
        if (best == layout->slots.count || lack > lack_best) {
            best = i;
            lack_best = lack;
        }
    }
    return best;
}

bool layout_add(struct layout *layout, size_t queue)
{
    bool *is_tried = mem_new_array(layout->slots.count, sizeof *is_tried);
    bool is_added = false;

    for (size_t at; !is_added && (at = next_slot(layout, queue, is_tried)) < layout->slots.count;) {
        is_tried[at] = true;
        is_added = add_to(layout, &layout->slots.items[at]);
    }
    mem_free(is_tried);
    return is_added;
}

int layout_replicas(const struct layout *layout, size_t queue)
{
    int sum = 0;

    for (size_t i = 0; i < layout->slots.count; i++)
        if (serves(layout, &layout->slots.items[i], queue))
            sum += layout->slots.items[i].replicas;
    return sum;
}

/* Whether the cluster has replicas of the queue that are larger than a node. */
static bool has_large(const struct layout *layout, size_t queue, size_t cluster)
{
    for (size_t i = 0; i < layout->slots.count; i++) {
        const struct layout_slot *slot = &layout->slots.items[i];

        if (slot->share->cluster == cluster && serves(layout, slot, queue) && slot->replicas > 0 &&
            layout->model->workloads[slot->workload].gpus >
                layout->model->clusters[cluster].gpus_per_node)
            return true;
    }
    return false;
}

/* How many of the queue's replicas the fullest node of the cluster can hold; or one, if they are
   larger than a node. */
static int most_on_node(const struct layout *layout, size_t queue, size_t cluster)
{
    int left = layout->model->clusters[cluster].gpus_per_node;
    int lost = has_large(layout, queue, cluster);
    int small = 0;

    for (int gpus = 1; gpus <= left; gpus++)
        for (size_t i = 0; i < layout->slots.count; i++) {
            const struct layout_slot *slot = &layout->slots.items[i];

            if (slot->share->cluster != cluster || !serves(layout, slot, queue) ||
                layout->model->workloads[slot->workload].gpus != gpus)
                continue;

            int fit = slot->replicas < left / gpus ? slot->replicas : left / gpus;

            small += fit;
            left -= fit * gpus;
        }
    return small > lost ? small : lost;
}

int layout_lost_with_node(const struct layout *layout, size_t queue)
{
    int worst = 0;

    for (size_t i = 0; i < layout->model->cluster_count; i++) {
        int lost = most_on_node(layout, queue, i);

        worst = lost > worst ? lost : worst;
    }
    return worst;
}

static bool is_same_zone(const struct allocate_pool *left, const struct allocate_pool *right)
{
    return text_equal(left->region, right->region) && text_equal(left->zone_name, right->zone_name);
}

struct spread { /* of a cluster's nodes */
    int64_t all;
    int64_t gone; /* in the zone of one pool */
};

static struct spread spread_of(const struct layout *layout, size_t cluster, size_t zone)
{
    const struct allocate_model *model = layout->model;
    struct spread spread = { 0 };

    for (size_t i = 0; i < model->place.pool_count; i++) {
        if (model->place.pools[i].cluster != cluster)
            continue;
        spread.all += layout->nodes[i];
        if (is_same_zone(&model->pools[i], &model->pools[zone]))
            spread.gone += layout->nodes[i];
    }
    return spread;
}

int layout_lost_with_zone(const struct layout *layout, size_t queue)
{
    int64_t worst = 0;

    for (size_t zone = 0; zone < layout->model->place.pool_count; zone++) {
        int64_t lost = 0;

        for (size_t i = 0; i < layout->slots.count; i++) {
            const struct layout_slot *slot = &layout->slots.items[i];

            if (!serves(layout, slot, queue) || slot->replicas == 0)
                continue;

            struct spread spread = spread_of(layout, slot->share->cluster, zone);

            if (spread.all > 0)
                lost += (slot->replicas * spread.gone + spread.all - 1) / spread.all;
        }
        worst = lost > worst ? lost : worst;
    }
    return (int)worst;
}

bool layout_is_in_one_zone(const struct layout *layout, size_t queue)
{
    for (size_t zone = 0; zone < layout->model->place.pool_count; zone++) {
        bool is_all = true;

        for (size_t i = 0; i < layout->slots.count && is_all; i++) {
            const struct layout_slot *slot = &layout->slots.items[i];

            if (!serves(layout, slot, queue))
                continue;

            struct spread spread = spread_of(layout, slot->share->cluster, zone);

            is_all = spread.gone == spread.all;
        }
        if (is_all)
            return true;
    }
    return false;
}
