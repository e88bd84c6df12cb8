/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Misses are allowed to what is judged: plans by finer windows get fewer for each of theirs.
 */
#include "tests/windows/backtest_world.h"
#include "windows/backtest/allotment.h"

/* Servers for all planned spans at the level of so many misses, when one of `parts` is judged, and
   the errors of a day are so much alike. */
static double wanted_at(double misses, double parts, double alike)
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
    for (size_t span = 0; span < course.spans.count; span++)
        field.outlooks[OUTLOOK_NIGHTLY].alike[span] = alike;
    allotment_make(&field, 1, OUTLOOK_NIGHTLY);
    for (size_t span = 0; span < course.spans.count; span++)
        sum += field.outlooks[OUTLOOK_NIGHTLY]
                   .wanted[outlook_level(misses) * course.spans.count + span];
    field_clear(&field);
    course_clear(&course);
    world_clear(&world);
    return sum;
}

/* What a further window of an occurrence misses makes that miss, too: all of it if the windows have
   nothing to do with each other, and a fifth at least. */
static void finer_windows_may_miss_less_each(void **state)
{
    static const struct {
        const char *name;
        double parts;
        double alike;
        double over;  /* 0.06 is worth what less than this is if one window is one occurrence, */
        double under; /* and what more than this is */
    } rows[] = {
        { "two, alike: 0.06 / 1.2", 2, 1, 0.06, 0.04 },
        { "two, nearly alike", 2, 0.9, 0.06, 0.04 },
        { "six, alike: 0.06 / 2", 6, 1, 0.04, 0.02 },
        { "two of their own: 0.06 / 2", 2, 0, 0.04, 0.02 },
        { "six of their own: 0.06 / 6", 6, 0, 0.012, 0.0075 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        double wanted = wanted_at(0.06, rows[row].parts, rows[row].alike);

        if (wanted <= wanted_at(rows[row].over, 1, 1) || wanted >= wanted_at(rows[row].under, 1, 1))
            fail_msg("%s: %.2f, not between %.2f and %.2f", rows[row].name, wanted,
                     wanted_at(rows[row].over, 1, 1), wanted_at(rows[row].under, 1, 1));
    }
    /* no more than what is asked for where one window has several that are judged */
    assert_true(fabs(wanted_at(0.06, 0.5, 0) - wanted_at(0.06, 1, 1)) <= 0);
}

/* Days of the world are drawn one by one, their windows with them. */
static void what_is_alike_is_known_from_past_days_alone(void **state)
{
    struct error err = { 0 };
    struct world world;
    struct course course;
    struct field field = { .seed = 1, .seeds = 1, .misses = 0.05, .follow_ms = HOUR_MS };

    (void)state;
    world_init_from(&world, monday_ms, 4 * WEEK_STEPS);
    assert_int_equal(course_init(&course, world.set, world.series.start, world.setup.end, &err), 0);
    field_init(&field, &world.queue, &course);
    for (int kind = 0; kind < OUTLOOKS; kind++) {
        const double *alike = field.outlooks[kind].alike;

        outlook_foretell(&field.outlooks[kind], &field);
        assert_true(fabs(alike[0] - 1) <= 0); /* nothing is known yet */
        for (size_t span = 0; span < course.spans.count; span++)
            if (!(alike[span] > 0 && alike[span] <= 1))
                fail_msg("kind %d, span %zu: %.3f", kind, span, alike[span]);
    }
    field_clear(&field);
    course_clear(&course);
    world_clear(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finer_windows_may_miss_less_each),
        cmocka_unit_test(what_is_alike_is_known_from_past_days_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
