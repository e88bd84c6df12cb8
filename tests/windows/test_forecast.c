/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Trends against planted ones, and forecasts of weeks that were made so that the answer is known;
 * nothing said of a week may change with what came later.
 */
#include "base/input/yaml.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/demand/trend.h"
#include "windows/forecast/forecast_parts.h"
#include "windows/forecast/forecast_score.h"
#include "windows/forecast/forecast_share.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void a_trend_is_not_moved_by_wild_points(void **state)
{
    double x[9];
    double y[9];
    double values[] = { 5, 1, 9, 3 };
    double weights[] = { 1, 1, 1, 4 };

    (void)state;
    for (int i = 0; i < 9; i++) {
        x[i] = i;
        y[i] = 2 + 0.25 * i + (i == 4 ? 100 : 0) - (i == 8 ? 50 : 0);
    }
    assert_true(fabs(trend_slope(x, y, 9) - 0.25) < 1e-12);
    assert_true(trend_slope(x, y, 1) <= 0 && trend_slope(x, y, 0) >= 0);
    assert_true(fabs(trend_sure_slope(x, y, 8) - 0.25) < 1e-12);
    assert_true(trend_sure_slope(x, y, 0) <= 0 && trend_sure_slope(x, y, 0) >= 0);
    for (int i = 0; i < 9; i++)
        y[i] = i < 6 ? 1 : 3; /* a shift is no trend */
    assert_true(trend_sure_slope(x, y, 9) <= 0 && trend_sure_slope(x, y, 9) >= 0);
    assert_true(fabs(trend_median(values, weights, 4) - 3) < 1e-12);
}

/* A queue in steps of ten minutes from a Monday on, UTC. */
struct plant {
    int days;
    double growth;   /* a week, a factor */
    double noise;    /* of a day's level, as a logarithm */
    int gap_day;     /* of which nothing is known; -1: none */
    double last_day; /* a factor */
};

static struct demand *demand_of(const struct plant *plant)
{
    owned(text) struct text *csv = text_new(4 << 20);
    struct demand_options options = { 0 };
    struct random random;
    double level = 1;

    random_seed(&random, 11);
    text_add(csv, "t,count\n");
    for (int step = 0; step < plant->days * 144; step++) {
        int day = step / 144;
        double shape = step % 144 >= 48 && step % 144 < 120 ? 6000 : 2000;
        char time[WALL_TEXT_SIZE];

        if (step % 144 == 0)
            level = exp(plant->noise * random_normal(&random) + log(plant->growth) * day / 7);
        if (day == plant->gap_day)
            continue;
        shape *= day % 7 >= 5 ? 0.5 : 1;
        shape *= day == plant->days - 1 ? plant->last_day : 1;
        text_add(csv, "%s,%.0f\n",
                 wall_format((struct wall_time){ civil_day(2026, 8, 31) * DAY_MS +
                                                 step * (10 * (int64_t)MINUTE_MS) },
                             time),
                 shape * level);
    }
    return demand_parse(csv->chars, csv->length, "q.csv", &options, NULL);
}

static struct forecast_setup setup_of(const struct demand *demand, const struct window_set *set,
                                      double misses)
{
    assert_non_null(demand);
    return (struct forecast_setup){
        .series = &demand->series[0],
        .set = set,
        .service_s = 20,
        .service_cv = 1,
        .scale = 1,
        .misses = misses,
        .target = { 20000, 98 },
        .end = demand->end,
    };
}

static struct forecast *forecast_at(const struct demand *demand, const struct window_set *set,
                                    double misses)
{
    struct forecast_setup setup = setup_of(demand, set, misses);

    return forecast_new(&setup);
}

static struct forecast *forecast_of(const struct demand *demand, const struct window_set *set)
{
    return forecast_at(demand, set, 0);
}

static struct window_set *usual_windows(void)
{
    return window_set_read(NULL, time_zone_open("UTC", NULL), NULL);
}

static const struct forecast_cell *cell_of(const struct forecast *forecast,
                                           const struct window_set *set, const char *window)
{
    return &forecast->cells[window_find(set, window) - set->items];
}

