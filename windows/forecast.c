/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One cell a window: its past occurrences are found, then walked in the order of time.  Nothing
 * that is said of a day looks at that day or a later one: a week is predicted as a whole from
 * what was known at its beginning (the first two weeks day by day, so that there are scores at
 * all).
 */
#include "windows/forecast.h"

#include "windows/estimate.h"
#include "windows/segment.h"
#include "windows/trend.h"

#include <math.h>

static const double known_share = 0.9;
static const double overrun = 1.1;

static const double growth_max = 0.13976194237515868; /* ln 1.15, a week */
static const double damping = 0.8;                    /* of growth that has not been seen */

enum {
    SEED_DAYS = 14,
    WEEK_DAYS = 7,
    SOLVE_STEPS = 40,
    TREND_WEEKS = 3,    /* of history, for a trend */
    WEEKDAY_WEEKS = 4,  /* of a weekday, to stand for itself */
    METHOD_SCORES = 9,  /* before a method may be preferred */
    HISTORY_WEEKS = 16, /* longer ago says nothing */
};

/* What is known at an origin, from scores before it. */
struct rolling {
    struct conformal conformal[FORECAST_METHODS];
    double loss[FORECAST_METHODS]; /* of bounds, in logarithms */
    size_t scored;
    double misses; /* that are asked for */
};

void forecast_free(struct forecast *forecast)
{
    if (!forecast)
        return;
    for (size_t i = 0; i < forecast->count; i++)
        array_clear(&forecast->cells[i].past);
    mem_free(forecast->cells);
    mem_free(forecast);
}

const char *forecast_method_name(enum forecast_method method)
{
    return method == FORECAST_PROFILE ? "profile" : "last-week";
}

const char *forecast_stale_name(enum forecast_stale stale)
{
    static const char *const names[] = { "", "no-data", "overrun" };

    return names[stale];
}

/* Servers with a fraction: between the last that fails and the first that passes, by the logarithm
   of the share that waits too long. */
static double need_of(const struct forecast_setup *setup, const struct segment_list *segments,
                      double scale)
{
    struct service_time service = { .mean_s = setup->service_s, .cv = setup->service_cv };
    struct arrivals_setup arrivals = { setup->series, segments, &service, scale, 0 };
    struct estimate estimate;
    double p = setup->target.percentile / 100;
    double t_s = (double)setup->target.wait_ms / SECOND_MS;

    estimate_init(&estimate, &arrivals);
    if (!(estimate.load_max > 0))
        return 0;

    int servers = estimate_servers(&estimate, p, t_s);
    double passes = estimate_tail(&estimate, servers, t_s);
    double fails = servers > 1 ? estimate_tail(&estimate, servers - 1, t_s) : 1;

    if (!(passes > 0) || !(fails > passes) || fails < 1 - p)
        return servers;
    return servers - fmin(1, log((1 - p) / passes) / log(fails / passes));
}

static struct forecast_occurrence *occurrence_on(struct forecast_cell *cell, int64_t day)
{
    for (size_t i = cell->past.count; i-- > 0 && cell->past.items[i].day >= day;)
        if (cell->past.items[i].day == day)
            return &cell->past.items[i];
    return NULL;
}

static int64_t day_of(const struct window_set *set, struct wall_time wall)
{
    struct local_time local = time_zone_local(set->zone, wall);

    return civil_day(local.date.year, local.date.month, local.date.day);
}

/* One stretch of a window, or the further part of one that others are carved out of. */
static void add_stretch(const struct forecast_setup *setup, struct forecast_cell *cell,
                        struct wall_time begin, struct wall_time end)
{
    int64_t day = day_of(setup->set, begin);
    struct forecast_occurrence *item = occurrence_on(cell, day);

    if (!item) {
        item = array_add(&cell->past);
        item->day = day;
        item->weekday = window_week_minute(setup->set, begin) / (24 * 60);
        item->begin = begin;
    }
    item->end = end;
    item->last_day = day_of(setup->set, (struct wall_time){ end.ms - 1 });
    item->steps_all += (size_t)((end.ms - begin.ms) / setup->series->step_ms);
}

/* From the window in force at the series' first step on; its whole length counts. */
static void find_occurrences(const struct forecast_setup *setup, struct forecast *forecast)
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
            add_stretch(setup, &forecast->cells[window - setup->set->items], at, change);
        at = change;
    }
}

