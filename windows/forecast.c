/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The past occurrences of all windows are walked in the order of time.  Nothing that is said of a
 * day looks at that day or a later one: it is predicted from what was known at its origin, the
 * morning on which the plan was made that was in use then.
 */
#include "windows/forecast.h"

#include "windows/occurrences.h"
#include "windows/points.h"
#include "windows/stale.h"

#include <math.h>
#include <stdlib.h>

static const double naive_share = 0.95; /* of the profile's loss, at which last week is better */
static const double reached = 0.999;    /* of a bound, by arrivals that are scaled to it */

enum {
    WEEK_DAYS = 7,
    METHOD_SCORES = 25, /* before a method may be preferred */
};

struct entry {
    struct forecast_cell *cell;
    struct forecast_occurrence *item;
    size_t window;
    bool is_learned;
};

/* What is known at an origin, from days before it. */
struct rolling {
    const struct forecast_setup *setup;
    struct forecast *forecast;
    ARRAY(struct entry) entries; /* in the order of time */
    size_t oldest;               /* that is not learned */
    struct conformal conformal[FORECAST_METHODS];
    double loss[FORECAST_METHODS];
    size_t scored;
    double misses; /* that are asked for */
    double level;  /* of the last days */
    int64_t origin;
};

void forecast_free(struct forecast *forecast)
{
    if (!forecast)
        return;
    for (size_t i = 0; i < forecast->count; i++) {
        array_clear(&forecast->cells[i].past);
        array_clear(&forecast->cells[i].ahead);
    }
    mem_free(forecast->cells);
    mem_free(forecast);
}

const char *forecast_method_name(enum forecast_method method)
{
    return method == FORECAST_PROFILE ? "profile" : "last-week";
}

const char *forecast_stale_name(enum forecast_stale stale)
{
    static const char *const names[] = { "", "no-data", "overrun", "old" };

    return names[stale];
}

static int horizon_of(const struct forecast_setup *setup)
{
    return setup->horizon_days > 0 ? setup->horizon_days : WEEK_DAYS;
}

/* The last whole number of horizons before `end` that is not after that day. */
static int64_t origin_of(const struct forecast_setup *setup, int64_t day, int64_t end)
{
    int horizon = horizon_of(setup);

    return end - (end - day + horizon - 1) / horizon * horizon;
}

static double predict(const struct rolling *rolling, const struct forecast_cell *cell,
                      enum forecast_method method, int weekday, int64_t day)
{
    if (method == FORECAST_LAST_WEEK)
        return points_last_week(cell, weekday, rolling->origin);
    return points_profile(cell, weekday, day, rolling->origin) *
           exp(points_level_left(rolling->level, day, rolling->origin));
}

/* Last week only where it clearly did better so far. */
static enum forecast_method choose(const struct rolling *rolling)
{
    return rolling->scored >= METHOD_SCORES &&
                   rolling->loss[FORECAST_LAST_WEEK] < naive_share * rolling->loss[FORECAST_PROFILE]
               ? FORECAST_LAST_WEEK
               : FORECAST_PROFILE;
}

static double pinball(const struct rolling *rolling, double truth, double bound)
{
    return truth > bound ? (1 - rolling->misses) * (truth - bound)
                         : rolling->misses * (bound - truth);
}

static void foretell(const struct rolling *rolling, const struct entry *entry)
{
    struct forecast_occurrence *item = entry->item;

    item->method = choose(rolling);
    item->profile = points_profile(entry->cell, item->weekday, item->day, rolling->origin);
    for (int method = 0; method < FORECAST_METHODS; method++) {
        enum conformal_basis basis;
        double upper = conformal_upper(&rolling->conformal[method], &basis);

        item->points[method] = predict(rolling, entry->cell, (enum forecast_method)method,
                                       item->weekday, item->day);
        item->bounds[method] = item->points[method] * exp(upper);
        if (method == (int)item->method)
            item->basis = basis;
    }
    item->is_scored = item->is_known && item->points[item->method] > 0;
}

