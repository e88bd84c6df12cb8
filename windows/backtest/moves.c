/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Paths: dynamic programming over (slot, nodes).  The best predecessor of n is either the best of
 * those with at most n nodes or the best of those with at least n, two running minima.
 */
#include "windows/backtest/moves.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The greatest or the smallest number of nodes of a level. */
static double end_of(const struct moves_cost *cost, int n, bool is_most)
{
    if (!cost->levels || n == 0)
        return n;
    return is_most ? cost->levels[n] : cost->levels[n - 1] + 1;
}

/* The cost of staying at a level; a path may still move among the nodes of the level if that is
   cheaper. */
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
