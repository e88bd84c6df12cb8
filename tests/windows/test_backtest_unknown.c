/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A backtest on weeks of which a part is unknown, or in which nothing arrives: no policy gains
 * capacity by unknown time, or loses it to idle queues.
 */
#include "tests/windows/backtest_world.h"

#include <string.h>

enum { FOUR_WEEKS = 4 * WEEK_STEPS, WEEK_SLOTS = (int)(WEEK_MS / JUDGE_SLOT_MS) };

static void hide(struct demand_series *series, size_t from, size_t end)
{
    for (size_t step = from; step < end; step++)
        series->counts[DEMAND_LOW][step] = DEMAND_UNKNOWN;
}

static void four_weeks(struct world *world)
{
    world_init_from(world, monday_ms, FOUR_WEEKS);
    world->setup.fleet.nodes = 30;
}

static const struct backtest_row *row_of(const struct backtest *backtest, const char *name)
{
    for (size_t i = 0; i < backtest->count; i++)
        if (text_equal(backtest->rows[i].policy->name, name))
            return &backtest->rows[i];
    fail_msg("no policy %s", name);
    return NULL;
}

static struct backtest *run_of(const struct world *world)
{
    struct error err = { 0 };
    struct backtest *backtest = backtest_run(&world->setup, &err);

    if (!backtest)
        fail_msg("%s", err.text);
    return backtest;
}

/* Two slots in the middle are not counted: no hour of them, and one move from what was before them
   to what is after. */
static void a_slot_that_is_not_counted_has_no_hours(void **state)
{
    static const bool counted[] = { true, true, false, false, true, true };
    static const int nodes[] = { 2, 2, 0, 0, 3, 3 };
    const struct fleet fleet = { 4, 8, 10 * MINUTE_MS, 5 * MINUTE_MS, 2 };
    struct measure all = { 0 };
    struct measure part = { 0 };
    struct measure late = { 0 };

    (void)state;
    measure_capacity(&fleet, nodes, &(struct measure_slots){ 0, 6, NULL }, &all);
    assert_true(fabs(all.production_h - 8 * 10 / 12.0) < 1e-9);
    assert_true(fabs(all.transit_h - 8 * (3 * 10 + 2 * 5) / 60.0) < 1e-9);
    measure_capacity(&fleet, nodes, &(struct measure_slots){ 0, 6, counted }, &part);
    assert_true(fabs(part.production_h - 8 * 10 / 12.0) < 1e-9);
    assert_true(fabs(part.transit_h - 8 * 10 / 60.0) < 1e-9);
    assert_true(fabs(part.evicted_h - 2) < 1e-9);
    assert_true(fabs(part.research_h + part.production_h + part.transit_h + part.evicted_h -
                     4 * 8 * 4 / 12.0) < 1e-9);
    assert_true(fabs(part.moves_a_week - WEEK_SLOTS / 4.0) < 1e-9);
    measure_capacity(&fleet, nodes, &(struct measure_slots){ 3, 6, counted }, &late);
    assert_true(fabs(late.evicted_h - 2) < 1e-9);
    assert_true(fabs(late.production_h - 8 * 6 / 12.0) < 1e-9);
}

/* Each policy's hours are those of the known judged week; so the gain over static-peak is about
   that of the same week where all is known, and does not have the unknown week. */
static void an_unknown_week_is_no_gain(void **state)
{
    struct world world;
    double gain;

    (void)state;
    four_weeks(&world);
    owned(backtest) struct backtest *whole = run_of(&world);
    assert_int_equal(whole->coverage.left_out, 0);
    gain = row_of(whole, "oracle")->tuned.research_h -
           row_of(whole, "static-peak")->tuned.research_h;

    hide(&world.series, 2 * WEEK_STEPS, 3 * WEEK_STEPS);
    owned(backtest) struct backtest *part = run_of(&world);

    assert_int_equal(part->coverage.judged, 2 * WEEK_SLOTS);
    assert_int_equal(part->coverage.left_out, WEEK_SLOTS);
    assert_int_equal(part->coverage.unknown[0], WEEK_SLOTS);
    assert_int_equal(part->coverage.blanks, 1);
    for (size_t i = 0; i < part->count; i++) {
        const struct measure *measure = &part->rows[i].tuned;

        if (fabs(measure->research_h + measure->production_h + measure->transit_h +
                 measure->evicted_h - 30.0 * 8 * 7 * 24) > 1e-6)
            fail_msg("%s has other hours than a week", part->rows[i].policy->name);
    }

    double half = row_of(part, "oracle")->tuned.research_h -
                  row_of(part, "static-peak")->tuned.research_h;

    if (half < 0.35 * gain || half > 0.65 * gain)
        fail_msg("%g GPU-hours in one week, %g in two", half, gain);
    assert_true(part->has_limit);
    assert_true(part->limit.node_h <= backtest_node_hours(part, &row_of(part, "oracle")->tuned));
    assert_true(part->limit.node_h > 0.35 * whole->limit.node_h);
    assert_true(part->limit.node_h < 0.65 * whole->limit.node_h);
    world_clear(&world);
}

