/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a demand file: which one rows keep, files in which it changes, rows that keep none.
 */
#include "base/text.h"
#include "tests/windows/parsed.h"

#include <string.h>

/* Rows of `count` requests each in steps of so many minutes. */
/* Rows of a queue, each so many minutes after the one before. */
struct run {
    const char *queue;
    int rows;
    int minutes;
    int count; /* in each row */
};

static void add_rows(struct text *csv, int64_t *ms, const struct run *run)
{
    for (int i = 0; i < run->rows; i++, *ms += (int64_t)run->minutes * MINUTE_MS) {
        char time[WALL_TEXT_SIZE];

        text_add(csv, "%s,%s,%d\n", wall_format((struct wall_time){ *ms }, time), run->queue,
                 run->count);
    }
}

static int64_t sum_of(const struct demand_series *series)
{
    int64_t sum = 0;

    for (size_t i = 0; i < series->count; i++)
        sum += demand_is_known(series, i) ? demand_at(series, DEMAND_LOW, i) : 0;
    return sum;
}

/* Two weeks of the first step, then one of the second; no step holds more than its share. */
static void check_change(int first, int second, int fine, bool missing_zero)
{
    owned(text) struct text *csv = text_new(1 << 22);
    int64_t ms = civil_day(2026, 11, 1) * DAY_MS;
    struct error err = { 0 };

    text_add(csv, "t,queue,count\n");
    add_rows(csv, &ms, &(struct run){ "chat", 14 * 24 * 60 / first, first, 10 * first + 1 });
    add_rows(csv, &ms, &(struct run){ "chat", 7 * 24 * 60 / second, second, 10 * second + 1 });

    owned(demand) struct demand *demand = parse(csv->chars, NULL, missing_zero, &err);

    if (!demand)
        fail_msg("%d then %d minutes: %s", first, second, err.text);

    const struct demand_series *series = &demand->series[0];

    assert_int_equal(series->step_ms, fine * MINUTE_MS);
    assert_int_equal(series->count, 21 * 24 * 60 / fine);
    assert_int_equal(demand_unknown(series), 0);
    assert_int_equal(sum_of(series), 14 * 24 * 60 / first * (10 * first + 1) +
                                         7 * 24 * 60 / second * (10 * second + 1));
    for (size_t i = 0; i < series->count; i++)
        if (demand_at(series, DEMAND_LOW, i) < 10 * fine ||
            demand_at(series, DEMAND_LOW, i) > 10 * fine + 1)
            fail_msg("%d then %d minutes: step %zu holds %d", first, second, i,
                     demand_at(series, DEMAND_LOW, i));
    assert_int_equal(series->longest_ms, (first > second ? first : second) * MINUTE_MS);
    assert_int_equal(series->changed.ms, civil_day(2026, 11, 15) * DAY_MS);
}

static void a_change_of_step_is_spread_over_the_finer_one(void **state)
{
    static const int changes[][3] = {
        { 5, 1, 1 }, { 1, 5, 1 }, { 5, 60, 5 }, { 60, 5, 5 }, { 10, 1, 1 }
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        check_change(changes[i][0], changes[i][1], changes[i][2], false);
        check_change(changes[i][0], changes[i][1], changes[i][2], true);
    }
}

/* Fifteen minutes are no multiple of ten: which ten minutes had what, cannot be said. */
static void a_change_that_cannot_be_spread_is_refused(void **state)
{
    owned(text) struct text *csv = text_new(1 << 22);
    int64_t ms = civil_day(2026, 11, 1) * DAY_MS;
    struct error err = { 0 };

    (void)state;
    text_add(csv, "t,queue,count\n");
    add_rows(csv, &ms, &(struct run){ "chat", 144, 10, 7 });
    add_rows(csv, &ms, &(struct run){ "chat", 144, 15, 7 });
    assert_null(parse(csv->chars, NULL, false, &err));
    if (!strstr(err.text, "in/busy.csv:146: queue chat, 2026-11-02T00:00:00Z: from here on rows "
                          "are 15m apart, elsewhere 10m"))
        fail_msg("%s", err.text);
}

/* A job that asks every five minutes, in a file of minutes in which silence is zero. */
static void a_heartbeat_among_minutes_is_no_longer_step(void **state)
{
    owned(text) struct text *csv = text_new(1 << 22);
    int64_t ms = civil_day(2026, 11, 1) * DAY_MS;
    int64_t again = ms;
    struct error err = { 0 };

    (void)state;
    text_add(csv, "t,queue,count\n");
    add_rows(csv, &ms, &(struct run){ "chat", 3 * 1440, 1, 7 });
    add_rows(csv, &again, &(struct run){ "cron", 3 * 288, 5, 50 });

    owned(demand) struct demand *demand = parse(csv->chars, NULL, true, &err);

    if (!demand)
        fail_msg("%s", err.text);
    assert_int_equal(demand_find(demand, "cron")->apart_ms, 5 * MINUTE_MS);
    assert_int_equal(demand_find(demand, "chat")->apart_ms, 0);
    assert_int_equal(demand_at(demand_find(demand, "cron"), DEMAND_LOW, 0), 50);
    assert_int_equal(demand_at(demand_find(demand, "cron"), DEMAND_LOW, 1), 0);
    assert_int_equal(demand_at(demand_find(demand, "cron"), DEMAND_LOW, 5), 50);
}

