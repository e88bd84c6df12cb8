/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows that are proposed for a plan (--plan-windows): they have the calendar of those that are
 * judged; and how many there are is chosen on the past alone.
 */
#include "broker/backtest/windows_choice.h"
#include "broker/sizing/backtest_windows.h"
#include "tests/windows/backtest_world.h"
#include "windows/calendar/calendar.h"

#include <string.h>

static const char text[] =
    "holidays: {2026-11-25: sunday, 2026-12-03: saturday}\n"
    "events:\n"
    "  launch: {from: 2026-12-01 09:00, to: 2026-12-02 18:00, multiplier: 2, queues: [chat]}\n";

static void proposed_windows_keep_the_calendar(void **state)
{
    owned(yaml_document) struct yaml_document *document = yaml_parse(text, strlen(text), "c.yaml",
                                                                     NULL);
    struct error err = { 0 };
    struct world world;

    (void)state;
    world_init(&world);
    assert_int_equal(calendar_read(world.set, yaml_get(yaml_root(document), "holidays"),
                                   yaml_get(yaml_root(document), "events"), &err),
                     0);

    const struct backtest_past past = { &world.queue, 1, world.set, world.setup.end };
    owned(window_set) struct window_set *set = backtest_windows(&past, 6, &err);

    assert_non_null(set);
    assert_in_range(set->weekly_count, 2, 6);
    for (int64_t hour = 0; hour < (int64_t)3 * 7 * 24; hour++) {
        struct wall_time at = { monday_ms + hour * HOUR_MS };
        const struct window *judged = window_at(world.set, at);
        const struct window *planned = window_at(set, at);

        assert_int_equal(window_week_minute(set, at), window_week_minute(world.set, at));
        assert_int_equal(judged->event != NULL, planned->event != NULL);
        assert_true(fabs(window_multiplier(planned, "chat") - window_multiplier(judged, "chat")) <=
                    0);
        assert_true(fabs(window_multiplier(planned, "other") - 1) <= 0);
    }
    world_clear(&world);
}

enum { CHOICE_WEEKS = 5, FIRST_WEEK = 3 };

static const struct wall_time first = { monday_ms + FIRST_WEEK * WEEK_MS };

/* Five weeks of which three are before the first week judged; `step_of` sets the arrivals. */
static struct windows_choice choice_of(int32_t (*step_of)(int step), size_t first_week)
{
    struct windows_choice choice;
    struct world world;

    world_init_from(&world, monday_ms, CHOICE_WEEKS * WEEK_STEPS);
    world.setup.first_week = first_week;
    for (int step = 0; step_of && step < CHOICE_WEEKS * WEEK_STEPS; step++)
        world.series.counts[DEMAND_LOW][step] = step_of(step);
    windows_choose(&world.setup, first, &choice);
    world_clear(&world);
    return choice;
}

/* A half-hour in ten has six times as many, at any time of the day. */
static int32_t bursts(int step)
{
    struct random random;

    random_seed(&random, random_mix(7, "burst", (uint64_t)step, 0));
    return random_between(&random, 0, 1) < 0.1 ? 180 : 30;
}

/* A wave before `first`, and another world after it. */
static int32_t another_world(int step)
{
    double level = (step / 48 % 7 < 5 ? 100 : 50) * (1 - 0.7 * cos(step % 48 / 48.0 * 2 * M_PI));

    return step < FIRST_WEEK * WEEK_STEPS ? (int32_t)level : 3000 + step;
}

static int32_t the_same_past(int step)
{
    return step < FIRST_WEEK * WEEK_STEPS ? another_world(step) : 0;
}

/* Nothing arrives at weekends, and the first one is not known: that week alone, from which the
   windows of a trial are proposed, tells of no weekend. */
static int32_t idle_weekends(int step)
{
    if (step / 48 % 7 < 5)
        return 100 + step % 48;
    return step < WEEK_STEPS ? -1 : 0;
}

static void smooth_demand_gets_more_windows(void **state)
{
    struct windows_choice choice = choice_of(NULL, FIRST_WEEK);

    (void)state;
    assert_int_equal(choice.weeks, 2);
    assert_int_equal(choice.trials[0].windows, 0);
    assert_in_range(choice.trials[choice.chosen].windows, 6, 24);
    assert_true(choice.trials[choice.chosen].hours < 0.95 * choice.trials[0].hours);
}

