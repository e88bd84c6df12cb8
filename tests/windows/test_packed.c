/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Packed rows come back as they were added, joined and sorted; and steps are found from times.
 */
#include "base/timestamp.h"
#include "tests/support/unit.h"
#include "windows/demand/packed.h"
#include "windows/demand/steps.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 500 };

static uint32_t next_random(uint32_t *random)
{
    return (*random = *random * 1664525 + 1013904223) >> 8;
}

/* Rows as files have them: mostly a step and some lines after the last one, and now and then far
   away, before it, or with a fraction. */
static void make_rows(struct packed_row rows[ROWS], uint32_t random)
{
    int64_t ms = -3 * (int64_t)DAY_MS;
    int64_t line = 1;

    memset(rows, 0, ROWS * sizeof *rows);
    for (int i = 0; i < ROWS; i++) {
        uint32_t dice = next_random(&random) % 20;

        ms += dice == 0 ? 1000 * (int64_t)(next_random(&random) % 100000) - 30000000 : MINUTE_MS;
        line += dice == 1 ? next_random(&random) % 1000 + 1 : 7;
        rows[i].ms = ms;
        rows[i].line = line;
        rows[i].is_local = dice == 2;
        rows[i].kind = dice == 3 ? PACKED_REAL : dice == 4 ? PACKED_RATE : PACKED_COUNT;
        rows[i].value = dice == 5 ? INT32_MAX : dice < 5 ? 0.1 * dice : next_random(&random) % 900;
        if (rows[i].kind == PACKED_COUNT && dice < 5)
            rows[i].value = dice;
    }
}

static void check_rows(const struct packed *packed, const struct packed_row *rows, size_t count)
{
    struct packed_cursor cursor = packed_begin(packed);
    struct packed_row row;

    assert_int_equal(packed->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(packed_next(&cursor, &row));
        assert_int_equal(row.ms, rows[i].ms);
        assert_int_equal(row.line, rows[i].line);
        assert_int_equal(row.kind, rows[i].kind);
        assert_int_equal(row.is_local, rows[i].is_local);
        assert_true(row.value == rows[i].value);
    }
    assert_false(packed_next(&cursor, &row));
}

static void rows_come_back_as_they_were_added(void **state)
{
    static struct packed_row rows[ROWS];

    (void)state;
    for (uint32_t seed = 1; seed < 40; seed++) {
        struct packed packed = { 0 };

        make_rows(rows, seed);
        for (int i = 0; i < ROWS; i++)
            packed_add(&packed, &rows[i]);
        assert_true(packed.is_unsorted);
        assert_int_equal(packed.first_line, rows[0].line);
        check_rows(&packed, rows, ROWS);
        packed_clear(&packed);
    }
}

static void a_regular_row_takes_two_bytes(void **state)
{
    struct packed packed = { 0 };

    (void)state;
    for (int i = 0; i < 10000; i++)
        packed_add(&packed, &(struct packed_row){ .ms = i * (int64_t)MINUTE_MS,
                                                  .line = 2 + 200 * (int64_t)i,
                                                  .value = 100 + i % 400 });
    assert_true(packed.size < 10000 * 2 + 30);
    packed_clear(&packed);
}

/* Parts of no, one, two and more rows. */
static void parts_join_to_the_whole(void **state)
{
    static struct packed_row rows[ROWS];

    (void)state;
    for (uint32_t seed = 1; seed < 40; seed++) {
        struct packed whole = { 0 };
        uint32_t random = seed;

        make_rows(rows, seed);
        for (int i = 0; i < ROWS;) {
            struct packed part = { 0 };

            for (uint32_t left = next_random(&random) % 5; left > 0 && i < ROWS; left--, i++)
                packed_add(&part, &rows[i]);
            packed_append(&whole, &part);
            packed_clear(&part);
        }
        assert_true(whole.is_unsorted && whole.has_local);
        check_rows(&whole, rows, ROWS);
        packed_clear(&whole);
    }
}

