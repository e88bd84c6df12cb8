/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An hour's need is its load and two of its square roots (square-root staffing): where load is
 * small a request more or less is no change of level.  Of engines both are counted in places for
 * requests, and the need is the replicas that have them.
 */
#include "windows/forecast/hours.h"

#include "windows/forecast/occurrences.h"
#include "windows/forecast/points.h"

#include <math.h>

enum { DAY_HOURS = 24, HOUR_MINUTES = 60 };

static const double known_share = 0.9;
static const double staffing = 2;

/* Computes an hour's need from the steps that begin in it. */
static void measure(const struct forecast_setup *setup, struct forecast_occurrence *item)
{
    const struct demand_series *series = setup->series;
    int64_t step_ms = series->step_ms;
    size_t from = (size_t)((item->begin.ms - series->start.ms + step_ms - 1) / step_ms);
    size_t end = (size_t)((item->end.ms - series->start.ms + step_ms - 1) / step_ms);
    double requests = 0;
    double load;

    item->steps_all = end - from;
    for (size_t step = from; step < end && step < series->count; step++)
        if (demand_is_known(series, step)) {
            item->steps++;
            requests += demand_at(series, DEMAND_HIGH, step) + demand_at(series, DEMAND_LOW, step);
        }
    if (item->steps == 0)
        return;
    load = requests * setup->scale * engine_whole_s(setup->engine, setup->service_s) * SECOND_MS /
           ((double)item->steps * (double)step_ms);
    item->need = load + staffing * sqrt(load / engine_places(setup->engine));
    item->is_known = load > 0 && (double)item->steps >= known_share * (double)item->steps_all;
}

/* The hours from the series' beginning to its end, by the clock on the wall. */
static void list_hours(const struct forecast_setup *setup, struct forecast *hours)
{
    struct wall_time at = setup->series->start;

    while (at.ms < setup->end.ms) {
        struct local_time local = time_zone_local(setup->set->zone, at);
        int64_t into = (int64_t)(local.minute_of_day % HOUR_MINUTES) * MINUTE_MS +
                       (int64_t)local.second * SECOND_MS;
        struct wall_time next = { at.ms + HOUR_MS - into };
        int64_t day = civil_day(local.date.year, local.date.month, local.date.day);
        struct forecast_occurrence *item = array_add(
            &hours->cells[local.minute_of_day / HOUR_MINUTES].past);

        *item = (struct forecast_occurrence){
            .day = day,
            .weekday = window_week_minute(setup->set, at) / (DAY_HOURS * HOUR_MINUTES),
            .begin = at,
            .end = next,
        };
        measure(setup, item);
        at = next;
    }
}

/* The need that is expected of each hour when its day begins. */
static void foretell(const struct forecast_setup *setup, struct forecast_cell *cell)
{
    for (size_t i = 0; i < cell->past.count; i++) {
        struct forecast_occurrence *item = &cell->past.items[i];
        const struct points_origin origin = {
            item->day,
            occurrences_midnight(setup->set, item->day),
            false,
        };

        item->profile = points_profile(cell, item->weekday, item->day, &origin, setup->without);
    }
}

struct forecast *hours_new(const struct forecast_setup *setup)
{
    struct forecast *hours = mem_new(sizeof *hours);

    hours->count = DAY_HOURS;
    hours->cells = mem_new_array(hours->count, sizeof *hours->cells);
    list_hours(setup, hours);
    for (size_t hour = 0; hour < hours->count; hour++)
        foretell(setup, &hours->cells[hour]);
    return hours;
}
