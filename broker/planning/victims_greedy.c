/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cheap next steps: an order of nodes in which gangs go one after the other, and changes of a set
 * that make it better.
 */
#include "base/array.h"
#include "broker/planning/victims_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- an order ---- */

/* A node, or all remaining nodes of a gang, and the price per node. */
struct offer {
    double price;
    bool is_gang;
    size_t index;
};

struct queue {
    struct victim_pick pick;
    bool *is_open; /* per node: to be ordered, and not yet */
    ARRAY(struct offer) heap;
    size_t *out;
    size_t count;
};

static bool is_before(const struct offer *a, const struct offer *b)
{
    if (a->price != b->price)
        return a->price < b->price;
    if (a->is_gang != b->is_gang)
        return a->is_gang;
    return a->index < b->index;
}

static void push(struct queue *queue, struct offer offer)
{
    size_t at = queue->heap.count;

    *array_add(&queue->heap) = offer;
    for (size_t up; at > 0 && is_before(&offer, &queue->heap.items[up = (at - 1) / 2]); at = up)
        queue->heap.items[at] = queue->heap.items[up];
    queue->heap.items[at] = offer;
}

static struct offer pop(struct queue *queue)
{
    require(queue->heap.count > 0);

    struct offer *items = queue->heap.items;
    struct offer top = items[0];
    struct offer last = items[--queue->heap.count];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < queue->heap.count; at = child) {
        if (child + 1 < queue->heap.count && is_before(&items[child + 1], &items[child]))
            child++;
        if (!is_before(&items[child], &last))
            break;
        items[at] = items[child];
    }
    items[at] = last;
    return top;
}

static void offer_node(struct queue *queue, size_t node)
{
    push(queue, (struct offer){ (double)victim_pick_marginal(&queue->pick, node), false, node });
}

static void take(struct queue *queue, size_t node)
{
    const struct victim_model *model = queue->pick.model;
    const struct victim_node *mine = &model->scene->nodes[node];

    require(queue->is_open[node]);
    queue->is_open[node] = false;
    queue->out[queue->count++] = node;
    victim_pick_add(&queue->pick, node);
    for (size_t k = 0; k < mine->gang_count; k++) {
        size_t gang = mine->gangs[k];

        if (queue->pick.hits[gang] != 1 || model->weight[gang] == 0)
            continue;
        for (size_t i = model->gang_from[gang]; i < model->gang_from[gang + 1]; i++)
            if (queue->is_open[model->gang_nodes[i]])
                offer_node(queue, model->gang_nodes[i]);
    }
}

/* The price of all open nodes of the gang together; -1: there are fewer than two. */
static double gang_price(struct queue *queue, size_t gang)
{
    const struct victim_model *model = queue->pick.model;
    int64_t before = queue->pick.lost;
    int64_t lost;
    size_t count = 0;

    for (size_t i = model->gang_from[gang]; i < model->gang_from[gang + 1]; i++) {
        if (!queue->is_open[model->gang_nodes[i]])
            continue;
        victim_pick_add(&queue->pick, model->gang_nodes[i]);
        count++;
    }
    lost = queue->pick.lost - before;
    for (size_t i = model->gang_from[gang]; i < model->gang_from[gang + 1]; i++)
        if (queue->is_open[model->gang_nodes[i]])
            victim_pick_remove(&queue->pick, model->gang_nodes[i]);
    require(queue->pick.lost == before); /* as it was */
    return count < 2 ? -1 : (double)lost / (double)count;
}

static void take_best(struct queue *queue)
{
    const struct victim_model *model = queue->pick.model;
    struct offer offer = pop(queue);

    if (!offer.is_gang) {
        if (queue->is_open[offer.index])
            take(queue, offer.index);
        return;
    }

    double price = gang_price(queue, offer.index);

    if (price < 0)
        return;
    if (price > offer.price) { /* nodes of it went meanwhile */
        offer.price = price;
        push(queue, offer);
        return;
    }
    for (size_t i = model->gang_from[offer.index]; i < model->gang_from[offer.index + 1]; i++)
        if (queue->is_open[model->gang_nodes[i]])
            take(queue, model->gang_nodes[i]);
}

void victims_greedy_order(const struct victim_model *model, size_t *nodes, size_t count)
{
    struct queue queue = { .out = nodes };
    bool *is_offered = mem_new_array(model->scene->gang_count, sizeof *is_offered);

    victim_pick_init(&queue.pick, model);
    queue.is_open = mem_new_array(model->scene->node_count, sizeof *queue.is_open);
    for (size_t i = 0; i < count; i++)
        queue.is_open[nodes[i]] = true;
    for (size_t i = 0; i < count; i++) {
        const struct victim_node *node = &model->scene->nodes[nodes[i]];

        offer_node(&queue, nodes[i]);
        for (size_t k = 0; k < node->gang_count; k++) {
            size_t gang = node->gangs[k];
            double price = is_offered[gang] ? -1 : gang_price(&queue, gang);

            is_offered[gang] = true;
            if (price >= 0)
                push(&queue, (struct offer){ price, true, gang });
        }
    }
    while (queue.count < count)
        take_best(&queue);
    require(queue.count == count && queue.pick.count == count);
    mem_free(is_offered);
    mem_free(queue.is_open);
    array_clear(&queue.heap);
    victim_pick_clear(&queue.pick);
}

