/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a demand file: which one rows keep, files in which it changes, rows that keep none.
 */
#include "base/text.h"
#include "tests/windows/parsed.h"
#include "windows/demand/steps.h"

#include <string.h>

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
    assert_int_equal(demand_find(demand, "cron")->apart.grid_ms, 5 * MINUTE_MS);
    assert_int_equal(demand_find(demand, "chat")->apart.grid_ms, 0);
    assert_int_equal(demand_at(demand_find(demand, "cron"), DEMAND_LOW, 0), 50);
    assert_int_equal(demand_at(demand_find(demand, "cron"), DEMAND_LOW, 1), 0);
    assert_int_equal(demand_at(demand_find(demand, "cron"), DEMAND_LOW, 5), 50);
}

/* A queue of minutes, for three weeks. */
static struct text *begin_minutes(void)
{
    struct text *csv = text_new(1 << 22);
    int64_t ms = civil_day(2026, 11, 1) * DAY_MS;

    text_add(csv, "t,queue,count\n");
    add_rows(csv, &ms, &(struct run){ "chat", 21 * 1440, 1, 7 });
    return csv;
}

/* Silence is zero and minutes are in the file, and still this queue shows by itself that its rows
   were five minutes long before. */
static void a_queue_that_changes_its_step_is_spread_where_silence_is_zero(void **state)
{
    owned(text) struct text *csv = begin_minutes();
    int64_t ms = civil_day(2026, 11, 1) * DAY_MS;
    struct error err = { 0 };

    (void)state;
    add_rows(csv, &ms, &(struct run){ "slow", 14 * 288, 5, 50 });
    add_rows(csv, &ms, &(struct run){ "slow", 7 * 1440, 1, 10 });

    owned(demand) struct demand *demand = parse(csv->chars, NULL, true, &err);
    const struct demand_series *slow = demand ? demand_find(demand, "slow") : NULL;

    if (!demand)
        fail_msg("%s", err.text);
    assert_int_equal(slow->step_ms, MINUTE_MS);
    assert_int_equal(slow->longest_ms, 5 * MINUTE_MS);
    assert_int_equal(slow->changed.ms, civil_day(2026, 11, 15) * DAY_MS);
    assert_int_equal(slow->apart.grid_ms, 0);
    assert_int_equal(slow->count, 21 * 1440);
    for (size_t i = 0; i < slow->count; i++)
        assert_int_equal(demand_at(slow, DEMAND_LOW, i), 10);
    assert_int_equal(demand_find(demand, "chat")->longest_ms, MINUTE_MS);
}

/* Too few to be believed amid the file; where it begins or ends they are the sums of hours. */
static void few_hours_at_an_end_of_minutes_are_hours(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        owned(text) struct text *csv = text_new(1 << 22);
        int64_t ms = civil_day(2026, 11, 1) * DAY_MS;
        struct error err = { 0 };

        text_add(csv, "t,queue,count\n");
        if (way % 2 == 0)
            add_rows(csv, &ms, &(struct run){ "chat", 7, 60, 600 });
        add_rows(csv, &ms, &(struct run){ "chat", 2 * 1440, 1, 10 });
        if (way % 2 == 1)
            add_rows(csv, &ms, &(struct run){ "chat", 7, 60, 600 });

        owned(demand) struct demand *demand = parse(csv->chars, NULL, way >= 2, &err);

        if (!demand)
            fail_msg("%s", err.text);
        assert_int_equal(demand->series[0].count, 2 * 1440 + 7 * 60);
        for (size_t i = 0; i < demand->series[0].count; i++)
            assert_int_equal(demand_at(&demand->series[0], DEMAND_LOW, i), 10);
    }
}

/* The rows of a queue: `begin` days of five minutes, then minutes, each there with such a chance;
   and whether the coarse part is named. */
static const struct {
    const char *name;
    int begin, days;
    double there;
    int first; /* rows left out after the first one */
    bool is_named;
} mixtures[] = {
    { "five minutes", 21, 21, 1, 0, true },
    { "without the second row", 21, 21, 1, 1, true },
    { "with seven of ten rows", 21, 21, 0.7, 0, true },
    { "with one of ten rows", 21, 21, 0.1, 0, true },
    { "then minutes", 14, 21, 0.7, 0, true },
    { "then sparse minutes", 14, 21, 0.1, 0, true },
    { "for two hours", 0, 1, 0.7, 0, false },
    { "minutes", 0, 21, 0.7, 0, false },
    { "sparse minutes", 0, 21, 0.1, 0, false },
    { "very sparse ones", 0, 21, 0.01, 0, false },
};

