/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nodes move between two clusters on each cloud, and the service dies at its commits: before one is
 * written, or right after it.  Each run ends with each node moved once.  Most clouds take only a
 * number and name no order, so a machine too many or too few would show here.
 */
#include "tests/cli/clouds.h"
#include "tests/cli/dying.h"

static struct rehearsal *open_on(const struct test_cloud *cloud, const char *folder,
                                 const char *faults)
{
    owned(chars) char *world = text_format("seed: 11\n%s%s", small_machines, faults);
    owned(chars) char *config = cloud_config(cloud);

    cloud_write_accounts(folder);
    return world_start(folder, config, world, 6, 11);
}

/* Returns its commits. */
static int64_t move_on(const struct test_cloud *cloud, const struct death *death,
                       const char *faults)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_on(cloud, folder, faults);
    owned(json) json_t *answer = NULL;
    int64_t before;

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, NODES);
    before = rehearsal->commits;
    run_and_die(rehearsal, death);
    if (transfers_of(rehearsal, false) > 0)
        run_to_rest(rehearsal); /* after a stock-out */
    expect_rest(rehearsal, 6 + NODES);
    expect_tidy(rehearsal);
    if (faults[0] == '\0')
        assert_int_equal(rehearsal->simulator->machines_deleted, NODES);
    return rehearsal->commits - before;
}

static void a_death_at_any_commit_loses_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(test_clouds); i++) {
        const struct test_cloud *cloud = &test_clouds[i];
        int64_t commits = move_on(cloud, &(struct death){ 0 }, "");
        struct sweep_part part = sweep_part(11);
        int deaths = 0;

        assert_true(commits > 20);
        for (int64_t at = 1; at <= commits; at++)
            for (int is_after = 0; is_after < 2; is_after++) {
                if (!sweep_plays(&part))
                    continue;
                print_message("%s, commit %lld %s\n", cloud->name, (long long)at,
                              is_after ? "after" : "before");
                move_on(cloud, &(struct death){ .first = at, .is_after = is_after }, "");
                deaths++;
            }
        print_message("sweep death: %d deaths in %lld commits of a move on %s\n", deaths,
                      (long long)commits, cloud->name);
    }
}

#define EXPOSED "aws: { prod-a-east: { unprotected: true } }\n"

static bool can_protect(const struct test_cloud *cloud)
{
    return text_equal(cloud->kind, "aws");
}

static struct pool *production_of(struct rehearsal *rehearsal)
{
    struct simulator *sim = rehearsal->simulator;

    for (size_t i = 0; i < sim->pool_count; i++)
        if (text_equal(sim->pools[i].plan->name, "prod-a-east"))
            return &sim->pools[i];
    fail_msg("no such pool");
    return NULL;
}

/* Machines of production that were moved there, and that the group may end. */
static int exposed(struct rehearsal *rehearsal, bool is_moved)
{
    const struct pool *pool = production_of(rehearsal);
    int count = 0;

    for (size_t i = 0; i < pool->machines.count; i++)
        count += pool->machines.items[i]->is_exposed &&
                 (pool->machines.items[i]->created_ms > rehearsal->simulator->start_ms) == is_moved;
    return count;
}

/* Moves nodes into a group that does not protect its instances; returns the commits. */
static int64_t move_exposed(const struct test_cloud *cloud, const struct death *death,
                            const char *faults, bool is_protected)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *world = text_format("%s%s", EXPOSED, faults);
    owned(rehearsal) struct rehearsal *rehearsal = open_on(cloud, folder, world);
    owned(json) json_t *answer = NULL;
    int64_t before;

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, NODES);
    before = rehearsal->commits;
    run_and_die(rehearsal, death);
    if (transfers_of(rehearsal, false) > 0)
        run_to_rest(rehearsal);
    expect_rest(rehearsal, 6 + NODES);
    expect_tidy(rehearsal);
    assert_int_equal(exposed(rehearsal, false), 6); /* what sluice did not move it leaves alone */
    assert_int_equal(exposed(rehearsal, true), is_protected ? 0 : NODES);
    assert_int_equal(warns_of(rehearsal, "the cloud refused to protect"), !is_protected);
    return rehearsal->commits - before;
}

