/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Paths: dynamic programming over (slot, nodes).  The best predecessor of n is either the best of
 * those with at most n nodes or the best of those with at least n, two running minima.
 *
 * Groups: the cost is a sum over levels 1 .. nodes_max of a cost of the set of groups that have the
 * level, so each level is a minimum cut of its own; the smallest of the best sets are nested, since
 * the sets that a need forces are.
 */
#include "windows/backtest/moves.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The most or the fewest nodes that a number stands for. */
static double end_of(const struct moves_cost *cost, int n, bool is_most)
{
    if (!cost->levels || n == 0)
        return n;
    return is_most ? cost->levels[n] : cost->levels[n - 1] + 1;
}

/* Whoever stays with a number may yet move among the nodes that it stands for, if that gains. */
static double stay_of(const struct moves_cost *cost, int n)
{
    double span = end_of(cost, n, true) - end_of(cost, n, false);

    return span * fmin(0, fmin(cost->up_h, cost->down_h));
}

/* One slot further: least[n] becomes the least cost of a path that ends with n nodes here. */
static void step(double *least, double *before, int32_t *came_from, const struct moves_cost *cost)
{
    int max = cost->nodes_max;
    bool rises_cost = cost->up_h >= 0;
    bool falls_cost = cost->down_h >= 0;
    double best = INFINITY;
    int from = 0;

    memcpy(before, least, (size_t)(max + 1) * sizeof *before);
    for (int n = 0; n <= max; n++) {
        double risen = best + cost->up_h * end_of(cost, n, !rises_cost);
        double here = before[n] - cost->up_h * end_of(cost, n, rises_cost);
        double stayed = before[n] + stay_of(cost, n);

        least[n] = risen < stayed ? risen : stayed;
        came_from[n] = risen < stayed ? from : n;
        if (here < best) {
            best = here;
            from = n;
        }
    }
    best = INFINITY;
    for (int n = max; n >= 0; n--) {
        double fallen = best - cost->down_h * end_of(cost, n, falls_cost);
        double here = before[n] + cost->down_h * end_of(cost, n, !falls_cost);

        if (fallen < least[n]) {
            least[n] = fallen;
            came_from[n] = from;
        }
        if (here < best) {
            best = here;
            from = n;
        }
    }
}

double moves_staged(const double *stages, size_t slots, const struct moves_cost *cost,
                    int *ret_nodes)
{
    size_t width = (size_t)cost->nodes_max + 1;
    double *least = mem_new_array(2 * width, sizeof *least);
    int32_t *came_from = mem_new_array(slots * width, sizeof *came_from);
    int at = 0;

    for (size_t slot = 0; slot < slots; slot++) {
        if (slot > 0)
            step(least, least + width, came_from + slot * width, cost);
        for (size_t n = 0; n < width; n++)
            least[n] += stages[slot * width + n];
    }
    for (int n = 0; n <= cost->nodes_max; n++)
        at = least[n] < least[at] ? n : at;

    double total = least[at];

    if (ret_nodes && total < INFINITY)
        for (size_t slot = slots; slot-- > 0; at = came_from[slot * width + (size_t)at])
            ret_nodes[slot] = at;
    mem_free(came_from);
    mem_free(least);
    return total;
}

double moves_best(const int *need, size_t slots, const struct moves_cost *cost, int *ret_nodes)
{
    size_t width = (size_t)cost->nodes_max + 1;
    double *stages = mem_new_array(slots * width, sizeof *stages);

    for (size_t slot = 0; slot < slots; slot++)
        for (size_t n = 0; n < width; n++)
            stages[slot * width + n] = (int)n < need[slot] ? INFINITY : (double)n * cost->slot_h;

    double total = moves_staged(stages, slots, cost, ret_nodes);

    mem_free(stages);
    return total;
}

double moves_cost_of(const int *nodes, size_t slots, const struct moves_cost *cost)
{
    double total = 0;

    for (size_t slot = 0; slot < slots; slot++) {
        int change = slot > 0 ? nodes[slot] - nodes[slot - 1] : 0;

        total += nodes[slot] * cost->slot_h +
                 (change > 0 ? change * cost->up_h : -change * cost->down_h);
    }
    return total;
}

