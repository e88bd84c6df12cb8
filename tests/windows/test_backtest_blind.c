/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Policies do not see what they plan, and the levels that are not searched are near those that are.
 */
#include "base/input/yaml.h"
#include "base/text.h"
#include "tests/support/sweep.h"
#include "tests/windows/backtest_world.h"
#include "windows/backtest/allotment.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOKOUT_WEEKS = 4,
    LOOKOUT_STEPS = LOOKOUT_WEEKS * WEEK_STEPS,
    SAMPLE = 5, /* without SLUICE_SWEEP one day in so many; prime to the days of a lookout */
};

struct lesson {
    struct course course;
    struct field field;
};

/* Who may miss more wants less: else no level is tried by what follows. */
static void expect_bolder_levels(const struct outlook *outlook, size_t spans)
{
    double bold = 0, safe = 0;

    for (size_t span = 0; span < spans; span++) {
        bold += outlook->wanted[span];
        safe += outlook->wanted[(OUTLOOK_LEVEL_COUNT - 1) * spans + span];
    }
    assert_true(bold < 0.98 * safe);
}

/* All that policies go by; a scaler's servers are there at once, so that no delay hides what it
   goes by. */
static void lesson_init(struct lesson *lesson, const struct world *world)
{
    struct error err = { 0 };
    struct course *course = &lesson->course;
    struct field *field = &lesson->field;

    *lesson = (struct lesson){ .field = { .seed = 1, .seeds = 1, .misses = 0.1 } };
    assert_int_equal(course_init(course, world->set, world->series.start, world->setup.end, &err),
                     0);
    field->follow_ms = HOUR_MS;
    field->judged_count = course->spans.count;
    field_init(field, &world->queue, course);
    for (int kind = 0; kind < OUTLOOKS; kind++) {
        outlook_foretell(&field->outlooks[kind], field);
        allotment_make(field, 1, (enum outlook_kind)kind);
        expect_bolder_levels(&field->outlooks[kind], course->spans.count);
    }
    for (size_t i = 0; i < course->spans.count; i++)
        assert_int_equal(field_find_need(field, i, &err), 0);
    for (size_t week = 1; week < course->weeks; week++) {
        assert_int_equal(field_find_last_week(field, week, &err), 0);
        for (int kind = 0; kind < OUTLOOKS; kind++)
            assert_int_equal(outlook_search(&field->outlooks[kind], field, week, &err), 0);
    }
}

static void lesson_clear(struct lesson *lesson)
{
    field_clear(&lesson->field);
    course_clear(&lesson->course);
}

/* Numbers that were not searched, against a search for them. */
static void other_levels_are_near_what_a_search_says(void **state)
{
    static const double misses[] = { 0.3, 0.05, 0.01 };
    struct error err = { 0 };
    struct world world;
    struct lesson lesson;

    (void)state;
    world_init(&world);
    lesson_init(&lesson, &world);
    for (int kind = 0; kind < OUTLOOKS; kind++)
        for (size_t i = 0; i < COUNT_OF(misses); i++) {
            struct outlook searched = lesson.field.outlooks[kind];
            size_t level = outlook_level(misses[i]);
            double off = 0;
            double sum = 0;

            searched.chosen = level;
            searched.numbers = mem_new_array(lesson.course.spans.count, sizeof(int));
            assert_int_equal(outlook_search(&searched, &lesson.field, 2, &err), 0);
            for (size_t span = 0; span < lesson.course.spans.count; span++) {
                int near = outlook_number(&lesson.field.outlooks[kind], &lesson.field, level, span);
                int exact = searched.numbers[span];

                if (lesson.course.spans.items[span].week != 2)
                    continue;
                if (abs(near - exact) > 2 + exact / 8) /* both are drawn once */
                    fail_msg("level %g, span %zu: %d, and not %d", misses[i], span, near, exact);
                off += near - exact;
                sum += exact;
            }
            assert_true(fabs(off) < 0.05 * sum);
            mem_free(searched.numbers);
        }
    lesson_clear(&lesson);
    world_clear(&world);
}

static const char split_at_midnight[] = "early: { days: mon-sun, from: 0:00, to: 8:00 }\n"
                                        "late: { days: mon-sun, from: 8:00, to: 0:00 }\n";

/* Four weeks from a Monday's midnight; where clocks change, they do on the last Sunday. */
static const struct {
    const char *name;
    const char *zone;
    int64_t start_ms;
    int steps;
} lookouts[] = {
    { "no change", "UTC", monday_ms, LOOKOUT_STEPS },
    { "autumn", "America/New_York", monday_ms - 42 * (int64_t)DAY_MS + 4 * (int64_t)HOUR_MS,
      LOOKOUT_STEPS + 2 },
    { "spring", "America/New_York", monday_ms + 91 * (int64_t)DAY_MS + 5 * (int64_t)HOUR_MS,
      LOOKOUT_STEPS - 2 },
};

