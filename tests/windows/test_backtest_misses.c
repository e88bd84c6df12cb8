/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Why a target was missed: the reasons from what is known, and what a backtest tells of the misses
 * that its runs have.
 */
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/backtest/misses.h"

#include <string.h>

static const struct {
    const char *name;
    struct miss_facts facts;
    const char *want;
} cases[] = {
    /*                                      planned held needed later safest */
    { "the fleet was full", { 40, 30, 35, 0, 50 }, "cut" },
    { "just full", { 40, 39, 40, 0, 50 }, "cut" },
    { "full, but it had not been enough anyway", { 40, 30, 41, 0, 50 }, "bound" },
    { "full, but what was left was enough", { 40, 30, 30, 0, 50 }, "neighbour" },
    { "full, though a later plan had more", { 40, 30, 35, 60, 50 }, "cut" },
    { "enough for itself", { 40, 40, 40, 0, 50 }, "neighbour" },
    { "enough for itself, though a later plan had more", { 40, 40, 38, 50, 50 }, "neighbour" },
    { "known in the night before", { 40, 40, 45, 46, 50 }, "no re-plan" },
    { "a later plan met it with no more", { 40, 40, 45, 40, 50 }, "bound" },
    { "known later, unlike any before", { 40, 40, 70, 80, 50 }, "no re-plan" },
    { "known later, without a forecast", { 40, 40, 70, 80, 0 }, "no re-plan" },
    { "the first weeks", { 40, 40, 45, 0, 0 }, "history" },
    { "unlike any before", { 40, 40, 51, 0, 50 }, "forecast" },
    { "as the forecast held possible", { 40, 40, 50, 0, 50 }, "bound" },
    { "one too few", { 40, 40, 41, 0, 40.5 }, "forecast" },
    { "one too few, and foretold", { 40, 40, 41, 0, 41 }, "bound" },
};

static void the_reason_follows_from_what_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *name = miss_reason_name(miss_reason(&cases[i].facts));

        if (!text_equal(name, cases[i].want))
            fail_msg("%s: %s, not %s", cases[i].name, name, cases[i].want);
    }
}

static void each_reason_has_a_name_and_a_meaning(void **state)
{
    (void)state;
    for (enum miss_reason reason = 0; reason < MISS_REASONS; reason++) {
        assert_true(strlen(miss_reason_name(reason)) > 2);
        assert_true(strlen(miss_reason_meaning(reason)) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reason_follows_from_what_is_known),
        cmocka_unit_test(each_reason_has_a_name_and_a_meaning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