static void measure(const struct forecast_setup *setup, struct forecast_cell *cell, size_t window)
{
    for (size_t i = 0; i < cell->past.count; i++) {
        struct forecast_occurrence *item = &cell->past.items[i];
        struct segment_list segments = { 0 };
        struct wall_time end = item->end.ms < setup->end.ms ? item->end : setup->end;

        segments_of_window(setup->series, setup->set, window, item->begin, end, &segments);
        for (size_t at = 0; at < segments.list.count; at++)
            item->steps += segments.list.items[at].count;
        item->is_known = item->steps > 0 &&
                         (double)item->steps >= known_share * (double)item->steps_all;
        if (item->is_known)
            item->need = need_of(setup, &segments, setup->scale);
        else if (item->end.ms <= setup->end.ms)
            cell->missing++;
        item->is_known = item->is_known && item->need > 0;
        segments_clear(&segments);
    }
}

/* The day before which everything is known when this one is predicted. */
static int64_t origin_of(int64_t day, int64_t first, int64_t end)
{
    return day < first + SEED_DAYS ? day
                                   : end - (end - day + WEEK_DAYS - 1) / WEEK_DAYS * WEEK_DAYS;
}

/* The occurrences that predict: known, and over when day `origin` begins. */
static bool is_before(const struct forecast_occurrence *item, int64_t origin)
{
    return item->is_known && item->last_day < origin &&
           item->day >= origin - WEEK_DAYS * HISTORY_WEEKS;
}

/* Whole weeks between an occurrence and the seven days after the origin: 0 for the last seven. */
static int64_t weeks_ago(const struct forecast_occurrence *item, int64_t origin)
{
    return (origin - 1 - item->day) / WEEK_DAYS;
}

/* The growth of a week as a logarithm, from each week's mean; 0 while there are too few. */
static double growth_at(const struct forecast_cell *cell, int64_t origin)
{
    double sums[HISTORY_WEEKS] = { 0 };
    double counts[HISTORY_WEEKS] = { 0 };
    double x[HISTORY_WEEKS];
    size_t weeks = 0;

    for (size_t i = 0; i < cell->past.count; i++) {
        const struct forecast_occurrence *item = &cell->past.items[i];

        if (!is_before(item, origin))
            continue;
        sums[weeks_ago(item, origin)] += log(item->need);
        counts[weeks_ago(item, origin)]++;
    }
    for (int week = 0; week < HISTORY_WEEKS; week++)
        if (counts[week] > 0) {
            x[weeks] = -week;
            sums[weeks++] = sums[week] / counts[week];
        }
    if (weeks < TREND_WEEKS)
        return 0;
    return fmin(fmax(trend_slope(x, sums, weeks), -growth_max), growth_max);
}

/* The same weekday a week before, or the last one that is known; failing that, the last day of the
   window.  0: there is none. */
static double predict_last_week(const struct forecast_cell *cell, int weekday, int64_t origin)
{
    double other = 0;

    for (size_t i = cell->past.count; i-- > 0;) {
        const struct forecast_occurrence *item = &cell->past.items[i];

        if (!is_before(item, origin))
            continue;
        if (item->weekday == weekday)
            return item->need;
        if (!(other > 0))
            other = item->need;
    }
    return other;
}

static double predict_profile(const struct forecast_cell *cell, int weekday, int64_t origin)
{
    double growth = growth_at(cell, origin);
    double *values = mem_new_array(2 * cell->past.count, sizeof *values);
    double *weights = values + cell->past.count;
    size_t same = 0;
    size_t count = 0;
    double median;

    for (size_t i = 0; i < cell->past.count; i++)
        same += is_before(&cell->past.items[i], origin) && cell->past.items[i].weekday == weekday;
    for (size_t i = 0; i < cell->past.count; i++) {
        const struct forecast_occurrence *item = &cell->past.items[i];

        if (!is_before(item, origin) || (same >= WEEKDAY_WEEKS && item->weekday != weekday))
            continue;
        values[count] = log(item->need) + growth * (double)weeks_ago(item, origin);
        weights[count++] = exp2(-(double)weeks_ago(item, origin) / 2);
    }
    median = trend_median(values, weights, count);
    mem_free(values);
    return count == 0 ? 0 : exp(median + growth * damping);
}

