/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A window is walked from change to change; parts that another window is carved out of are one
 * occurrence together.
 */
#include "windows/forecast/occurrences.h"

#include "windows/forecast/habit.h"
#include "windows/queueing/estimate.h"
#include "windows/queueing/target_limits.h"
#include "windows/queueing/transient.h"

#include <math.h>

static const double known_share = 0.9; /* of what is usually known of the window */
static const double usual_min = 0.5;   /* least known share of the window: with less, a forecast
                                          would be of another window */
static const double scale_min = 0.05;
static const double scale_max = 20;
static const double grown = 1.1;        /* over what a straight line says */
static const double scale_error = 1e-5; /* relative */

enum { SOLVE_STEPS = 40 };

double occurrences_between(int servers, double passes, double fails, double p)
{
    if (!(passes > 0) || !(fails > passes) || fails < 1 - p)
        return servers;
    return servers - fmin(1, log((1 - p) / passes) / log(fails / passes));
}

/* The servers needed; a guess above 0 saves time. */
static double need_near(const struct forecast_setup *setup, const struct segment_list *segments,
                        double scale, double guess)
{
    /* Its table of half a megabyte is not read here: releases would clear it each time. */
    struct service_time service __attribute__((uninitialized));
    struct arrivals_setup arrivals = { setup->series, segments, &service, scale, 0 };
    struct target_limits limits = target_limits_of(setup->engine, &setup->target);
    struct estimate estimate;
    double need = 0;

    service.mean_s = setup->service_s;
    service.cv = setup->service_cv;
    service.engine = (struct engine *)(uintptr_t)setup->engine;
    for (size_t i = 0; i < limits.wait_count; i++)
        need = fmax(need, transient_need(&arrivals, limits.waits[i].percentile / 100,
                                         limits.waits[i].limit_s, (int)ceil(guess)));
    if (limits.rate_count == 0)
        return need;
    estimate_init(&estimate, &arrivals);
    for (size_t i = 0; i < limits.rate_count && estimate.load_max > 0; i++)
        need = fmax(need, estimate_rate(&estimate, limits.rates[i].percentile / 100) /
                              limits.rates[i].per_s);
    return need;
}

double occurrences_need(const struct forecast_setup *setup, const struct segment_list *segments,
                        double scale)
{
    return need_near(setup, segments, scale, 0);
}

/* Two scales, the need wanted between theirs. */
struct bracket {
    double low;
    double below; /* by how much its need is less than the one wanted */
    double high;
    double above; /* by how much it is more */
};

/* Regula falsi with the Illinois rule: if an end stays, its value is halved.  This converges fast,
   because the need is nearly linear in the scale. */
static double solve(const struct forecast_setup *setup, const struct segment_list *segments,
                    double need, struct bracket at)
{
    int side = 0;

    for (int i = 0; i < SOLVE_STEPS && at.above > 0 && at.high - at.low > scale_error * at.high;
         i++) {
        double middle = at.low + (at.high - at.low) * at.below / (at.below + at.above);
        double over = need_near(setup, segments, middle * setup->scale, need) - need;

        if (over < 0) {
            at.low = middle;
            at.below = -over;
            at.above /= side < 0 ? 2 : 1;
            side = -1;
        } else {
            at.high = middle;
            at.above = over;
            at.below /= side > 0 ? 2 : 1;
            side = 1;
        }
    }
    return at.high;
}

double occurrences_scale_for(const struct forecast_setup *setup,
                             const struct segment_list *segments, double need)
{
    struct bracket at = { .low = 0, .below = need, .high = 1 };
    double has = occurrences_need(setup, segments, at.high * setup->scale);

    if (!(need > 0) || !(has > 0))
        return 1;
    while (has < need && at.high < scale_max) {
        at.low = at.high;
        at.below = need - has;
        at.high = fmin(scale_max, at.high * need / has * grown);
        has = need_near(setup, segments, at.high * setup->scale, need);
    }
    if (has < need)
        return at.high;
    at.above = has - need;
    return fmax(scale_min, solve(setup, segments, need, at));
}

int64_t occurrences_day(const struct window_set *set, struct wall_time wall)
{
    struct local_time local = time_zone_local(set->zone, wall);

    return civil_day(local.date.year, local.date.month, local.date.day);
}

struct wall_time occurrences_midnight(const struct window_set *set, int64_t day)
{
    return time_zone_wall(set->zone, civil_date_of_day(day), 0);
}

static struct forecast_occurrence *occurrence_on(struct forecast_cell *cell, int64_t day)
{
    for (size_t i = cell->past.count; i-- > 0 && cell->past.items[i].day >= day;)
        if (cell->past.items[i].day == day)
            return &cell->past.items[i];
    return NULL;
}

