/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The last moment before a machine is deleted.  Whatever made the step wait, the node may have been
 * opened meanwhile, and pods may run on it: it is looked at again before each removal that was not
 * accepted.
 */
#include "broker/transfer/effect.h"
#include "tests/cli/people.h"

/* Stands before the release: a node that is closed and empty. */
static struct transfer *at_release(struct rehearsal *rehearsal)
{
    struct transfer *transfer;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 6);
    transfer = run_to(rehearsal, STEP_FORCE - 1);
    assert_non_null(transfer);
    return transfer;
}

static bool is_accepted(const struct transfer *transfer)
{
    const struct effect *remove = effect_find(transfer, EFFECT_REMOVE, transfer->instance);

    return remove && remove->accepted_ms > 0;
}

static void freeze_for(struct rehearsal *rehearsal, int64_t duration_ms)
{
    struct wall_time until = { loop_wall(rehearsal->loop).ms + duration_ms };
    char text[WALL_TEXT_SIZE];
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss ss ss}", "cluster", "", "until",
                                            wall_format(until, text), "reason", "incident");
    owned(json) json_t *answer = service_freeze(rehearsal->service, request, "test", &err);

    if (!answer)
        fail_msg("%s", err.text);
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
    struct transfer *transfer = at_release(rehearsal);

    for (int i = 0; i < wait->count; i++)
        simulator_fault_next(rehearsal->simulator, wait->fault, "delete_instances");
    while (transfer->step < STEP_RELEASE) {
        /* Evictions pass a freeze only before it: it begins when the node is empty. */
        const struct kube_node *node = people_node(rehearsal, "research-a", transfer->node);
        bool is_empty = true;

        for (size_t i = 0; i < node->pods.count; i++)
            is_empty &= !sim_pod_must_leave(node->pods.items[i]);
        if (wait->is_frozen && is_empty) {
            freeze_for(rehearsal, 20 * MINUTE_MS);
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
    struct transfer *transfer = at_release(rehearsal);

    /* Or the Node is gone in the turn in which its machine is. */
    people_node(rehearsal, "research-a", transfer->node)->finalizers = json_make("[s]", "x.com/y");
    while (transfer->step < (int)step || (step == STEP_RELEASE && !is_accepted(transfer)))
        rehearsal_run(rehearsal, STEPWISE_MS);
    simulator_lie(rehearsal->simulator, "machines", "research-a-east", "old", 10 * MINUTE_MS,
                  4 * MINUTE_MS);
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
   first: nobody told it to leave. */
static void a_machine_that_failed_is_not_deleted_under_a_pod(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 8, "faults: { no_gpus: 1 }\n", "join: {deadline: 5m}\n", "");
    struct kube_node *node = NULL;
    struct kube_pod *pod;
    struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 6);
    transfer = run_to(rehearsal, STEP_JOIN);
    assert_non_null(transfer);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_was_opened_again_is_drained_again),
        cmocka_unit_test(an_accepted_removal_is_waited_for),
        cmocka_unit_test(a_machine_that_is_listed_again_is_not_cleared),
        cmocka_unit_test(a_machine_that_failed_is_not_deleted_under_a_pod),
    };

    mem_setup();
    log_setup(LOG_ERROR, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