static void keep_score(const struct rolling *rolling, struct forecast_score *score,
                       const struct forecast_occurrence *item)
{
    double last = item->points[FORECAST_LAST_WEEK];
    double bound = item->bounds[item->method];
    bool is_covered = item->need <= bound;

    score->scored++;
    score->covered += is_covered;
    score->bases[item->basis]++;
    score->bases_covered[item->basis] += is_covered;
    score->loss += pinball(rolling, item->need, bound);
    score->last_week_loss += pinball(rolling, item->need, last);
    score->last_week_10_loss += pinball(rolling, item->need, last * 1.1);
    score->needs += item->need;
    score->bounds += bound;
}

static void learn(struct rolling *rolling, struct entry *entry)
{
    const struct forecast_occurrence *item = entry->item;

    entry->is_learned = true;
    if (!item->is_scored)
        return;
    for (int method = 0; method < FORECAST_METHODS; method++) {
        rolling->loss[method] += pinball(rolling, item->need, item->bounds[method]);
        conformal_add(&rolling->conformal[method], item->day,
                      log(item->need / item->points[method]), item->need > item->bounds[method]);
    }
    rolling->scored++;
    keep_score(rolling, &entry->cell->score, item);
}

/* Takes in what was over when day `origin` began. */
static void learn_until(struct rolling *rolling, size_t count, int64_t origin)
{
    for (size_t i = rolling->oldest; i < count; i++)
        if (!rolling->entries.items[i].is_learned &&
            rolling->entries.items[i].item->last_day < origin)
            learn(rolling, &rolling->entries.items[i]);
    while (rolling->oldest < count && rolling->entries.items[rolling->oldest].is_learned)
        rolling->oldest++;
    rolling->origin = origin;
    rolling->level = points_level(rolling->forecast, origin);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *first = a;
    const struct entry *second = b;

    if (first->item->day != second->item->day)
        return first->item->day < second->item->day ? -1 : 1;
    return first->window < second->window ? -1 : first->window > second->window;
}

static void list_entries(struct rolling *rolling)
{
    for (size_t window = 0; window < rolling->forecast->count; window++) {
        struct forecast_cell *cell = &rolling->forecast->cells[window];

        for (size_t i = 0; i < cell->past.count; i++)
            *array_add(&rolling->entries) =
                (struct entry){ .cell = cell, .item = &cell->past.items[i], .window = window };
    }
    if (rolling->entries.count > 0)
        qsort(rolling->entries.items, rolling->entries.count, sizeof *rolling->entries.items,
              compare_entries);
}

/* Plan after plan: learn from what is over, then predict all days until the next one. */
static void roll(struct rolling *rolling)
{
    const struct forecast_setup *setup = rolling->setup;
    int64_t end = occurrences_day(setup->set, (struct wall_time){ setup->end.ms - 1 }) + 1;

    list_entries(rolling);
    for (size_t i = 0; i < rolling->entries.count; i++) {
        struct entry *entry = &rolling->entries.items[i];
        int64_t origin = origin_of(setup, entry->item->day, end);

        if (i == 0 || origin != rolling->origin)
            learn_until(rolling, i, origin);
        foretell(rolling, entry);
    }
    learn_until(rolling, rolling->entries.count, end);
}

/* The neediest of the window's days within the horizon; the next one where none is. */
static void look_ahead(const struct rolling *rolling, struct forecast_cell *cell, size_t window)
{
    const struct forecast_setup *setup = rolling->setup;
    int64_t sure = setup->end.ms + horizon_of(setup) * DAY_MS;
    struct wall_time at = setup->end;

    cell->point = cell->hours = 0;
    cell->ahead.count = 0;
    while (at.ms < setup->end.ms + WEEK_MS && (at.ms < sure || cell->ahead.count == 0)) {
        struct wall_time change = window_beneath_next_change(setup->set, at);
        int weekday = window_week_minute(setup->set, at) / (24 * 60);
        int64_t next_ms = change.ms == 0 || change.ms > at.ms + DAY_MS ? at.ms + DAY_MS : change.ms;
        double point = window_beneath(setup->set, at) == &setup->set->items[window]
                           ? predict(rolling, cell, cell->method, weekday,
                                     occurrences_day(setup->set, at))
                           : 0;

        if (point > 0) {
            *array_add(&cell->ahead) = point;
            cell->hours += (double)(next_ms - at.ms) / HOUR_MS;
            cell->point = fmax(cell->point, point);
        }
        at.ms = next_ms;
    }
    cell->misses = rolling->misses;
    cell->upper = cell->point *
                  exp(conformal_upper(&rolling->conformal[cell->method], &cell->basis));
    cell->lower = fmin(cell->point,
                       cell->point * exp(conformal_lower(&rolling->conformal[cell->method])));
}