static void rows_on_a_coarser_grid_are_named_where_silence_is_zero(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mixtures); i++) {
        owned(text) struct text *csv = begin_minutes();
        int64_t begin = civil_day(2026, 11, 1) * DAY_MS;
        int64_t change = begin + mixtures[i].begin * (int64_t)DAY_MS;
        int skipped = mixtures[i].first;
        uint32_t random = 1;
        struct error err = { 0 };

        for (int64_t ms = begin; ms < begin + mixtures[i].days * (int64_t)DAY_MS;
             ms += (ms < change ? 5 : 1) * MINUTE_MS) {
            int64_t at = ms;

            random = random * 1664525 + 1013904223;
            if (random >= mixtures[i].there * UINT32_MAX || (ms > begin && skipped-- > 0))
                continue;
            add_rows(csv, &at, &(struct run){ "slow", 1, 1, 50 });
        }

        owned(demand) struct demand *demand = parse(csv->chars, NULL, true, &err);
        const struct demand_series *slow = demand ? demand_find(demand, "slow") : NULL;

        if (!demand)
            fail_msg("%s", err.text);
        if ((slow->apart.grid_ms == 5 * MINUTE_MS) != mixtures[i].is_named)
            fail_msg("%s: on a grid of %lld ms", mixtures[i].name, (long long)slow->apart.grid_ms);
        assert_int_equal(demand_find(demand, "chat")->apart.grid_ms, 0);
        if (!mixtures[i].is_named)
            continue;
        assert_int_equal(slow->apart.is_all, mixtures[i].begin == mixtures[i].days);
        assert_true(slow->apart.from.ms < begin + HOUR_MS * 2);
        assert_true(slow->apart.until.ms >= change - 2 * HOUR_MS &&
                    slow->apart.until.ms <= change + 2 * HOUR_MS);
    }
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
        assert_int_equal(rare->apart.grid_ms, 0);
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

/* Two weeks of hours, then a minute in fifty: too few to tell another step.  With --missing zero no
   advice leads back to that option. */
static void sparse_rows_behind_hours_are_told_apart_by_hand(void **state)
{
    owned(text) struct text *csv = text_new(1 << 20);
    int64_t ms = civil_day(2026, 11, 1) * DAY_MS;
    struct error err = { 0 };

    (void)state;
    text_add(csv, "t,queue,count\n");
    add_rows(csv, &ms, &(struct run){ "busy", 336, 60, 200 });
    for (int i = 1; i < 40; i++) {
        ms += (1 + i * 29 % 113) * MINUTE_MS;
        add_rows(csv, &ms, &(struct run){ "busy", 1, 1, 4 });
    }
    assert_null(parse(csv->chars, NULL, true, &err));
    if (!strstr(err.text, "sum them up to 1h or give them alone") || strstr(err.text, "--missing"))
        fail_msg("%s", err.text);
}

/* A recorder that begins each five minutes, and is up to 39 s late; every tenth time, or always.
   Read by their common divisor, each count would be that of one second. */
static void rows_that_come_late_are_to_be_rounded(void **state)
{
    (void)state;
    for (int zero = 0; zero < 2; zero++)
        for (int every = 1; every <= 10; every += 9) {
            owned(text) struct text *csv = text_new(1 << 20);
            struct error err = { 0 };
            uint32_t random = 1;

            text_add(csv, "t,count\n");
            for (int i = 0; i < 2000; i++) {
                char time[WALL_TEXT_SIZE];
                int64_t late_ms = i % every == 0 && i > 0 ? 1 + (random >> 24) % 39 : 0;

                late_ms *= SECOND_MS;
                random = random * 1664525 + 1013904223;
                text_add(csv, "%s,50\n",
                         wall_format((struct wall_time){ civil_day(2026, 11, 1) * DAY_MS +
                                                         (int64_t)i * 5 * MINUTE_MS + late_ms },
                                     time));
            }
            assert_null(parse(csv->chars, NULL, zero, &err));
            if (!strstr(err.text, every == 1 ? ":3: queue busy, " : ":12: queue busy, ") ||
                !strstr(err.text, "round their times to 5m"))
                fail_msg("zero %d, every %d: %s", zero, every, err.text);
        }
}

