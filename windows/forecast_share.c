/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A window's other days are missed less often than its neediest, by as much as they need less.
 */
#include "windows/forecast_share.h"

#include "windows/shares.h"

#include <string.h>

static const double nightly_part = 0.6;

double forecast_share_of(double attainment, int horizon_days)
{
    return (1 - attainment) * (horizon_days == 1 ? nightly_part : 1);
}

static void set_cell(const struct forecast_cell *from, int gpus, struct shares_cell *cell)
{
    memcpy(cell->bounds, from->uppers, sizeof cell->bounds);
    cell->cost = gpus * from->hours;
    cell->days = (double)from->ahead.count;
    for (size_t share = 0; share < SHARES; share++)
        for (size_t i = 0; i < from->ahead.count; i++) {
            double less = from->ahead.items[i] / from->point;

            cell->misses[share] += shares_beyond(cell->bounds, cell->bounds[share] / less);
        }
}

void forecast_share_out(const struct forecast_share *items, size_t count, double attainment)
{
    if (count == 0)
        return;

    size_t windows = items[0].forecast->count;
    struct shares_cell *cells = mem_new_array(count * windows, sizeof *cells);
    size_t *shares = mem_new_array(count * windows, sizeof *shares);

    for (size_t i = 0; i < count; i++)
        for (size_t window = 0; window < windows; window++)
            set_cell(&items[i].forecast->cells[window], items[i].gpus,
                     &cells[i * windows + window]);
    shares_choose(cells, count * windows,
                  forecast_share_of(attainment, items[0].setup.horizon_days), shares);
    for (size_t i = 0; i < count; i++) {
        for (size_t window = 0; window < windows; window++) {
            struct forecast_cell *cell = &items[i].forecast->cells[window];
            size_t at = i * windows + window;

            cell->upper = cells[at].bounds[shares[at]];
            cell->basis = cell->bases[shares[at]];
            cell->misses = shares_grid[shares[at]];
        }
        forecast_settle(items[i].forecast, &items[i].setup);
    }
    mem_free(cells);
    mem_free(shares);
}
