/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clouds whose lists lie for minutes: nothing is made, evicted or given up on the strength of one,
 * and when it ends all comes to rest.
 */
#include "tests/cli/lying.h"

/* The production pool's list is wrong while its six Nodes are Ready. */
static void a_machine_that_serves_exists(void **state)
{
    static const char *const kinds[] = { "empty", "half", "some" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");

        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 6, 6);
        rehearsal_run(rehearsal, 5 * MINUTE_MS);
        simulator_lie(rehearsal->simulator, &(struct list_lie){ .list = "machines",
                                                                .of = "prod-a-east",
                                                                .kind = kinds[i],
                                                                .for_ms = 40 * MINUTE_MS });
        rehearsal_run(rehearsal, 30 * MINUTE_MS);
        if (transfers_of(rehearsal, true) > 0)
            print_message("%s: %zu transfers, a reservation of 16 is asked for %d\n", kinds[i],
                          transfers_of(rehearsal, true),
                          simulator_pool_target(rehearsal->simulator, "prod-a-east") +
                              simulator_pool_target(rehearsal->simulator, "research-a-east"));
        assert_int_equal(transfers_of(rehearsal, true), 0);
        assert_true(warns_of(rehearsal, "pool prod-a-east"));
        rehearsal_run(rehearsal, HOUR_MS);
        assert_false(warns_of(rehearsal, "pool prod-a-east"));
        expect_rest(rehearsal, 6);
    }
}

/* No list shows what was made, though its Node comes and is Ready. */
static void a_machine_that_no_list_shows_is_not_made_twice(void **state)
{
    static const int64_t minutes[] = { 6, 30 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(minutes); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 31, "");
        const struct transfer *transfer;

        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 7, 7);
        transfer = run_to(rehearsal, STEP_ACQUIRE);
        assert_non_null(transfer);
        simulator_lie(rehearsal->simulator, &(struct list_lie){ .list = "machines",
                                                                .of = "prod-a-east",
                                                                .kind = "new",
                                                                .for_ms = minutes[i] * MINUTE_MS });
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        assert_int_equal(transfer->attempt, 1);
        assert_int_equal(rehearsal->simulator->machines_created, 1);
        rehearsal_run(rehearsal, HOUR_MS);
        expect_rest(rehearsal, 7);
    }
}

static void no_cloud_that_lies_breaks_a_promise(void **state)
{
    (void)state;
    lying_sweep(0, 2, 29);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_serves_exists),
        cmocka_unit_test(a_machine_that_no_list_shows_is_not_made_twice),
        cmocka_unit_test(no_cloud_that_lies_breaks_a_promise),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
