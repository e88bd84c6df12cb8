/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Misses are allowed to what is judged: plans by finer windows get fewer for each of theirs.
 */
#include "tests/windows/backtest_world.h"
#include "windows/backtest/allotment.h"

/* Servers for all planned spans at the level of so many misses, when one of `parts` is judged. */
static double wanted_at(double misses, double parts)
{
    struct error err = { 0 };
    struct world world;
    struct course course;
    struct field field = { .seed = 1, .seeds = 1, .misses = misses, .follow_ms = HOUR_MS };
    double sum = 0;

    world_init_from(&world, monday_ms, 4 * WEEK_STEPS);
    assert_int_equal(course_init(&course, world.set, world.series.start, world.setup.end, &err), 0);
    field_init(&field, &world.queue, &course);
    field.judged_count = (size_t)((double)course.spans.count / parts);
    outlook_foretell(&field.outlooks[OUTLOOK_NIGHTLY], &field);
    allotment_make(&field, 1, OUTLOOK_NIGHTLY);
    for (size_t span = 0; span < course.spans.count; span++)
        sum += field.outlooks[OUTLOOK_NIGHTLY]
                   .wanted[outlook_level(misses) * course.spans.count + span];
    field_clear(&field);
    course_clear(&course);
    world_clear(&world);
    return sum;
}

/* A fifth of what a further window of an occurrence misses makes that miss that would not have
   missed anyway. */
static void finer_windows_may_miss_less_each(void **state)
{
    double two = wanted_at(0.06, 2); /* 0.06 / 1.2 */
    double six = wanted_at(0.06, 6); /* 0.06 / 2 */

    (void)state;
    assert_true(two > wanted_at(0.06, 1) && two < wanted_at(0.04, 1));
    assert_true(six > wanted_at(0.04, 1) && six < wanted_at(0.02, 1));
    /* no more than what is asked for where one window has several that are judged */
    assert_true(fabs(wanted_at(0.06, 0.5) - wanted_at(0.06, 1)) <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finer_windows_may_miss_less_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