/* A rare queue whose arrivals are about half an hour apart, beside one of each minute; and a few
   rows that are alike by chance. */
static void rare_rows_are_not_taken_for_late_ones(void **state)
{
    static const int few[] = { 8, 9, 11, 12 };
    uint32_t random = 1;

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        owned(text) struct text *csv = text_new(1 << 20);
        int64_t begin = civil_day(2026, 11, 1) * DAY_MS;
        int64_t ms = begin;
        struct error err = { 0 };

        text_add(csv, "t,queue,count\n");
        if (kind == 0)
            add_rows(csv, &ms, &(struct run){ "busy", 6000, 1, 5 });
        ms = begin;
        for (int i = 0; i < (kind == 0 ? 100 : 5); i++) {
            add_rows(csv, &ms, &(struct run){ "rare", 1, 0, 1 });
            random = random * 1664525 + 1013904223;
            ms += (kind == 0 ? 25 + random / 65536 % 10 : (uint32_t)few[i % 4]) * MINUTE_MS;
        }
        owned(demand) struct demand *demand = parse(csv->chars, NULL, true, &err);

        if (!demand)
            fail_msg("kind %d: %s", kind, err.text);
        assert_int_equal(demand_find(demand, "rare")->step_ms, MINUTE_MS);
    }
}

/* Days are an hour shorter or longer when clocks change, and a timetable keeps its grid. */
static void rows_on_a_grid_are_not_taken_for_late_ones(void **state)
{
    static const int minutes[] = { 20, 25, 15 };
    int64_t days[60] = { 0 };
    int64_t table[60] = { 0 };
    int64_t ms;

    (void)state;
    for (int i = 1; i < 60; i++) {
        days[i] = days[i - 1] + DAY_MS + (i % 20 == 7 ? HOUR_MS : 0);
        table[i] = table[i - 1] + minutes[i % 3] * MINUTE_MS;
    }
    assert_int_equal(steps_wander(days, 60, &ms), 0);
    assert_int_equal(steps_wander(table, 60, &ms), 0);
    assert_int_equal(steps_wander(days, 1, &ms), 0);
}

/* Six sums of an hour among rows of five minutes that are complete otherwise. */
static void a_few_long_rows_in_a_whole_file_are_a_change_of_step(void **state)
{
    owned(text) struct text *csv = text_new(1 << 22);
    int64_t ms = civil_day(2026, 11, 1) * DAY_MS;
    struct error err = { 0 };

    (void)state;
    text_add(csv, "t,queue,count\n");
    add_rows(csv, &ms, &(struct run){ "chat", 10 * 288, 5, 50 });
    add_rows(csv, &ms, &(struct run){ "chat", 6, 60, 600 });
    add_rows(csv, &ms, &(struct run){ "chat", 10 * 288, 5, 50 });
    for (int zero = 0; zero < 2; zero++) {
        owned(demand) struct demand *demand = parse(csv->chars, NULL, zero, &err);

        if (!demand)
            fail_msg("%s", err.text);
        assert_int_equal(demand_unknown(&demand->series[0]), 0);
        for (size_t i = 0; i < demand->series[0].count; i++)
            assert_int_equal(demand_at(&demand->series[0], DEMAND_LOW, i), 50);
    }
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
        cmocka_unit_test(a_queue_that_changes_its_step_is_spread_where_silence_is_zero),
        cmocka_unit_test(few_hours_at_an_end_of_minutes_are_hours),
        cmocka_unit_test(rows_on_a_coarser_grid_are_named_where_silence_is_zero),
        cmocka_unit_test(sparse_rows_keep_the_step_that_divides_all),
        cmocka_unit_test(sparse_rows_change_their_step_when_the_others_do),
        cmocka_unit_test(a_row_off_the_grid_says_what_to_do),
        cmocka_unit_test(sparse_rows_behind_hours_are_told_apart_by_hand),
        cmocka_unit_test(rows_that_come_late_are_to_be_rounded),
        cmocka_unit_test(rare_rows_are_not_taken_for_late_ones),
        cmocka_unit_test(rows_on_a_grid_are_not_taken_for_late_ones),
        cmocka_unit_test(a_few_long_rows_in_a_whole_file_are_a_change_of_step),
        cmocka_unit_test(times_that_wander_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
