/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How much wider the scores of a window spread: little is known by few of them.
 */
#include "base/memory.h"
#include "tests/support/unit.h"
#include "windows/forecast/scales.h"

#include <math.h>

/* Window 0 has scores of this size, window 1 of 0.1. */
static void own_scores_count_the_more_the_more_there_are(void **state)
{
    static const struct {
        double score;
        int count; /* in each window */
        double low, high;
    } rows[] = {
        { 0.4, 0, 1, 1 },          { 0, 40, 0.7, 0.9 },       { 0.4, 2, 0.95, 1.05 },
        { 0.4, 40, 1.16, 1.26 },   { 0.4, 4000, 1.36, 1.38 }, /* sqrt(0.16 / 0.085) is 1.372 */
        { 0.1, 40, 0.999, 1.001 }, { 0.2, 40, 1.1, 1.2 },     { 0.025, 4000, 0.33, 0.36 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct scales scales;
        double first, second;

        scales_init(&scales, 2);
        for (int i = 0; i < rows[row].count; i++) {
            scales_add(&scales, 0, i % 4 < 2 ? rows[row].score : -rows[row].score);
            scales_add(&scales, 1, i % 2 ? 0.1 : -0.1);
        }
        first = scales_of(&scales, 0).width;
        second = scales_of(&scales, 1).width;
        scales_clear(&scales);
        if (first < rows[row].low || first > rows[row].high)
            fail_msg("row %zu: %.4f", row, first);
        /* with as many scores, the squares of the scales have a mean of one */
        assert_true(fabs(first * first + second * second - 2) < 1e-9);
    }
}

/* Scores of one sign are no spread, and a score goes to the queue's and back. */
static void what_all_windows_have_in_common_is_no_width(void **state)
{
    struct scales scales;
    struct scale scale;

    (void)state;
    scales_init(&scales, 2);
    for (int i = 0; i < 400; i++)
        scales_add(&scales, (size_t)i % 2, 0.5 + (i % 4 < 2 ? 0.1 : -0.1));
    scale = scales_of(&scales, 0);
    scales_clear(&scales);
    assert_true(fabs(scale.width - 1) < 1e-6);
    assert_true(fabs(scale.center - 0.5) < 1e-9);

    const struct scale wide = { 0.5, 2 };

    assert_true(fabs(scale_to_window(&wide, 0.7) - 0.9) < 1e-9);
    assert_true(fabs(scale_to_queue(&wide, 0.9) - 0.7) < 1e-9);
}

/* One day without demand in ten weeks: a need of a hundredth. */
static void an_outage_is_no_width(void **state)
{
    struct scales scales;

    (void)state;
    scales_init(&scales, 2);
    for (int i = 0; i < 140; i++)
        scales_add(&scales, (size_t)i % 2, i == 70 ? log(0.01) : i % 4 < 2 ? 0.2 : -0.2);
    assert_true(scales_of(&scales, 0).width < 1.1);
    assert_true(scales_of(&scales, 1).width > 0.9);
    scales_clear(&scales);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_scores_count_the_more_the_more_there_are),
        cmocka_unit_test(what_all_windows_have_in_common_is_no_width),
        cmocka_unit_test(an_outage_is_no_width),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
