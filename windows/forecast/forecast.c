/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The past occurrences of all windows are walked in the order of time.  Nothing that is said of a
 * day looks at that day or a later one: it is predicted from what was known at its origin, the
 * morning on which the plan was made that was in use then.
 */
#include "windows/forecast/forecast.h"

#include "windows/forecast/carry_over.h"
#include "windows/forecast/forecast_parts.h"
#include "windows/forecast/forecast_score.h"
#include "windows/forecast/hours.h"
#include "windows/forecast/occurrences.h"
#include "windows/forecast/origins.h"
#include "windows/forecast/peak.h"
#include "windows/forecast/scales.h"
#include "windows/forecast/spread.h"
#include "windows/forecast/stale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double naive_share = 0.95; /* of the profile's loss, at which last week is better */
static const double cap_over_point = 1.1;
static const double reached = 0.999; /* of a bound, by arrivals that are scaled to it */

enum {
    WEEK_DAYS = 7,
    METHOD_SCORES = 25, /* before a method may be preferred */
    ASKED = SHARES,     /* among bounds: the share of misses that is asked for */
    BOUNDS
};

/* What is predicted of an occurrence by a method, and how its window's scores spread. */
struct guess {
    enum forecast_method method;
    double point;
    struct scale scale;
};

struct entry {
    struct forecast_cell *cell;
    struct forecast_occurrence *item;
    size_t window;
    bool is_learned;
    double uppers[FORECAST_METHODS][BOUNDS]; /* of scores, when it was predicted */
    struct guess guesses[FORECAST_METHODS];
    struct carry_days days; /* before it */
    double carried;
};

/* What is known at an origin, from days before it. */
struct rolling {
    const struct forecast_setup *setup;
    struct forecast *forecast;
    ARRAY(struct entry) entries; /* in the order of time */
    size_t oldest;               /* that is not learned */
    double misses[BOUNDS];       /* share of misses that each bound may have */
    struct conformal_misses adapted[FORECAST_METHODS][BOUNDS]; /* the shares in use */
    struct scales scales[FORECAST_METHODS];
    struct conformal conformal[FORECAST_METHODS]; /* of scores over the scales of their windows */
    double uppers[FORECAST_METHODS][BOUNDS];      /* of the next scores at the origin */
    enum conformal_basis bases[FORECAST_METHODS][BOUNDS]; /* what those bounds rest on */
    double alike[FORECAST_METHODS];                       /* the scores of one day */
    double loss[FORECAST_METHODS];
    size_t scored;
    struct peak peak;
    struct peak_cap cap;
    struct points_level level; /* of the last days */
    struct carry_days days;
    struct carry_over carry;
    double carried; /* added to predictions of the profile */
    struct points_origin origin;
};

static bool has(const struct rolling *rolling, enum forecast_part part)
{
    return !(rolling->setup->without & part);
}