/* Queues share nodes, so time counts in which all are known; what they cannot be held against, the
   bound, is not told. */
static void time_counts_in_which_all_queues_are_known(void **state)
{
    struct world world;
    struct world other;
    struct backtest_queue both[2];

    (void)state;
    four_weeks(&world);
    four_weeks(&other);
    other.series.queue = (char *)(uintptr_t) "embed";
    hide(&other.series, 3 * WEEK_STEPS + 48, FOUR_WEEKS); /* ends in the second judged week */
    both[0] = world.queue;
    both[1] = other.queue;
    world.setup.queues = both;
    world.setup.queue_count = 2;
    world.setup.played = 1u << POLICY_STATIC | BACKTEST_LIMIT;
    owned(backtest) struct backtest *backtest = run_of(&world);

    assert_int_equal(backtest->coverage.left_out, 6 * WEEK_SLOTS / 7);
    assert_int_equal(backtest->coverage.unknown[0], 0);
    assert_int_equal(backtest->coverage.unknown[1], 6 * WEEK_SLOTS / 7);
    assert_int_equal(backtest->coverage.worst, 1);
    assert_int_equal(backtest->coverage.blanks, 0);
    assert_false(backtest->has_limit);
    assert_string_equal(backtest->unbounded->queue, "embed");
    world_clear(&world);
    world_clear(&other);
}

static void what_is_unknown_all_the_time_is_refused(void **state)
{
    struct error err = { 0 };
    struct world world;

    (void)state;
    four_weeks(&world);
    hide(&world.series, 2 * WEEK_STEPS, FOUR_WEEKS);
    assert_null(backtest_run(&world.setup, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "nothing can be judged"));
    assert_non_null(strstr(err.text, "queue chat"));
    world_clear(&world);
}

static void silence(struct demand_series *series, size_t from, size_t end)
{
    for (size_t step = from; step < end; step++)
        series->counts[DEMAND_LOW][step] = 0;
}

/* Of a queue in which nothing ever arrives no policy holds a server: beside another queue it
   changes no figure of any policy. */
static void an_idle_queue_costs_nothing(void **state)
{
    struct world world;
    struct world idle;
    struct backtest_queue both[2];

    (void)state;
    four_weeks(&world);
    four_weeks(&idle);
    silence(&idle.series, 0, FOUR_WEEKS);
    world.setup.played = (1u << policies_count()) - 1;
    owned(backtest) struct backtest *alone = run_of(&world);

    both[0] = world.queue;
    both[1] = idle.queue;
    world.setup.queues = both;
    world.setup.queue_count = 2;
    owned(backtest) struct backtest *beside = run_of(&world);

    for (size_t i = 0; i < alone->count; i++) {
        const char *name = alone->rows[i].policy->name;
        const struct measure *one = &alone->rows[i].tuned;
        const struct measure *two = &beside->rows[i].tuned;

        for (size_t slot = 0; slot < beside->planned.slots; slot++)
            if (beside->rows[i].servers[1][slot] != 0)
                fail_msg("%s holds %d servers in slot %zu", name, beside->rows[i].servers[1][slot],
                         slot);
        if (one->spans != two->spans || fabs(one->research_h - two->research_h) > 1e-9)
            fail_msg("%s: %g GPU-hours beside an idle queue, %g alone", name, two->research_h,
                     one->research_h);
    }
    world_clear(&world);
    world_clear(&idle);
}

/* A window in which nothing arrives gets no servers from the week after, and a scaler gives its
   last one up after a week. */
static void who_goes_silent_keeps_no_server(void **state)
{
    struct world world;

    (void)state;
    four_weeks(&world);
    silence(&world.series, WEEK_STEPS, FOUR_WEEKS);
    world.setup.played = (1u << policies_count()) - 1;
    owned(backtest) struct backtest *backtest = run_of(&world);

    for (size_t i = 0; i < backtest->count; i++) {
        const struct backtest_row *row = &backtest->rows[i];

        assert_int_equal(row->tuned.spans, 0);
        if (row->policy == &policies[POLICY_STATIC])
            continue; /* the peak of all weeks */
        if (text_equal(row->policy->name, "reactive") &&
            (row->servers[0][WEEK_SLOTS / 2] != 1 || row->servers[0][2 * WEEK_SLOTS] != 0))
            fail_msg("reactive: %d, then %d", row->servers[0][WEEK_SLOTS / 2],
                     row->servers[0][2 * WEEK_SLOTS]);
        if (row->policy->is_last_week && row->servers[0][3 * WEEK_SLOTS - 1] != 0)
            fail_msg("%s: %d", row->policy->name, row->servers[0][3 * WEEK_SLOTS - 1]);
    }
    world_clear(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_that_is_not_counted_has_no_hours),
        cmocka_unit_test(an_unknown_week_is_no_gain),
        cmocka_unit_test(time_counts_in_which_all_queues_are_known),
        cmocka_unit_test(what_is_unknown_all_the_time_is_refused),
        cmocka_unit_test(an_idle_queue_costs_nothing),
        cmocka_unit_test(who_goes_silent_keeps_no_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
