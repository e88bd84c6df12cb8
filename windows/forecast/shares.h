/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Distributes the misses that an attainment allows over queues and windows.  A bound with the same
 * share of misses everywhere costs most in windows that are long and whose days differ most; a miss
 * saves most there.  So each cell (a window of a queue) gets the share at which one more miss would
 * save as much as in any other cell.  This gives the least capacity for all cells together at the
 * allowed number of expected misses.
 */
#pragma once

#include <stddef.h>

enum { SHARES = 18 };

extern const double shares_grid[SHARES]; /* of days that miss a bound, from the boldest on */

struct shares_cell {
    double cost;           /* of a server, in any unit that all cells have in common */
    double days;           /* on which the target can be missed */
    double bounds[SHARES]; /* servers that so many days miss; they do not fall */
    double misses[SHARES]; /* days that are expected to miss them */
};

/* The share of days that need more than this many servers, by interpolation between the bounds. */
double shares_beyond(const double bounds[SHARES], double servers);

/* One of the grid for each cell, so that no more than `misses` of all days are expected to miss;
   the safest for all where that cannot be. */
void shares_choose(const struct shares_cell *cells, size_t count, double misses,
                   size_t *ret_shares);