static int compare(const void *left, const void *right)
{
    const struct packed_row *a = left;
    const struct packed_row *b = right;

    if (a->ms != b->ms)
        return a->ms < b->ms ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static void sorting_is_by_time_and_line(void **state)
{
    static struct packed_row rows[ROWS];
    struct packed packed = { 0 };

    (void)state;
    make_rows(rows, 7);
    for (int i = 0; i < ROWS; i++)
        packed_add(&packed, &rows[i]);
    packed_sort(&packed);
    qsort(rows, ROWS, sizeof *rows, compare);
    assert_false(packed.is_unsorted);
    check_rows(&packed, rows, ROWS);
    packed_clear(&packed);
}

/* Times given as runs of equal distances, in minutes, ended by a count of 0. */
static const struct {
    const char *name;
    struct {
        int count;
        int minutes;
    } runs[8];
    enum steps_fault fault;
    int step;
    size_t eras;
} steps[] = {
    { "one step", { { 100, 5 } }, STEPS_FINE, 5, 1 },
    { "gaps", { { 50, 5 }, { 1, 35 }, { 50, 5 }, { 2, 10 } }, STEPS_FINE, 5, 1 },
    { "coarse, then fine", { { 100, 5 }, { 300, 1 } }, STEPS_FINE, 1, 2 },
    { "fine, then coarse", { { 300, 1 }, { 100, 5 } }, STEPS_FINE, 1, 2 },
    { "mostly coarse", { { 900, 5 }, { 60, 1 } }, STEPS_FINE, 1, 2 },
    { "three steps", { { 50, 60 }, { 300, 5 }, { 900, 1 } }, STEPS_FINE, 1, 3 },
    { "a gap at the change", { { 100, 5 }, { 1, 12 }, { 300, 1 } }, STEPS_FINE, 1, 2 },
    { "a gap in the coarse part",
      { { 50, 5 }, { 1, 60 }, { 50, 5 }, { 300, 1 } },
      STEPS_FINE,
      1,
      2 },
    { "an outage alone is no step", { { 300, 1 }, { 3, 60 }, { 300, 1 } }, STEPS_FINE, 1, 1 },
    { "hours in a whole file", { { 300, 1 }, { 4, 60 }, { 300, 1 } }, STEPS_FINE, 1, 3 },
    { "an outage where rows are lost, too",
      { { 100, 1 }, { 4, 60 }, { 100, 1 }, { 5, 2 }, { 100, 1 } },
      STEPS_FINE,
      1,
      1 },
    { "an outage at the end", { { 300, 1 }, { 2, 60 } }, STEPS_FINE, 1, 1 },
    { "hours in the beginning", { { 7, 60 }, { 300, 1 } }, STEPS_FINE, 1, 2 },
    { "hours at the end", { { 300, 1 }, { 6, 60 } }, STEPS_FINE, 1, 2 },
    { "hours at the end, rows lost before",
      { { 300, 1 }, { 5, 2 }, { 100, 1 }, { 3, 60 } },
      STEPS_FINE,
      1,
      2 },
    { "a few coarse rows at the end", { { 300, 1 }, { 6, 5 } }, STEPS_FINE, 1, 2 },
    { "every other row lost at the end", { { 300, 1 }, { 7, 2 } }, STEPS_FINE, 1, 1 },
    { "hours in sparse minutes",
      { { 4, 60 }, { 40, 1 }, { 30, 2 }, { 30, 3 }, { 20, 1 } },
      STEPS_FINE,
      1,
      4 },
    { "days", { { 9, 1440 }, { 1, 1500 }, { 9, 1440 }, { 1, 1380 } }, STEPS_FINE, 60, 1 },
    { "weeks", { { 9, 7 * 1440 } }, STEPS_LONG, 0, 1 },
    { "off the grid", { { 50, 5 }, { 1, 3 }, { 50, 5 } }, STEPS_OFF, 0, 1 },
    { "uneven", { { 100, 10 }, { 100, 15 } }, STEPS_UNEVEN, 0, 2 },
    { "alone", { { 0, 0 } }, STEPS_ALONE, 0, 0 },
};

static void steps_are_found_from_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        int64_t times[2000] = { 1794916800000 };
        size_t count = 1;
        struct steps found;

        for (size_t run = 0; steps[i].runs[run].count > 0; run++)
            for (int at = 0; at < steps[i].runs[run].count; at++, count++)
                times[count] = times[count - 1] + steps[i].runs[run].minutes * (int64_t)MINUTE_MS;

        struct steps_problem problem = steps_find(times, count, false, &found);

        if (problem.fault != steps[i].fault || found.eras.count != steps[i].eras ||
            (problem.fault == STEPS_FINE && found.step_ms != steps[i].step * MINUTE_MS))
            fail_msg("%s: fault %d, %zu eras, step %lld ms", steps[i].name, (int)problem.fault,
                     found.eras.count, (long long)found.step_ms);
        steps_clear(&found);
    }
}

static void a_row_counts_for_the_step_of_its_era(void **state)
{
    int64_t times[500];
    struct steps found;
    size_t at = 0;

    (void)state;
    for (int i = 0; i < 500; i++)
        times[i] = (i < 100 ? 5 * i : 400 + i) * (int64_t)MINUTE_MS;
    assert_int_equal(steps_find(times, 500, false, &found).fault, STEPS_FINE);
    for (int i = 0; i < 500; i++)
        assert_int_equal(steps_cover(&found, &at, times[i], 0), (i < 100 ? 5 : 1) * MINUTE_MS);
    steps_clear(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_as_they_were_added),
        cmocka_unit_test(a_regular_row_takes_two_bytes),
        cmocka_unit_test(parts_join_to_the_whole),
        cmocka_unit_test(sorting_is_by_time_and_line),
        cmocka_unit_test(steps_are_found_from_times),
        cmocka_unit_test(a_row_counts_for_the_step_of_its_era),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
