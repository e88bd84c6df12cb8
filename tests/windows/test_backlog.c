/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests that wait already get servers of their own, for an hour.
 */
#include "tests/windows/backtest_world.h"
#include "windows/backtest/allotment.h"
#include "windows/backtest/catch_up.h"
#include "windows/queueing/backlog.h"

#include <string.h>

enum { HOUR_SLOTS = 12 };

static void work_waits_where_more_arrives_than_servers_do(void **state)
{
    static const struct {
        double work_s;
        double load;
        int servers;
        double after_s; /* an hour */
    } rows[] = {
        { 0, 10, 12, 0 },       { 0, 12, 10, 7200 }, { 7200, 12, 10, 14400 },
        { 7200, 10, 11, 3600 }, { 7200, 10, 20, 0 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++)
        assert_true(
            fabs(backlog_after(rows[row].work_s, rows[row].load, rows[row].servers, HOUR_MS) -
                 rows[row].after_s) < 1e-6);
}

static void servers_are_added_where_a_new_request_would_be_late(void **state)
{
    static const struct {
        const char *name;
        double work_s;
        int servers;
        int64_t target_ms;
        int more;
    } rows[] = {
        { "nothing waits", 0, 10, 30 * SECOND_MS, 0 },
        { "nothing waits, and nothing arrives", 0, 0, 30 * SECOND_MS, 0 },
        { "done within the target", 300, 10, 30 * SECOND_MS, 0 },
        { "a little later", 301, 10, 30 * SECOND_MS, 1 },
        { "two hours of a server", 7200, 10, 30 * SECOND_MS, 2 },
        { "and a second", 7201, 10, 30 * SECOND_MS, 3 },
        { "no server at all", 60, 0, 30 * SECOND_MS, 1 },
        { "any wait is too long", 1, 10, 0, 1 },
        { "more than can be", 1e15, 10, SECOND_MS, INT32_MAX / 2 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        int more = backlog_servers(rows[row].work_s, rows[row].servers, rows[row].target_ms);

        if (more != rows[row].more)
            fail_msg("%s: %d, not %d", rows[row].name, more, rows[row].more);
    }
}

struct town {
    struct world world;
    struct course course;
    struct field field;
    int *planned; /* a fifth over what arrives */
    int *servers; /* these, and what was added */
    int fleet_gpus;
};

/* The same arrivals in steps of a minute. */
static void refine(struct demand_series *series)
{
    int32_t *counts = mem_new_array(30 * series->count, sizeof *counts);

    for (size_t i = 0; i < 30 * series->count; i++)
        counts[i] = (int32_t)((int64_t)series->counts[DEMAND_LOW][i / 30] * (int)(i % 30 + 1) / 30 -
                              (int64_t)series->counts[DEMAND_LOW][i / 30] * (int)(i % 30) / 30);
    mem_free(series->counts[DEMAND_LOW]);
    series->counts[DEMAND_LOW] = counts;
    series->count *= 30;
    series->step_ms = MINUTE_MS;
}

static void town_init_in(struct town *town, int64_t step_ms, int64_t follow_ms, int64_t up_ms)
{
    struct error err = { 0 };

    *town = (struct town){
        .field = { .seeds = 1, .misses = 0.05, .follow_ms = follow_ms, .up_ms = up_ms },
        .fleet_gpus = 100000,
    };
    world_init(&town->world);
    if (step_ms == MINUTE_MS)
        refine(&town->world.series);
    assert_int_equal(course_init(&town->course, town->world.set, town->world.series.start,
                                 town->world.setup.end, &err),
                     0);
    field_init(&town->field, &town->world.queue, &town->course);
    town->planned = mem_new_array(town->course.slots, sizeof *town->planned);
    town->servers = mem_new_array(town->course.slots, sizeof *town->servers);
    for (size_t slot = 0; slot < town->course.slots; slot++)
        town->planned[slot] = (int)ceil(
            1.2 * field_slot_load(&town->field, course_slot(&town->course, slot)));
}

static void town_init(struct town *town)
{
    town_init_in(town, 30 * MINUTE_MS, HOUR_MS, 30 * MINUTE_MS);
}

static void town_clear(struct town *town)
{
    mem_free(town->planned);
    mem_free(town->servers);
    field_clear(&town->field);
    course_clear(&town->course);
    world_clear(&town->world);
}

static void run(struct town *town)
{
    memcpy(town->servers, town->planned, town->course.slots * sizeof *town->servers);
    catch_up(&(struct run_frame){ &town->course, &town->course, &town->field, 1 }, OUTLOOK_FOLLOW,
             town->fleet_gpus, &town->servers);
}

static double work_after(const struct town *town, size_t first, size_t end)
{
    double work_s = 0;

    for (size_t slot = first; slot < end; slot++)
        work_s = backlog_after(work_s,
                               field_slot_load(&town->field, course_slot(&town->course, slot)),
                               town->servers[slot], JUDGE_SLOT_MS);
    return work_s;
}

/* The first occurrence of its second week that has this window. */
static const struct course_span *span_of(const struct town *town, const char *window)
{
    for (size_t i = 0; i < town->course.spans.count; i++)
        if (town->course.spans.items[i].week == 1 &&
            text_equal(town->course.set->items[town->course.spans.items[i].window].name, window))
            return &town->course.spans.items[i];
    fail_msg("no window %s", window);
    return NULL;
}

static void enough_servers_get_no_more(void **state)
{
    struct town town;

    (void)state;
    town_init(&town);
    run(&town);
    assert_memory_equal(town.servers, town.planned, town.course.slots * sizeof *town.servers);
    town_clear(&town);
}

/* A window has a third of what it needs.  Each hour its backlog is seen, in steps of half an hour,
   and half an hour later the servers are there. */
static void a_backlog_is_served_while_its_window_lasts(void **state)
{
    struct town town;
    const struct course_span *span;
    size_t first;
    size_t end;

    (void)state;
    town_init(&town);
    span = span_of(&town, "weekday-night");
    course_slots_of(&town.course, span, &first, &end);
    for (size_t slot = first; slot < end; slot++)
        town.planned[slot] /= 3;
    run(&town);
    for (size_t slot = 0; slot < first + HOUR_SLOTS + 6; slot++)
        assert_int_equal(town.servers[slot], town.planned[slot]);
    assert_true(town.servers[first + HOUR_SLOTS + 6] > town.planned[first + HOUR_SLOTS + 6]);
    for (size_t slot = 1; slot < HOUR_SLOTS; slot++)
        assert_int_equal(town.servers[first + HOUR_SLOTS + 6 + slot] -
                             town.planned[first + HOUR_SLOTS + 6 + slot],
                         town.servers[first + HOUR_SLOTS + 6] -
                             town.planned[first + HOUR_SLOTS + 6]);
    town_clear(&town);
}

/* What a window left over is gone some hours after it, and with it what was added. */
static void what_a_window_leaves_over_is_served_after_it(void **state)
{
    struct town town;
    size_t first;
    size_t end;

    (void)state;
    town_init(&town);
    course_slots_of(&town.course, span_of(&town, "weekday-peak"), &first, &end);
    for (size_t slot = first; slot < end; slot++)
        town.planned[slot] /= 3;
    run(&town);
    assert_true(work_after(&town, first, end) > 0);
    assert_true(work_after(&town, first, end + 4 * HOUR_SLOTS) <= 0);
    for (size_t slot = end + 5 * HOUR_SLOTS; slot < town.course.slots; slot++)
        assert_int_equal(town.servers[slot], town.planned[slot]);
    town_clear(&town);
}

/* Servers that are on their way are not asked for again. */
static void a_backlog_is_not_served_twice(void **state)
{
    struct town town;
    size_t first;
    size_t end;
    double left = 0;
    double added = 0;

    (void)state;
    town_init(&town);
    town.field.up_ms = 2 * (int64_t)HOUR_MS;
    course_slots_of(&town.course, span_of(&town, "weekday-night"), &first, &end);
    for (size_t slot = first; slot < first + HOUR_SLOTS; slot++) {
        left += field_slot_load(&town.field, course_slot(&town.course, slot));
        town.planned[slot] = 0;
    }
    run(&town);
    for (size_t slot = first; slot < end; slot++)
        added += town.servers[slot] - town.planned[slot];
    assert_true(added > left / 2 && added <= left + HOUR_SLOTS);
    town_clear(&town);
}

/* Whatever arrives after a decision, its servers are the same; and what is decided later is not
   known either. */
static void no_decision_knows_what_comes_after_it(void **state)
{
    static const struct {
        int64_t step_ms;
        int64_t follow_ms;
        int64_t up_ms;
    } rows[] = {
        { 30 * MINUTE_MS, HOUR_MS, 30 * MINUTE_MS },
        { MINUTE_MS, HOUR_MS, 30 * MINUTE_MS },
        { MINUTE_MS, 67 * MINUTE_MS, 67 * MINUTE_MS },
        { MINUTE_MS, 61 * MINUTE_MS, 7 * MINUTE_MS },
        { MINUTE_MS, 3 * (int64_t)HOUR_MS, 30 * MINUTE_MS },
        { 30 * MINUTE_MS, 3 * (int64_t)HOUR_MS, 45 * MINUTE_MS },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct town town;
        const struct course_span *span;
        size_t first;
        size_t end;
        size_t next;
        int *before;

        town_init_in(&town, rows[row].step_ms, rows[row].follow_ms, rows[row].up_ms);
        span = span_of(&town, "weekday-night");
        course_slots_of(&town.course, span, &first, &end);
        next = outlook_look_slot(&town.field, span, 0);
        for (size_t slot = first - 7 * HOUR_SLOTS; slot < first; slot++)
            town.planned[slot] /= 2;
        run(&town);
        assert_true(town.servers[first] > town.planned[first]);
        before = town.servers;
        town.servers = mem_new_array(town.course.slots, sizeof *town.servers);
        for (size_t i = 0; i < town.world.series.count; i++)
            if (demand_time(&town.world.series, i).ms >= span->time.begin.ms - rows[row].follow_ms)
                town.world.series.counts[DEMAND_LOW][i] *= 3;
        run(&town);
        assert_memory_equal(town.servers + first, before + first, (next - first) * sizeof *before);
        assert_int_not_equal(town.servers[next], before[next]);
        mem_free(before);
        town_clear(&town);
    }
}

/* What the fleet has left over its plan is all that is added, and what was not there served
   nothing. */
static void a_backlog_gets_what_the_fleet_has_left(void **state)
{
    struct town town;
    size_t first;
    size_t end;
    int most = 0;

    (void)state;
    town_init(&town);
    course_slots_of(&town.course, span_of(&town, "weekday-peak"), &first, &end);
    for (size_t slot = 0; slot < town.course.slots; slot++)
        most = town.planned[slot] > most ? town.planned[slot] : most;
    town.fleet_gpus = (most + 3) * town.world.queue.gpus + 1;
    for (size_t slot = first; slot < end; slot++)
        town.planned[slot] = 0;
    for (size_t slot = end; slot < end + 2 * HOUR_SLOTS; slot++)
        town.planned[slot] = most;
    run(&town);
    for (size_t slot = 0; slot < town.course.slots; slot++)
        assert_true(town.servers[slot] <= most + 3);
    assert_int_equal(town.servers[end + HOUR_SLOTS], most + 3);
    assert_true(work_after(&town, first, end + HOUR_SLOTS) > 0);
    assert_true(work_after(&town, first, end + 24 * HOUR_SLOTS) <= 0);
    town_clear(&town);
}

/* An hour of a night brings thirty times as much.  One hour is no shift of level: the numbers for
   what arrives stay about what they were, and their spare servers would take the night. */
static void a_plan_that_follows_the_day_serves_what_waits(void **state)
{
    struct run plan = { .policy = policies };
    struct fleet fleet = { .nodes = 1000, .gpus_per_node = 8 };
    struct error err = { 0 };
    struct town town;
    size_t first;
    size_t end;
    size_t step;

    (void)state;
    town_init(&town);
    course_slots_of(&town.course, span_of(&town, "weekday-night"), &first, &end);
    step = (size_t)((course_slot(&town.course, first).ms - town.world.series.start.ms) /
                    town.world.series.step_ms);
    for (size_t i = step + 2; i < step + 4; i++)
        town.world.series.counts[DEMAND_LOW][i] *= 30;
    town.field.judged_count = town.course.spans.count;
    outlook_foretell(&town.field.outlooks[OUTLOOK_FOLLOW], &town.field);
    allotment_make(&town.field, 1, OUTLOOK_FOLLOW);
    for (size_t week = 1; week < town.course.weeks; week++)
        assert_int_equal(
            outlook_search(&town.field.outlooks[OUTLOOK_FOLLOW], &town.field, week, &err), 0);
    while (!text_equal(plan.policy->name, "sluice-follow"))
        plan.policy++;
    assert_int_equal(plan.policy->plan(&town.field, plan.policy->levels[plan.policy->chosen],
                                       town.servers, &err),
                     0);
    plan.servers = &town.servers;
    plan.nodes = mem_new_array(town.course.slots, sizeof *plan.nodes);
    run_fit(&plan, &(struct run_frame){ &town.course, &town.course, &town.field, 1 }, &fleet);
    assert_true(work_after(&town, first, first + 2 * HOUR_SLOTS) > 0);
    assert_true(work_after(&town, first, first + 4 * HOUR_SLOTS) <= 0);
    mem_free(plan.nodes);
    town_clear(&town);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_waits_where_more_arrives_than_servers_do),
        cmocka_unit_test(servers_are_added_where_a_new_request_would_be_late),
        cmocka_unit_test(enough_servers_get_no_more),
        cmocka_unit_test(a_backlog_is_served_while_its_window_lasts),
        cmocka_unit_test(what_a_window_leaves_over_is_served_after_it),
        cmocka_unit_test(a_backlog_is_not_served_twice),
        cmocka_unit_test(no_decision_knows_what_comes_after_it),
        cmocka_unit_test(a_backlog_gets_what_the_fleet_has_left),
        cmocka_unit_test(a_plan_that_follows_the_day_serves_what_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
