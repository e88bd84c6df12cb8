/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See equal.h.
 */
#include "windows/backtest/equal.h"

#include <math.h>

/* Of a measure; more is better. */
typedef double figure_fn(const struct measure *measure);

/* Where the line from one level to the next passes the attainment. */
static double between(const struct measure *meets, const struct measure *misses, double attainment,
                      figure_fn *figure)
{
    double share = (meets->attainment - attainment) / (meets->attainment - misses->attainment);

    return figure(meets) + share * (figure(misses) - figure(meets));
}

/* -INFINITY: no level reaches it. */
static double most_at(const struct backtest_row *row, double attainment, figure_fn *figure)
{
    double most = -INFINITY;

    for (size_t i = 0; i < row->policy->level_count; i++) {
        const struct measure *measure = &row->points[i].measure;
        const struct measure *before = i > 0 ? &row->points[i - 1].measure : measure;

        if (measure->attainment >= attainment)
            most = fmax(most, figure(measure));
        if (measure->attainment >= attainment && before->attainment < attainment)
            most = fmax(most, between(measure, before, attainment, figure));
        if (measure->attainment < attainment && before->attainment >= attainment)
            most = fmax(most, between(before, measure, attainment, figure));
    }
    return most;
}

static double recovered_of(const struct measure *measure)
{
    return measure->recovered;
}

static double hours_saved(const struct measure *measure)
{
    return -(measure->production_h + measure->transit_h + measure->evicted_h);
}

bool equal_recovered(const struct backtest *backtest, const struct backtest_row *row,
                     double attainment, double *ret_recovered)
{
    double most = backtest->has_recovered ? most_at(row, attainment, recovered_of) : -INFINITY;

    if (isinf(most))
        return false;
    *ret_recovered = most;
    return true;
}

bool equal_hours(const struct backtest_row *row, double attainment, double *ret_hours)
{
    double most = most_at(row, attainment, hours_saved);

    if (isinf(most))
        return false;
    *ret_hours = -most;
    return true;
}
