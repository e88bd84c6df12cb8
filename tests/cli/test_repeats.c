/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * T37: a request that made a machine is repeated under its key when the machine is gone already.
 * The cloud answers such a repeat as it answered the first one, and makes nothing: who believed
 * that answer would wait for a machine that never comes.
 */
#include "tests/cli/stepwise.h"

static const struct transfer *only(struct rehearsal *rehearsal)
{
    const struct runner *runner = rehearsal->service->runner;

    assert_int_equal(runner->transfers.count, 1);
    return runner->transfers.items[0];
}

static const struct effect *create_of(struct rehearsal *rehearsal, const char *machine)
{
    return effect_find(only(rehearsal), &effect_create, machine);
}

/* Plays until the cloud has the machine, in that state. */
static struct machine *made(struct rehearsal *rehearsal, const char *name,
                            enum machine_state wanted)
{
    for (int64_t ms = 0; ms < HOUR_MS; ms += STEPWISE_MS) {
        struct machine *machine = sim_machine_find(pool_of(rehearsal, "prod-a-east"), name);

        if (machine && machine->state == wanted)
            return machine;
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
    fail_msg("machine %s is never made", name);
    return NULL;
}

static const struct {
    const char *fault;        /* of the answer to the create; NULL: it comes */
    enum machine_state state; /* in which the machine dies */
    bool dies_too;            /* the service, before it hears anything */
} rows[] = {
    { "lost_answer", MACHINE_QUEUED, false }, { "lost_answer", MACHINE_BOOTING, false },
    { "lost_answer", MACHINE_BOOTING, true }, { "http_500_after", MACHINE_BOOTING, false },
    { NULL, MACHINE_QUEUED, false },          { NULL, MACHINE_BOOTING, true },
};

static void a_machine_that_died_under_a_repeated_create_is_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 37, "");
        owned(json) json_t *answer = NULL;
        char first[INSTANCE_NAME_SIZE];
        char key[40];
        struct error err = { 0 };
        int64_t died_ms;

        rehearsal_run(rehearsal, MINUTE_MS);
        if (rows[i].fault)
            simulator_fault_next(rehearsal->simulator, rows[i].fault, "create_instances");
        answer = reclaim(rehearsal, 1);
        assert_non_null(run_to(rehearsal, STEP_ACQUIRE));
        text_copy(first, sizeof first, only(rehearsal)->new_instance);
        sim_machine_remove(rehearsal->simulator, made(rehearsal, first, rows[i].state));
        died_ms = loop_now(rehearsal->loop);
        text_copy(key, sizeof key, create_of(rehearsal, first)->request_id);
        if (rows[i].dies_too) {
            rehearsal_kill(rehearsal);
            assert_int_equal(rehearsal_start(rehearsal, &err), 0);
        }
        while (only(rehearsal)->attempt == 1 && loop_now(rehearsal->loop) - died_ms < HOUR_MS)
            rehearsal_run(rehearsal, SECOND_MS);
        /* It was asked for again by its own key, and no other machine before it was given up. */
        assert_true(create_of(rehearsal, first)->sent_count > 1);
        assert_string_equal(create_of(rehearsal, first)->request_id, key);
        assert_string_not_equal(only(rehearsal)->new_instance, first);
        assert_in_range(loop_now(rehearsal->loop) - died_ms, MINUTE_MS, 8 * MINUTE_MS);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(only(rehearsal)->state, TRANSFER_DONE);
        assert_int_equal(only(rehearsal)->attempt, 2);
        expect_rest(rehearsal, 7); /* and the referee saw no name made twice */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_died_under_a_repeated_create_is_replaced),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
