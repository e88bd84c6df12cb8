/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reclaims: what is promised, how orders add up, and that a closed pool does not stop one.
 */
#include "tests/cli/stepwise.h"

/* What keeps scheduled moves away from a pool does not keep an emergency from trying. */
static void a_reclaim_goes_to_a_pool_that_is_closed(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 33, "", "guard: {breaker: 1, breaker_pause: 2h}\njoin: {deadline: 6m}\n", "");
    owned(json) json_t *answer = NULL;
    const struct transfer *first;

    (void)state;
    simulator_fault_next(rehearsal->simulator, "never_joins", NULL);
    first = reclaimed(rehearsal, STEP_JOIN);
    while (!first->is_discarding)
        rehearsal_run(rehearsal, SECOND_MS);
    answer = reclaim(rehearsal, 2);
    rehearsal_run(rehearsal, MINUTE_MS);
    for (size_t i = 1; i < 3; i++) {
        assert_non_null(transfer_at(rehearsal, i));
        assert_true(transfer_at(rehearsal, i)->step > STEP_NOTICE);
    }
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 9);
}

/* The second order comes on top of the first, of which no node is on its way yet. */
static void two_reclaims_add_up(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    owned(json) json_t *first = NULL;
    owned(json) json_t *second = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    first = reclaim(rehearsal, 1);
    assert_int_equal(rehearsal->service->reclaims.items[0].level, 7);
    second = reclaim(rehearsal, 2);
    assert_int_equal(rehearsal->service->reclaims.items[1].level, 9);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 9);
}

/* What has to stay is not promised, though its nodes are movable. */
static void a_reclaim_is_promised_what_may_leave(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    owned(json) json_t *answer = NULL;

    (void)state;
    for (size_t i = 0; i < rehearsal->config->pool_count; i++)
        if (text_equal(rehearsal->config->pools[i].name, "research-a-east"))
            rehearsal->config->pools[i].static_nodes = 4;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    answer = reclaim(rehearsal, 50);
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 6);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "research-a-east"), 4);
}

/* Before the lists are complete it is not known what a pool has: such a reclaim would be a promise
   of a wrong number. */
static void a_reclaim_rests_on_facts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, seed, "");
        owned(json) json_t *request = json_make("{ss si ss}", "cluster", "prod-a", "nodes", 3,
                                                "reason", "launch");
        owned(json) json_t *answer = NULL;

        for (int i = 0; i < 2000 && !answer; i++) {
            struct error err = { 0 };

            rehearsal_run(rehearsal, 1);
            answer = service_reclaim(rehearsal->service, request, "test", &err);
        }
        assert_non_null(answer);
        rehearsal_run(rehearsal, 25 * MINUTE_MS);
        expect_rest(rehearsal, 9);
    }
}

/* A wrong value is not "no": a trial that was misspelt does not move nodes or read files again. */
static void a_trial_that_is_misspelt_is_refused(void **state)
{
    static const char *const words[] = { "\"is_dry_run\": \"true\"", "\"is_dry_run\": 1",
                                         "\"is_new\": \"yes\"" };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct error err = { 0 };
        owned(chars) char *body = text_format(
            "{\"cluster\": \"prod-a\", \"nodes\": 1, \"reason\": \"launch\", %s}", words[i]);
        owned(json) json_t *request = json_parse(body, strlen(body), "request", &err);

        assert_null(service_reclaim(rehearsal->service, request, "test", &err));
        assert_int_equal(err.kind, ERROR_CORRUPT);
        if (strstr(words[i], "is_dry_run")) {
            assert_null(service_reload(rehearsal->service, request, "test", &err));
            assert_int_equal(err.kind, ERROR_CORRUPT);
        }
    }
    assert_int_equal(rehearsal->service->reclaims.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reclaim_goes_to_a_pool_that_is_closed),
        cmocka_unit_test(two_reclaims_add_up),
        cmocka_unit_test(a_reclaim_is_promised_what_may_leave),
        cmocka_unit_test(a_reclaim_rests_on_facts),
        cmocka_unit_test(a_trial_that_is_misspelt_is_refused),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
