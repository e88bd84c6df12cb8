/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a weekday has of its own: how much of it counts, for weekdays that lie apart by so much.
 */
#include "tests/support/unit.h"
#include "windows/forecast/forecast_parts.h"
#include "windows/forecast/points.h"

#include <math.h>

enum { WEEKS = 4, WEEKDAYS = 6 /* Sunday has no window */ };

/* Mondays lie `apart` over the rest, and each day `noise` over or under its weekday, so that weeks
   are alike. */
static double level_of(int week, int weekday, double apart, double noise)
{
    return (weekday == 0 ? apart : 0) + ((week + weekday) % 2 == 0 ? noise : -noise);
}

static struct forecast_cell cell_of(double apart, double noise)
{
    struct forecast_cell cell = { 0 };

    for (int week = 0; week < WEEKS; week++)
        for (int weekday = 0; weekday < WEEKDAYS; weekday++) {
            int day = 7 * week + weekday;

            *array_add(&cell.past) = (struct forecast_occurrence){
                .day = day,
                .weekday = weekday,
                .end = { (day + 1) * (int64_t)DAY_MS },
                .is_known = true,
                .need = 100 * exp(level_of(week, weekday, apart, noise)),
            };
        }
    return cell;
}

/* Of one weekday, or of all (-1): half as much counts what is four weeks older. */
static double mean_of(int weekday, double apart, double noise)
{
    double sum = 0;
    double weights = 0;

    for (int week = 0; week < WEEKS; week++)
        for (int at = 0; at < WEEKDAYS; at++) {
            double weight = exp2(-(double)(7 * WEEKS - 1 - 7 * week - at) / 28);

            if (weekday >= 0 && at != weekday)
                continue;
            sum += weight * level_of(week, at, apart, noise);
            weights += weight;
        }
    return sum / weights;
}

/* Four days of a weekday count against `prior` days of the mean of all. */
static void a_weekday_counts_as_far_as_weekdays_lie_apart(void **state)
{
    static const struct {
        const char *name;
        double apart;
        double noise;
        unsigned without;
        double prior;
    } rows[] = {
        { "on and off", 3, 0, 0, 0.02 },
        /* within: 5 * 0.2^2 over 24 - 6 + 5; between: (25 + 5) / 36 / 5, less within / 4 */
        { "apart by as much as e", 1, 0, 0, (0.2 / 23) / (30. / 36 / 5 - 0.2 / 23 / 4) },
        { "apart by less than their noise", 0.05, 0.3, 0, 6 },
        { "all alike", 0, 0, 0, 6 },
        { "without the part, far apart", 1, 0, FORECAST_WEEKDAYS, 3 },
        { "without the part, near", 0.05, 0.3, FORECAST_WEEKDAYS, 3 },
    };
    struct points_origin origin = { 7 * WEEKS, { 7 * WEEKS * (int64_t)DAY_MS }, false };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct forecast_cell cell = cell_of(rows[row].apart, rows[row].noise);
        double all = mean_of(-1, rows[row].apart, rows[row].noise);
        double own = mean_of(0, rows[row].apart, rows[row].noise);
        double want = 100 * exp(all + (own - all) * WEEKS / (WEEKS + rows[row].prior));
        double found = points_profile(&cell, 0, 7 * WEEKS, &origin, rows[row].without);

        if (fabs(found / want - 1) > 1e-9)
            fail_msg("%s: %.6f, and not %.6f", rows[row].name, found, want);
        array_clear(&cell.past);
    }
}

/* A weekday of which no day is known has the mean of all. */
static void an_unknown_weekday_is_like_all(void **state)
{
    struct points_origin origin = { 7 * WEEKS, { 7 * WEEKS * (int64_t)DAY_MS }, false };
    struct forecast_cell cell = cell_of(1, 0);
    double found = points_profile(&cell, 6, 7 * WEEKS, &origin, 0);

    (void)state;
    assert_true(fabs(found / (100 * exp(mean_of(-1, 1, 0))) - 1) < 1e-9);
    array_clear(&cell.past);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_weekday_counts_as_far_as_weekdays_lie_apart),
        cmocka_unit_test(an_unknown_weekday_is_like_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
