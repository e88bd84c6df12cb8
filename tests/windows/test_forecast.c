/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bounds against their own law, trends against planted ones, and forecasts of weeks that were made
 * so that the answer is known; nothing said of a week may change with what came later.
 */
#include "base/random.h"
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/forecast.h"
#include "windows/trend.h"

#include <inttypes.h>
#include <math.h>

static void the_rank_is_that_of_split_conformal(void **state)
{
    static const struct {
        size_t count;
        size_t rank; /* 1 is the smallest score; 0: none is used */
        enum conformal_basis basis;
    } rows[] = {
        { 0, 0, CONFORMAL_PRIOR },  { 1, 0, CONFORMAL_PRIOR },  { 2, 0, CONFORMAL_NORMAL },
        { 8, 0, CONFORMAL_NORMAL }, { 9, 9, CONFORMAL_RANK },   { 18, 18, CONFORMAL_RANK },
        { 19, 18, CONFORMAL_RANK }, { 29, 27, CONFORMAL_RANK }, { 99, 90, CONFORMAL_RANK },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct conformal conformal;
        enum conformal_basis basis;

        conformal_init(&conformal, 0.1);
        for (size_t i = 0; i < rows[row].count; i++)
            conformal_add(&conformal, (double)((i * 37) % rows[row].count), false);
        conformal.alpha = 0.1;

        double upper = conformal_upper(&conformal, &basis);

        assert_int_equal(basis, rows[row].basis);
        if (rows[row].rank > 0)
            assert_true(fabs(upper - (double)(rows[row].rank - 1)) < 1e-12);
        conformal_clear(&conformal);
    }
}

static void few_scores_get_a_margin_that_stays_sane(void **state)
{
    static const double calm[] = { 0.01, -0.02, 0.03, 0.0, 0.02, -0.01, 0.04 };
    struct conformal conformal;
    enum conformal_basis basis;

    (void)state;
    conformal_init(&conformal, 0.1);
    for (size_t i = 0; i < COUNT_OF(calm); i++)
        conformal_add(&conformal, calm[i], false);
    /* mean 0.01, deviation 0.0216025, t(6) 1.440, and sqrt(8/7) for the next score */
    assert_true(fabs(conformal_upper(&conformal, &basis) - 0.0432556) < 1e-6);
    assert_true(fabs(conformal_lower(&conformal) + 0.0232556) < 1e-6);
    conformal_clear(&conformal);
    conformal_init(&conformal, 0.1);
    conformal_add(&conformal, -3, false);
    conformal_add(&conformal, 3, true);
    assert_true(fabs(conformal_upper(&conformal, &basis) - (3 + log(1.5))) < 1e-12);
    conformal_clear(&conformal);
}

/* Scores whose spread doubles half-way: the bound goes with them. */
static void the_share_of_misses_is_what_was_asked_for(void **state)
{
    struct conformal conformal;
    struct random random;
    size_t misses = 0;
    double low;
    double high;

    (void)state;
    random_seed(&random, 5);
    conformal_init(&conformal, 0.1);
    for (int i = 0; i < 2000; i++) {
        enum conformal_basis basis;
        double score = random_normal(&random) * (i < 1000 ? 1 : 2);
        bool is_miss = score > conformal_upper(&conformal, &basis);

        misses += is_miss;
        conformal_add(&conformal, score, is_miss);
    }
    assert_in_range(misses, 160, 240);
    conformal_share(misses, 2000, &low, &high);
    assert_true(high - low < 0.03 && low < (double)misses / 2000 && high > (double)misses / 2000);
    conformal_share(9, 10, &low, &high);
    assert_true(fabs(low - 0.5958500) < 1e-6 && fabs(high - 0.9821238) < 1e-6);
    conformal_share(0, 0, &low, &high);
    assert_true(low <= 0 && high >= 1);
    conformal_clear(&conformal);
}

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

static struct forecast *forecast_at(const struct demand *demand, const struct window_set *set,
                                    double misses)
{
    struct forecast_setup setup = {
        .series = &demand->series[0],
        .set = set,
        .service_s = 20,
        .service_cv = 1,
        .scale = 1,
        .misses = misses,
        .target = { 20000, 98 },
        .end = demand->end,
    };

    assert_non_null(demand);
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
    assert_true(misses <= 2); /* of the last two weeks' ten days */
    assert_true(cell->score.loss < cell->score.last_week_loss);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_is_that_of_split_conformal),
        cmocka_unit_test(few_scores_get_a_margin_that_stays_sane),
        cmocka_unit_test(the_share_of_misses_is_what_was_asked_for),
        cmocka_unit_test(a_trend_is_not_moved_by_wild_points),
        cmocka_unit_test(a_week_that_repeats_is_foretold_exactly),
        cmocka_unit_test(growth_is_seen_and_the_bound_is_ahead_of_it),
        cmocka_unit_test(nine_bounds_in_ten_hold),
        cmocka_unit_test(the_share_of_misses_can_be_chosen),
        cmocka_unit_test(what_comes_later_changes_no_bound),
        cmocka_unit_test(a_week_says_nothing_of_itself),
        cmocka_unit_test(a_missing_day_is_marked_and_makes_the_end_stale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