static void a_week_that_repeats_is_foretold_exactly(void **state)
{
    struct plant plant = { 42, 1, 0, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);
    owned(forecast) struct forecast *forecast = forecast_of(demand, set);
    const struct forecast_cell *peak = cell_of(forecast, set, "weekday-peak");
    const struct forecast_cell *rest = cell_of(forecast, set, "weekend-day");

    (void)state;
    assert_int_equal(peak->past.count, 30);
    assert_int_equal(rest->past.count, 12);
    assert_int_equal(peak->missing, 0);
    assert_true(fabs(peak->point / peak->last - 1) < 0.01);
    assert_true(fabs(peak->upper / peak->point - 1) < 0.01);
    assert_true(fabs(peak->scale - 1) < 0.02 && fabs(peak->growth - 1) < 0.001);
    assert_int_equal(peak->method, FORECAST_LAST_WEEK); /* which nothing can beat */
    assert_int_equal(peak->basis, CONFORMAL_RANK);
    assert_int_equal(peak->stale, FORECAST_FRESH);
    assert_true(rest->point < 0.6 * peak->point);
}

static void growth_is_seen_and_the_bound_is_ahead_of_it(void **state)
{
    struct plant plant = { 56, 1.05, 0.01, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);
    owned(forecast) struct forecast *forecast = forecast_of(demand, set);
    const struct forecast_cell *cell = cell_of(forecast, set, "weekday-day");
    size_t misses = 0;

    (void)state;
    assert_true(cell->growth > 1.03 && cell->growth < 1.06);
    /* last week's need, too, once its errors are known to be of one sign */
    assert_true(cell->upper / cell->last > 1.03 && cell->upper / cell->last < 1.12);
    assert_true(cell->scale > 1.03 && cell->scale < 1.15);
    for (size_t i = cell->past.count - 10; i < cell->past.count; i++)
        misses += cell->past.items[i].need > cell->past.items[i].bounds[cell->past.items[i].method];
    if (misses > 3) /* of the last two weeks' ten days */
        fail_msg("%zu misses, growth %.3f", misses, cell->growth);
    assert_true(cell->score.loss < cell->score.last_week_loss);
}

/* Of the days from `first` on, in all windows, as planned every night: the share under its bound.
 */
static double covered_by(const struct plant *plant, int shift_day, int first, int64_t lead_ms)
{
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(plant);
    struct demand_series *series = &demand->series[0];
    double covered = 0;
    double count = 0;

    for (size_t step = (size_t)shift_day * 144; step < series->count; step++)
        series->counts[DEMAND_LOW][step] *= 2;

    struct forecast_setup setup = { .series = series,
                                    .set = set,
                                    .service_s = 20,
                                    .service_cv = 1,
                                    .scale = 1,
                                    .target = { 20000, 98 },
                                    .end = demand->end,
                                    .horizon_days = 1,
                                    .lead_ms = lead_ms };
    owned(forecast) struct forecast *forecast = forecast_new(&setup);

    for (size_t window = 0; window < forecast->count; window++)
        for (size_t i = 0; i < forecast->cells[window].past.count; i++) {
            const struct forecast_occurrence *item = &forecast->cells[window].past.items[i];

            if (!item->is_scored || item->day < civil_day(2026, 8, 31) + first)
                continue;
            covered += item->need <= item->bounds[item->method];
            count++;
        }
    return covered / count;
}

static double covered_since(const struct plant *plant, int shift_day, int first)
{
    return covered_by(plant, shift_day, first, 0);
}

/* By a third a week: weeks agree on it, so it counts for more than 15 % a week. */
static void steep_growth_is_believed_when_most_weeks_show_it(void **state)
{
    struct plant plant = { 49, 1.33, 0.05, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);
    struct forecast_setup setup = setup_of(demand, set, 0);
    owned(forecast) struct forecast *forecast = NULL;
    const struct forecast_cell *cell;
    double late = 0;

    (void)state;
    setup.horizon_days = 1;
    forecast = forecast_new(&setup);
    cell = cell_of(forecast, set, "weekday-peak");
    assert_true(cell->growth > 1.28 && cell->growth < 1.38);
    for (size_t i = cell->past.count - 10; i < cell->past.count; i++)
        late += log(cell->past.items[i].need / cell->past.items[i].points[FORECAST_PROFILE]) / 10;
    if (!(late < 0.02))
        fail_msg("predictions were %.3f too low", late);
}

static void slow_growth_is_covered_from_the_second_month_on(void **state)
{
    struct plant plant = { 112, 1.02, 0.05, -1, 1 };

    (void)state;
    assert_in_range((int)(100 * covered_since(&plant, 112, 28)), 85, 95);
}