/* Minutes without arrivals are left out, by chance: no two neighbours need be a minute apart. */
static void sparse_rows_keep_the_step_that_divides_all(void **state)
{
    owned(text) struct text *csv = text_new(1 << 22);
    uint32_t random = 1;
    int64_t minute = 0;
    struct error err = { 0 };

    (void)state;
    text_add(csv, "t,queue,count\n");
    for (int i = 0; i < 2000; i++) {
        int64_t ms = civil_day(2026, 11, 1) * DAY_MS + minute * MINUTE_MS;

        add_rows(csv, &ms, &(struct run){ "rare", 1, 1, 1 });
        random = random * 1664525 + 1013904223;
        minute += 1 + (random >> 24) % 7;
    }
    for (int zero = 0; zero < 2; zero++) {
        owned(demand) struct demand *demand = parse(csv->chars, NULL, zero, &err);

        if (!demand)
            fail_msg("%s", err.text);
        assert_int_equal(demand->series[0].step_ms, MINUTE_MS);
        assert_int_equal(sum_of(&demand->series[0]), 2000);
        assert_int_equal(demand->series[0].changed.ms, 0);
        assert_int_equal(demand_unknown(&demand->series[0]),
                         zero ? 0 : demand->series[0].count - 2000);
    }
}

/* A queue of few rows does not tell by itself that they were five minutes long before. */
static void sparse_rows_change_their_step_when_the_others_do(void **state)
{
    owned(text) struct text *csv = text_new(1 << 22);
    int64_t begin = civil_day(2026, 11, 1) * DAY_MS;
    int64_t ms = begin;
    uint32_t random = 1;
    struct error err = { 0 };

    (void)state;
    text_add(csv, "t,queue,count\n");
    add_rows(csv, &ms, &(struct run){ "chat", 14 * 288, 5, 50 });
    add_rows(csv, &ms, &(struct run){ "chat", 7 * 1440, 1, 10 });
    for (int i = 0; i < 14 * 288 + 7 * 1440; i++) {
        ms = begin + (i < 14 * 288 ? 5 * (int64_t)i : 14 * 1440 + i - 14 * 288) * MINUTE_MS;
        random = random * 1664525 + 1013904223;
        if (random >> 24 < 60)
            add_rows(csv, &ms, &(struct run){ "rare", 1, 1, i < 14 * 288 ? 500 : 100 });
    }
    for (int zero = 0; zero < 2; zero++) {
        owned(demand) struct demand *demand = parse(csv->chars, NULL, zero, &err);
        const struct demand_series *rare = demand ? demand_find(demand, "rare") : NULL;

        if (!demand)
            fail_msg("%s", err.text);
        assert_int_equal(rare->step_ms, MINUTE_MS);
        assert_int_equal(rare->longest_ms, 5 * MINUTE_MS);
        for (size_t i = 0; i < rare->count; i++)
            if (demand_at(rare, DEMAND_LOW, i) > 100)
                fail_msg("step %zu holds %d", i, demand_at(rare, DEMAND_LOW, i));
    }
}

static void a_row_off_the_grid_says_what_to_do(void **state)
{
    struct error err = { 0 };

    (void)state;
    assert_null(parse("t,count\n2026-11-17T12:00:00Z,1\n2026-11-17T12:02:00Z,1\n"
                      "2026-11-17T12:04:00Z,1\n2026-11-17T12:05:00Z,1\n2026-11-17T12:07:00Z,1\n",
                      NULL, false, &err));
    if (!strstr(err.text, ":5: queue busy, 2026-11-17T12:05:00Z: is not on the grid of 2m that "
                          "most rows keep") ||
        !strstr(err.text, "--missing zero"))
        fail_msg("%s", err.text);
}

/* As some recorders write them: no step is a whole number of seconds. */
static void times_that_wander_are_refused(void **state)
{
    static const char wandering[] = "t,count\n2026-11-17T12:00:00.123Z,1\n"
                                    "2026-11-17T12:01:00.456Z,1\n2026-11-17T12:02:01.007Z,1\n";

    (void)state;
    for (int zero = 0; zero < 2; zero++) {
        struct error err = { 0 };

        assert_null(parse(wandering, NULL, zero, &err));
        if (!strstr(err.text, ":4: queue busy, 2026-11-17T12:02:01.007Z: is not on the grid of 1m"))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_of_step_is_spread_over_the_finer_one),
        cmocka_unit_test(a_change_that_cannot_be_spread_is_refused),
        cmocka_unit_test(a_heartbeat_among_minutes_is_no_longer_step),
        cmocka_unit_test(sparse_rows_keep_the_step_that_divides_all),
        cmocka_unit_test(sparse_rows_change_their_step_when_the_others_do),
        cmocka_unit_test(a_row_off_the_grid_says_what_to_do),
        cmocka_unit_test(times_that_wander_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
