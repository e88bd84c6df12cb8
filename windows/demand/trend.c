/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Theil and Sen's slope, and the weighted median that it needs too.
 */
#include "windows/demand/trend.h"

#include "base/memory.h"

double trend_median(double *values, double *weights, size_t count)
{
    double total = 0;
    double sum = 0;

    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        double weight = weights[i];
        size_t at = i;

        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
            weights[at] = weights[at - 1];
        }
        values[at] = value;
        weights[at] = weight;
    }
    for (size_t i = 0; i < count; i++)
        total += weights[i];
    for (size_t i = 0; i < count; i++) {
        sum += weights[i];
        if (2 * sum >= total)
            return values[i];
    }
    return 0;
}

struct slopes {
    double *values;
    double *weights;
    size_t count;
};

/* The slopes between all pairs, and their median: they are in order then. */
static double sort_slopes(struct slopes *slopes, const double *x, const double *y, size_t count)
{
    slopes->values = mem_new_array(count * count + 1, sizeof *slopes->values);
    slopes->weights = mem_new_array(count * count + 1, sizeof *slopes->weights);
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < i; at++)
            if (x[i] < x[at] || x[i] > x[at]) {
                slopes->values[slopes->count] = (y[i] - y[at]) / (x[i] - x[at]);
                slopes->weights[slopes->count++] = 1;
            }
    return trend_median(slopes->values, slopes->weights, slopes->count);
}

static void slopes_clear(struct slopes *slopes)
{
    mem_free(slopes->values);
    mem_free(slopes->weights);
}

double trend_slope(const double *x, const double *y, size_t count)
{
    struct slopes slopes = { 0 };
    double slope = sort_slopes(&slopes, x, y, count);

    slopes_clear(&slopes);
    return slope;
}

double trend_sure_slope(const double *x, const double *y, size_t count)
{
    struct slopes slopes = { 0 };
    double sure = 0;

    (void)sort_slopes(&slopes, x, y, count);
    if (slopes.count > 0) {
        size_t quarter = slopes.count / 4;
        double low = slopes.values[quarter];
        double high = slopes.values[slopes.count - 1 - quarter];

        sure = low > 0 ? low : high < 0 ? high : 0;
    }
    slopes_clear(&slopes);
    return sure;
}