/* An occurrence, or a further part of one that other windows are carved out of. */
static void add_part(const struct forecast_setup *setup, struct forecast_cell *cell,
                     struct wall_time begin, struct wall_time end)
{
    int64_t day = occurrences_day(setup->set, begin);
    struct forecast_occurrence *item = occurrence_on(cell, day);

    if (!item) {
        item = array_add(&cell->past);
        item->day = day;
        item->weekday = window_week_minute(setup->set, begin) / (24 * 60);
        item->begin = begin;
    }
    item->end = end;
    item->steps_all += (size_t)((end.ms - begin.ms) / setup->series->step_ms);
}

/* The steps of an occurrence of which nothing is known, by their time of day.  One that the clock
   repeats in autumn is listed once. */
static void list_unknown(const struct forecast_setup *setup, size_t window,
                         const struct forecast_occurrence *item, struct habit_places *out)
{
    const struct demand_series *series = setup->series;
    int64_t since = item->begin.ms - series->start.ms;
    int64_t step = since > 0 ? (since + series->step_ms - 1) / series->step_ms
                             : -(-since / series->step_ms);
    size_t last = SIZE_MAX;

    for (;; step++) {
        struct wall_time at = { series->start.ms + step * series->step_ms };

        if (at.ms >= item->end.ms)
            return;
        if (step >= 0 && step < (int64_t)series->count && demand_is_known(series, (size_t)step))
            continue;
        if (window_at(setup->set, at) != &setup->set->items[window])
            continue;

        struct local_time local = time_zone_local(setup->set->zone, at);
        int64_t of_day = local.minute_of_day * (int64_t)MINUTE_MS + local.second * SECOND_MS;
        size_t place = (size_t)(of_day / series->step_ms);

        if (last == SIZE_MAX || place > last || place + 1 < last)
            *array_add(&out->list) = place;
        last = place;
    }
}

/* Whether enough of it is known, compared with the usually known share; an occurrence that is over
   and mostly known defines the usual share. */
static bool is_enough(const struct forecast_setup *setup, size_t window, struct habit *habit,
                      struct forecast_occurrence *item)
{
    struct habit_places unknown = { 0 };
    double all = (double)item->steps_all;
    double usual;

    if (item->steps > 0 && item->steps < item->steps_all)
        list_unknown(setup, window, item, &unknown);
    if (item->end.ms <= setup->end.ms && item->begin.ms >= setup->series->start.ms &&
        (double)item->steps >= usual_min * all)
        habit_add(habit, &unknown);
    item->steps_usual = item->steps_all - habit_count(habit, &unknown);
    array_clear(&unknown.list);
    usual = (double)item->steps_usual;
    return item->steps > 0 && usual >= usual_min * all &&
           (double)item->steps >= known_share * usual;
}

static void measure(const struct forecast_setup *setup, struct forecast_cell *cell, size_t window)
{
    struct habit habit;

    habit_init(&habit, (size_t)((DAY_MS + setup->series->step_ms - 1) / setup->series->step_ms));
    for (size_t i = 0; i < cell->past.count; i++) {
        struct forecast_occurrence *item = &cell->past.items[i];
        struct segment_list segments = { 0 };
        struct wall_time end = item->end.ms < setup->end.ms ? item->end : setup->end;

        cell->holidays += window_holiday(setup->set, item->day) != NULL;
        segments_of_window(setup->series, setup->set, window,
                           (struct wall_span){ item->begin, end }, &segments);
        for (size_t at = 0; at < segments.list.count; at++)
            item->steps += segments.list.items[at].count;
        item->is_known = is_enough(setup, window, &habit, item);
        if (item->is_known)
            item->need = occurrences_need(setup, &segments, setup->scale);
        else if (item->end.ms <= setup->end.ms)
            cell->missing++;
        if (item->is_known && item->steps_all > 0)
            cell->usually_known = (double)item->steps_usual / (double)item->steps_all;
        cell->idle += item->is_known && !(item->need > 0);
        item->is_known = item->is_known && item->need > 0;
        segments_clear(&segments);
    }
    habit_clear(&habit);
}

void occurrences_find(const struct forecast_setup *setup, struct forecast *forecast)
{
    struct wall_time at = window_began(setup->set, setup->series->start);

    at = at.ms == 0 ? setup->series->start : at;
    while (at.ms < setup->end.ms) {
        const struct window *window = window_at(setup->set, at);
        struct wall_time change = window_next_change(setup->set, at);
        int64_t day_end = at.ms + DAY_MS; /* one window for ever is cut into days */

        if (change.ms == 0 || change.ms > day_end)
            change.ms = day_end;
        if (!window->event)
            add_part(setup, &forecast->cells[window - setup->set->items], at, change);
        at = change;
    }
    for (size_t i = 0; i < forecast->count; i++)
        measure(setup, &forecast->cells[i], i);
}
