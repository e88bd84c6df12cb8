/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The last moment before a machine is deleted.  Whatever made the step wait, the node may have been
 * opened meanwhile, and pods may run on it: it is looked at again before each removal that was not
 * accepted.  A removal that was asked for is waited for.
 */
#include "tests/cli/people.h"

#include <string.h>

static bool is_accepted(const struct transfer *transfer)
{
    const struct effect *remove = removal_of(transfer);

    return remove && remove->accepted_ms > 0;
}

/* Something makes the release wait; then a person opens the node, and work comes to it. */
struct wait {
    const char *name;
    const char *fault; /* of the removal; NULL: none */
    int count;
    bool is_frozen;
    bool is_killed; /* and starts again three hours later */
    bool stays_closed;
    bool tolerates;
};

static const struct wait waits[] = {
    { .name = "a freeze", .is_frozen = true },
    { .name = "a kill and three hours", .is_killed = true, .fault = "http_403", .count = 1 },
    { .name = "403 ten times", .fault = "http_403", .count = 10 },
    { .name = "429 four times", .fault = "http_429", .count = 4 },
    { .name = "500 six times", .fault = "http_500", .count = 6 },
    { .name = "403, and it stays closed", .fault = "http_403", .count = 10, .stays_closed = true },
    { .name = "403, and a pod that tolerates",
      .fault = "http_403",
      .count = 10,
      .stays_closed = true,
      .tolerates = true },
};

/* Until the transfer's machine is about to be deleted and its deletion waits. */
static struct transfer *begin_wait(struct rehearsal *rehearsal, const struct wait *wait)
{
    struct transfer *transfer = scheduled(rehearsal, STEP_DRAIN);

    for (int i = 0; i < wait->count; i++)
        simulator_fault_next(rehearsal->simulator, wait->fault, "delete_instances");
    while (transfer->step < STEP_RELEASE) {
        /* Evictions pass a freeze only before it: it begins when the node is empty. */
        const struct kube_node *node = people_node(rehearsal, "research-a", transfer->node);
        bool is_empty = true;

        for (size_t i = 0; i < node->pods.count; i++)
            is_empty &= !sim_pod_must_leave(node->pods.items[i]);
        if (wait->is_frozen && is_empty) {
            freeze_for(rehearsal, "", 20 * MINUTE_MS);
            break;
        }
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
    return transfer;
}

static const struct kube_pod *pod_of(struct rehearsal *rehearsal, const char *name)
{
    owned(chars) char *key = text_format("ml/%s", name);

    return map_get(sim_cluster(rehearsal->simulator, "research-a")->pods, key);
}

static void play(const struct wait *wait)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = begin_wait(rehearsal, wait);
    owned(chars) char *name = mem_copy_chars(transfer->node);
    struct error err = { 0 };
    int64_t told_ms = 0;

    rehearsal_run(rehearsal, SECOND_MS);
    if (wait->is_killed)
        rehearsal_kill(rehearsal);
    if (!wait->stays_closed)
        people_open(rehearsal, people_node(rehearsal, "research-a", name));
    people_bind(rehearsal, people_node(rehearsal, "research-a", name), "late", wait->tolerates);
    assert_non_null(pod_of(rehearsal, "late"));
    if (wait->is_killed) {
        rehearsal_run(rehearsal, 3 * HOUR_MS);
        assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    }
    for (int64_t ms = 0; ms < HOUR_MS && pod_of(rehearsal, "late"); ms += 100) {
        const struct kube_pod *pod = pod_of(rehearsal, "late");

        if (pod->deletion_ms > 0 && told_ms == 0)
            told_ms = sim_now(rehearsal->simulator);
        if (!pod->node || !pod->node->is_alive)
            fail_msg("%s: the machine was deleted under a running pod", wait->name);
        rehearsal_run(rehearsal, 100);
    }
    if (told_ms == 0)
        fail_msg("%s: the pod was never told to stop", wait->name);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    if (rehearsal_violations(rehearsal) > 0)
        fail_msg("%s: the referee objects", wait->name);
    expect_rest(rehearsal, 7);
}