/* Twice as much in the last week: its Monday is missed, and from Thursday on nine in ten hold. */
static void a_doubled_level_is_covered_after_three_days(void **state)
{
    struct plant plant = { 63, 1, 0.05, -1, 1 };

    (void)state;
    assert_true(covered_since(&plant, 56, 56) < 1);
    assert_true(covered_since(&plant, 56, 59) >= 0.85);
}

/* What was over an hour before a window tells of the second day what no night could. */
static void who_looks_before_each_window_sees_a_shift_sooner(void **state)
{
    struct plant plant = { 58, 1, 0.05, -1, 1 };
    double nightly = covered_by(&plant, 56, 56, 0);
    double followed = covered_by(&plant, 56, 56, HOUR_MS);

    (void)state;
    if (!(followed > nightly + 0.2))
        fail_msg("under their bound: %.2f planned at night, %.2f before each", nightly, followed);
}

/* Windows of a whole day each: there are fourteen in two weeks, and a shift is seen all the same.
 */
static void one_window_a_day_may_shift_too(void **state)
{
    static const char text[] = "week: { days: mon-fri, from: 0:00, to: 0:00 }\n"
                               "rest: { days: sat-sun, from: 0:00, to: 0:00 }\n";
    owned(yaml_document) struct yaml_document *document = yaml_parse(text, strlen(text), "windows",
                                                                     NULL);
    owned(window_set) struct window_set *set = window_set_read(yaml_root(document),
                                                               time_zone_open("UTC", NULL), NULL);
    struct plant plant = { 58, 1, 0.03, -1, 1 };
    owned(demand) struct demand *demand = demand_of(&plant);
    struct forecast_setup setup = setup_of(demand, set, 0.1);
    owned(forecast) struct forecast *negligible = forecast_new(&setup);
    double before = cell_of(negligible, set, "week")->point;

    (void)state;
    for (size_t step = (size_t)56 * 144; step < demand->series[0].count; step++)
        demand->series[0].counts[DEMAND_LOW][step] *= 2;
    setup.lead_ms = HOUR_MS;
    owned(forecast) struct forecast *shifted = forecast_new(&setup);

    if (!(cell_of(shifted, set, "week")->point > 1.8 * before))
        fail_msg("%.1f, and %.1f before the shift", cell_of(shifted, set, "week")->point, before);
}

/* Twice as much since Saturday: Monday's plan for the week takes all of it. */
static void a_weekend_tells_the_week_of_a_shift(void **state)
{
    struct plant plant = { 63, 1, 0.05, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);
    owned(forecast) struct forecast *before = forecast_of(demand, set);

    (void)state;
    for (size_t step = (size_t)61 * 144; step < demand->series[0].count; step++)
        demand->series[0].counts[DEMAND_LOW][step] *= 2;
    owned(forecast) struct forecast *shifted = forecast_of(demand, set);
    double more = cell_of(shifted, set, "weekday-day")->point /
                  cell_of(before, set, "weekday-day")->point;

    if (!(more > 1.6 && more < 2.1))
        fail_msg("%.2f times as much", more);
}

/* Twice as much for two days, among days that differ by a tenth: what is foretold is near the most
   that was ever needed, and its bound ends a tenth over it; without that rule at the cap. */
static void no_cap_keeps_a_bound_from_what_is_foretold(void **state)
{
    struct plant plant = { 57, 1, 0.1, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);
    struct forecast_setup setup = setup_of(demand, set, 0.1);
    double most = 0;

    (void)state;
    for (size_t step = (size_t)55 * 144; step < demand->series[0].count; step++)
        demand->series[0].counts[DEMAND_LOW][step] *= 2;
    setup.lead_ms = 8 * (int64_t)HOUR_MS;
    owned(forecast) struct forecast *forecast = forecast_new(&setup);
    const struct forecast_cell *cell = cell_of(forecast, set, "weekday-day");

    for (size_t i = 0; i < cell->past.count; i++)
        most = fmax(most, cell->past.items[i].need);
    if (!(cell->upper > 1.05 * most) || fabs(cell->upper / (1.1 * cell->point) - 1) > 1e-9)
        fail_msg("%.3f foretold, at most %.3f; %.3f were needed", cell->point, cell->upper, most);
    setup.without = FORECAST_LEVEL_SHIFT;
    forecast_predict(forecast, &setup);
    assert_true(cell->upper <= 1.04 * most);
}

static double margin_of(const struct forecast_cell *cell)
{
    return log(cell->upper / cell->point);
}

