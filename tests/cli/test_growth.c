/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Moves into and out of a pool whose cloud takes only a number of machines, names them itself and
 * shows no key (yard_mute.h).  Whatever is lost, refused or written by others, and wherever the
 * service dies: each node moves once, and the pool ends with the size that was asked for.
 */
#include "tests/cli/yard_world.h"

struct growth_play {
    int nodes; /* that the yard ends with; it begins with 6 */
    const struct death *death;
    struct yard_fault fault;
};

static struct rehearsal *mute_world(const char *folder, struct http *way)
{
    struct rehearsal *rehearsal = yard_world_of(&yard_mute_kind, folder, way);

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    return rehearsal;
}

/* The yard wants no more than the boxes that serve. */
static void expect_yard(struct rehearsal *rehearsal, int nodes)
{
    expect_rest(rehearsal, nodes);
    expect_tidy(rehearsal);
    assert_int_equal(yard.wanted, nodes);
    assert_int_equal(yard_present(), nodes);
}

static int64_t play_growth(const struct growth_play *play)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = mute_world(folder, &way);
    int64_t commits;

    yard.fault = play->fault;
    apply(rehearsal, play->nodes, play->nodes);
    commits = rehearsal->commits;
    if (play->death && play->death->is_after)
        rehearsal_kill_after_commit(rehearsal, play->death->first);
    else if (play->death)
        rehearsal_kill_at_commit(rehearsal, play->death->first);
    rest(rehearsal, play->nodes);
    if (rehearsal->is_dead)
        live_again(rehearsal, play->death);
    rehearsal->kill_at = 0;
    rest(rehearsal, play->nodes);
    expect_yard(rehearsal, play->nodes);
    commits = rehearsal->commits - commits;
    close_yard(rehearsal);
    return commits;
}

static void a_newcomer_is_met(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = mute_world(folder, &way);
    owned(json) json_t *answer = reclaim(rehearsal, 1);
    const struct transfer *transfer = run_to(rehearsal, STEP_JOIN);
    const struct effect *effect;

    (void)state;
    assert_non_null(transfer);
    assert_string_equal(transfer->new_instance, "box-6");
    assert_string_equal(transfer->new_provider_id, "gce://simulated/us-east5-a/box-6");
    effect = effect_find(transfer, &effect_create, transfer_order(transfer));
    assert_int_equal(effect->sent_count, 2);
    assert_string_equal(effect->progress, "6>7");
    assert_int_equal(yard.starts, 1);
    rest(rehearsal, 7);
    expect_yard(rehearsal, 7);
    close_yard(rehearsal);
}

/* What the plan counts on in production: machines, and those that orders bring. */
static void expect_counted(struct rehearsal *rehearsal, int64_t nodes)
{
    struct error err = { 0 };
    owned(json) json_t *plan = service_plan(rehearsal->service, NULL, &err);
    const json_t *pool = json_array_get(json_object_get(plan, "pools"), 0);

    assert_string_equal(json_text_or(pool, "pool", ""), "prod-a-east");
    assert_int_equal(json_int_or(pool, "nodes", 0) + json_int_or(pool, "incoming_nodes", 0), nodes);
}

/* Between the list that shows a machine first and the turn that meets it, the plan counts its order
   or the machine, and not both: else production could spare a node. */
static void a_machine_that_is_not_met_yet_is_counted_once(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = mute_world(folder, &way);
    const struct config_pool *pool = config_pool(rehearsal->config, "prod-a-east");
    const struct transfer *transfer;
    size_t looked = 0;

    (void)state;
    apply(rehearsal, 7, 7);
    transfer = run_to(rehearsal, STEP_ACQUIRE);
    assert_non_null(transfer);
    while (transfer->new_instance[0] == '\0') {
        rehearsal_run(rehearsal, STEPWISE_MS);
        if (map_count(fleet_pool(rehearsal->service->fleet, pool)->instances) > 6 &&
            transfer->new_instance[0] == '\0') {
            expect_counted(rehearsal, 7);
            looked++;
        }
    }
    assert_true(looked > 0);
    rest(rehearsal, 7);
    expect_yard(rehearsal, 7);
    close_yard(rehearsal);
}

static void several_nodes_come_and_go(void **state)
{
    (void)state;
    play_growth(&(struct growth_play){ .nodes = 9 });
    play_growth(&(struct growth_play){ .nodes = 4 });
}

