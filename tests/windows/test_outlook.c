/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plan is searched on the arrivals of a week before, scaled to what the forecast wants.
 */
#include "tests/windows/backtest_world.h"
#include "windows/backtest/allotment.h"

#include <string.h>

enum { WEEKS = 5, DAY_STEPS = 48, PLANNED_WEEK = 4 };

static const double least = 0.7; /* of a number, over what the closed form wants */

/* The days of the week before the planned one that bring nothing, although nothing is missing. */
static const struct {
    const char *name;
    int first;
    int count;
    enum outlook_kind kind;
} outages[] = {
    { "a day, nightly", 2, 1, OUTLOOK_NIGHTLY },
    { "three days, nightly", 1, 3, OUTLOOK_NIGHTLY },
    { "a day, followed", 2, 1, OUTLOOK_FOLLOW },
    { "a weekend, weekly", 5, 2, OUTLOOK_WEEKLY },
    { "a whole week, nightly", 0, 7, OUTLOOK_NIGHTLY },
};

static void check(const struct field *field, enum outlook_kind kind, const char *name)
{
    const struct course *course = field->course;
    const struct outlook *outlook = &field->outlooks[kind];

    for (size_t i = 0; i < course->spans.count; i++) {
        double wanted = outlook->wanted[outlook->chosen * course->spans.count + i];

        if (course->spans.items[i].week == PLANNED_WEEK && outlook->numbers[i] < least * wanted)
            fail_msg("%s: %d servers in span %zu, %g wanted", name, outlook->numbers[i], i, wanted);
    }
}

static void an_outage_a_week_before_is_no_plan(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(outages); row++) {
        struct error err = { 0 };
        struct world world;
        struct course course;
        struct field field = { .seed = 1, .seeds = 1, .misses = 0.05, .follow_ms = HOUR_MS };
        struct outlook *outlook = &field.outlooks[outages[row].kind];
        int from = (PLANNED_WEEK - 1) * WEEK_STEPS + outages[row].first * DAY_STEPS;

        world_init_from(&world, monday_ms, WEEKS * WEEK_STEPS);
        memset(&world.series.counts[DEMAND_LOW][from], 0,
               (size_t)(outages[row].count * DAY_STEPS) * sizeof(int32_t));
        assert_int_equal(course_init(&course, world.set, world.series.start, world.setup.end, &err),
                         0);
        field.judged_count = course.spans.count;
        field_init(&field, &world.queue, &course);
        outlook_foretell(outlook, &field);
        allotment_make(&field, 1, outages[row].kind);
        assert_int_equal(outlook_search(outlook, &field, PLANNED_WEEK, &err), 0);
        check(&field, outages[row].kind, outages[row].name);
        field_clear(&field);
        course_clear(&course);
        world_clear(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_outage_a_week_before_is_no_plan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