void forecast_free(struct forecast *forecast)
{
    if (!forecast)
        return;
    for (size_t i = 0; i < forecast->count; i++) {
        array_clear(&forecast->cells[i].past);
        array_clear(&forecast->cells[i].ahead);
    }
    forecast_free(forecast->hours);
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

/* The need by a profile on a day, plus the level of the last days over their profiles. */
static double levelled(const struct rolling *rolling, double profile, int64_t day)
{
    return profile *
           exp(points_level_left(&rolling->level, day, &rolling->origin) + rolling->carried);
}

static double predict(const struct rolling *rolling, const struct forecast_cell *cell,
                      enum forecast_method method, int weekday, int64_t day)
{
    if (method == FORECAST_LAST_WEEK)
        return points_last_week(cell, weekday, &rolling->origin);
    return levelled(rolling,
                    points_profile(cell, weekday, day, &rolling->origin, rolling->setup->without),
                    day);
}

/* Last week only if it was clearly better so far, and while the level has not shifted since. */
static enum forecast_method choose(const struct rolling *rolling)
{
    return !rolling->level.is_shift && rolling->scored >= METHOD_SCORES &&
                   rolling->loss[FORECAST_LAST_WEEK] < naive_share * rolling->loss[FORECAST_PROFILE]
               ? FORECAST_LAST_WEEK
               : FORECAST_PROFILE;
}

static struct guess guess_of(const struct rolling *rolling, enum forecast_method method,
                             size_t window, double point)
{
    return (struct guess){ method, point,
                           has(rolling, FORECAST_WINDOW_SCALE)
                               ? scales_of(&rolling->scales[method], window)
                               : (struct scale){ 0, 1 } };
}

/* The bound around a point, limited by the cap.  After a level shift the cap is never below the
   prediction itself. */
static double bound_about(const struct rolling *rolling, const struct guess *guess, size_t bound)
{
    double score = scale_to_window(&guess->scale, rolling->uppers[guess->method][bound]);
    double most = peak_most(&rolling->cap, rolling->misses[bound]);

    if (has(rolling, FORECAST_LEVEL_SHIFT))
        most = fmax(most, cap_over_point * guess->point);
    return fmin(guess->point * exp(score), most);
}

/* A safer bound is not the smaller one. */
static void make_shares(const struct rolling *rolling, const struct guess *guess,
                        double bounds[SHARES], enum conformal_basis bases[SHARES])
{
    memcpy(bases, rolling->bases[guess->method], SHARES * sizeof *bases);
    for (size_t share = 0; share < SHARES; share++) {
        bounds[share] = bound_about(rolling, guess, share);
        if (share > 0 && bounds[share - 1] > bounds[share]) {
            bounds[share] = bounds[share - 1];
            bases[share] = bases[share - 1];
        }
    }
}

static void foretell(const struct rolling *rolling, struct entry *entry)
{
    struct forecast_occurrence *item = entry->item;
    enum conformal_basis bases[SHARES];

    item->method = choose(rolling);
    item->profile = points_profile(entry->cell, item->weekday, item->day, &rolling->origin,
                                   rolling->setup->without);
    item->points[FORECAST_LAST_WEEK] = points_last_week(entry->cell, item->weekday,
                                                        &rolling->origin);
    item->points[FORECAST_PROFILE] = levelled(rolling, item->profile, item->day);
    for (int method = 0; method < FORECAST_METHODS; method++) {
        entry->guesses[method] = guess_of(rolling, (enum forecast_method)method, entry->window,
                                          item->points[method]);
        item->bounds[method] = bound_about(rolling, &entry->guesses[method], ASKED);
    }
    item->basis = rolling->bases[item->method][ASKED];
    item->alike = rolling->alike[item->method];
    make_shares(rolling, &entry->guesses[item->method], item->shares, bases);
    memcpy(entry->uppers, rolling->uppers, sizeof entry->uppers);
    entry->days = rolling->days;
    entry->carried = rolling->carried;
    item->is_scored = item->is_known && item->points[item->method] > 0;
}

static void learn_method(struct rolling *rolling, const struct entry *entry,
                         enum forecast_method method)
{
    const struct forecast_occurrence *item = entry->item;
    double distance = log(item->need / item->points[method]);
    double score = scale_to_queue(&entry->guesses[method].scale, distance);

    scales_add(&rolling->scales[method], entry->window, distance);
    rolling->loss[method] += forecast_pinball(rolling->misses[ASKED], item->need,
                                              item->bounds[method]);
    conformal_keep(&rolling->conformal[method], item->day, score);
    for (size_t bound = 0; bound < BOUNDS; bound++)
        conformal_adapt(&rolling->adapted[method][bound], score > entry->uppers[method][bound]);
}

static void learn(struct rolling *rolling, struct entry *entry)
{
    const struct forecast_occurrence *item = entry->item;

    entry->is_learned = true;
    if (item->is_known)
        peak_add(&rolling->peak, item->day, item->need);
    if (!item->is_scored)
        return;
    for (int method = 0; method < FORECAST_METHODS; method++)
        learn_method(rolling, entry, (enum forecast_method)method);
    carry_over_learn(&rolling->carry, &entry->days,
                     log(item->need / item->points[FORECAST_PROFILE]) + entry->carried);
    rolling->scored++;
    forecast_score_keep(&entry->cell->score, item, rolling->misses[ASKED]);
}

/* Bounds for the next scores, at each share of misses, and their basis. */
static void look_at_scores(struct rolling *rolling, enum forecast_method method)
{
    const struct conformal *conformal = &rolling->conformal[method];
    const struct conformal_sight sight = conformal_look(conformal);

    rolling->alike[method] = sight.alike;
    for (size_t bound = 0; bound < BOUNDS; bound++)
        rolling->uppers[method][bound] = conformal_upper_at(
            conformal, &sight, &rolling->adapted[method][bound], &rolling->bases[method][bound]);
}

static struct points_level level_of(const struct rolling *rolling)
{
    return points_level(rolling->forecast, &rolling->origin, origins_horizon(rolling->setup),
                        rolling->setup->without);
}

/* The level, the cap and the bounds of the queue as a whole at an origin. */
static void look_around(struct rolling *rolling)
{
    double days;
    double squares = spread_of_days(rolling->forecast, &rolling->origin, &days);

    rolling->level = level_of(rolling);
    rolling->carried = 0;
    if (has(rolling, FORECAST_CARRY_OVER) && rolling->setup->lead_ms == 0 &&
        origins_horizon(rolling->setup) == 1) {
        rolling->days = carry_over_days(rolling->forecast, &rolling->origin);
        rolling->carried = carry_over_tell(&rolling->carry, &rolling->days);
    }
    rolling->cap = (struct peak_cap){ 0 };
    if (has(rolling, FORECAST_CAP))
        rolling->cap = peak_look(&rolling->peak, rolling->origin.day,
                                 has(rolling, FORECAST_LEVEL_SHIFT));
    for (int method = 0; method < FORECAST_METHODS; method++) {
        if (has(rolling, FORECAST_SHORT_HISTORY))
            conformal_expect(&rolling->conformal[method], days, squares);
        look_at_scores(rolling, (enum forecast_method)method);
    }
}

/* Takes in the occurrences that were over by then. */
static void learn_until(struct rolling *rolling, size_t count, const struct points_origin *origin)
{
    for (size_t i = rolling->oldest; i < count; i++)
        if (!rolling->entries.items[i].is_learned &&
            rolling->entries.items[i].item->end.ms <= origin->at.ms)
            learn(rolling, &rolling->entries.items[i]);
    while (rolling->oldest < count && rolling->entries.items[rolling->oldest].is_learned)
        rolling->oldest++;
    rolling->origin = *origin;
    look_around(rolling);
}

/* If the last hours tell nothing of the next ones, what is known of them changes no plan: the first
   one of the occurrence stands. */
static void stand_by(struct rolling *rolling, struct wall_time begin)
{
    struct wall_time first = origins_first(rolling->setup, begin);

    if (rolling->setup->again_ms == 0 || rolling->level.is_lasting ||
        rolling->origin.at.ms <= first.ms)
        return;
    rolling->origin.at = first;
    look_around(rolling);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *first = a;
    const struct entry *second = b;

    if (first->item->day != second->item->day)
        return first->item->day < second->item->day ? -1 : 1;
    if (first->item->begin.ms != second->item->begin.ms)
        return first->item->begin.ms < second->item->begin.ms ? -1 : 1;
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

/* Plan after plan: learns from the past, then predicts all days until the next plan. */
static void roll(struct rolling *rolling)
{
    const struct forecast_setup *setup = rolling->setup;
    struct points_origin now = origins_now(setup);
    int64_t end = occurrences_day(setup->set, (struct wall_time){ setup->end.ms - 1 }) + 1;

    list_entries(rolling);
    for (size_t i = 0; i < rolling->entries.count; i++) {
        struct entry *entry = &rolling->entries.items[i];
        struct points_origin origin = origins_of(setup, entry->item, end);

        if (i == 0 || origin.at.ms != rolling->origin.at.ms)
            learn_until(rolling, i, &origin);
        stand_by(rolling, entry->item->begin);
        foretell(rolling, entry);
    }
    learn_until(rolling, rolling->entries.count, &now);
    stand_by(rolling, (struct wall_time){ setup->end.ms - setup->again_ms });
}

static void set_bounds(const struct rolling *rolling, struct forecast_cell *cell, size_t window)
{
    const struct guess guess = guess_of(rolling, cell->method, window, cell->point);
    double least = conformal_lower(&rolling->conformal[cell->method]);

    cell->misses = rolling->misses[ASKED];
    cell->basis = rolling->bases[cell->method][ASKED];
    cell->upper = bound_about(rolling, &guess, ASKED);
    cell->lower = fmin(cell->point, cell->point * exp(scale_to_window(&guess.scale, least)));
    make_shares(rolling, &guess, cell->uppers, cell->bases);
}

/* A plan of one window knows the data before that window's day, as the scored plans did. */
static void aim_at(struct rolling *rolling, int64_t day)
{
    if (!rolling->origin.is_late || rolling->origin.day == day)
        return;
    rolling->origin.day = day;
    rolling->level = level_of(rolling);
}

/* The day of greatest need among the window's days within the horizon; the next one if there is
   none.  A plan of one day has those that begin on it. */
static void look_ahead(struct rolling *rolling, struct forecast_cell *cell, size_t window)
{
    const struct forecast_setup *setup = rolling->setup;
    struct wall_time at = origins_from(setup);
    int64_t sure = origins_until(setup).ms;
    int64_t furthest = setup->is_shared ? sure : setup->end.ms + WEEK_MS;

    cell->point = cell->hours = 0;
    cell->away_ms = 0;
    cell->ahead.count = 0;
    while (at.ms < furthest && (at.ms < sure || cell->ahead.count == 0)) {
        struct wall_time next = origins_next_begin(setup->set, at);
        int weekday = window_week_minute(setup->set, at) / (24 * 60);
        int64_t day = occurrences_day(setup->set, at);
        double point = 0;

        if (window_beneath(setup->set, at) == &setup->set->items[window]) {
            aim_at(rolling, day);
            point = predict(rolling, cell, cell->method, weekday, day);
        }
        if (point > 0) {
            if (cell->ahead.count == 0)
                cell->away_ms = at.ms - setup->end.ms;
            *array_add(&cell->ahead) = point;
            cell->hours += (double)(next.ms - at.ms) / HOUR_MS;
            cell->point = fmax(cell->point, point);
        }
        at = next;
    }
    set_bounds(rolling, cell, window);
}

static void solve_scale(const struct forecast_setup *setup, struct forecast_cell *cell,
                        size_t window)
{
    struct wall_time from = segments_days_before(setup->set->zone, setup->end, WEEK_DAYS);
    struct segment_list segments = { 0 };

    segments_of_window(setup->series, setup->set, window, (struct wall_span){ from, setup->end },
                       &segments);
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
    *rolling = (struct rolling){ .setup = setup, .forecast = forecast };
    for (size_t share = 0; share < SHARES; share++)
        rolling->misses[share] = shares_grid[share];
    rolling->misses[ASKED] = setup->misses > 0 ? setup->misses : FORECAST_MISSES;
    for (int method = 0; method < FORECAST_METHODS; method++) {
        conformal_init(&rolling->conformal[method], rolling->misses[ASKED]);
        scales_init(&rolling->scales[method], forecast->count);
        for (size_t bound = 0; bound < BOUNDS; bound++)
            rolling->adapted[method][bound] = (struct conformal_misses){ rolling->misses[bound],
                                                                         rolling->misses[bound] };
    }
    for (size_t i = 0; i < forecast->count; i++)
        forecast->cells[i].score = (struct forecast_score){ 0 };
}

static void rolling_clear(struct rolling *rolling)
{
    for (int method = 0; method < FORECAST_METHODS; method++) {
        conformal_clear(&rolling->conformal[method]);
        scales_clear(&rolling->scales[method]);
    }
    peak_clear(&rolling->peak);
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
    if (setup->lead_ms > 0 && !forecast->hours)
        forecast->hours = hours_new(setup);
    roll(&rolling);
    for (size_t window = 0; window < forecast->count; window++) {
        struct forecast_cell *cell = &forecast->cells[window];

        cell->method = choose(&rolling);
        cell->growth = exp(points_growth(cell, &rolling.origin));
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