static void a_node_that_was_opened_again_is_drained_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++)
        play(&waits[i]);
}

/* The transfer has come to the step, and the list of its pool shows what was true ten minutes ago.
 */
static struct transfer *with_old_list(struct rehearsal *rehearsal, enum transfer_step step)
{
    struct transfer *transfer = scheduled(rehearsal, STEP_DRAIN);

    /* Or the Node is gone in the turn in which its machine is. */
    people_node(rehearsal, "research-a", transfer->node)->finalizers = json_make("[s]", "x.com/y");
    while (transfer->step < (int)step || (step == STEP_RELEASE && !is_accepted(transfer)))
        rehearsal_run(rehearsal, STEPWISE_MS);
    simulator_lie(rehearsal->simulator, &(struct list_lie){ .list = "machines",
                                                            .of = "research-a-east",
                                                            .kind = "old",
                                                            .age_ms = 10 * MINUTE_MS,
                                                            .for_ms = 4 * MINUTE_MS });
    return transfer;
}

/* What the cloud accepted goes on by itself: nothing is drained again for the sake of a list. */
static void an_accepted_removal_is_waited_for(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = with_old_list(rehearsal, STEP_RELEASE);

    (void)state;
    people_open(rehearsal, people_node(rehearsal, "research-a", transfer->node));
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    assert_int_equal(transfer->step, STEP_RELEASE);
    assert_int_equal(transfer->redrains, 0);
    assert_false(runner_can_undo(rehearsal->service->runner, transfer));
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_int_equal(transfer->redrains, 0);
    expect_rest(rehearsal, 7);
}

/* A machine that is listed again may run again: what is left of its node is not cleared. */
static void a_machine_that_is_listed_again_is_not_cleared(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = with_old_list(rehearsal, STEP_CLEAR);

    (void)state;
    fleet_refresh(rehearsal->service->fleet, transfer->source);
    rehearsal_run(rehearsal, 20 * SECOND_MS);
    assert_int_equal(transfer->step, STEP_CLEAR);
    assert_non_null(people_node(rehearsal, "research-a", transfer->node));
    assert_non_null(strstr(transfer->waiting, "listed again"));
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_rest(rehearsal, 7);
}

/* A machine that never got its GPUs is given up.  A pod that was bound to its Node meanwhile ends
   first: it was not told to leave. */
static void a_machine_that_failed_is_not_deleted_under_a_pod(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 8, "faults: { no_gpus: 1 }\n", "join: {deadline: 5m}\n", "");
    struct kube_node *node = NULL;
    struct kube_pod *pod;
    struct transfer *transfer;

    (void)state;
    transfer = scheduled(rehearsal, STEP_JOIN);
    for (int i = 0; i < 3; i++)
        simulator_fault_next(rehearsal->simulator, "http_403", "delete_instances");
    while (transfer->step == STEP_JOIN)
        rehearsal_run(rehearsal, STEPWISE_MS);
    assert_true(transfer->is_discarding);
    node = people_node(rehearsal, "prod-a", transfer->new_instance);
    assert_non_null(node);
    rehearsal_run(rehearsal, 10 * SECOND_MS);
    pod = people_bind(rehearsal, node, "bound", false);
    rehearsal_run(rehearsal, 20 * MINUTE_MS);
    assert_true(node->is_alive);
    assert_non_null(strstr(transfer->waiting, "1 pod to leave node"));
    rehearsal->simulator->scenario->faults[FAULT_NO_GPUS] = 0;
    sim_pod_terminate(rehearsal->simulator, pod, -1);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    expect_rest(rehearsal, 7);
}