static double predict(const struct forecast_cell *cell, enum forecast_method method, int weekday,
                      int64_t origin)
{
    return method == FORECAST_PROFILE ? predict_profile(cell, weekday, origin)
                                      : predict_last_week(cell, weekday, origin);
}

/* The profile only where it did better so far. */
static enum forecast_method choose(const struct rolling *rolling)
{
    return rolling->scored >= METHOD_SCORES &&
                   rolling->loss[FORECAST_PROFILE] < rolling->loss[FORECAST_LAST_WEEK]
               ? FORECAST_PROFILE
               : FORECAST_LAST_WEEK;
}

static double pinball(const struct rolling *rolling, double truth, double bound)
{
    return truth > bound ? (1 - rolling->misses) * (truth - bound)
                         : rolling->misses * (bound - truth);
}

static void foretell(const struct rolling *rolling, const struct forecast_cell *cell,
                     struct forecast_occurrence *item, int64_t origin)
{
    item->method = choose(rolling);
    for (int method = 0; method < FORECAST_METHODS; method++) {
        enum conformal_basis basis;
        double upper = conformal_upper(&rolling->conformal[method], &basis);

        item->points[method] = predict(cell, (enum forecast_method)method, item->weekday, origin);
        item->bounds[method] = item->points[method] * exp(upper);
        if (method == (int)item->method)
            item->basis = basis;
    }
    item->is_scored = item->is_known && item->points[item->method] > 0;
}

static void learn(struct rolling *rolling, const struct forecast_occurrence *item)
{
    double truth = log(item->need);

    for (int method = 0; method < FORECAST_METHODS; method++) {
        bool is_miss = item->need > item->bounds[method];

        if (rolling->conformal[method].scores.count >= 2)
            rolling->loss[method] += pinball(rolling, truth, log(item->bounds[method]));
        conformal_add(&rolling->conformal[method], truth - log(item->points[method]), is_miss);
    }
    rolling->scored++;
}

/* Bounds of the first two scores are a guess; they are not counted. */
static void keep_score(const struct rolling *rolling, struct forecast_score *score,
                       const struct forecast_occurrence *item)
{
    double last = item->points[FORECAST_LAST_WEEK];
    double bound = item->bounds[item->method];
    bool is_covered = item->need <= bound;

    if (item->basis == CONFORMAL_PRIOR)
        return;
    score->scored++;
    score->covered += is_covered;
    score->ranked += item->basis == CONFORMAL_RANK;
    score->ranked_covered += item->basis == CONFORMAL_RANK && is_covered;
    score->loss += pinball(rolling, item->need, bound);
    score->last_week_loss += pinball(rolling, item->need, last);
    score->last_week_10_loss += pinball(rolling, item->need, last * 1.1);
}

/* Takes those in that were over when day `origin` began; returns the first that was not. */
static size_t learn_until(struct forecast_cell *cell, struct rolling *rolling, size_t at,
                          int64_t origin)
{
    for (; at < cell->past.count && cell->past.items[at].last_day < origin; at++)
        if (cell->past.items[at].is_scored) {
            learn(rolling, &cell->past.items[at]);
            keep_score(rolling, &cell->score, &cell->past.items[at]);
        }
    return at;
}

/* Week after week: learn from what is over, then predict all days of the next one. */
static void roll(struct forecast_cell *cell, struct rolling *rolling, int64_t end)
{
    int64_t first = cell->past.count > 0 ? cell->past.items[0].day : end;
    size_t learned = 0;

    for (size_t at = 0; at < cell->past.count; at++) {
        int64_t origin = origin_of(cell->past.items[at].day, first, end);

        learned = learn_until(cell, rolling, learned, origin);
        foretell(rolling, cell, &cell->past.items[at], origin);
    }
    learn_until(cell, rolling, learned, end);
}