static void what_is_lost_or_refused_is_asked_once(void **state)
{
    static const struct yard_fault faults[] = {
        { .verb = "resize", .at = 1, .is_lost = true },
        { .verb = "resize", .at = 2, .is_lost = true },
        { .verb = "resize", .at = 1, .status = 503 },
        { .verb = "resize", .at = 1, .late_ms = 20 * SECOND_MS },
        { .verb = "release", .at = 1, .is_lost = true },
        { .verb = "release", .at = 1, .status = 503 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        play_growth(&(struct growth_play){ .nodes = 8, .fault = faults[i] });
        play_growth(&(struct growth_play){ .nodes = 4, .fault = faults[i] });
    }
}

/* No box comes: each order is taken back, and the node returns to where it came from. */
static void an_order_without_a_machine_is_taken_back(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = mute_world(folder, &way);
    owned(json) json_t *answer = NULL;
    const struct transfer *transfer;

    (void)state;
    yard.is_sold_out = true;
    answer = reclaim(rehearsal, 1);
    transfer = run_to(rehearsal, STEP_ACQUIRE);
    assert_non_null(transfer);
    rehearsal_run(rehearsal, MINUTE_MS);
    assert_true(acquire_is_out_of_stock(rehearsal->service->runner, transfer));
    assert_int_equal(yard.wanted, 7);
    for (int64_t ms = 0; ms < 2 * HOUR_MS && !transfer->is_returning; ms += SHORT_MS)
        rehearsal_run(rehearsal, SHORT_MS);
    assert_true(transfer->is_returning);
    assert_int_equal(yard.wanted, 6);
    yard.is_sold_out = false; /* the reclaim takes another node */
    rest(rehearsal, 7);
    expect_yard(rehearsal, 7);
    close_yard(rehearsal);
}

/* A box that another writer asked for is as good as ours, and ours stays in the pool. */
static void another_writers_machine_is_as_good(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = mute_world(folder, &way);
    owned(json) json_t *answer = NULL;
    const struct transfer *transfer;

    (void)state;
    yard.is_sold_out = true;
    answer = reclaim(rehearsal, 1);
    transfer = run_to(rehearsal, STEP_ACQUIRE);
    assert_non_null(transfer);
    rehearsal_run(rehearsal, 30 * SECOND_MS);
    assert_int_equal(yard.wanted, 7);
    yard.is_sold_out = false;
    yard.wanted = 8; /* the other's is there first */
    yard_fill();
    for (int64_t ms = 0; ms < HOUR_MS && transfer->state == TRANSFER_LIVE; ms += SHORT_MS)
        rehearsal_run(rehearsal, SHORT_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(transfer->attempt, 1);
    assert_int_equal(yard.wanted, 8);
    assert_int_equal(yard_present(), 8);
    assert_int_equal(yard.starts, 1);
    close_yard(rehearsal);
}

static void a_death_at_any_commit_asks_for_one_machine(void **state)
{
    struct growth_play way = { .nodes = 7 };
    int64_t commits = play_growth(&way);

    (void)state;
    print_message("%lld commits\n", (long long)commits);
    assert_in_range(commits, 10, 200);
    for (int64_t at = 1; at <= commits; at++)
        for (int is_after = 0; is_after < 2; is_after++) {
            way.death = &(struct death){ .first = at, .is_after = is_after };
            play_growth(&way);
        }
}

/* Two orders at once, and a death between their exchanges. */
static void a_death_between_two_orders_asks_for_two_machines(void **state)
{
    struct growth_play way = { .nodes = 8 };
    int64_t commits = play_growth(&way);

    (void)state;
    for (int64_t at = 1; at <= commits; at++) {
        way.death = &(struct death){ .first = at, .is_after = at % 2 == 0 };
        play_growth(&way);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newcomer_is_met),
        cmocka_unit_test(a_machine_that_is_not_met_yet_is_counted_once),
        cmocka_unit_test(several_nodes_come_and_go),
        cmocka_unit_test(what_is_lost_or_refused_is_asked_once),
        cmocka_unit_test(an_order_without_a_machine_is_taken_back),
        cmocka_unit_test(another_writers_machine_is_as_good),
        cmocka_unit_test(a_death_at_any_commit_asks_for_one_machine),
        cmocka_unit_test(a_death_between_two_orders_asks_for_two_machines),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
