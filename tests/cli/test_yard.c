/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Moves into and out of a pool whose provider names its machines itself, grows in two exchanges and
 * goes on listing a box that left (yard.h).  The service dies at each commit; each run ends with
 * each node moved once, one machine for a key, and a referee that has nothing to say.
 */
#include "tests/cli/yard_world.h"

/* Ordered under a key, called box-N: the transfer learns the name from the list. */
static void a_machine_is_found_by_its_key(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world(folder, &way);
    owned(json) json_t *answer = NULL;
    const struct transfer *transfer;
    const struct effect *effect;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, 1);
    transfer = run_to(rehearsal, STEP_JOIN);
    assert_non_null(transfer);
    assert_string_equal(transfer->new_instance, "box-6");
    assert_string_equal(transfer->new_provider_id, "gce://simulated/us-east5-a/box-6");
    assert_string_equal(transfer_order(transfer), transfer->new_key);
    effect = effect_find(transfer, &effect_create, transfer_order(transfer));
    assert_int_equal(effect->sent_count, 2);
    assert_string_equal(effect->progress, "box-6");
    assert_int_equal(yard.reservations, 1);
    assert_int_equal(yard.starts, 1);
    rest(rehearsal, 7);
    expect_rest(rehearsal, 7);
    expect_tidy(rehearsal);
    close_yard(rehearsal);
}

/* Nothing that happens meanwhile puts the pool in doubt. */
static void run_without_doubt(struct rehearsal *rehearsal, int64_t whole_ms)
{
    const struct service *service = rehearsal->service;
    const struct fleet_pool *pool = fleet_pool(service->fleet,
                                               config_pool(service->config, "prod-a-east"));

    for (int64_t ms = 0; ms < whole_ms; ms += SHORT_MS) {
        rehearsal_run(rehearsal, SHORT_MS);
        assert_string_equal(pool->doubt, "");
    }
}

/* A box that left its cluster is listed for ever: its node moves all the same, and it counts for
   nothing.  While it is only leaving, the node waits. */
static void a_parked_box_is_gone(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world(folder, &way);
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 5, 5);
    transfer = run_to(rehearsal, STEP_RELEASE);
    assert_non_null(transfer);
    assert_int_equal(transfer_goal(transfer)->provider->kind == &gcp_kind, 1);
    for (int64_t ms = 0; ms < HOUR_MS && transfer->step == STEP_RELEASE; ms += SHORT_MS)
        run_without_doubt(rehearsal, SHORT_MS);
    assert_null(sim_machine_find(yard_lot(), transfer->instance));
    assert_true(yard_find(transfer->instance, NULL)->is_parked);
    run_without_doubt(rehearsal, 5 * MINUTE_MS);
    rest(rehearsal, 5);
    expect_rest(rehearsal, 5);
    expect_tidy(rehearsal);
    apply(rehearsal, 6, 6); /* it does not hold a place against growth */
    rest(rehearsal, 6);
    expect_rest(rehearsal, 6);
    close_yard(rehearsal);
}

/* The list is new, and what it says of its boxes is old: none of them leaves. */
static void what_was_seen_long_ago_frees_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world(folder, &way);

    (void)state;
    rehearsal_run(rehearsal, 15 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    yard.age_ms = 10 * MINUTE_MS;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 5, 5);
    rehearsal_run(rehearsal, 30 * MINUTE_MS);
    assert_int_equal(transfers_of(rehearsal, true), 0);
    yard.age_ms = 0;
    rehearsal_run(rehearsal, MINUTE_MS);
    rest(rehearsal, 5);
    expect_rest(rehearsal, 5);
    close_yard(rehearsal);
}

/* A removal whose list tells of an earlier time proves nothing: the node waits for a newer word. */
static void an_old_word_is_no_proof_that_a_box_left(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world(folder, &way);
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, 15 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 5, 5);
    transfer = run_to(rehearsal, STEP_RELEASE);
    assert_non_null(transfer);
    yard.age_ms = 15 * MINUTE_MS;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(transfer->step, STEP_RELEASE);
    yard.age_ms = 0;
    rehearsal_run(rehearsal, MINUTE_MS);
    rest(rehearsal, 5);
    expect_rest(rehearsal, 5);
    close_yard(rehearsal);
}

/* A list may name the project by its number where Nodes have its name: machine and Node are one all
   the same, by the ID that the Node has. */
static void a_project_by_its_number_is_the_same(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world(folder, &way);

    (void)state;
    yard.project = "123456789";
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 7, 7);
    rest(rehearsal, 7);
    expect_rest(rehearsal, 7);
    apply(rehearsal, 5, 5);
    rest(rehearsal, 5);
    expect_rest(rehearsal, 5);
    expect_tidy(rehearsal);
    close_yard(rehearsal);
}

static void sweep_yard(struct yard_play play)
{
    int64_t commits = play_yard(&play).commits;

    print_message("%lld commits\n", (long long)commits);
    assert_in_range(commits, 10, 200);
    for (int64_t at = 1; at <= commits; at++)
        for (int is_after = 0; is_after < 2; is_after++) {
            play.death = &(struct death){ .first = at, .is_after = is_after };
            play_yard(&play);
        }
}

static void a_death_at_any_commit_orders_one_box(void **state)
{
    (void)state;
    sweep_yard((struct yard_play){ .is_out = false });
}

static void a_death_at_any_commit_parks_one_box(void **state)
{
    (void)state;
    sweep_yard((struct yard_play){ .is_out = true });
}

static void a_death_at_any_commit_parks_one_box_in_two_exchanges(void **state)
{
    (void)state;
    sweep_yard((struct yard_play){ .is_out = true, .asks_twice = true });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_found_by_its_key),
        cmocka_unit_test(a_parked_box_is_gone),
        cmocka_unit_test(what_was_seen_long_ago_frees_nothing),
        cmocka_unit_test(an_old_word_is_no_proof_that_a_box_left),
        cmocka_unit_test(a_project_by_its_number_is_the_same),
        cmocka_unit_test(a_death_at_any_commit_orders_one_box),
        cmocka_unit_test(a_death_at_any_commit_parks_one_box),
        cmocka_unit_test(a_death_at_any_commit_parks_one_box_in_two_exchanges),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
