/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A window's other days are missed less often than its neediest, by as much as they need less.
 */
#include "windows/forecast/forecast_share.h"

#include "windows/forecast/occurrences.h"
#include "windows/forecast/origins.h"
#include "windows/forecast/shares.h"

#include <math.h>
#include <string.h>

enum { WEEK_DAYS = 7 };

static const double nightly_part = 0.6;
static const double finest = 1e-9; /* of misses: the rounding error of 1 - 0.95 must not decide */

double forecast_share_of(double attainment, int horizon_days)
{
    double misses = round((1 - attainment) / finest) * finest;

    return misses * (horizon_days == 1 ? nightly_part : 1);
}

/* The boldest share that misses no more days than these. */
static size_t share_alone(double misses)
{
    size_t share = 0;

    while (share + 1 < SHARES && shares_grid[share] > misses + finest)
        share++;
    return share;
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

/* Chooses a share for each cell, from its present prediction.  Of a window that is known in part no
   attainment is claimed: it takes no misses from the others. */
static void choose(const struct forecast_share *items, size_t count, double attainment,
                   size_t *shares)
{
    size_t windows = items[0].forecast->count;
    double misses = forecast_share_of(attainment, items[0].setup.horizon_days);
    struct shares_cell *cells = mem_new_array(count * windows, sizeof *cells);

    for (size_t i = 0; i < count; i++)
        for (size_t window = 0; window < windows; window++)
            if (forecast_is_whole(&items[i].forecast->cells[window]))
                set_cell(&items[i].forecast->cells[window], items[i].gpus,
                         &cells[i * windows + window]);
    shares_choose(cells, count * windows, misses, shares);
    for (size_t cell = 0; cell < count * windows; cell++)
        if (!forecast_is_whole(&items[cell / windows].forecast->cells[cell % windows]))
            shares[cell] = share_alone(misses);
    mem_free(cells);
}

/* Predicts the windows that begin on one day. */
static void predict_day(const struct forecast_share *items, size_t count, int64_t day)
{
    for (size_t i = 0; i < count; i++) {
        struct forecast_setup setup = items[i].setup;

        setup.is_shared = true;
        setup.day = day;
        forecast_predict(items[i].forecast, &setup);
    }
}

static bool has_day(const int64_t *days, size_t windows, int64_t day)
{
    for (size_t window = 0; window < windows; window++)
        if (days[window] == day)
            return true;
    return false;
}

/* The local day on which a window begins next; the earliest possible value if it does not begin
   within a week. */
static int64_t next_day(const struct forecast_setup *setup, size_t window)
{
    struct wall_time at = origins_from(setup);

    for (; at.ms < setup->end.ms + WEEK_MS; at = origins_next_begin(setup->set, at))
        if (window_beneath(setup->set, at) == &setup->set->items[window])
            return occurrences_day(setup->set, at);
    return INT64_MIN;
}

/* Each window's share is that of the plan for the day on which it begins next. */
static void choose_by_day(const struct forecast_share *items, size_t count, double attainment,
                          size_t *shares)
{
    size_t windows = items[0].forecast->count;
    size_t *of_day = mem_new_array(count * windows, sizeof *of_day);
    int64_t *days = mem_new_array(windows, sizeof *days);
    int64_t first = occurrences_day(items[0].setup.set, items[0].setup.end);

    for (size_t window = 0; window < windows; window++)
        days[window] = next_day(&items[0].setup, window);
    for (int64_t day = first - 1; day <= first + WEEK_DAYS; day++) {
        if (!has_day(days, windows, day))
            continue;
        predict_day(items, count, day);
        choose(items, count, attainment, of_day);
        for (size_t cell = 0; cell < count * windows; cell++)
            if (days[cell % windows] == day)
                shares[cell] = of_day[cell];
    }
    for (size_t i = 0; i < count; i++)
        forecast_predict(items[i].forecast, &items[i].setup);
    mem_free(of_day);
    mem_free(days);
}

void forecast_share_out(const struct forecast_share *items, size_t count, double attainment)
{
    if (count == 0)
        return;

    size_t windows = items[0].forecast->count;
    size_t *shares = mem_new_array(count * windows, sizeof *shares);

    if (items[0].setup.lead_ms > 0)
        choose_by_day(items, count, attainment, shares);
    else
        choose(items, count, attainment, shares);
    for (size_t i = 0; i < count; i++) {
        for (size_t window = 0; window < windows; window++) {
            struct forecast_cell *cell = &items[i].forecast->cells[window];
            size_t share = shares[i * windows + window];

            cell->upper = cell->uppers[share];
            cell->basis = cell->bases[share];
            cell->misses = shares_grid[share];
        }
        forecast_settle(items[i].forecast, &items[i].setup);
    }
    mem_free(shares);
}
