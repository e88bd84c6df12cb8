/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Makes demand from points: in whole numbers, with unknown steps marked in all classes.
 */
#include "broker/sources/source_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which hours (of the clock) have a point of the queue in any class. */
static bool *hours_heard(const struct source_points *points, size_t queue)
{
    const struct source_span *span = &points->span;
    size_t steps = source_steps(span);
    int64_t first_hour = span->from.ms / HOUR_MS;
    bool *heard = mem_new_array((size_t)(span->to.ms / HOUR_MS - first_hour) + 1, sizeof *heard);

    for (size_t i = 0; i < points->line_count; i++)
        for (size_t at = 0; points->lines[i].queue == queue && at < steps; at++)
            if (!isnan(points->lines[i].points[at]))
                heard[(span->from.ms + (int64_t)at * span->step_ms) / HOUR_MS - first_hour] = true;
    return heard;
}

/* A rate extrapolated from samples gives fractions: the rounding error of a step is carried to the
   next, as long as no step between is missing. */
static void round_points(const struct source_line *line, const struct source_span *span,
                         const bool *zero_hours, int32_t *counts)
{
    size_t steps = source_steps(span);
    double rest = 0;

    for (size_t i = 0; i < steps; i++) {
        int64_t hour = (span->from.ms + (int64_t)i * span->step_ms) / HOUR_MS;
        bool is_zero = zero_hours && zero_hours[hour - span->from.ms / HOUR_MS];

        if (isnan(line->points[i])) {
            counts[i] = is_zero ? 0 : DEMAND_UNKNOWN;
            rest = 0;
            continue;
        }

        double whole = floor(line->points[i] + rest + 0.5);

        rest += line->points[i] - whole;
        require(whole >= 0 && fabs(rest) <= 0.5);
        counts[i] = whole > INT32_MAX ? INT32_MAX : (int32_t)whole;
    }
}

static int compare_series(const void *left, const void *right)
{
    return strcmp(((const struct demand_series *)left)->queue,
                  ((const struct demand_series *)right)->queue);
}

struct demand *source_make_demand(const struct source_points *points)
{
    const struct source_span *span = &points->span;
    struct demand *demand = mem_new(sizeof *demand);

    demand->series = mem_new_array(points->queue_count, sizeof *demand->series);
    demand->count = points->queue_count;
    demand->end = span->to;
    for (size_t i = 0; i < points->queue_count; i++) {
        struct demand_series *series = &demand->series[i];
        bool *heard = points->missing_zero ? hours_heard(points, i) : NULL;

        series->queue = mem_copy_chars(points->queues[i].queue);
        series->start = span->from;
        series->step_ms = span->step_ms;
        series->count = source_steps(span);
        series->is_single = !points->queues[i].names[DEMAND_HIGH];
        for (size_t at = 0; at < points->line_count; at++) {
            const struct source_line *line = &points->lines[at];

            if (line->queue != i)
                continue;
            require(!series->counts[line->class]); /* a class of a queue is one line */
            series->counts[line->class] = mem_new_array(series->count, sizeof(int32_t));
            round_points(line, span, heard, series->counts[line->class]);
        }
        demand_spread_unknown(series);
        mem_free(heard);
    }
    qsort(demand->series, demand->count, sizeof *demand->series, compare_series);
    return demand;
}