/* Another writer makes the group smaller: a moved node is not the one that goes. */
static void a_moved_machine_is_protected(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(test_clouds); i++) {
        const struct test_cloud *cloud = &test_clouds[i];
        struct sweep_part part = sweep_part(7);
        int64_t commits;

        if (!can_protect(cloud))
            continue;
        commits = move_exposed(cloud, &(struct death){ 0 }, "", true);
        for (int64_t at = 1; at <= commits; at++)
            for (int is_after = 0; is_after < 2; is_after++)
                if (sweep_plays(&part))
                    move_exposed(cloud, &(struct death){ .first = at, .is_after = is_after }, "",
                                 true);
        move_exposed(cloud, &(struct death){ 0 }, "faults: {lost_answer: 0.05}\n", true);
        move_exposed(cloud, &(struct death){ 0 }, "faults: {http_429: 0.1, refused: 0.05}\n", true);
    }
}

/* A refusal stops no move; a person is told. */
static void a_machine_that_stays_exposed_serves(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(test_clouds); i++)
        if (can_protect(&test_clouds[i]))
            move_exposed(
                &test_clouds[i], &(struct death){ 0 },
                "denied: [ { whose: aws, action: 'autoscaling:SetInstanceProtection' } ]\n", false);
}

/* Answers get lost, refused and delayed: each order is still carried out once. */
static void bad_luck_on_the_wire(void **state)
{
    static const char *const faults[] = {
        "faults: {lost_answer: 0.05}\n",
        "faults: {http_500: 0.05, http_500_after: 0.05}\n",
        "faults: {http_429: 0.1, refused: 0.05}\n",
        "faults: {stockout: 0.3}\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(test_clouds); i++)
        for (size_t k = 0; k < COUNT_OF(faults); k++) {
            print_message("%s, %s", test_clouds[i].name, faults[k]);
            move_on(&test_clouds[i], &(struct death){ 0 }, faults[k]);
        }
}

/* An order may have been carried out, its machine does not come yet, and its repeat cannot even
   read the pool: that is no refusal, after which a second machine would be ordered. */
static void an_order_in_doubt_is_made_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(test_clouds); i++) {
        const struct test_cloud *cloud = &test_clouds[i];
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *stockout = text_format("stockouts: [ { zone: %s, from: 0s, to: 8m } ]\n",
                                                  cloud->zone);
        owned(rehearsal) struct rehearsal *rehearsal = open_on(cloud, folder, stockout);
        owned(json) json_t *answer = NULL;

        print_message("%s\n", cloud->name);
        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 6, 6);
        rehearsal_run(rehearsal, MINUTE_MS);
        answer = reclaim(rehearsal, 1);
        assert_non_null(run_to(rehearsal, STEP_ACQUIRE));
        simulator_fault_next(rehearsal->simulator, "http_500_after", cloud->create);
        while (rehearsal->simulator->scripted.count > 0)
            rehearsal_run(rehearsal, STEPWISE_MS);
        simulator_fault_next(rehearsal->simulator, "http_500", cloud->size);
        for (int64_t ms = 0; ms < HOUR_MS && transfers_of(rehearsal, false) > 0; ms += MINUTE_MS)
            rehearsal_run(rehearsal, MINUTE_MS);
        expect_rest(rehearsal, 7);
        expect_tidy(rehearsal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_at_any_commit_loses_nothing),
        cmocka_unit_test(a_moved_machine_is_protected),
        cmocka_unit_test(a_machine_that_stays_exposed_serves),
        cmocka_unit_test(bad_luck_on_the_wire),
        cmocka_unit_test(an_order_in_doubt_is_made_once),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