static void solve_scale(const struct forecast_setup *setup, struct forecast_cell *cell,
                        size_t window)
{
    struct wall_time from = segments_days_before(setup->set->zone, setup->end, WEEK_DAYS);
    struct segment_list segments = { 0 };

    segments_of_window(setup->series, setup->set, window, from, setup->end, &segments);
    cell->last = segments.list.count > 0 ? occurrences_need(setup, &segments, setup->scale) : 0;
    cell->scale = occurrences_scale_for(setup, &segments, cell->upper);
    cell->is_scaled = cell->last > 0 && cell->upper > 0 &&
                      occurrences_need(setup, &segments, cell->scale * setup->scale) >=
                          reached * cell->upper;
    segments_clear(&segments);
}

static void rolling_init(struct rolling *rolling, const struct forecast_setup *setup,
                         struct forecast *forecast)
{
    *rolling = (struct rolling){
        .setup = setup,
        .forecast = forecast,
        .misses = setup->misses > 0 ? setup->misses : FORECAST_MISSES,
    };
    for (int method = 0; method < FORECAST_METHODS; method++)
        conformal_init(&rolling->conformal[method], rolling->misses);
    for (size_t i = 0; i < forecast->count; i++)
        forecast->cells[i].score = (struct forecast_score){ 0 };
}

static void rolling_clear(struct rolling *rolling)
{
    for (int method = 0; method < FORECAST_METHODS; method++)
        conformal_clear(&rolling->conformal[method]);
    array_clear(&rolling->entries);
}

struct forecast *forecast_past(const struct forecast_setup *setup)
{
    struct forecast *forecast = mem_new(sizeof *forecast);

    forecast->count = setup->set->weekly_count;
    forecast->cells = mem_new_array(forecast->count, sizeof *forecast->cells);
    occurrences_find(setup, forecast);
    return forecast;
}

void forecast_predict(struct forecast *forecast, const struct forecast_setup *setup)
{
    struct rolling rolling;

    rolling_init(&rolling, setup, forecast);
    roll(&rolling);
    for (size_t window = 0; window < forecast->count; window++) {
        struct forecast_cell *cell = &forecast->cells[window];

        cell->method = choose(&rolling);
        cell->growth = exp(points_growth(cell, rolling.origin));
        look_ahead(&rolling, cell, window);
    }
    rolling_clear(&rolling);
}

void forecast_settle(struct forecast *forecast, const struct forecast_setup *setup)
{
    for (size_t window = 0; window < forecast->count; window++) {
        struct forecast_cell *cell = &forecast->cells[window];

        solve_scale(setup, cell, window);
        cell->stale = stale_find(setup, cell, window);
    }
}

struct forecast *forecast_new(const struct forecast_setup *setup)
{
    struct forecast *forecast = forecast_past(setup);

    forecast_predict(forecast, setup);
    forecast_settle(forecast, setup);
    return forecast;
}

void forecast_score_add(struct forecast_score *sum, const struct forecast_score *more)
{
    sum->scored += more->scored;
    sum->covered += more->covered;
    for (int basis = 0; basis < CONFORMAL_BASES; basis++) {
        sum->bases[basis] += more->bases[basis];
        sum->bases_covered[basis] += more->bases_covered[basis];
    }
    sum->loss += more->loss;
    sum->last_week_loss += more->last_week_loss;
    sum->last_week_10_loss += more->last_week_10_loss;
    sum->needs += more->needs;
    sum->bounds += more->bounds;
}
