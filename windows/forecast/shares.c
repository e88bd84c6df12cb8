/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The method is a price on misses.  A cell is a window of a queue; its share is the part of its
 * days that may miss the bound.  For a given price each cell has its own best share, and the misses
 * of all together fall as the price rises.
 */
#include "windows/forecast/shares.h"

#include <math.h>

const double shares_grid[SHARES] = { 0.45, 0.4,  0.3,  0.25, 0.2,  0.15, 0.12,  0.1,  0.085,
                                     0.07, 0.06, 0.05, 0.04, 0.03, 0.02, 0.015, 0.01, 0.005 };

static const double cheapest = 1e-9; /* price, in cost of a server */

enum { PRICE_STEPS = 80 };

double shares_beyond(const double bounds[SHARES], double servers)
{
    size_t over = 0; /* the first bound that is greater */

    while (over < SHARES && bounds[over] <= servers)
        over++;
    if (over == SHARES)
        return shares_grid[SHARES - 1];
    if (over == 0)
        return 1;

    double part = (servers - bounds[over - 1]) / (bounds[over] - bounds[over - 1]);

    return shares_grid[over - 1] + part * (shares_grid[over] - shares_grid[over - 1]);
}

static size_t best_share(const struct shares_cell *cell, double price)
{
    size_t best = SHARES - 1;
    double least = cell->cost * cell->bounds[best] + price * cell->misses[best];

    for (size_t share = SHARES - 1; share-- > 0;) {
        double cost = cell->cost * cell->bounds[share] + price * cell->misses[share];

        if (cost < least) {
            least = cost;
            best = share;
        }
    }
    return best;
}

/* A price at which no cell misses more than it has to. */
static double dearest(const struct shares_cell *cells, size_t count)
{
    double price = cheapest;

    for (size_t i = 0; i < count; i++)
        for (size_t share = 0; share + 1 < SHARES; share++) {
            double misses = cells[i].misses[share] - cells[i].misses[SHARES - 1];
            double bounds = cells[i].bounds[SHARES - 1] - cells[i].bounds[share];

            if (misses > 0)
                price = fmax(price, cells[i].cost * bounds / misses);
        }
    return 2 * price;
}

/* Days that are expected to miss at this price. */
static double choose_at(const struct shares_cell *cells, size_t count, double price,
                        size_t *ret_shares)
{
    double misses = 0;

    for (size_t i = 0; i < count; i++) {
        ret_shares[i] = best_share(&cells[i], price);
        misses += cells[i].misses[ret_shares[i]];
    }
    return misses;
}

void shares_choose(const struct shares_cell *cells, size_t count, double misses, size_t *ret_shares)
{
    double bold = cheapest;
    double safe = dearest(cells, count);
    double allowed = 0;

    for (size_t i = 0; i < count; i++)
        allowed += misses * cells[i].days;
    for (int i = 0; i < PRICE_STEPS; i++) {
        double middle = sqrt(bold * safe);

        if (choose_at(cells, count, middle, ret_shares) > allowed)
            bold = middle;
        else
            safe = middle;
    }
    (void)choose_at(cells, count, safe, ret_shares);
}
