/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the last days lay over their profiles counts for the next day as far as it did before.
 */
#include "tests/support/unit.h"
#include "windows/forecast/carry_over.h"

#include <math.h>

enum { WINDOWS = 2, DAYS = 20, ORIGIN = 20 };

static void a_queue_carries_over_what_it_did_before(void **state)
{
    static const struct {
        const char *name;
        int count;
        double of_day;  /* what a day has of the day before it, */
        double of_week; /* and of the week */
        double storm;   /* added to the first day */
        double low;     /* of what is told after a day of 0.2, in a week of 0.1 */
        double high;
    } rows[] = {
        { "few occurrences", 39, 0.8, 0, 0, 0, 0 },
        { "days that are drawn anew", 1000, 0, 0, 0, -1e-9, 1e-9 },
        { "days like the one before", 1000, 0.8, 0, 0, 0.07, 0.08 },
        { "weeks like the one before", 1000, 0, 0.8, 0, 0.03, 0.04 },
        { "each day swings back", 1000, -0.5, 0, 0, -0.05, -0.045 },
        { "one storm is no rule", 1000, 0, 0, 50, -0.01, 0.01 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct carry_over carry = { 0 };
        const struct carry_days asked = { 0.2, 0.1 };
        double told;

        for (int i = 0; i < rows[row].count; i++) {
            struct carry_days days = { i % 2 ? 0.2 : -0.2, i % 4 < 2 ? 0.2 : -0.2 };

            carry_over_learn(&carry, &days,
                             rows[row].of_day * days.day + rows[row].of_week * days.week +
                                 (i == 0 ? rows[row].storm : 0));
        }
        told = carry_over_tell(&carry, &asked);
        if (told < rows[row].low || told > rows[row].high)
            fail_msg("%s: %.4f", rows[row].name, told);
    }
}

/* All days lie 0.1 over their profile, the last one 0.5; the day of the origin is not over. */
static void days_are_means_of_what_is_known(void **state)
{
    static const struct {
        const char *name;
        bool is_last_known;
        double over; /* of the last day */
        double day;
        double week;
    } rows[] = {
        { "all are known", true, 0.5, 0.5, (6 * 0.1 + 0.5) / 7 },
        { "the last one is not", false, 0.5, 0, 0.1 },
        { "a storm", true, 3, 1, (6 * 0.1 + 3) / 7 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct forecast_cell cells[WINDOWS] = { 0 };
        struct forecast forecast = { .cells = cells, .count = WINDOWS };
        struct points_origin origin = { ORIGIN, { ORIGIN * (int64_t)DAY_MS }, false };
        struct carry_days days;

        for (int at = 0; at < WINDOWS * (DAYS + 1); at++) {
            int day = at / WINDOWS;
            double over = day == ORIGIN ? 9 : day == ORIGIN - 1 ? rows[row].over : 0.1;

            *array_add(&cells[at % WINDOWS].past) = (struct forecast_occurrence){
                .day = day,
                .end = { (day + 1) * (int64_t)DAY_MS },
                .is_known = day != ORIGIN - 1 || rows[row].is_last_known,
                .need = 10 * exp(over),
                .profile = 10,
            };
        }
        days = carry_over_days(&forecast, &origin);
        if (fabs(days.day - rows[row].day) > 1e-9 || fabs(days.week - rows[row].week) > 1e-9)
            fail_msg("%s: %.3f, %.3f", rows[row].name, days.day, days.week);
        for (int window = 0; window < WINDOWS; window++)
            array_clear(&cells[window].past);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_carries_over_what_it_did_before),
        cmocka_unit_test(days_are_means_of_what_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
