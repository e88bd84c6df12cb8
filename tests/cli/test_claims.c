/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A transfer claims its node and its machine in the journal: no second transfer gets either, and
 * its end frees both.
 */
#include "tests/cli/stepwise.h"

/* Another transfer of the first one's node, or of its machine. */
static void expect_claimed(struct rehearsal *rehearsal, const char *node_uid, const char *instance)
{
    const struct transfer *first = transfer_at(rehearsal, 0);
    struct transfer *twin = transfer_new();
    struct error err = { 0 };

    text_copy(twin->id, sizeof twin->id, "t-twin");
    text_copy(twin->move, sizeof twin->move, "m-twin");
    text_copy(twin->node, sizeof twin->node, first->node);
    text_copy(twin->node_uid, sizeof twin->node_uid, node_uid);
    text_copy(twin->instance, sizeof twin->instance, instance);
    twin->source = first->source;
    twin->target = first->target;
    assert_int_equal(runner_begin(rehearsal->service->runner, &twin, 1, &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(transfers_of(rehearsal, true), 1);
}

/* Whatever the plan was told, the journal refuses: each of the two names is claimed by itself. */
static void a_node_and_its_machine_have_one_transfer(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    const struct transfer *first = scheduled(rehearsal, STEP_NOTICE);

    (void)state;
    expect_claimed(rehearsal, first->node_uid, "another-machine");
    expect_claimed(rehearsal, "another-uid", first->instance);
}

static int count_record(void *context, const char *id, uint64_t rev, const json_t *value,
                        struct error *err)
{
    (void)id;
    (void)rev;
    (void)value;
    (void)err;
    ++*(int *)context;
    return 0;
}

/* When it has ended its node and its machine are anybody's, and it waits for nothing. */
static void nothing_of_a_transfer_outlives_it(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    struct runner *runner = rehearsal->service->runner;
    struct transfer *transfer = scheduled(rehearsal, STEP_DRAIN);
    owned(chars) char *node = text_format("node/research-a/%s", transfer->node_uid);
    owned(chars) char *machine = text_format("instance/research-a-east/%s", transfer->instance);
    struct journal_batch *batch = journal_batch_new(runner->epoch);
    struct error err = { 0 };
    int effects = 0;

    (void)state;
    apply(rehearsal, 6, 6);
    runner_withdraw(runner, transfer, "test");
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(transfer->state, TRANSFER_UNDONE);
    journal_claim(batch, node, "t-other");
    journal_claim(batch, machine, "t-other");
    if (journal_commit(rehearsal->journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(journal_each(rehearsal->journal, "effect", count_record, &effects, &err), 0);
    assert_int_equal(effects, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_and_its_machine_have_one_transfer),
        cmocka_unit_test(nothing_of_a_transfer_outlives_it),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
