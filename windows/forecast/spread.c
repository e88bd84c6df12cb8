/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See spread.h.
 */
#include "windows/forecast/spread.h"

#include <math.h>

enum { KINDS = 2, SATURDAY = 5, DAYS_MOST = 14 };

static const double furthest = 1; /* a square */

struct kind {
    double sum;
    double count;
};

struct squares {
    double sum;
    double count;
};

static size_t kind_of(const struct forecast_occurrence *item)
{
    return item->weekday >= SATURDAY;
}

/* The distance of a day from the mean of the other days of its kind, or of the window if there are
   too few. */
static double distance(const struct kind kinds[KINDS], const struct forecast_occurrence *item)
{
    struct kind others = kinds[kind_of(item)];
    double value = log(item->need);

    if (others.count < 2) {
        others.sum = kinds[0].sum + kinds[1].sum;
        others.count = kinds[0].count + kinds[1].count;
    }
    return value - (others.sum - value) / (others.count - 1);
}

static void add_cell(const struct forecast_cell *cell, const struct points_origin *origin,
                     struct squares *squares, double *days)
{
    struct kind kinds[KINDS] = { 0 };

    for (size_t i = 0; i < cell->past.count; i++)
        if (points_is_known(&cell->past.items[i], origin)) {
            kinds[kind_of(&cell->past.items[i])].sum += log(cell->past.items[i].need);
            kinds[kind_of(&cell->past.items[i])].count++;
        }
    if (kinds[0].count + kinds[1].count < 2)
        return;
    *days = fmax(*days, kinds[0].count + kinds[1].count);
    for (size_t i = 0; i < cell->past.count; i++)
        if (points_is_known(&cell->past.items[i], origin)) {
            double square = distance(kinds, &cell->past.items[i]);

            squares->sum += fmin(square * square, furthest);
            squares->count++;
        }
}

double spread_of_days(const struct forecast *forecast, const struct points_origin *origin,
                      double *ret_days)
{
    struct squares squares = { 0 };

    *ret_days = 0;
    for (size_t i = 0; i < forecast->count; i++)
        add_cell(&forecast->cells[i], origin, &squares, ret_days);
    *ret_days = fmin(*ret_days, DAYS_MOST);
    return squares.count > 0 ? squares.sum / squares.count : 0;
}
