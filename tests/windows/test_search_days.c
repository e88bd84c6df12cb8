/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A day that is worse than the others: hidden where all days meet the target in one, and not where
 * each does.
 */
#include "base/random.h"
#include "tests/support/unit.h"
#include "windows/queueing/estimate.h"
#include "windows/queueing/search_days.h"
#include "windows/queueing/wheel.h"

#include <math.h>
#include <string.h>

static const int64_t monday_ms = 1794805200000; /* 2026-11-16 00:00 in New York */

enum { DAYS = 5, BAD_DAY = 2, DAY_STEPS = 24 * 60, MORNING = 8 * 60, MORNING_STEPS = 240 };

/* Five mornings, of which the third has six minutes with twice the arrivals. */
struct week {
    struct window_set *windows;
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct search_setup setup;
};

static struct window_set *windows_of(const char *yaml_text)
{
    struct error err = { 0 };
    owned(yaml_document) struct yaml_document *yaml = yaml_parse(yaml_text, strlen(yaml_text),
                                                                 "windows.yaml", &err);
    struct window_set *set = yaml ? window_set_read(yaml_root(yaml),
                                                    time_zone_open("America/New_York", NULL), &err)
                                  : NULL;

    if (!set)
        fail_msg("%s", err.text);
    return set;
}

static void week_init(struct week *week, int32_t a_minute, double high)
{
    *week = (struct week){
        .windows = windows_of("morning: {days: mon-sun, from: '08:00', to: '12:00'}\n"
                              "rest: {days: mon-sun, from: '12:00', to: '08:00'}\n"),
        .service = service_time_new(20, 1),
    };
    week->series = (struct demand_series){
        .queue = (char *)(uintptr_t) "week",
        .start = { monday_ms },
        .step_ms = MINUTE_MS,
        .count = DAYS * DAY_STEPS,
    };
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        week->series.counts[class] = mem_new_array(week->series.count, sizeof(int32_t));
    for (size_t i = 0; i < week->series.count; i++) {
        size_t minute = i % DAY_STEPS;
        bool is_bad = i / DAY_STEPS == BAD_DAY && minute >= MORNING + 60 && minute < MORNING + 66;
        double count = a_minute * (is_bad ? 2 : 1);

        week->series.counts[DEMAND_HIGH][i] = (int32_t)(count * high);
        week->series.counts[DEMAND_LOW][i] = (int32_t)(count * (1 - high));
    }
    segments_of_window(
        &week->series, week->windows, 0,
        (struct wall_span){ week->series.start, demand_time(&week->series, week->series.count) },
        &week->segments);
    week->setup = (struct search_setup){
        .series = &week->series,
        .segments = &week->segments,
        .service = week->service,
        .scale = 1,
        .target = { 20 * SECOND_MS, 98 },
        .seed = 3,
        .seeds = 3,
    };
}

static void week_clear(struct week *week)
{
    window_set_free(week->windows);
    segments_clear(&week->segments);
    service_time_free(week->service);
    mem_free(week->series.counts[DEMAND_HIGH]);
    mem_free(week->series.counts[DEMAND_LOW]);
}

/* Whether every morning passes by itself under every seed, without anything of what is tested. */
static bool each_morning_passes(const struct week *week, int servers)
{
    for (size_t day = 0; day < DAYS; day++) {
        struct segment_list morning = { 0 };
        struct search_setup setup = week->setup;
        bool passes = true;

        *array_add(&morning.list) = (struct segment){ day * DAY_STEPS + MORNING, MORNING_STEPS };
        setup.segments = &morning;
        for (int seed = 0; seed < setup.seeds && passes; seed++) {
            owned(arrivals) struct arrivals *arrivals = search_arrivals(&setup, seed, NULL);

            passes = replay_passes(arrivals, servers, &setup.target, NULL);
        }
        segments_clear(&morning);
        if (!passes)
            return false;
    }
    return true;
}

/* Few arrivals are searched exactly, many by the wheel; one class and two. */
static const struct {
    int32_t a_minute;
    double high;
    bool is_wheel;
} rows[] = { { 12, 0.5, false }, { 900, 0, true }, { 900, 0.3, true } };

