/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Token buckets for each person, in times that the test gives.
 */
#include "base/memory.h"
#include "base/text.h"
#include "broker/access/rates.h"
#include "tests/support/unit.h"

static int taken(struct rates *rates, const char *person, enum rate rate, int64_t now_ms)
{
    int count = 0;

    while (count < 1000 && rates_take(rates, person, rate, now_ms) == 0)
        count++;
    return count;
}

static void a_burst_is_allowed_and_then_the_rate(void **state)
{
    static const struct {
        enum rate rate;
        int burst, per_10s;
    } cases[] = {
        { RATE_READ, 40, 200 },
        { RATE_PLAN, 10, 20 },
        { RATE_ACT, 40, 20 },
    };
    owned(rates) struct rates *rates = rates_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int later = 0;

        assert_int_equal(taken(rates, "ada", cases[i].rate, 1000), cases[i].burst);
        for (int64_t now_ms = 1001; now_ms <= 11000; now_ms++)
            later += rates_take(rates, "ada", cases[i].rate, now_ms) == 0;
        assert_int_equal(later, cases[i].per_10s);
    }
}

static void the_wait_that_is_told_is_enough_and_no_longer(void **state)
{
    owned(rates) struct rates *rates = rates_new();
    int64_t wait_ms;

    (void)state;
    taken(rates, "ada", RATE_ACT, 5000);
    wait_ms = rates_take(rates, "ada", RATE_ACT, 5000);
    assert_int_equal(wait_ms, 500);
    assert_int_equal(rates_take(rates, "ada", RATE_ACT, 5000 + wait_ms - 1), 1);
    assert_int_equal(rates_take(rates, "ada", RATE_ACT, 5000 + wait_ms), 0);
}

static void persons_and_kinds_do_not_share(void **state)
{
    owned(rates) struct rates *rates = rates_new();

    (void)state;
    taken(rates, "ada", RATE_PLAN, 0);
    assert_int_equal(rates_take(rates, "ada", RATE_ACT, 0), 0);
    assert_int_equal(rates_take(rates, "ben", RATE_PLAN, 0), 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(rates_take(rates, "ada", RATE_FREE, 0), 0);
}

static void idle_persons_are_forgotten(void **state)
{
    owned(rates) struct rates *rates = rates_new();

    (void)state;
    for (int i = 0; i < RATES_PERSONS_MOST; i++) {
        owned(chars) char *person = text_format("person %d", i);

        assert_int_equal(rates_take(rates, person, RATE_READ, 1000), 0);
    }
    assert_true(rates_take(rates, "one more", RATE_READ, 1000) > 0);
    assert_int_equal(rates_take(rates, "one more", RATE_READ, 1050), 0);
    assert_int_equal(rates_persons(rates), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_allowed_and_then_the_rate),
        cmocka_unit_test(the_wait_that_is_told_is_enough_and_no_longer),
        cmocka_unit_test(persons_and_kinds_do_not_share),
        cmocka_unit_test(idle_persons_are_forgotten),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
