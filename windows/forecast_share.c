/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A window's other days are missed less often than its neediest, by as much as they need less.
 */
#include "windows/forecast_share.h"

#include "windows/shares.h"

#include <math.h>

static const double nightly_part = 0.6;

double forecast_share_of(double attainment, int horizon_days)
{
    return (1 - attainment) * (horizon_days == 1 ? nightly_part : 1);
}

/* The bounds of a queue's windows at each share, and what each rests on. */
static void set_bounds(const struct forecast_share *item, struct shares_cell *cells,
                       enum conformal_basis (*bases)[SHARES])
{
    struct forecast_setup setup = item->setup;

    for (size_t share = 0; share < SHARES; share++) {
        setup.misses = shares_grid[share];
        forecast_predict(item->forecast, &setup);
        for (size_t window = 0; window < item->forecast->count; window++) {
            double *bound = &cells[window].bounds[share];

            *bound = item->forecast->cells[window].upper;
            bases[window][share] = item->forecast->cells[window].basis;
            if (share > 0 && bound[-1] > *bound) {
                *bound = bound[-1];
                bases[window][share] = bases[window][share - 1];
            }
        }
    }
    forecast_predict(item->forecast, &item->setup);
}

static void set_misses(const struct forecast_cell *from, int gpus, struct shares_cell *cell)
{
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
    enum conformal_basis(*bases)[SHARES] = mem_new_array(count * windows, sizeof *bases);

    for (size_t i = 0; i < count; i++) {
        set_bounds(&items[i], &cells[i * windows], &bases[i * windows]);
        for (size_t window = 0; window < windows; window++)
            set_misses(&items[i].forecast->cells[window], items[i].gpus,
                       &cells[i * windows + window]);
    }
    shares_choose(cells, count * windows,
                  forecast_share_of(attainment, items[0].setup.horizon_days), shares);
    for (size_t i = 0; i < count; i++) {
        for (size_t window = 0; window < windows; window++) {
            struct forecast_cell *cell = &items[i].forecast->cells[window];
            size_t at = i * windows + window;

            cell->upper = cells[at].bounds[shares[at]];
            cell->basis = bases[at][shares[at]];
            cell->misses = shares_grid[shares[at]];
        }
        forecast_settle(items[i].forecast, &items[i].setup);
    }
    mem_free(cells);
    mem_free(shares);
    mem_free(bases);
}