/* A pod of which the server says something that we do not understand may be work. */
static void a_pod_that_cannot_be_read_keeps_its_node(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
    struct simulator *simulator = rehearsal->simulator;
    const struct transfer *transfer = scheduled(rehearsal, STEP_DRAIN);
    struct kube_pod *pod = sim_pod_new(simulator, sim_cluster(simulator, "research-a"), "research",
                                       "odd");

    (void)state;
    simulator->is_started = false; /* what is there at the start is no change */
    sim_pod_bind(simulator, pod, people_node(rehearsal, "research-a", transfer->node));
    simulator->is_started = true;
    pod->state = POD_IS_RUNNING;
    pod->blob = sim_blob_of(json_make("{s:{s:s, s:s, s:s, s:s}, s:{s:s}, s:{s:s}}", "metadata",
                                      "name", "odd", "namespace", "research", "uid", pod->uid,
                                      "resourceVersion", "1", "spec", "nodeName", transfer->node,
                                      "status", "phase", "Dreaming"));
    rehearsal_run(rehearsal, 20 * MINUTE_MS);
    assert_in_range(transfer->step, STEP_DRAIN, STEP_FORCE);
    assert_int_equal(simulator->machines_deleted, 0);
}

/* The cloud refuses, and each time a pod comes to the closed node meanwhile: three times it is
   emptied again, then it stays. */
static void a_node_that_does_not_stay_empty_stays(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer;

    (void)state;
    for (int i = 0; i < 500; i++)
        simulator_fault_next(rehearsal->simulator, "http_403", "delete_instances");
    transfer = scheduled(rehearsal, STEP_RELEASE);
    for (int times = 0; times < 6 && transfer->state == TRANSFER_LIVE; times++) {
        owned(chars) char *name = text_format("late-%d", times);

        rehearsal_run(rehearsal, SECOND_MS);
        people_bind(rehearsal, people_node(rehearsal, "research-a", transfer->node), name, false);
        while (transfer->state == TRANSFER_LIVE && transfer->redrains == times)
            rehearsal_run(rehearsal, SECOND_MS);
        /* each time it has the whole time of a drain */
        if (transfer->step == STEP_DRAIN && !transfer->is_undoing)
            assert_true(transfer->drain_due.ms - runner_now(rehearsal->service->runner).ms >
                        4 * MINUTE_MS);
        (void)go_to(rehearsal, STEP_RELEASE);
    }
    assert_int_equal(transfer->state, TRANSFER_UNDONE);
    assert_int_equal(transfer->redrains, 3);
    assert_int_equal(rehearsal->simulator->machines_deleted, 0);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* A node that has lost our taint alone is not closed: others may come to it. */
static void a_node_whose_taint_is_gone_is_closed_again(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer;

    (void)state;
    simulator_fault_next(rehearsal->simulator, "http_403", "delete_instances");
    transfer = scheduled(rehearsal, STEP_RELEASE);
    rehearsal_run(rehearsal, SECOND_MS);
    people_untaint(rehearsal, people_node(rehearsal, "research-a", transfer->node),
                   SLUICE_TAINT_LEAVING);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->redrains, 1);
    expect_rest(rehearsal, 7);
}

/* The look that came before the refused removal says nothing of what came after it. */
static void a_pod_that_comes_right_after_a_refusal_is_seen(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer;

    (void)state;
    simulator_fault_next(rehearsal->simulator, "http_500", "delete_instances");
    transfer = scheduled(rehearsal, STEP_RELEASE);
    while (!removal_of(transfer) || removal_of(transfer)->answered_ms == 0)
        rehearsal_run(rehearsal, STEPWISE_MS);
    assert_int_not_equal(removal_of(transfer)->outcome, ERROR_NONE);
    people_bind(rehearsal, people_node(rehearsal, "research-a", transfer->node), "late", false);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->redrains, 1);
    expect_rest(rehearsal, 7);
}

