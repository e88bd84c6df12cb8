/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A backtest of a queue whose servers are replicas of engines.
 */
#include "tests/windows/backtest_world.h"
#include "windows/servers/engine_lengths.h"

#include <string.h>

enum { PLACES = 4 };

/* A request alone takes 121 s, in a full batch 184 s. */
static struct service_shape *shape_of_tokens(void)
{
    const struct engine_law law = { PLACES, 0.1, 0.02, 0.0005, 0, ENGINE_LEAST_OUTSTANDING };
    const struct engine_tokens tokens = { 2000, 1000, 1, SERVICE_BY_CV };
    struct service_shape *shape = service_shape_of_engine(engine_new_by_law(&law, &tokens), "test",
                                                          NULL);

    assert_non_null(shape);
    return shape;
}

static void world_init_engines(struct world *world)
{
    world_init(world);
    world->queue.shape = shape_of_tokens();
    world->queue.service_s = world->queue.shape->mean_s;
    world->queue.service_cv = world->queue.shape->cv;
}

static void world_clear_engines(struct world *world)
{
    service_shape_free((struct service_shape *)(uintptr_t)world->queue.shape);
    world_clear(world);
}

static struct backtest *play(struct world *world)
{
    struct error err = { 0 };
    struct backtest *backtest = backtest_run(&world->setup, &err);

    if (!backtest)
        fail_msg("%s", err.text);
    return backtest;
}

static const struct backtest_row *row_of(const struct backtest *backtest, const char *name)
{
    for (size_t i = 0; i < backtest->count; i++)
        if (strcmp(backtest->rows[i].policy->name, name) == 0)
            return &backtest->rows[i];
    fail_msg("%s was not played", name);
    return NULL;
}

static double mean_servers(const struct backtest *backtest, const char *name)
{
    const struct backtest_row *row = row_of(backtest, name);
    double sum = 0;

    for (size_t slot = 0; slot < backtest->planned.slots; slot++)
        sum += row->servers[0][slot];
    return sum / (double)backtest->planned.slots;
}

static void oracles_of_engines_meet_everything(void **state)
{
    struct world world;

    (void)state;
    world_init_engines(&world);

    owned(backtest) struct backtest *backtest = play(&world);
    const struct measure *windowed = &row_of(backtest, "windowed-oracle")->tuned;
    const struct measure *oracle = &row_of(backtest, "oracle")->tuned;

    assert_true(windowed->spans > 10);
    assert_int_equal(windowed->spans_met, windowed->spans);
    assert_int_equal(oracle->spans_met, oracle->spans);
    assert_true(mean_servers(backtest, "oracle") <
                0.95 * mean_servers(backtest, "windowed-oracle"));
    assert_true(mean_servers(backtest, "windowed-oracle") <
                0.95 * mean_servers(backtest, "static-peak"));
    assert_true(backtest->has_recovered);
    world_clear_engines(&world);
}

/* The proof gives each request a server of its own, so nothing is claimed. */
static void engines_have_no_bound(void **state)
{
    struct world world;

    (void)state;
    world_init_engines(&world);
    world.setup.played = 1 | BACKTEST_LIMIT;

    owned(backtest) struct backtest *with = play(&world);

    assert_false(with->has_limit);
    assert_ptr_equal(with->unbounded, &world.series);
    world.setup.played = 1;

    owned(backtest) struct backtest *unasked = play(&world);

    assert_null(unasked->unbounded);
    world_clear_engines(&world);
}

/* A replica ends four requests in 184 s, where a server ends one in 121. */
static void every_policy_counts_replicas(void **state)
{
    static const char *const names[] = { "static-peak",  "proportional", "square-root",
                                         "reactive",     "deckard",      "sluice",
                                         "sluice-daily", "sluice-follow" };
    struct world world;

    (void)state;
    world_init_engines(&world);

    owned(backtest) struct backtest *engines = play(&world);
    const struct service_shape *shape = world.queue.shape;

    world.queue.shape = NULL;

    owned(backtest) struct backtest *servers = play(&world);

    world.queue.shape = shape;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        double ratio = mean_servers(engines, names[i]) / mean_servers(servers, names[i]);

        if (!(ratio > 0.3 && ratio < 0.6))
            fail_msg("%s: %.2f replicas for a server", names[i], ratio);
    }
    world_clear_engines(&world);
}