/* The neediest of the window's next seven days. */
static void look_ahead(const struct forecast_setup *setup, struct forecast_cell *cell,
                       size_t window, const struct rolling *rolling, int64_t end)
{
    double upper = conformal_upper(&rolling->conformal[cell->method], &cell->basis);
    double lower = conformal_lower(&rolling->conformal[cell->method]);
    struct wall_time at = setup->end;

    while (at.ms < setup->end.ms + WEEK_MS) {
        struct wall_time change = window_beneath_next_change(setup->set, at);
        int weekday = window_week_minute(setup->set, at) / (24 * 60);

        if (window_beneath(setup->set, at) == &setup->set->items[window])
            cell->point = fmax(cell->point, predict(cell, cell->method, weekday, end));
        at.ms = change.ms == 0 || change.ms > at.ms + DAY_MS ? at.ms + DAY_MS : change.ms;
    }
    cell->upper = cell->point * exp(upper);
    cell->lower = fmin(cell->point, cell->point * exp(lower));
}

/* By how much the last seven days' arrivals are to be multiplied, so that they need `upper`. */
static void solve_scale(const struct forecast_setup *setup, struct forecast_cell *cell,
                        size_t window)
{
    struct wall_time from = segments_days_before(setup->set->zone, setup->end, WEEK_DAYS);
    struct segment_list segments = { 0 };
    double low = log(0.05);
    double high = log(20);

    cell->scale = 1;
    segments_of_window(setup->series, setup->set, window, from, setup->end, &segments);
    cell->last = segments.list.count > 0 ? need_of(setup, &segments, setup->scale) : 0;
    for (int i = 0; i < SOLVE_STEPS && cell->last > 0 && cell->upper > 0; i++) {
        double middle = (low + high) / 2;

        if (need_of(setup, &segments, setup->scale * exp(middle)) < cell->upper)
            low = middle;
        else
            high = middle;
        cell->scale = exp(high);
    }
    segments_clear(&segments);
}

static enum forecast_stale find_stale(const struct forecast_setup *setup,
                                      const struct forecast_cell *cell)
{
    struct segment_list segments = { 0 };
    struct wall_time from = { setup->end.ms - DAY_MS };
    size_t known = 0;

    segments_of_series(setup->series, from, setup->end, &segments);
    for (size_t i = 0; i < segments.list.count; i++)
        known += segments.list.items[i].count;
    segments_clear(&segments);
    if ((int64_t)known * setup->series->step_ms * 2 < DAY_MS)
        return FORECAST_NO_DATA;
    for (size_t i = cell->past.count; i-- > 0;) {
        const struct forecast_occurrence *item = &cell->past.items[i];

        if (item->end.ms <= from.ms)
            break;
        if (item->is_scored && item->need > overrun * item->bounds[item->method])
            return FORECAST_OVERRUN;
    }
    return FORECAST_FRESH;
}

static void forecast_window(const struct forecast_setup *setup, struct forecast_cell *cell,
                            size_t window)
{
    struct wall_time last = { setup->end.ms - 1 };
    int64_t end = day_of(setup->set, last) + 1;
    struct rolling rolling = { .misses = setup->misses > 0 ? setup->misses : FORECAST_MISSES };

    for (int method = 0; method < FORECAST_METHODS; method++)
        conformal_init(&rolling.conformal[method], rolling.misses);
    measure(setup, cell, window);
    roll(cell, &rolling, end);
    cell->method = choose(&rolling);
    cell->growth = exp(growth_at(cell, end));
    look_ahead(setup, cell, window, &rolling, end);
    solve_scale(setup, cell, window);
    cell->stale = find_stale(setup, cell);
    for (int method = 0; method < FORECAST_METHODS; method++)
        conformal_clear(&rolling.conformal[method]);
}

struct forecast *forecast_new(const struct forecast_setup *setup)
{
    struct forecast *forecast = mem_new(sizeof *forecast);

    forecast->count = setup->set->weekly_count;
    forecast->cells = mem_new_array(forecast->count, sizeof *forecast->cells);
    find_occurrences(setup, forecast);
    for (size_t i = 0; i < forecast->count; i++)
        forecast_window(setup, &forecast->cells[i], i);
    return forecast;
}

void forecast_score_add(struct forecast_score *sum, const struct forecast_score *more)
{
    sum->scored += more->scored;
    sum->covered += more->covered;
    sum->ranked += more->ranked;
    sum->ranked_covered += more->ranked_covered;
    sum->loss += more->loss;
    sum->last_week_loss += more->last_week_loss;
    sum->last_week_10_loss += more->last_week_10_loss;
}
