/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cap: where it stands, how often it is missed, and when it gives way.
 */
#include "tests/support/unit.h"
#include "windows/forecast/peak.h"

#include <math.h>

/* Days of a level, from day 0 on; the last `tail` of them grow by a factor each. */
static void add_days(struct peak *peak, int days, double level, int tail, double factor)
{
    for (int day = 0; day < days; day++) {
        double need = level * pow(factor, day >= days - tail ? day - (days - tail) + 1 : 0);

        peak_add(peak, day, need / 2);
        peak_add(peak, day, need);
    }
}

static void the_cap_stands_and_gives_way(void **state)
{
    static const struct {
        const char *name;
        int days;
        int tail;
        double factor;
        bool gives_way;
        double servers; /* 0: no cap */
    } rows[] = {
        { "a level", 40, 0, 1, true, 103 },
        { "a short history", 3, 0, 1, true, 103 },
        { "a shift, the day after it", 40, 1, 1.8, true, 185.4 },
        { "growth of two per cent a day", 40, 10, 1.02, true, 0 },
        { "the same, when it may not give way", 40, 3, 1.02, false, 1.03 * 106.1208 },
        { "growth too slow to be a record each day", 40, 10, 1.005, true, 1.03 * 105.1140 },
        { "a first week, which makes records anyway", 6, 5, 1.1, true, 1.03 * 161.051 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct peak peak = { 0 };
        struct peak_cap cap;

        add_days(&peak, rows[row].days, 100, rows[row].tail, rows[row].factor);
        cap = peak_look(&peak, rows[row].days, rows[row].gives_way);
        if (fabs(cap.servers - rows[row].servers) > 0.01)
            fail_msg("%s: %.3f", rows[row].name, cap.servers);
        peak_clear(&peak);
    }
}

/* Records on days 33, 36 and 40 of forty: three of the last seven days, or two of them. */
static void the_last_seven_days_are_seven(void **state)
{
    static const struct {
        const char *name;
        int64_t origin;
        bool has_today; /* a window of day 40 is over */
        bool is_capped;
    } rows[] = {
        { "on the morning after the third", 41, true, true },
        { "later on the day of the third", 40, true, true },
        { "on the morning of day 40, which is not seen", 40, false, true },
        { "on the evening before", 39, false, true },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct peak peak = { 0 };

        for (int64_t day = 0; day <= (rows[row].has_today ? 40 : 39); day++)
            peak_add(&peak, day, 100 + 10 * (day >= 33) + 10 * (day >= 36) + 10 * (day >= 40));
        if ((peak_look(&peak, rows[row].origin, true).servers > 0) != rows[row].is_capped)
            fail_msg("%s: %s", rows[row].name, rows[row].is_capped ? "no cap" : "a cap");
        peak_clear(&peak);
    }
}

/* The same with the first of them a day later. */
static void three_records_in_seven_days_end_the_cap(void **state)
{
    struct peak peak = { 0 };

    (void)state;
    for (int64_t day = 0; day <= 40; day++)
        peak_add(&peak, day, 100 + 10 * (day >= 34) + 10 * (day >= 36) + 10 * (day >= 40));
    assert_false(peak_look(&peak, 40, true).servers > 0);
    assert_false(peak_look(&peak, 41, true).servers > 0);
    assert_true(peak_look(&peak, 42, true).servers > 0);
    peak_clear(&peak);
}

static void a_safer_bound_may_pass_the_cap(void **state)
{
    struct peak_cap cap = { 100, 0.04 };
    struct peak_cap none = { 0, 0.04 };

    (void)state;
    assert_true(fabs(peak_most(&cap, 0.1) - 100) < 1e-9);
    assert_true(fabs(peak_most(&cap, 0.04) - 100) < 1e-9);
    assert_true(fabs(peak_most(&cap, 0.01) - 200) < 1e-9);
    assert_true(isinf(peak_most(&none, 0.1)));
}

/* Windows end in any order of their days. */
static void days_keep_their_order(void **state)
{
    struct peak peak = { 0 };

    (void)state;
    peak_add(&peak, 5, 10);
    peak_add(&peak, 7, 30);
    peak_add(&peak, 6, 20);
    peak_add(&peak, 5, 15);
    assert_int_equal(peak.days.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(peak.days.items[i].day, 5 + (int)i);
    assert_true(fabs(peak.days.items[0].need - 15) < 1e-12);
    peak_clear(&peak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cap_stands_and_gives_way),
        cmocka_unit_test(the_last_seven_days_are_seven),
        cmocka_unit_test(three_records_in_seven_days_end_the_cap),
        cmocka_unit_test(a_safer_bound_may_pass_the_cap),
        cmocka_unit_test(days_keep_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