/* ---- a better set ---- */

enum {
    IMPROVE_STEPS = 200000
}; /* examinations of a node: a bound, because a plan is made after
      each event */

static bool has_gang(const struct victim_model *model, size_t node, size_t gang)
{
    const struct victim_node *mine = &model->scene->nodes[node];

    for (size_t k = 0; k < mine->gang_count; k++)
        if (mine->gangs[k] == gang)
            return true;
    return false;
}

bool victims_fill(struct victim_pick *pick, size_t count, size_t spared, int64_t *steps)
{
    const struct victim_model *model = pick->model;

    for (; count > 0; count--) {
        size_t best = SIZE_MAX;
        int64_t best_price = INT64_MAX;

        *steps -= (int64_t)model->scene->node_count;
        for (size_t i = 0; i < model->scene->node_count; i++) {
            int64_t price;

            if (pick->taken[i] || has_gang(model, i, spared))
                continue;
            price = victim_pick_marginal(pick, i) + victim_pick_breaks(pick, i);
            if (price < best_price) {
                best = i;
                best_price = price;
            }
        }
        if (best == SIZE_MAX)
            return false;
        victim_pick_add(pick, best);
    }
    return true;
}

static void go_back(struct victim_pick *pick, const bool *before)
{
    for (size_t i = 0; i < pick->model->scene->node_count; i++) {
        if (pick->taken[i] && !before[i])
            victim_pick_remove(pick, i);
        else if (!pick->taken[i] && before[i])
            victim_pick_add(pick, i);
        require(pick->taken[i] == before[i]);
    }
}

/* Spares a gang and takes the cheapest others for its nodes. */
static bool drop_gang(struct victim_pick *pick, size_t gang, bool *before, int64_t *steps)
{
    const struct victim_model *model = pick->model;
    int64_t score = victim_pick_score(pick);
    size_t count = 0;

    *steps -= (int64_t)model->scene->node_count;
    memcpy(before, pick->taken, model->scene->node_count * sizeof *before);
    for (size_t i = model->gang_from[gang]; i < model->gang_from[gang + 1]; i++) {
        if (!pick->taken[model->gang_nodes[i]])
            continue;
        victim_pick_remove(pick, model->gang_nodes[i]);
        count++;
    }
    if (victims_fill(pick, count, gang, steps) && victim_pick_score(pick) < score)
        return true;
    go_back(pick, before);
    return false;
}

static bool drop_gangs(struct victim_pick *pick, bool *before, int64_t *steps)
{
    bool is_better = false;

    for (size_t g = 0; g<pick->model->scene->gang_count && * steps> 0; g++)
        if (pick->hits[g] > 0 && pick->model->weight[g] > 0)
            is_better = drop_gang(pick, g, before, steps) || is_better;
    return is_better;
}

/* Swaps a node for another if this leaves fewer blocks broken or loses less. */
static bool swap_node(struct victim_pick *pick, size_t node, int64_t *steps)
{
    int64_t score = victim_pick_score(pick);
    size_t best = node;
    int64_t best_price = INT64_MAX;

    require(pick->taken[node]);
    victim_pick_remove(pick, node);
    *steps -= (int64_t)pick->model->scene->node_count;
    for (size_t i = 0; i < pick->model->scene->node_count; i++) {
        int64_t price = pick->taken[i] || i == node
                            ? INT64_MAX
                            : victim_pick_marginal(pick, i) + victim_pick_breaks(pick, i);

        if (price < best_price) {
            best = i;
            best_price = price;
        }
    }
    if (best == node || victim_pick_score(pick) + best_price >= score) {
        victim_pick_add(pick, node);
        return false;
    }
    victim_pick_add(pick, best);
    return true;
}

static bool swap_nodes(struct victim_pick *pick, int64_t *steps)
{
    bool is_better = false;

    for (size_t i = 0; i<pick->model->scene->node_count && * steps> 0; i++)
        if (pick->taken[i] && pick->broken > 0)
            is_better = swap_node(pick, i, steps) || is_better;
    return is_better;
}

void victims_improve(struct victim_pick *pick)
{
    int64_t steps = IMPROVE_STEPS;
    bool *before = mem_new_array(pick->model->scene->node_count, sizeof *before);
    bool is_better = true;
    int64_t score = victim_pick_score(pick);
    size_t count = pick->count;

    while (is_better && steps > 0) {
        is_better = drop_gangs(pick, before, &steps);
        is_better = swap_nodes(pick, &steps) || is_better;
    }
    require(pick->count == count && victim_pick_score(pick) <= score);
    mem_free(before);
}
