/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An axis of a picture that hides nothing: it begins at 0 where it can, and a note tells how many
 * values lie beyond it.
 */
#pragma once

#include "base/text.h"

struct plot_axis {
    double from;
    double to;
    double step;     /* between marks */
    size_t below;    /* values under `from` */
    size_t above;    /* values over `to` */
    double least;    /* of the values under `from` */
    double greatest; /* of the values over `to` */
};

/* The axis runs from 0 to a round number over the greatest value.  If that is over twice the 99th
   percentile, it runs to a round number over the percentile, so that a single burst does not
   flatten the rest.  Values are not sorted; they are counted as by plot_axis_count(). */
struct plot_axis plot_axis_of(const double *values, size_t count);

/* Counts a value that lies beyond the axis. */
void plot_axis_count(struct plot_axis *axis, double value);

/* Where it is drawn, as a part of the axis: 0 .. 1. */
double plot_axis_part(const struct plot_axis *axis, double value);

/* "3 five-minute slots are beyond the axis, the greatest at 412. ", or nothing.  one, many: what a
   value is of. */
void plot_axis_note(const struct plot_axis *axis, const char *one, const char *many,
                    struct text *out);
