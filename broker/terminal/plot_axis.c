/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See plot_axis.h.
 */
#include "broker/terminal/plot_axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARKS = 5 };

static const double usual = 0.99; /* share of values */
static const double far = 2;      /* times that */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The value that a share of all do not exceed. */
static double quantile(const double *values, size_t count, double share)
{
    double *sorted = mem_new_array(count, sizeof *sorted);
    double value;

    require(count > 0 && share >= 0 && share <= 1);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    value = sorted[(size_t)(share * (double)(count - 1))];
    mem_free(sorted);
    return value;
}

/* 1, 2 or 5 times a power of ten, so that no more than MARKS of them cover it. */
static double round_step(double range)
{
    static const double factors[] = { 1, 2, 5 };
    double power = pow(10, floor(log10(range / MARKS)));

    require(range > 0);
    for (size_t i = 0; i < COUNT_OF(factors); i++)
        if (power * factors[i] * MARKS >= range * (1 - 1e-9))
            return power * factors[i];
    return 10 * power;
}

struct plot_axis plot_axis_of(const double *values, size_t count)
{
    struct plot_axis axis = { 0 };
    double most = 1;

    if (count > 0) {
        double common = quantile(values, count, usual);
        double greatest = quantile(values, count, 1);

        most = fmax(greatest > far * common && common > 0 ? common : greatest, most);
    }
    axis.step = round_step(most);
    axis.to = axis.step * ceil(most / axis.step - 1e-9);
    for (size_t i = 0; i < count; i++)
        plot_axis_count(&axis, values[i]);
    return axis;
}

void plot_axis_count(struct plot_axis *axis, double value)
{
    if (value > axis->to) {
        axis->greatest = axis->above > 0 ? fmax(axis->greatest, value) : value;
        axis->above++;
    } else if (value < axis->from) {
        axis->least = axis->below > 0 ? fmin(axis->least, value) : value;
        axis->below++;
    }
}

double plot_axis_part(const struct plot_axis *axis, double value)
{
    require(axis->from < axis->to);
    return (fmin(fmax(value, axis->from), axis->to) - axis->from) / (axis->to - axis->from);
}

void plot_axis_note(const struct plot_axis *axis, const char *one, const char *many,
                    struct text *out)
{
    if (axis->above > 0)
        text_add(out, "%zu %s beyond the end of the axis, the greatest at %.5g. ", axis->above,
                 axis->above == 1 ? one : many, axis->greatest);
    if (axis->below > 0)
        text_add(out, "%zu %s beyond the beginning of the axis, the least at %.5g. ", axis->below,
                 axis->below == 1 ? one : many, axis->least);
}