/* The bound over what is foretold, of a window whose days differ from each other and of one whose
   days do not. */
static void a_restless_window_has_the_wider_bound(void **state)
{
    struct plant plant = { 85, 1, 0.05, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);
    struct forecast_setup setup = setup_of(demand, set, 0.1);
    struct random random;
    double level = 1;

    (void)state;
    random_seed(&random, 5);
    for (size_t step = 0; step < demand->series[0].count; step++) {
        int32_t *count = &demand->series[0].counts[DEMAND_LOW][step];

        if (step % 144 == 120)
            level = exp(0.3 * random_normal(&random));
        if (step % 144 < 48 || step % 144 >= 120)
            *count = (int32_t)(*count * level);
    }
    setup.without = FORECAST_CAP;
    owned(forecast) struct forecast *forecast = forecast_new(&setup);
    const struct forecast_cell *restless = cell_of(forecast, set, "weekday-night");
    const struct forecast_cell *quiet = cell_of(forecast, set, "weekday-peak");
    double before = margin_of(quiet);

    assert_true(margin_of(restless) > 1.7 * before);
    setup.without |= FORECAST_WINDOW_SCALE;
    forecast_predict(forecast, &setup);
    assert_true(fabs(margin_of(restless) / margin_of(quiet) - 1) < 1e-9);
    assert_true(margin_of(quiet) > 1.1 * before);
}

/* A demand that ends an hour before a window is planned for as that window was scored. */
static void expect_as_scored(const struct demand *demand, const struct window_set *set,
                             int64_t lead_ms)
{
    struct forecast_setup setup = setup_of(demand, set, 0.1);

    setup.lead_ms = lead_ms;
    owned(forecast) struct forecast *all = forecast_new(&setup);

    for (size_t window = 0; window < all->count; window++) {
        const struct forecast_cell *cell = &all->cells[window];
        const struct forecast_occurrence *item = &cell->past.items[cell->past.count - 1];
        struct forecast_setup before = setup;

        before.end.ms = item->begin.ms - lead_ms;
        owned(forecast) struct forecast *cut = forecast_new(&before);

        if (fabs(cut->cells[window].upper / item->bounds[item->method] - 1) > 1e-9)
            fail_msg("%s: %.3f, scored %.3f", set->items[window].name, cut->cells[window].upper,
                     item->bounds[item->method]);
    }
}

static void a_plan_of_one_window_is_that_which_is_scored(void **state)
{
    struct plant plant = { 57, 1, 0.05, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);

    (void)state;
    expect_as_scored(demand, set, HOUR_MS);
    expect_as_scored(demand, set, 12 * HOUR_MS); /* before midnight for some */
}

/* Without a trend and with noise that no history foretells, nine bounds in ten hold. */
static void nine_bounds_in_ten_hold(void **state)
{
    struct plant plant = { 7 * 40, 1, 0.1, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);
    owned(forecast) struct forecast *forecast = forecast_of(demand, set);
    struct forecast_score sum = { 0 };

    (void)state;
    for (size_t i = 0; i < forecast->count; i++)
        forecast_score_add(&sum, &forecast->cells[i].score);
    assert_true(sum.scored > 500);
    assert_true((double)sum.covered > 0.86 * (double)sum.scored);
    assert_true((double)sum.covered < 0.94 * (double)sum.scored);
    assert_true(sum.loss < sum.last_week_loss);
    /* a median of weeks knows more of a level than its last noise does */
    assert_int_equal(cell_of(forecast, set, "weekday-day")->method, FORECAST_PROFILE);
}

static void the_share_of_misses_can_be_chosen(void **state)
{
    static const double misses[] = { 0.3, 0.1, 0.04 };
    struct plant plant = { 7 * 40, 1, 0.1, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);

    (void)state;
    for (size_t row = 0; row < COUNT_OF(misses); row++) {
        owned(forecast) struct forecast *forecast = forecast_at(demand, set, misses[row]);
        struct forecast_score sum = { 0 };

        for (size_t i = 0; i < forecast->count; i++)
            forecast_score_add(&sum, &forecast->cells[i].score);
        assert_true(fabs(1 - (double)sum.covered / (double)sum.scored - misses[row]) < 0.04);
    }
}

/* Server-hours for the bounds. */
static double hours_of(const struct forecast *forecast)
{
    double hours = 0;

    for (size_t i = 0; i < forecast->count; i++)
        hours += forecast->cells[i].hours * forecast->cells[i].upper;
    return hours;
}

