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

double trend_slope(const double *x, const double *y, size_t count)
{
    double *slopes = mem_new_array(count * count + 1, sizeof *slopes);
    double *weights = mem_new_array(count * count + 1, sizeof *weights);
    size_t found = 0;
    double slope;

    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < i; at++)
            if (x[i] < x[at] || x[i] > x[at]) {
                slopes[found] = (y[i] - y[at]) / (x[i] - x[at]);
                weights[found++] = 1;
            }
    slope = trend_median(slopes, weights, found);
    mem_free(slopes);
    mem_free(weights);
    return slope;
}