/* At a load of 2.2 replicas four roots of it are 3.0 replicas in places for requests, and 5.9 in
   replicas; whole nodes have four. */
static void roots_are_of_requests_and_not_of_replicas(void **state)
{
    const int roots = 4; /* the level of four roots */
    struct world world;

    (void)state;
    world_init_engines(&world);
    world.setup.played = 1u << 2; /* square-root */

    owned(backtest) struct backtest *backtest = play(&world);
    const struct backtest_row *row = row_of(backtest, "square-root");
    double replicas = row->points[roots].measure.production_h / world.queue.gpus / (7 * 24);

    assert_true(row->points[roots].level > 3.9 && row->points[roots].level < 4.1);
    if (!(replicas > 5.2 && replicas < 8))
        fail_msg("%.2f replicas", replicas);
    world_clear_engines(&world);
}

static void the_number_of_threads_changes_nothing_for_engines(void **state)
{
    struct world world;

    (void)state;
    world_init_engines(&world);
    world.setup.played = (1u << policies_count()) - 1 - (1u << 4); /* deckard takes long */

    owned(backtest) struct backtest *one = play(&world);

    world.setup.threads = 3;

    owned(backtest) struct backtest *three = play(&world);

    for (size_t row = 0; row < one->count; row++) {
        assert_memory_equal(&one->rows[row].tuned, &three->rows[row].tuned,
                            sizeof one->rows[row].tuned);
        assert_memory_equal(one->rows[row].points, three->rows[row].points,
                            sizeof one->rows[row].points);
        assert_memory_equal(one->rows[row].servers[0], three->rows[row].servers[0],
                            one->planned.slots * sizeof(int));
    }
    world_clear_engines(&world);
}

/* In the last week twice as many come: what is missed is the target that is nearest to its end. */
static void a_miss_says_which_target_it_missed(void **state)
{
    static const struct {
        struct replay_target target;
        enum replay_figure missed;
    } rows[] = {
        { { 60 * SECOND_MS, 98, { 0, 0 }, { 0, 0 } }, REPLAY_WAIT },
        { { 600 * SECOND_MS, 98, { 5, 95 }, { 0, 0 } }, REPLAY_TTFT },
        { { 600 * SECOND_MS, 98, { 0, 0 }, { 0.15, 90 } }, REPLAY_ITL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world world;
        size_t told = 0;

        world_init_engines(&world);
        for (int step = 2 * WEEK_STEPS; step < STEPS; step++)
            world.series.counts[DEMAND_LOW][step] *= 2;
        world.queue.target = rows[i].target;
        world.setup.played = 1u << 5; /* sluice */

        owned(backtest) struct backtest *backtest = play(&world);
        const struct backtest_row *row = row_of(backtest, "sluice");

        assert_true(row->misses.count > 3);
        for (size_t at = 0; at < row->misses.count; at++) {
            const struct backtest_miss *miss = &row->misses.items[at];

            assert_true(miss->facts.needed > 0);
            told += miss->target == rows[i].missed;
            assert_true(miss->found_s > search_target_s(&rows[i].target, miss->target));
        }
        assert_int_equal(told, row->misses.count);
        assert_true(row->tuned.worst > 1);
        world_clear_engines(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracles_of_engines_meet_everything),
        cmocka_unit_test(engines_have_no_bound),
        cmocka_unit_test(every_policy_counts_replicas),
        cmocka_unit_test(roots_are_of_requests_and_not_of_replicas),
        cmocka_unit_test(the_number_of_threads_changes_nothing_for_engines),
        cmocka_unit_test(a_miss_says_which_target_it_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