static void a_bad_day_is_hidden_among_five_and_not_by_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct week week;
        struct search_result pooled;
        struct search_result each;

        week_init(&week, rows[i].a_minute, rows[i].high);

        owned(arrivals) struct arrivals *arrivals = search_arrivals(&week.setup, 0, NULL);
        owned(wheel_times) struct wheel_times *times = wheel_times_new(arrivals,
                                                                       &week.setup.target);

        assert_int_equal(times != NULL, rows[i].is_wheel);
        assert_int_equal(search_servers(&week.setup, &pooled, NULL), 0);
        assert_true(fmax(pooled.wait_s[0], pooled.wait_s[1]) <= 20);
        assert_int_equal(pooled.worst_day.begin.ms,
                         monday_ms + BAD_DAY * DAY_MS + MORNING * MINUTE_MS);
        assert_true(pooled.worst_day.wait_s > 20);
        assert_false(each_morning_passes(&week, pooled.servers));

        week.setup.is_each_day = true;
        assert_int_equal(search_servers(&week.setup, &each, NULL), 0);
        assert_true(each.servers > pooled.servers);
        assert_true(each_morning_passes(&week, each.servers));
        assert_true(each_morning_passes(&week, each.servers + 1));
        assert_false(each_morning_passes(&week, each.servers - 1));
        assert_true(each.worst_day.wait_s <= 20);
        assert_true(each.worst_day.wait_s == fmax(each.wait_s[0], each.wait_s[1]));
        assert_int_equal(each.requests[DEMAND_LOW], pooled.requests[DEMAND_LOW]);
        week_clear(&week);
    }
}

/* The estimate puts the days in order and decides nothing: it is afraid of Tuesday's busy minutes,
   which a quiet minute before and after makes up for, and the steady Thursday needs more. */
static void every_day_counts_and_not_only_the_busiest(void **state)
{
    enum { TUESDAY = 1, THURSDAY = 3 };
    struct week week;
    struct search_result each;

    (void)state;
    week_init(&week, 60, 0);
    for (size_t i = 0; i < DAYS * MORNING_STEPS; i++) {
        size_t day = i / MORNING_STEPS;
        size_t minute = i % MORNING_STEPS;
        bool is_spike = day == TUESDAY && minute % 30 == 15;

        week.series.counts[DEMAND_LOW][day * DAY_STEPS + MORNING + minute] = is_spike          ? 90
                                                                             : day == THURSDAY ? 71
                                                                                               : 60;
    }
    week.setup.is_each_day = true;

    owned(search_days) struct search_days days;

    search_days_init(&days, &week.setup);
    assert_int_equal(days.items[0].segments->list.items[0].first, TUESDAY * DAY_STEPS + MORNING);
    assert_int_equal(search_servers(&week.setup, &each, NULL), 0);
    assert_true(each_morning_passes(&week, each.servers));
    assert_int_equal(each.worst_day.begin.ms, monday_ms + THURSDAY * DAY_MS + MORNING * MINUTE_MS);
    week_clear(&week);
}

static void the_wait_of_a_day_is_that_of_its_replay_alone(void **state)
{
    struct week week;
    struct search_wait pooled;
    double worst_s = 0;

    (void)state;
    week_init(&week, 60, 0.3);
    assert_int_equal(search_wait_under(&week.setup, 1, 22, &pooled, NULL), 0);
    for (size_t at = 0; at < DAYS; at++) {
        struct segment_list morning = { 0 };
        struct search_setup setup = week.setup;
        struct replay_result report;

        *array_add(&morning.list) = (struct segment){ at * DAY_STEPS + MORNING, MORNING_STEPS };
        setup.segments = &morning;

        owned(arrivals) struct arrivals *arrivals = search_arrivals(&setup, 1, NULL);

        assert_int_equal(replay_report(arrivals, 22, &setup.target, &report, NULL), 0);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            worst_s = fmax(worst_s, report.classes[class].p98_s);
        segments_clear(&morning);
    }
    assert_true(pooled.worst_day.wait_s == worst_s);
    assert_true(pooled.wait_s < worst_s);
    week.setup.is_each_day = true;
    assert_int_equal(search_wait_under(&week.setup, 1, 22, &pooled, NULL), 0);
    assert_true(pooled.wait_s == worst_s);
    week_clear(&week);
}

