/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How far apart days lie before any of them was predicted, counted by hand.
 */
#include "tests/support/unit.h"
#include "windows/forecast/spread.h"

#include <math.h>

enum { DAYS_MOST = 30 };

/* Days of one window from a Monday on, as logarithms; what is not known is left out. */
static struct forecast_cell cell_of(const double *levels, const bool *known, int days)
{
    struct forecast_cell cell = { 0 };

    for (int day = 0; day < days; day++)
        *array_add(&cell.past) = (struct forecast_occurrence){
            .day = day,
            .weekday = day % 7,
            .end = { (day + 1) * (int64_t)DAY_MS },
            .is_known = !known || known[day],
            .need = 100 * exp(levels[day]),
        };
    return cell;
}

static double spread_at(struct forecast_cell *cells, size_t count, int64_t origin, double *ret_days)
{
    struct forecast forecast = { .cells = cells, .count = count };
    struct points_origin at = { origin, { origin * (int64_t)DAY_MS }, false };

    return spread_of_days(&forecast, &at, ret_days);
}

static void days_are_held_against_the_others_of_their_kind(void **state)
{
    static const struct {
        const char *name;
        int days;
        double levels[10];
        double squares; /* mean */
        double counted; /* days */
    } rows[] = {
        { "nothing is known", 0, { 0 }, 0, 0 },
        { "one day says nothing", 1, { 0.5 }, 0, 0 },
        { "two days, each against the other", 2, { 0, 0.2 }, 0.04, 2 },
        { "three days: 0.3, and twice -0.15", 3, { 0.2, 0, 0 }, (0.04 + 2 * 0.01) / 3, 3 },
        { "a weekend at another level is no spread", 7, { 0, 0, 0, 0, 0, -0.8, -0.8 }, 0, 7 },
        { "the first Saturday has no other: it is held against the week",
          6,
          { 0, 0, 0, 0, 0, -0.6 },
          0.36 / 6,
          6 },
        { "nothing counts for more than a square of one", 2, { 0, 3 }, 1, 2 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct forecast_cell cell = cell_of(rows[row].levels, NULL, rows[row].days);
        double days;
        double squares = spread_at(&cell, 1, DAYS_MOST, &days);

        if (fabs(squares - rows[row].squares) > 1e-12 || fabs(days - rows[row].counted) > 1e-12)
            fail_msg("%s: %.6f of %g days", rows[row].name, squares, days);
        array_clear(&cell.past);
    }
}

/* Two weeks of days are as many as count, and those after the origin do not. */
static void as_many_days_count_as_were_over(void **state)
{
    static const double levels[DAYS_MOST] = { [20] = 0.9 };
    struct forecast_cell cells[2];
    bool few[DAYS_MOST] = { [0] = true, [1] = true, [2] = true };
    double days;

    (void)state;
    cells[0] = cell_of(levels, NULL, DAYS_MOST);
    cells[1] = cell_of(levels, few, DAYS_MOST);
    assert_true(spread_at(cells, 2, 5, &days) < 1e-12 && fabs(days - 5) < 1e-12);
    assert_true(spread_at(cells, 2, 20, &days) < 1e-12 && fabs(days - 14) < 1e-12);
    assert_true(spread_at(cells, 2, 21, &days) > 0.01);
    /* the window of which most is known says how many days there are */
    assert_true(spread_at(&cells[1], 1, 20, &days) < 1e-12 && fabs(days - 3) < 1e-12);
    array_clear(&cells[0].past);
    array_clear(&cells[1].past);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_are_held_against_the_others_of_their_kind),
        cmocka_unit_test(as_many_days_count_as_were_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
