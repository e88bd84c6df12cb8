/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a backtest adds up, counted by hand; and what must hold of any: more safety breaks
 * no promise, and the oracle is what recovery is measured by.
 */
#include "base/text.h"
#include "tests/windows/backtest_world.h"
#include "windows/backtest/equal.h"

#include <stdlib.h>
#include <string.h>

/* Nodes of 8 GPUs, a slot each; moving costs as much as five slots. */
static const struct {
    const char *name;
    int gpus[12];
    bool is_planned;
    int nodes[12];
    double production_h;
    double transit_h;
    double evicted_h;
} courses[] = {
    { "part of a node is a node",
      { 1, 1, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 },
      true,
      { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
      8,
      0,
      0 },
    { "a node comes and goes",
      { 8, 8, 8, 16, 16, 8, 8, 8, 8, 8, 8, 8 },
      true,
      { 1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1 },
      8 + 2 * 8 / 12.0,
      8 * (10 + 5) / 60.0,
      2 },
    { "over a short gap it stays",
      { 16, 8, 8, 8, 8, 9, 8, 0, 0, 0, 0, 0 },
      true,
      { 2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0 },
      (6 * 16 + 8) / 12.0,
      8 * (5 + 5) / 60.0,
      0 },
    { "unless nobody knew that it was one",
      { 16, 8, 8, 8, 8, 9, 8, 8, 8, 8, 8, 8 },
      false,
      { 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1 },
      (2 * 16 + 10 * 8) / 12.0,
      8 * (5 + 10 + 5) / 60.0,
      2 },
};

static void nodes_and_their_hours_are_as_counted_by_hand(void **state)
{
    static const size_t from_the_first[12] = { 0 };
    const struct fleet fleet = { 4, 8, 10 * MINUTE_MS, 5 * MINUTE_MS, 2 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(courses); i++) {
        struct measure measure = { 0 };
        int nodes[12];

        measure_nodes(&fleet, courses[i].gpus, 12, courses[i].is_planned ? from_the_first : NULL,
                      nodes);
        if (memcmp(nodes, courses[i].nodes, sizeof nodes) != 0)
            fail_msg("%s: other nodes", courses[i].name);
        measure_capacity(&fleet, nodes, &(struct measure_slots){ 0, 12, NULL }, &measure);
        if (fabs(measure.production_h - courses[i].production_h) > 1e-9 ||
            fabs(measure.transit_h - courses[i].transit_h) > 1e-9 ||
            fabs(measure.evicted_h - courses[i].evicted_h) > 1e-9)
            fail_msg("%s: %g, %g, %g GPU-hours", courses[i].name, measure.production_h,
                     measure.transit_h, measure.evicted_h);
        assert_true(fabs(measure.research_h + measure.production_h + measure.transit_h +
                         measure.evicted_h - 4 * 8) < 1e-9);
    }
}

static struct backtest *run_of(const struct world *world)
{
    struct error err = { 0 };
    struct backtest *backtest = backtest_run(&world->setup, &err);

    if (!backtest)
        fail_msg("%s", err.text);
    return backtest;
}

static const struct backtest_row *row_named(const struct backtest *backtest, const char *name)
{
    for (size_t i = 0; i < backtest->count; i++)
        if (text_equal(backtest->rows[i].policy->name, name))
            return &backtest->rows[i];
    fail_msg("no policy %s", name);
    return NULL;
}

static void oracles_meet_everything_and_recover_most(void **state)
{
    struct world world;

    (void)state;
    world_init(&world);
    owned(backtest) struct backtest *backtest = run_of(&world);
    const struct measure *oracle = &row_named(backtest, "oracle")->tuned;
    const struct measure *windowed = &row_named(backtest, "windowed-oracle")->tuned;
    const struct measure *peak = &row_named(backtest, "static-peak")->tuned;

    assert_int_equal(oracle->spans_met, oracle->spans);
    assert_int_equal(windowed->spans_met, windowed->spans);
    assert_true(fabs(oracle->recovered - 1) < 1e-12);
    assert_true(fabs(peak->recovered) < 1e-12);
    assert_true(oracle->research_h > windowed->research_h);
    assert_true(windowed->research_h > peak->research_h);
    world_clear(&world);
}

/* Alone with moves, and two of them on the same nodes without. */
static void who_meets_everything_stays_within_the_limit(void **state)
{
    (void)state;
    for (size_t queues = 1; queues <= 2; queues++) {
        struct world world;
        struct backtest_queue both[2];

        world_init(&world);
        both[0] = both[1] = world.queue;
        world.setup.queues = both;
        world.setup.queue_count = queues;
        owned(backtest) struct backtest *backtest = run_of(&world);
        const struct backtest_limit *limit = &backtest->limit;

        for (size_t i = 0; i < backtest->count; i++) {
            const struct measure *measure = &backtest->rows[i].tuned;
            double taken_h = backtest_node_hours(backtest, measure);

            if (measure->spans_met == measure->spans)
                assert_true(limit->node_h <= taken_h && limit->research_h >= measure->research_h);
            if (backtest->rows[i].policy->is_oracle)
                assert_true(taken_h < (queues == 1 ? 2 : 3) * limit->node_h);
        }
        assert_true(limit->has_moves == (queues == 1));
        assert_true(limit->recovered >= 1);
        world_clear(&world);
    }
}

/* Four levels: what each met and recovered; asked for 95 %. */
static const struct {
    const char *name;
    double met[4];
    double recovered[4];
    double at_equal; /* NAN: no level meets it */
} frontiers[] = {
    { "between two levels", { 0.8, 0.94, 0.96, 0.99 }, { 0.9, 0.8, 0.7, 0.1 }, 0.75 },
    { "a quarter of the way", { 0.8, 0.92, 0.96, 0.99 }, { 0.9, 0.8, 0.7, 0.1 }, 0.725 },
    { "a level meets just that", { 0.8, 0.9, 0.95, 0.99 }, { 0.9, 0.8, 0.7, 0.1 }, 0.7 },
    { "no level meets less", { 0.96, 0.97, 0.98, 0.99 }, { 0.9, 0.8, 0.7, 0.1 }, 0.9 },
    { "no level meets it", { 0.8, 0.9, 0.92, 0.94 }, { 0.9, 0.8, 0.7, 0.1 }, NAN },
    { "a safer level that meets less", { 0.9, 0.96, 0.94, 0.99 }, { 0.9, 0.6, 0.7, 0.1 }, 0.65 },
    { "a bolder neighbour that recovers less",
      { 0.9, 0.96, 0.97, 0.9 },
      { 0.4, 0.6, 0.5, 0 },
      0.6 },
};

static void at_equal_attainment_levels_are_mixed(void **state)
{
    struct backtest backtest = { .has_recovered = true };

    (void)state;
    for (size_t at = 0; at < COUNT_OF(frontiers); at++) {
        struct backtest_row row = { .policy = &policies[POLICY_STATIC] };
        double found = NAN;

        assert_int_equal(row.policy->level_count, COUNT_OF(frontiers[at].met));
        for (size_t i = 0; i < COUNT_OF(frontiers[at].met); i++) {
            row.points[i].measure.attainment = frontiers[at].met[i];
            row.points[i].measure.recovered = frontiers[at].recovered[i];
        }
        if (equal_recovered(&backtest, &row, 0.95, &found) == isnan(frontiers[at].at_equal) ||
            fabs(found - frontiers[at].at_equal) > 1e-9)
            fail_msg("%s: %g, not %g", frontiers[at].name, found, frontiers[at].at_equal);
    }
    backtest.has_recovered = false;
    assert_false(equal_recovered(&backtest, &(struct backtest_row){ 0 }, 0.95, &(double){ 0 }));
}

static void more_safety_breaks_no_promise(void **state)
{
    static const char *const names[] = { "static-peak", "proportional", "square-root", "deckard" };
    struct world world;

    (void)state;
    world_init(&world);
    owned(backtest) struct backtest *backtest = run_of(&world);

    for (size_t at = 0; at < COUNT_OF(names); at++) {
        const struct backtest_row *row = row_named(backtest, names[at]);

        for (size_t i = 1; i < row->policy->level_count; i++)
            if (row->points[i].measure.violations > row->points[i - 1].measure.violations ||
                row->points[i].measure.production_h < row->points[i - 1].measure.production_h)
                fail_msg("%s: level %zu", names[at], i);
        assert_true(row->points[0].measure.violations >
                        row->points[row->policy->level_count - 1].measure.violations ||
                    row->points[0].measure.violations <= 0);
    }
    world_clear(&world);
}

static void the_number_of_threads_changes_nothing(void **state)
{
    struct world world;

    (void)state;
    world_init(&world);
    owned(backtest) struct backtest *one = run_of(&world);
    world.setup.threads = 3;
    owned(backtest) struct backtest *three = run_of(&world);

    assert_memory_equal(&one->limit, &three->limit, sizeof one->limit);
    for (size_t i = 0; i < one->count; i++) {
        assert_memory_equal(&one->rows[i].tuned, &three->rows[i].tuned, sizeof one->rows[i].tuned);
        assert_memory_equal(one->rows[i].nodes, three->rows[i].nodes,
                            one->planned.slots * sizeof *one->rows[i].nodes);
    }
    world_clear(&world);
}

static size_t policy_named(const char *name)
{
    for (size_t i = 0; i < policies_count(); i++)
        if (text_equal(policies[i].name, name))
            return i;
    fail_msg("no policy %s", name);
    return 0;
}

/* With a fleet of the same size. */
static const struct {
    const char *names[3];
    bool has_recovered;
    bool has_limit;
} selections[] = {
    { { "sluice" }, false, false },
    { { "deckard", "static-peak" }, false, true },
    { { "sluice-follow" }, false, false },
    { { "windowed-oracle", "proportional", "sluice-daily" }, false, false },
    { { "static-peak", "reactive", "oracle" }, true, true },
};

static void expect_same(const struct backtest *all, const struct backtest *few)
{
    for (size_t i = 0; i < few->count; i++) {
        const struct backtest_row *row = &few->rows[i];
        struct measure want = row_named(all, row->policy->name)->tuned;

        want.recovered = few->has_recovered ? want.recovered : 0;
        if (memcmp(&want, &row->tuned, sizeof want) != 0)
            fail_msg("%s differs when others are not played", row->policy->name);
        assert_memory_equal(row->nodes, row_named(all, row->policy->name)->nodes,
                            few->planned.slots * sizeof *row->nodes);
    }
}

static void who_is_not_played_changes_nothing_for_the_others(void **state)
{
    struct world world;

    (void)state;
    world_init(&world);
    owned(backtest) struct backtest *all = run_of(&world);

    assert_int_equal(all->count, policies_count());
    world.setup.fleet.nodes = all->fleet.nodes;
    for (size_t at = 0; at < COUNT_OF(selections); at++) {
        size_t count = 0;

        world.setup.played = selections[at].has_limit ? BACKTEST_LIMIT : 0;
        for (; count < COUNT_OF(selections[at].names) && selections[at].names[count]; count++)
            world.setup.played |= 1u << policy_named(selections[at].names[count]);
        owned(backtest) struct backtest *few = run_of(&world);

        assert_int_equal(few->count, count);
        assert_int_equal(few->has_recovered, selections[at].has_recovered);
        assert_int_equal(few->has_limit, selections[at].has_limit);
        assert_true(fabs(few->limit.node_h - (few->has_limit ? all->limit.node_h : 0)) < 1e-9);
        assert_int_equal(few->requests, all->requests);
        expect_same(all, few);
    }
    world_clear(&world);
}

/* What --follow asks for cannot be nearer than a node's way. */
static void who_follows_asks_before_a_node_is_on_its_way(void **state)
{
    static const int64_t leads[] = { HOUR_MS, 5 * (int64_t)HOUR_MS };
    struct backtest *runs[2];
    struct world world;

    (void)state;
    world_init(&world);
    world.setup.fleet.nodes = 20;
    world.setup.fleet.up_ms = 5 * (int64_t)HOUR_MS;
    world.setup.played = 1u << policy_named("sluice-follow");
    /* from a Wednesday noon on there is twice as much: who looks later sees it sooner */
    for (size_t i = STEPS - 4 * 48 - 24; i < STEPS; i++)
        world.series.counts[DEMAND_LOW][i] *= 2;
    for (size_t i = 0; i < 2; i++) {
        world.setup.follow_ms = leads[i];
        runs[i] = run_of(&world);
    }
    expect_same(runs[1], runs[0]);
    /* and it makes a difference when a plan is made */
    world.setup.fleet.up_ms = HOUR_MS;
    world.setup.follow_ms = HOUR_MS;
    owned(backtest) struct backtest *later = run_of(&world);
    assert_true(memcmp(later->rows[0].nodes, runs[0]->rows[0].nodes,
                       later->planned.slots * sizeof *later->rows[0].nodes) != 0);
    for (size_t i = 0; i < 2; i++)
        backtest_free(runs[i]);
    world_clear(&world);
}

/* A fifth over what the windows need, and so over what their oracle takes. */
static void the_fleet_has_a_size_whatever_policy_is_played(void **state)
{
    static const char *const names[] = { "reactive", "sluice", "windowed-oracle" };
    struct world world;

    (void)state;
    world_init(&world);
    for (size_t at = 0; at < COUNT_OF(names); at++) {
        world.setup.played = 1u << policy_named(names[at]) | 1u << policy_named("windowed-oracle");
        owned(backtest) struct backtest *backtest = run_of(&world);
        int most = 0;

        world.setup.played = 1u << policy_named(names[at]);
        owned(backtest) struct backtest *alone = run_of(&world);

        for (size_t slot = 0; slot < backtest->planned.slots; slot++) {
            int nodes = row_named(backtest, "windowed-oracle")->nodes[slot];

            most = nodes > most ? nodes : most;
        }
        assert_true(alone->fleet.nodes >= most);
        assert_true(alone->fleet.nodes <= backtest->fleet.nodes);
    }
    world_clear(&world);
}

/* The night before the first week that is planned ends in it. */
static void static_peak_holds_its_number_from_the_first_slot_on(void **state)
{
    struct world world;

    (void)state;
    world_init(&world);
    world.setup.played = 1u << POLICY_STATIC;
    owned(backtest) struct backtest *backtest = run_of(&world);
    const int *servers = backtest->rows[0].servers[0];

    assert_true(servers[0] > 10);
    for (size_t slot = 1; slot < course_week_slot(&backtest->planned, 2); slot++)
        assert_int_equal(servers[slot], servers[0]);
    world_clear(&world);
}

struct told {
    struct progress_state last;
    size_t parts;
    bool is_forward; /* no share and no item was told after a greater one */
    bool is_whole;   /* each part was told until its last item */
};

static void note(void *context, const struct progress_state *progress)
{
    struct told *told = context;
    bool is_same = told->last.part == progress->part;

    told->is_forward = told->is_forward && progress->share >= told->last.share &&
                       progress->done == (is_same ? told->last.done + 1 : 0);
    told->is_whole = told->is_whole && (is_same || told->last.done == told->last.count);
    told->parts += !is_same;
    told->last = *progress;
}

static void progress_is_told_of_each_step_in_order(void **state)
{
    struct world world;

    (void)state;
    world_init(&world);
    for (size_t at = 0; at < COUNT_OF(selections); at++) {
        struct told told = { .is_forward = true, .is_whole = true };

        world.setup.threads = 3;
        world.setup.report = (struct progress_report){ note, &told };
        world.setup.played = 1u << policy_named(selections[at].names[0]) | 1u << POLICY_STATIC |
                             (selections[at].has_limit ? BACKTEST_LIMIT : 0);
        owned(backtest) struct backtest *backtest = run_of(&world);

        assert_true(backtest->count > 0 && told.is_forward && told.is_whole);
        assert_int_equal(told.parts, 5);
        assert_int_equal(told.last.done, told.last.count);
        assert_true(fabs(told.last.share - 1) < 1e-9);
    }
    world_clear(&world);
}

static void expect_misses(const struct backtest *backtest, const struct backtest_row *row,
                          size_t reasons[MISS_REASONS])
{
    assert_int_equal(row->misses.count,
                     row->policy->is_share ? row->tuned.spans - row->tuned.spans_met : 0);
    for (size_t i = 0; i < row->misses.count; i++) {
        const struct backtest_miss *miss = &row->misses.items[i];
        const struct course_span *span = &backtest->judged.spans.items[miss->span];
        size_t first;
        size_t end;

        course_slots_of(&backtest->planned, span, &first, &end);
        reasons[miss->reason]++;
        assert_int_equal(miss->reason, miss_reason(&miss->facts));
        assert_true(span->week >= backtest->first_week);
        assert_true(miss->wait_s > (miss->queue == 0 ? 60 : 30));
        assert_int_equal(miss->facts.needed, backtest->needs[miss->queue][miss->span]);
        assert_int_equal(miss->facts.held, row->servers[miss->queue][first]);
        assert_true(miss->facts.planned >= miss->facts.held);
        assert_true((miss->facts.later > 0) == (miss->later != NULL));
        if (miss->later) {
            const struct backtest_row *later = row_named(backtest, miss->later->name);

            assert_true(miss->later->outlook > row->policy->outlook);
            assert_int_equal(miss->facts.later, later->servers[miss->queue][first]);
            for (size_t at = 0; at < later->misses.count; at++)
                assert_false(later->misses.items[at].queue == miss->queue &&
                             later->misses.items[at].span == miss->span);
        }
    }
}

/* Busier than the days before it. */
static void raise_day(struct world *world, int day, double by)
{
    for (int i = day * 48; i < (day + 1) * 48; i++)
        world->series.counts[DEMAND_LOW][i] = (int32_t)(world->series.counts[DEMAND_LOW][i] * by);
}

/* With days that none was like, on a fleet that is large enough, and on one that is not. */
static void the_misses_of_our_plans_are_told_with_reasons(void **state)
{
    size_t reasons[MISS_REASONS] = { 0 };
    struct world world;
    struct backtest_queue both[2];

    (void)state;
    world_init(&world);
    both[0] = both[1] = world.queue;
    both[1].target.wait_ms /= 2;
    world.setup.queues = both;
    world.setup.queue_count = 2;
    for (int day = 2 * 7; day < 3 * 7; day++)
        raise_day(&world, day, day % 3 == 0 ? 3 : 1.2);
    world.setup.played = 1u << policy_named("sluice") | 1u << policy_named("sluice-daily") |
                         1u << policy_named("proportional");
    for (int nodes = 100; nodes > 0; nodes -= 95) {
        world.setup.fleet.nodes = nodes;
        owned(backtest) struct backtest *backtest = run_of(&world);

        for (size_t i = 0; i < backtest->count; i++)
            expect_misses(backtest, &backtest->rows[i], reasons);
        for (size_t i = 0; i < MISS_REASONS; i++)
            print_message("%s %zu\n", miss_reason_name((enum miss_reason)i), reasons[i]);
        assert_true((reasons[MISS_CUT] > 0) == (nodes < 100));
    }
    assert_true(reasons[MISS_BOUND] > 0 && reasons[MISS_NO_REPLAN] > 0);
    world_clear(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_their_hours_are_as_counted_by_hand),
        cmocka_unit_test(oracles_meet_everything_and_recover_most),
        cmocka_unit_test(who_meets_everything_stays_within_the_limit),
        cmocka_unit_test(at_equal_attainment_levels_are_mixed),
        cmocka_unit_test(more_safety_breaks_no_promise),
        cmocka_unit_test(the_number_of_threads_changes_nothing),
        cmocka_unit_test(who_is_not_played_changes_nothing_for_the_others),
        cmocka_unit_test(static_peak_holds_its_number_from_the_first_slot_on),
        cmocka_unit_test(progress_is_told_of_each_step_in_order),
        cmocka_unit_test(who_follows_asks_before_a_node_is_on_its_way),
        cmocka_unit_test(the_fleet_has_a_size_whatever_policy_is_played),
        cmocka_unit_test(the_misses_of_our_plans_are_told_with_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
