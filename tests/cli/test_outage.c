/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An API server is out of reach for long: what moves there stands still, what moves elsewhere goes
 * on, and nothing is taken for gone or for done because no server answers.
 */
#include "tests/cli/stepwise.h"

enum {
    OUTAGE_MS = 9 * MINUTE_MS, /* no step is given up, or gone past, in that time */
    LONG_OUTAGE_MS = 30 * MINUTE_MS,
};

/* Until transfer number `at` is at the step. */
static struct transfer *await_step(struct rehearsal *rehearsal, size_t at, enum transfer_step step)
{
    for (int64_t ms = 0; ms < 3 * HOUR_MS; ms += STEPWISE_MS) {
        struct transfer *transfer = transfer_at(rehearsal, at);

        if (transfer && transfer->step == (int)step)
            return transfer;
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
    fail_msg("transfer %zu is never at that step", at);
    return NULL;
}

static bool is_unreachable(struct rehearsal *rehearsal, const char *cluster)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    size_t i;
    json_t *row;

    json_array_foreach(json_object_get(status, "clusters"), i, row) {
        if (text_equal(json_text_or(row, "cluster", ""), cluster))
            return text_equal(json_text_or(row, "state", ""), "UNREACHABLE");
    }
    fail_msg("%s is not in the status", cluster);
    return false;
}

/* Pods that the service sees on the node and that have to leave. */
static int work_on(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    const struct snapshot *snapshot = fleet_snapshot(rehearsal->service->fleet,
                                                     transfer->source->cluster);
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, transfer->node, &count);
    int work = 0;

    for (size_t i = 0; i < count; i++)
        work += pod_must_leave(pods[i]);
    return work;
}

/* One transfer is past the cluster that is cut off, the other one, which is returned, at the step;
   is_empty: the last of its pods has just gone. */
static struct transfer *cut_off_at(struct rehearsal *rehearsal, enum transfer_step step,
                                   bool is_empty)
{
    struct transfer *standing;

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 7, 7);
    await_step(rehearsal, 0, STEP_ACQUIRE);
    rehearsal_run(rehearsal, STEPWISE_MS);
    apply(rehearsal, 8, 8);
    standing = await_step(rehearsal, 1, step);
    while (is_empty && work_on(rehearsal, standing) > 0)
        rehearsal_run(rehearsal, 1);
    assert_int_equal(standing->step, step);
    assert_true(step != STEP_DRAIN || is_empty || work_on(rehearsal, standing) > 0);
    simulator_cut_off(rehearsal->simulator, "research-a");
    return standing;
}

static const struct {
    enum transfer_step step;
    bool is_empty;
} moments[] = {
    { STEP_ANNOUNCE, false }, { STEP_CORDON, false },  { STEP_DRAIN, false },
    { STEP_DRAIN, true },     { STEP_RELEASE, false }, { STEP_CLEAR, false },
};

static void an_unreachable_cluster_stands_still_and_no_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(moments); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 41 + i, "");
        int step = (int)moments[i].step;
        const struct transfer *standing = cut_off_at(rehearsal, moments[i].step,
                                                     moments[i].is_empty);

        rehearsal_run(rehearsal, OUTAGE_MS);
        assert_true(is_unreachable(rehearsal, "research-a"));
        assert_false(is_unreachable(rehearsal, "prod-a"));
        assert_int_equal(transfer_at(rehearsal, 0)->state, TRANSFER_DONE);
        /* A drain has its whole time when the server is heard again. */
        assert_int_equal(standing->step, step);
        simulator_cut_off(rehearsal->simulator, NULL);
        for (int k = 0; k < 90 * 60; k++) {
            rehearsal_run(rehearsal, SECOND_MS);
            assert_int_equal(shortened(rehearsal), 0);
        }
        expect_rest(rehearsal, 8);
    }
}

/* Longer than any deadline: a step that can be taken back may be, and what is left to clear is
   left; no machine goes without an answer. */
static void no_machine_goes_unheard(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(moments); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 41 + i, "");
        uint64_t deleted;

        cut_off_at(rehearsal, moments[i].step, moments[i].is_empty);
        deleted = rehearsal->simulator->machines_deleted;
        rehearsal_run(rehearsal, LONG_OUTAGE_MS);
        assert_int_equal(rehearsal->simulator->machines_deleted, deleted);
        simulator_cut_off(rehearsal->simulator, NULL);
        rehearsal_run(rehearsal, 2 * HOUR_MS);
        expect_rest(rehearsal, 8);
    }
}

/* The cluster that a new machine joins is out of reach for longer than a machine may take: it is
   not late, it is not seen. */
static void an_unseen_machine_is_not_late(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 31, "", "join: {deadline: 6m, stable: 20s}\n", "");
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 7, 7);
    transfer = await_step(rehearsal, 0, STEP_JOIN);
    simulator_cut_off(rehearsal->simulator, "prod-a");
    rehearsal_run(rehearsal, OUTAGE_MS);
    assert_int_equal(transfer->step, STEP_JOIN);
    assert_int_equal(transfer->attempt, 1);
    simulator_cut_off(rehearsal->simulator, NULL);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal->simulator->machines_created, 1);
    expect_rest(rehearsal, 7);
}

/* A server that asks for a day gets five minutes, the transfer says so once, and then it is done.
 */
static void no_server_holds_a_transfer_for_a_day(void **state)
{
    static const char wish[] = "the server asked to wait 22h13m, and sluice waits at most";
    static const struct {
        enum transfer_step step;
        const char *verb;
    } cases[] = {
        { STEP_ANNOUNCE, "patch_node" },
        { STEP_RELEASE, "delete_instances" },
        { STEP_ACQUIRE, "create_instances" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 41 + i, "");
        const struct transfer *transfer;
        const char *told;

        rehearsal->simulator->retry_after = "80000";
        rehearsal_run(rehearsal, MINUTE_MS);
        simulator_fault_next(rehearsal->simulator, "http_429", cases[i].verb);
        apply(rehearsal, 7, 7);
        transfer = await_step(rehearsal, 0, cases[i].step);
        rehearsal_run(rehearsal, 10 * SECOND_MS);
        told = strstr(transfer->waiting, wish);
        if (!told || strstr(told + strlen(wish), "the server asked"))
            fail_msg("%s: told never or twice: %s", cases[i].verb, transfer->waiting);
        rehearsal_run(rehearsal, 6 * MINUTE_MS);
        if (strstr(transfer->waiting, "asked to wait"))
            fail_msg("%s: still waits: %s", cases[i].verb, transfer->waiting);
        rehearsal_run(rehearsal, HOUR_MS);
        expect_rest(rehearsal, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unreachable_cluster_stands_still_and_no_other),
        cmocka_unit_test(no_machine_goes_unheard),
        cmocka_unit_test(an_unseen_machine_is_not_late),
        cmocka_unit_test(no_server_holds_a_transfer_for_a_day),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