/* A network of the groups, a source (groups) that those belong to that must have the level, and a
   sink (groups + 1) towards which belonging costs. */
struct network {
    size_t size; /* of both sides of the matrix */
    double *capacity;
    double *left; /* of it, under a flow */
    size_t *queue;
    size_t *parent;
};

/* Where one can still go from the source; stops at the sink, true when it is reached. */
static bool reach(struct network *network)
{
    size_t source = network->size - 2;
    size_t sink = network->size - 1;
    size_t ended = 1;

    for (size_t i = 0; i < network->size; i++)
        network->parent[i] = SIZE_MAX;
    network->parent[source] = source;
    network->queue[0] = source;
    for (size_t i = 0; i < ended; i++) {
        size_t at = network->queue[i];

        for (size_t to = 0; to < network->size; to++) {
            if (network->parent[to] != SIZE_MAX || network->left[at * network->size + to] <= 1e-9)
                continue;
            network->parent[to] = at;
            network->queue[ended++] = to;
            if (to == sink)
                return true;
        }
    }
    return false;
}

/* Afterwards those with a parent are the smallest best set. */
static void cut(struct network *network)
{
    size_t size = network->size;

    memcpy(network->left, network->capacity, size * size * sizeof *network->left);
    while (reach(network)) {
        double flow = INFINITY;

        for (size_t at = size - 1; at != size - 2; at = network->parent[at])
            flow = fmin(flow, network->left[network->parent[at] * size + at]);
        for (size_t at = size - 1; at != size - 2; at = network->parent[at]) {
            network->left[network->parent[at] * size + at] -= flow;
            network->left[at * size + network->parent[at]] += flow;
        }
    }
}

/* The edge from a to b costs when a has a level and b has not. */
static void network_init(struct network *network, const int *group_of_slot, size_t slots,
                         int groups, const struct moves_cost *cost)
{
    size_t size = (size_t)groups + 2;

    network->size = size;
    network->capacity = mem_new_array(2 * size * size, sizeof *network->capacity);
    network->left = network->capacity + size * size;
    network->queue = mem_new_array(2 * size, sizeof *network->queue);
    network->parent = network->queue + size;
    for (size_t slot = 0; slot < slots; slot++) {
        size_t group = (size_t)group_of_slot[slot];
        size_t before = (size_t)group_of_slot[slot > 0 ? slot - 1 : 0];

        network->capacity[group * size + size - 1] += cost->slot_h;
        if (slot == 0 || before == group)
            continue;
        network->capacity[group * size + before] += cost->up_h;
        network->capacity[before * size + group] += cost->down_h;
    }
}

double moves_windowed(const int *need, const int *group_of_slot, size_t slots, int groups,
                      const struct moves_cost *cost, int *ret_nodes)
{
    struct network network;
    size_t width = (size_t)groups;
    int *wanted = mem_new_array(2 * width, sizeof *wanted);
    int *nodes = mem_new_array(slots, sizeof *nodes);
    int most = 0;

    for (size_t slot = 0; slot < slots; slot++) {
        int *group = &wanted[group_of_slot[slot]];

        *group = need[slot] > *group ? need[slot] : *group;
        most = *group > most ? *group : most;
    }
    network_init(&network, group_of_slot, slots, groups, cost);
    for (int level = 1; level <= most && most <= cost->nodes_max; level++) {
        for (size_t i = 0; i < width; i++)
            network.capacity[width * network.size + i] = wanted[i] >= level ? 1e15 : 0;
        cut(&network);
        for (size_t i = 0; i < width; i++)
            wanted[width + i] += network.parent[i] != SIZE_MAX;
    }
    for (size_t slot = 0; slot < slots; slot++)
        nodes[slot] = wanted[width + (size_t)group_of_slot[slot]];

    double total = most > cost->nodes_max ? INFINITY : moves_cost_of(nodes, slots, cost);

    if (ret_nodes && total < INFINITY)
        memcpy(ret_nodes, nodes, slots * sizeof *nodes);
    mem_free(network.capacity);
    mem_free(network.queue);
    mem_free(wanted);
    mem_free(nodes);
    return total;
}