static void bursts_at_any_time_keep_the_judged_windows(void **state)
{
    struct windows_choice choice = choice_of(bursts, FIRST_WEEK);

    (void)state;
    assert_int_equal(choice.weeks, 2);
    assert_int_equal(choice.chosen, 0);
}

static void nothing_later_changes_the_choice(void **state)
{
    struct windows_choice one = choice_of(another_world, FIRST_WEEK);
    struct windows_choice other = choice_of(the_same_past, FIRST_WEEK);

    (void)state;
    assert_int_equal(one.weeks, 2);
    assert_int_equal(one.chosen, other.chosen);
    assert_memory_equal(one.trials, other.trials, sizeof one.trials);
}

static void without_a_proposal_the_judged_windows_stay(void **state)
{
    struct windows_choice partly = choice_of(idle_weekends, FIRST_WEEK);

    (void)state;
    assert_int_equal(partly.weeks, 2);
    assert_int_equal(partly.chosen, 0);
    assert_true(isfinite(partly.trials[0].hours));
    assert_false(partly.trials[1].is_played);
}

/* Clocks go back on 1 November, in the week that is played: it begins 169 hours before its end.
   Before it no weekend is known. */
static void a_week_that_is_played_has_its_own_hours(void **state)
{
    const int64_t start_ms = 1792728000000; /* Friday, 2026-10-23 00:00 in New York */
    const struct wall_time later = { start_ms + 15 * DAY_MS + HOUR_MS }; /* Saturday, 7 November */
    struct windows_choice choice;
    struct world world;

    (void)state;
    world_init_from(&world, start_ms, 29 * 48 + 2);
    window_set_free(world.set);
    world.set = window_set_read(NULL, time_zone_open("America/New_York", NULL), NULL);
    world.setup.judged = world.setup.planned = world.set;
    for (int step = 48; step < 3 * 48; step++)
        world.series.counts[DEMAND_LOW][step] = -1;
    world.setup.attainment = 0.1;
    windows_choose(&world.setup, later, &choice);
    assert_true(isfinite(choice.trials[0].hours));
    assert_false(choice.trials[1].is_played);
    world_clear(&world);
}

static void nothing_is_tried_where_the_judged_windows_fail(void **state)
{
    struct windows_choice choice;
    struct world world;

    (void)state;
    world_init_from(&world, monday_ms, CHOICE_WEEKS * WEEK_STEPS);
    world.setup.first_week = FIRST_WEEK;
    world.setup.attainment = 1.01;
    windows_choose(&world.setup, first, &choice);
    assert_int_equal(choice.weeks, 2);
    assert_int_equal(choice.chosen, 0);
    assert_true(isinf(choice.trials[0].hours));
    assert_false(choice.trials[1].is_played);
    world_clear(&world);
}

/* A choice after the first week alone. */
static struct windows_choice after_a_week(int32_t (*step_of)(int step))
{
    struct windows_choice choice;
    struct world world;

    world_init_from(&world, monday_ms, 2 * WEEK_STEPS);
    world.setup.first_week = 1;
    for (int step = 0; step_of && step < 2 * WEEK_STEPS; step++)
        world.series.counts[DEMAND_LOW][step] = step_of(step);
    windows_choose(&world.setup, (struct wall_time){ monday_ms + WEEK_MS }, &choice);
    world_clear(&world);
    return choice;
}

static int32_t nothing(int step)
{
    return 0 * step;
}

static void after_a_single_week_its_weekdays_decide(void **state)
{
    struct windows_choice smooth = after_a_week(NULL);
    struct windows_choice bursty = after_a_week(bursts);
    struct windows_choice idle = after_a_week(nothing);

    (void)state;
    assert_int_equal(smooth.weeks, 0);
    assert_int_equal(smooth.trials[smooth.chosen].windows, 24);
    assert_true(smooth.regularity > 0.9);
    assert_int_equal(bursty.chosen, 0);
    assert_true(bursty.regularity < 0.5);
    assert_int_equal(idle.chosen, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proposed_windows_keep_the_calendar),
        cmocka_unit_test(smooth_demand_gets_more_windows),
        cmocka_unit_test(bursts_at_any_time_keep_the_judged_windows),
        cmocka_unit_test(nothing_later_changes_the_choice),
        cmocka_unit_test(a_week_that_is_played_has_its_own_hours),
        cmocka_unit_test(nothing_is_tried_where_the_judged_windows_fail),
        cmocka_unit_test(after_a_single_week_its_weekdays_decide),
        cmocka_unit_test(without_a_proposal_the_judged_windows_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
