/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is unknown of a window: each time, once, for a few days, by more than half.
 */
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/forecast/forecast_share.h"
#include "windows/forecast/habit.h"

#include <math.h>
#include <string.h>

enum { STEPS_A_DAY = 288, DAYS = 35 };

static const char two_windows[] = "backup: {days: mon-sun, from: '02:00', to: '04:00'}\n"
                                  "rest: {days: mon-sun, from: '04:00', to: '02:00'}\n";

static struct window_set *windows_of(const char *yaml)
{
    owned(yaml_document) struct yaml_document *document = yaml_parse(yaml, strlen(yaml), "w", NULL);

    return window_set_read(yaml_root(document), time_zone_open("UTC", NULL), NULL);
}

/* Steps of five minutes; what is unknown in [from, to) minutes of the days [first, end). */
struct hole {
    int first;
    int end;
    int from;
    int to;
};

static struct demand *demand_of(const struct hole *holes, size_t count, int days, int arrivals)
{
    owned(text) struct text *csv = text_new(4 << 20);
    struct demand_options options = { 0 };

    text_add(csv, "t,count\n");
    for (int step = 0; step < days * STEPS_A_DAY; step++) {
        int day = step / STEPS_A_DAY;
        int minute = step % STEPS_A_DAY * 5;
        bool is_unknown = false;
        char time[WALL_TEXT_SIZE];

        for (size_t i = 0; i < count; i++)
            is_unknown = is_unknown || (day >= holes[i].first && day < holes[i].end &&
                                        minute >= holes[i].from && minute < holes[i].to);
        if (!is_unknown)
            text_add(csv, "%s,%d\n",
                     wall_format((struct wall_time){ civil_day(2026, 8, 31) * DAY_MS +
                                                     step * (5 * (int64_t)MINUTE_MS) },
                                 time),
                     minute >= 120 && minute < 240 ? arrivals : 900);
    }
    return demand_parse(csv->chars, csv->length, "q.csv", &options, NULL);
}

static struct forecast_setup setup_of(const struct demand *demand, const struct window_set *set)
{
    return (struct forecast_setup){
        .series = &demand->series[0],
        .set = set,
        .service_s = 20,
        .service_cv = 1,
        .scale = 1,
        .target = { 20000, 98 },
        .end = demand->end,
    };
}

static struct forecast *forecast_of(const struct demand *demand, const struct window_set *set)
{
    struct forecast_setup setup = setup_of(demand, set);

    return forecast_new(&setup);
}

static void an_occurrence_is_held_against_what_is_usual(void **state)
{
    static const struct {
        const char *name;
        struct hole holes[3];
        size_t missing; /* of 35 occurrences of the two hours */
        enum forecast_lack lack;
        double usually_known;
    } cases[] = {
        { "whole", { { 0 } }, 0, FORECAST_FORETOLD, 1 },
        { "29 minutes each night", { { 0, 35, 130, 159 } }, 2, FORECAST_FORETOLD, 0.75 },
        { "the same and once an hour more",
          { { 0, 35, 130, 159 }, { 20, 21, 170, 230 } },
          3,
          FORECAST_FORETOLD,
          0.75 },
        { "once", { { 20, 21, 130, 159 } }, 1, FORECAST_FORETOLD, 1 },
        { "on three nights in a row", { { 20, 23, 130, 159 } }, 3, FORECAST_FORETOLD, 1 },
        { "from the 20th night on: five until it is usual",
          { { 20, 35, 130, 159 } },
          5,
          FORECAST_FORETOLD,
          0.75 },
        { "until the 20th night", { { 0, 20, 130, 159 } }, 2, FORECAST_FORETOLD, 1 },
        { "over half each night", { { 0, 35, 130, 195 } }, 35, FORECAST_UNKNOWN, 0 },
        { "all of it", { { 0, 35, 120, 240 } }, 35, FORECAST_UNKNOWN, 0 },
        { "half a day, two days running", { { 10, 12, 120, 175 } }, 2, FORECAST_FORETOLD, 1 },
    };
    owned(window_set) struct window_set *set = windows_of(two_windows);

    (void)state;
    for (size_t row = 0; row < COUNT_OF(cases); row++) {
        owned(demand) struct demand *demand = demand_of(cases[row].holes, 3, DAYS, 300);
        owned(forecast) struct forecast *forecast = forecast_of(demand, set);
        const struct forecast_cell *cell = &forecast->cells[0];

        if (cell->missing != cases[row].missing || forecast_lack(cell) != cases[row].lack ||
            fabs(cell->usually_known - cases[row].usually_known) > 1e-9)
            fail_msg("%s: %zu missing, lack %s, known %.3f", cases[row].name, cell->missing,
                     forecast_lack_name(forecast_lack(cell)), cell->usually_known);
        assert_int_equal(forecast_is_foretold(cell), cell->point > 0);
        assert_int_equal(forecast_plan_lack(cell),
                         cases[row].usually_known > 0 && cases[row].usually_known < 0.9
                             ? FORECAST_PARTLY
                             : cases[row].lack);
    }
}

/* The need is that of the part that is known. */
static void a_habit_leaves_the_need_as_it_is(void **state)
{
    static const struct hole nightly = { 0, DAYS, 130, 159 };
    owned(window_set) struct window_set *set = windows_of(two_windows);
    owned(demand) struct demand *whole = demand_of(NULL, 0, DAYS, 300);
    owned(demand) struct demand *part = demand_of(&nightly, 1, DAYS, 300);
    owned(forecast) struct forecast *a = forecast_of(whole, set);
    owned(forecast) struct forecast *b = forecast_of(part, set);

    (void)state;
    assert_true(a->cells[0].point > 10);
    assert_true(fabs(b->cells[0].point / a->cells[0].point - 1) < 0.02);
}