/* Two queues as large as each other, one of which cannot be foretold. */
static void misses_are_spent_on_the_wild_queue(void **state)
{
    struct plant plants[] = { { 7 * 20, 1, 0.03, -1, 1 }, { 7 * 20, 1, 0.4, -1, 1 } };
    owned(window_set) struct window_set *set = usual_windows();
    struct demand *demands[2];
    struct forecast_share items[2];
    double uniform = 0;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        demands[i] = demand_of(&plants[i]);
        items[i].setup = setup_of(demands[i], set, 0.05);
        items[i].forecast = forecast_new(&items[i].setup);
        items[i].gpus = 1;
        uniform += hours_of(items[i].forecast);
    }
    forecast_share_out(items, 2, 0.95);
    assert_true(hours_of(items[0].forecast) + hours_of(items[1].forecast) < 0.95 * uniform);
    for (size_t i = 0; i < set->weekly_count; i++) {
        const struct forecast_cell *negligible = &items[0].forecast->cells[i];
        const struct forecast_cell *wild = &items[1].forecast->cells[i];

        assert_true(negligible->misses <= 0.05 && wild->misses > negligible->misses);
        assert_true(negligible->scale > 1 && wild->upper > wild->point);
    }
    for (size_t i = 0; i < 2; i++) {
        forecast_free(items[i].forecast);
        demand_free(demands[i]);
    }
}

static void what_comes_later_changes_no_bound(void **state)
{
    struct plant early = { 42, 1.02, 0.1, -1, 1 };
    struct plant late = { 56, 1.02, 0.1, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *first = demand_of(&early);
    owned(demand) struct demand *second = demand_of(&late);
    owned(forecast) struct forecast *before = forecast_of(first, set);
    owned(forecast) struct forecast *after = forecast_of(second, set);

    (void)state;
    for (size_t window = 0; window < before->count; window++)
        for (size_t i = 0; i < before->cells[window].past.count; i++) {
            const struct forecast_occurrence *a = &before->cells[window].past.items[i];
            const struct forecast_occurrence *b = &after->cells[window].past.items[i];

            if (a->end.ms > first->end.ms) /* the night that is not over */
                continue;
            assert_int_equal(a->method, b->method);
            for (int method = 0; method < FORECAST_METHODS; method++)
                assert_true(fabs(a->bounds[method] - b->bounds[method]) <= 0);
        }
}

/* The last week is another one from its first minute on: what was said of it stays. */
static void a_week_says_nothing_of_itself(void **state)
{
    struct plant plant = { 42, 1.02, 0.1, -1, 1 };
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);
    owned(forecast) struct forecast *before = forecast_of(demand, set);

    (void)state;
    for (size_t step = demand->series[0].count - 1008; step < demand->series[0].count; step++)
        demand->series[0].counts[DEMAND_LOW][step] *= 3;

    owned(forecast) struct forecast *after = forecast_of(demand, set);

    for (size_t window = 0; window < before->count; window++)
        for (size_t i = 0; i < before->cells[window].past.count; i++) {
            const struct forecast_occurrence *a = &before->cells[window].past.items[i];
            const struct forecast_occurrence *b = &after->cells[window].past.items[i];

            for (int method = 0; method < FORECAST_METHODS; method++)
                assert_true(fabs(a->bounds[method] - b->bounds[method]) <= 0);
        }
}

static void a_missing_day_is_marked_and_makes_the_end_stale(void **state)
{
    struct plant inside = { 35, 1, 0, 22, 1 }; /* a Tuesday */
    struct plant at_end = { 35, 1, 0, 34, 1 };
    struct plant over = { 33, 1, 0, -1, 1.5 }; /* ends on a Friday */
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *gap = demand_of(&inside);
    owned(forecast) struct forecast *forecast = forecast_of(gap, set);
    const struct forecast_cell *cell = cell_of(forecast, set, "weekday-peak");

    (void)state;
    assert_int_equal(cell->missing, 1);
    assert_int_equal(cell->stale, FORECAST_FRESH);
    for (size_t i = 0; i < cell->past.count; i++)
        assert_int_equal(cell->past.items[i].is_known, i != 16);
    assert_false(cell->past.items[16].is_scored);
    assert_true(fabs(cell->scale - 1) < 0.02);

    struct forecast_setup setup = { .series = &gap->series[0],
                                    .set = set,
                                    .service_s = 20,
                                    .service_cv = 1,
                                    .scale = 1,
                                    .target = { 20000, 98 },
                                    .end = { gap->end.ms + DAY_MS } };
    owned(forecast) struct forecast *old = forecast_new(&setup);
    owned(demand) struct demand *risen = demand_of(&over);
    owned(forecast) struct forecast *overrun = forecast_of(risen, set);
    owned(demand) struct demand *cut = demand_of(&at_end);

    assert_int_equal(cell_of(old, set, "weekday-peak")->stale, FORECAST_NO_DATA);
    assert_int_equal(cell_of(overrun, set, "weekday-peak")->stale, FORECAST_OVERRUN);
    assert_int_equal(cell_of(overrun, set, "weekend-day")->stale, FORECAST_FRESH);
    assert_int_equal(cut->end.ms, gap->end.ms - DAY_MS);
}