static void lookout_init(struct world *world, size_t at)
{
    owned(yaml_document) struct yaml_document *document = yaml_parse(
        split_at_midnight, strlen(split_at_midnight), "windows", NULL);

    world_init_from(world, lookouts[at].start_ms, lookouts[at].steps);
    window_set_free(world->set);
    world->set = window_set_read(yaml_root(document), time_zone_open(lookouts[at].zone, NULL),
                                 NULL);
    assert_non_null(world->set);
}

struct plans {
    struct lesson lesson;
    int **servers; /* [policy]; NULL: an oracle */
};

static void plans_init(struct plans *plans, const struct world *world)
{
    struct error err = { 0 };

    lesson_init(&plans->lesson, world);
    plans->servers = mem_new_array(policies_count(), sizeof *plans->servers);
    for (size_t i = 0; i < policies_count(); i++) {
        const struct policy *policy = &policies[i];

        if (policy->is_oracle)
            continue;
        plans->servers[i] = mem_new_array(plans->lesson.course.slots, sizeof(int));
        assert_int_equal(policy->plan(&plans->lesson.field, policy->levels[policy->chosen],
                                      plans->servers[i], &err),
                         0);
    }
}

static void plans_clear(struct plans *plans)
{
    for (size_t i = 0; i < policies_count(); i++)
        mem_free(plans->servers[i]);
    mem_free(plans->servers);
    lesson_clear(&plans->lesson);
}

static struct wall_time midnight_of(const struct course *course, size_t week, int day)
{
    int64_t days = (int64_t)(course->weeks - week) * 7 - day;

    return time_zone_wall(course->set->zone, civil_date_of_day(course->end_day - days), 0);
}

/* The first slot whose plan may go by what happens on that day or later: a weekly plan stands until
   the week is over, a nightly one until the day is, one that follows until an hour before the next
   window; a scaler learns of a step when that is over. */
static size_t first_to_know(const struct course *course, const struct policy *policy, size_t week,
                            int day)
{
    int64_t from_ms = midnight_of(course, week, day).ms + 30 * MINUTE_MS;

    if (text_equal(policy->name, "sluice-daily"))
        from_ms = midnight_of(course, week, day + 1).ms;
    else if (text_equal(policy->name, "sluice-follow"))
        from_ms = midnight_of(course, week, day).ms + HOUR_MS;
    else if (!text_equal(policy->name, "reactive"))
        from_ms = midnight_of(course, week + 1, 0).ms;
    return (size_t)((from_ms - course_slot(course, 0).ms) / JUDGE_SLOT_MS);
}

static void expect_blind(const struct plans *before, struct world *world, size_t week, int day)
{
    const struct course *course = &before->lesson.course;
    int64_t since_ms = midnight_of(course, week, day).ms - world->series.start.ms;
    struct plans after;

    for (size_t i = (size_t)(since_ms / world->series.step_ms); i < world->series.count; i++)
        world->series.counts[DEMAND_LOW][i] *= 3;
    plans_init(&after, world);
    for (size_t i = (size_t)(since_ms / world->series.step_ms); i < world->series.count; i++)
        world->series.counts[DEMAND_LOW][i] /= 3;
    for (size_t i = 0; i < policies_count(); i++) {
        size_t first = first_to_know(course, &policies[i], week, day);
        size_t slot = 0;

        if (policies[i].is_oracle)
            continue;
        while (slot < course->slots && before->servers[i][slot] == after.servers[i][slot])
            slot++;
        if (slot < first)
            fail_msg("%s: slot %zu knows of day %d of week %zu", policies[i].name, slot, day, week);
        /* On the last day no window may begin once another one is over. */
        if (text_equal(policies[i].name, "sluice-follow") &&
            midnight_of(course, week, day + 1).ms >= course->end.ms)
            continue;
        if (slot == course->slots && first < slot)
            fail_msg("%s learns nothing of day %d of week %zu", policies[i].name, day, week);
    }
    plans_clear(&after);
}

static void no_policy_sees_what_it_plans(void **state)
{
    struct sweep_part part = sweep_part(SAMPLE);

    (void)state;
    for (size_t at = 0; at < COUNT_OF(lookouts); at++) {
        struct world world;
        struct plans before;

        lookout_init(&world, at);
        plans_init(&before, &world);
        print_message("%s\n", lookouts[at].name);
        assert_int_equal(before.lesson.course.weeks, LOOKOUT_WEEKS);
        for (size_t week = 1; week < LOOKOUT_WEEKS; week++)
            for (int day = 0; day <= 6; day += 6)
                if (sweep_plays(&part))
                    expect_blind(&before, &world, week, day);
        plans_clear(&before);
        world_clear(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_levels_are_near_what_a_search_says),
        cmocka_unit_test(no_policy_sees_what_it_plans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