/* What the demand had not shown yet changes nothing of what is known of an earlier day. */
static void later_nights_say_nothing_of_earlier_ones(void **state)
{
    static const struct hole holes[] = { { 0, 12, 130, 159 }, { 12, DAYS, 180, 215 } };
    owned(window_set) struct window_set *set = windows_of(two_windows);
    owned(demand) struct demand *all = demand_of(holes, 2, DAYS, 300);
    owned(forecast) struct forecast *after = forecast_of(all, set);

    (void)state;
    for (int days = 3; days < DAYS; days += 4) {
        owned(demand) struct demand *early = demand_of(holes, 2, days, 300);
        owned(forecast) struct forecast *before = forecast_of(early, set);

        for (size_t i = 0; i < before->cells[0].past.count; i++)
            assert_int_equal(before->cells[0].past.items[i].is_known,
                             after->cells[0].past.items[i].is_known);
    }
}

static void each_reason_has_its_name(void **state)
{
    static const char weekend[] = "work: {days: mon-fri, from: '00:00', to: '24:00'}\n"
                                  "rest: {days: sat-sun, from: '00:00', to: '24:00'}\n";
    owned(window_set) struct window_set *set = windows_of(two_windows);
    owned(window_set) struct window_set *week = windows_of(weekend);
    owned(demand) struct demand *idle = demand_of(NULL, 0, DAYS, 0);
    owned(demand) struct demand *days = demand_of(NULL, 0, 4, 300);
    owned(forecast) struct forecast *nothing = forecast_of(idle, set);
    owned(forecast) struct forecast *young = forecast_of(days, week);

    (void)state;
    assert_int_equal(forecast_lack(&nothing->cells[0]), FORECAST_IDLE);
    assert_int_equal(forecast_lack(&nothing->cells[1]), FORECAST_FORETOLD);
    assert_int_equal(forecast_lack(&young->cells[0]), FORECAST_FORETOLD);
    assert_int_equal(forecast_lack(&young->cells[1]), FORECAST_NO_DAYS);
    for (int lack = FORECAST_NO_DAYS; lack <= FORECAST_PARTLY; lack++) {
        assert_true(strlen(forecast_lack_name((enum forecast_lack)lack)) > 3);
        assert_true(strlen(forecast_lack_text((enum forecast_lack)lack)) > 20);
    }
}

/* A bound that last week's few arrivals cannot be scaled to. */
static void what_cannot_be_scaled_is_not_planned(void **state)
{
    static const struct hole last_week = { 28, DAYS, 120, 240 };
    owned(window_set) struct window_set *set = windows_of(two_windows);
    owned(demand) struct demand *demand = demand_of(&last_week, 1, DAYS, 300);
    owned(forecast) struct forecast *forecast = forecast_of(demand, set);

    (void)state;
    assert_true(forecast_is_foretold(&forecast->cells[0]));
    assert_int_equal(forecast_plan_lack(&forecast->cells[0]), FORECAST_NO_SHAPE);
    assert_int_equal(forecast_plan_lack(&forecast->cells[1]), FORECAST_FORETOLD);
}

/* Days that differ. */
static void make_moody(struct demand *demand)
{
    struct demand_series *series = &demand->series[0];

    for (size_t step = 0; step < series->count; step++)
        if (demand_is_known(series, step))
            series->counts[DEMAND_LOW][step] += (int32_t)(step / STEPS_A_DAY * 7 % 5) *
                                                series->counts[DEMAND_LOW][step] / 40;
}

/* No attainment is claimed for a window that is known in part.  So it takes no misses from the
   other, which would otherwise get most of them, because it costs most. */
static void what_is_known_in_part_takes_no_misses_from_the_rest(void **state)
{
    static const struct hole nightly = { 0, DAYS, 130, 159 };
    owned(window_set) struct window_set *set = windows_of(two_windows);
    owned(demand) struct demand *whole = demand_of(NULL, 0, DAYS, 300);
    owned(demand) struct demand *part = demand_of(&nightly, 1, DAYS, 300);
    struct forecast_share items[] = {
        { .setup = setup_of(whole, set), .gpus = 1 },
        { .setup = setup_of(part, set), .gpus = 1 },
    };

    (void)state;
    make_moody(whole);
    make_moody(part);

    owned(forecast) struct forecast *together = items[0].forecast = forecast_of(whole, set);
    owned(forecast) struct forecast *apart = items[1].forecast = forecast_of(part, set);

    forecast_share_out(&items[0], 1, 0.95);
    forecast_share_out(&items[1], 1, 0.95);
    assert_true(together->cells[1].misses > 0.055);
    assert_true(together->cells[0].misses < 0.045);

    assert_true(fabs(apart->cells[0].misses - 0.05) < 1e-9);
    assert_true(apart->cells[1].misses < 0.051);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_occurrence_is_held_against_what_is_usual),
        cmocka_unit_test(a_habit_leaves_the_need_as_it_is),
        cmocka_unit_test(later_nights_say_nothing_of_earlier_ones),
        cmocka_unit_test(each_reason_has_its_name),
        cmocka_unit_test(what_cannot_be_scaled_is_not_planned),
        cmocka_unit_test(what_is_known_in_part_takes_no_misses_from_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