/* A pod that a client deleted has the rest of its grace before the machine goes. */
static void a_pod_that_was_told_to_stop_has_its_grace(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer;
    struct kube_pod *pod;

    (void)state;
    simulator_fault_next(rehearsal->simulator, "http_500", "delete_instances");
    transfer = scheduled(rehearsal, STEP_RELEASE);
    while (!removal_of(transfer) || removal_of(transfer)->answered_ms == 0)
        rehearsal_run(rehearsal, STEPWISE_MS);
    pod = people_bind(rehearsal, people_node(rehearsal, "research-a", transfer->node), "late",
                      false);
    sim_pod_terminate(rehearsal->simulator, pod, 30);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->redrains, 1);
    expect_rest(rehearsal, 7);
}

/* What was read of the node is old when at last its pods can be listed. */
static void a_node_made_static_while_its_pods_are_not_listed_stays(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer;
    struct kube_node *node;

    (void)state;
    simulator_fault_next(rehearsal->simulator, "http_403", "delete_instances");
    transfer = scheduled(rehearsal, STEP_RELEASE);
    while (!removal_of(transfer) || removal_of(transfer)->answered_ms == 0)
        rehearsal_run(rehearsal, STEPWISE_MS);
    for (int i = 0; i < 30; i++)
        simulator_fault_next(rehearsal->simulator, "http_500", "list_pods");
    rehearsal_run(rehearsal, 75 * SECOND_MS); /* it is asked again, and the node read */
    assert_int_equal(transfer->step, STEP_RELEASE);
    node = people_node(rehearsal, "research-a", transfer->node);
    json_object_del(node->labels, "sluice.dev/ephemeral");
    people_changed(rehearsal, node);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(transfer->state, TRANSFER_UNDONE);
    assert_ptr_equal(people_node(rehearsal, "research-a", transfer->node), node);
    assert_true(node->is_alive);
}

/* Its processes run until the cloud has stopped it. */
static void a_machine_that_is_being_deleted_is_waited_for(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
    const struct transfer *transfer = scheduled(rehearsal, STEP_RELEASE);

    (void)state;
    rehearsal_run(rehearsal, 40 * SECOND_MS);
    assert_int_equal(transfer->step, STEP_RELEASE);
    assert_non_null(strstr(transfer->waiting, "to be gone (it is "));
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 7);
}

/* A process that died between the order and its answer has to look before anything else. */
static void a_removal_before_a_death_may_have_happened(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
    const struct transfer *transfer = scheduled(rehearsal, STEP_RELEASE);

    (void)state;
    while (!removal_of(transfer))
        rehearsal_run(rehearsal, 1);
    restart(rehearsal);
    transfer = transfer_at(rehearsal, 0);
    assert_int_equal(transfer->step, STEP_RELEASE);
    assert_true(effect_may_have_happened(removal_of(transfer)));
    assert_int_equal(removal_of(transfer)->outcome, ERROR_UNKNOWN_OUTCOME);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_was_opened_again_is_drained_again),
        cmocka_unit_test(an_accepted_removal_is_waited_for),
        cmocka_unit_test(a_machine_that_is_listed_again_is_not_cleared),
        cmocka_unit_test(a_machine_that_failed_is_not_deleted_under_a_pod),
        cmocka_unit_test(a_pod_that_cannot_be_read_keeps_its_node),
        cmocka_unit_test(a_node_that_does_not_stay_empty_stays),
        cmocka_unit_test(a_node_whose_taint_is_gone_is_closed_again),
        cmocka_unit_test(a_pod_that_comes_right_after_a_refusal_is_seen),
        cmocka_unit_test(a_pod_that_was_told_to_stop_has_its_grace),
        cmocka_unit_test(a_node_made_static_while_its_pods_are_not_listed_stays),
        cmocka_unit_test(a_machine_that_is_being_deleted_is_waited_for),
        cmocka_unit_test(a_removal_before_a_death_may_have_happened),
    };

    mem_setup();
    log_setup(LOG_ERROR, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