/* So many of the last day's ten minutes tripled from 10:00 on, the end cut off, and read later. */
static enum forecast_stale stale_after(int tripled_steps, int cut_steps, int64_t age_ms)
{
    struct plant plant = { 32, 1, 0.03, -1, 1 }; /* ends on a Thursday */
    owned(window_set) struct window_set *set = usual_windows();
    owned(demand) struct demand *demand = demand_of(&plant);
    struct demand_series *series = &demand->series[0];
    size_t peak = series->count - 144 + 60; /* 10:00 */

    for (int step = 0; step < tripled_steps; step++)
        series->counts[DEMAND_LOW][peak + (size_t)step] *= 3;

    struct forecast_setup setup = {
        .series = series,
        .set = set,
        .service_s = 20,
        .service_cv = 1,
        .scale = 1,
        .target = { 20000, 98 },
        .end = { demand->end.ms - cut_steps * (10 * (int64_t)MINUTE_MS) },
    };

    setup.now.ms = setup.end.ms + age_ms;

    owned(forecast) struct forecast *forecast = forecast_new(&setup);

    return cell_of(forecast, set, "weekday-peak")->stale;
}

static void half_an_hour_over_the_bound_makes_a_forecast_stale(void **state)
{
    int64_t two_days = 2 * (int64_t)DAY_MS;

    (void)state;
    assert_int_equal(stale_after(0, 0, 0), FORECAST_FRESH);
    assert_int_equal(stale_after(2, 0, 0), FORECAST_FRESH);
    assert_int_equal(stale_after(3, 0, 0), FORECAST_OVERRUN);
    /* the peak is under way: it ends at 12:30, the demand at 10:30 */
    assert_int_equal(stale_after(3, 81, 0), FORECAST_OVERRUN);
    assert_int_equal(stale_after(0, 81, 0), FORECAST_FRESH);
    assert_int_equal(stale_after(0, 0, two_days), FORECAST_FRESH);
    assert_int_equal(stale_after(0, 0, two_days + 1), FORECAST_OLD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trend_is_not_moved_by_wild_points),
        cmocka_unit_test(a_week_that_repeats_is_foretold_exactly),
        cmocka_unit_test(growth_is_seen_and_the_bound_is_ahead_of_it),
        cmocka_unit_test(steep_growth_is_believed_when_most_weeks_show_it),
        cmocka_unit_test(slow_growth_is_covered_from_the_second_month_on),
        cmocka_unit_test(a_doubled_level_is_covered_after_three_days),
        cmocka_unit_test(who_looks_before_each_window_sees_a_shift_sooner),
        cmocka_unit_test(one_window_a_day_may_shift_too),
        cmocka_unit_test(a_weekend_tells_the_week_of_a_shift),
        cmocka_unit_test(no_cap_keeps_a_bound_from_what_is_foretold),
        cmocka_unit_test(a_restless_window_has_the_wider_bound),
        cmocka_unit_test(a_plan_of_one_window_is_that_which_is_scored),
        cmocka_unit_test(nine_bounds_in_ten_hold),
        cmocka_unit_test(the_share_of_misses_can_be_chosen),
        cmocka_unit_test(misses_are_spent_on_the_wild_queue),
        cmocka_unit_test(what_comes_later_changes_no_bound),
        cmocka_unit_test(a_week_says_nothing_of_itself),
        cmocka_unit_test(a_missing_day_is_marked_and_makes_the_end_stale),
        cmocka_unit_test(half_an_hour_over_the_bound_makes_a_forecast_stale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