static void the_estimate_of_each_day_is_that_of_the_worst(void **state)
{
    struct week week;
    struct search_result each;
    struct estimate pooled;
    struct estimate worst;

    (void)state;
    week_init(&week, 900, 0.3);
    search_days_estimate(&week.setup, &pooled);
    week.setup.is_each_day = true;
    search_days_estimate(&week.setup, &worst);
    assert_int_equal(search_servers(&week.setup, &each, NULL), 0);

    int servers = estimate_servers(&worst, 0.98, 20);

    assert_true(servers > estimate_servers(&pooled, 0.98, 20));
    assert_in_range(servers, each.servers * 85 / 100, each.servers * 115 / 100);
    week_clear(&week);
}

/* What is unknown within a morning breaks its segment and not its day. */
static void a_day_with_a_hole_is_one_day(void **state)
{
    struct week week;
    struct search_result whole;
    struct search_result holed;

    (void)state;
    week_init(&week, 60, 0.3);
    week.setup.is_each_day = true;
    assert_int_equal(search_servers(&week.setup, &whole, NULL), 0);
    for (size_t day = 0; day < DAYS; day++)
        for (size_t i = 150; i < 240; i += 3)
            week.series.counts[DEMAND_LOW][day * DAY_STEPS + MORNING + i] = DEMAND_UNKNOWN;
    segments_clear(&week.segments);
    week.segments = (struct segment_list){ 0 };
    segments_of_window(
        &week.series, week.windows, 0,
        (struct wall_span){ week.series.start, demand_time(&week.series, week.series.count) },
        &week.segments);
    assert_true(week.segments.list.count > 5 * 20);
    assert_int_equal(segments_day_count(&week.segments), DAYS);
    assert_int_equal(search_servers(&week.setup, &holed, NULL), 0);
    /* the busy minutes are still six of a morning: as days of their own they would be all of one */
    assert_true(holed.servers <= whole.servers + 1);
    week_clear(&week);
}

static void days_are_those_of_the_clock(void **state)
{
    /* a zone without and a week with a change of the clock: 2026-11-01 has 25 hours */
    static const struct {
        const char *windows;
        size_t days;
    } cases[] = {
        { "all: {days: mon-sun, from: '00:00', to: '24:00'}", 8 },
        { "day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
          "night: {days: mon-sun, from: '20:00', to: '08:00'}",
          8 },
        { "night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
          "day: {days: mon-sun, from: '08:00', to: '20:00'}",
          9 },
        { "weekend: {days: [sat, sun], from: '00:00', to: '24:00'}\n"
          "week: {days: mon-fri, from: '00:00', to: '24:00'}",
          2 },
    };
    struct demand_series series = {
        .queue = (char *)(uintptr_t) "clock",
        .start = { 1793160000000 }, /* Wednesday 2026-10-28 00:00 in New York */
        .step_ms = MINUTE_MS,
        .count = 8 * DAY_STEPS + 60,
        .is_single = true,
    };

    (void)state;
    series.counts[DEMAND_LOW] = mem_new_array(series.count, sizeof(int32_t));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(window_set) struct window_set *set = windows_of(cases[i].windows);
        owned(segments) struct segment_list all = { 0 };
        size_t steps = 0;
        size_t cut = 0;

        segments_of_window(&series, set, 0,
                           (struct wall_span){ series.start, demand_time(&series, series.count) },
                           &all);
        assert_int_equal(segments_day_count(&all), cases[i].days);
        for (size_t at = 0; at < all.list.count; at++)
            steps += all.list.items[at].count;
        for (size_t day = 0; day < cases[i].days; day++) {
            owned(segments) struct segment_list one = { 0 };

            segments_of_day(&all, day, &one);
            assert_int_equal(one.list.count, 1);
            assert_true(one.list.items[0].count <= DAY_STEPS + 60);
            cut += one.list.items[0].count;
        }
        assert_int_equal(cut, steps);
    }
    mem_free(series.counts[DEMAND_LOW]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_day_is_hidden_among_five_and_not_by_itself),
        cmocka_unit_test(every_day_counts_and_not_only_the_busiest),
        cmocka_unit_test(the_wait_of_a_day_is_that_of_its_replay_alone),
        cmocka_unit_test(the_estimate_of_each_day_is_that_of_the_worst),
        cmocka_unit_test(a_day_with_a_hole_is_one_day),
        cmocka_unit_test(days_are_those_of_the_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
