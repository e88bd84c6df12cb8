/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Paths of nodes that follow a known need: what one costs, and the cheapest of all.
 */
#pragma once

#include "base/memory.h"
#include "windows/backtest/moves.h"

#include <math.h>

static inline double path_cost(const int *nodes, size_t slots, const struct moves_cost *cost)
{
    double total = 0;

    for (size_t slot = 0; slot < slots; slot++) {
        int change = slot > 0 ? nodes[slot] - nodes[slot - 1] : 0;

        total += nodes[slot] * cost->slot_h +
                 (change > 0 ? change * cost->up_h : -change * cost->down_h);
    }
    return total;
}

/* Of at least `need` nodes in each slot, by moves_staged(). */
static inline double path_best(const int *need, size_t slots, const struct moves_cost *cost,
                               int *ret_nodes)
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
