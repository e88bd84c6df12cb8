/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Promises that no other case rested on: each is here because a mistake that was planted into the
 * code (tests/planted) broke it, and every test passed.
 */
#include "tests/cli/people.h"

#include <string.h>

static struct transfer *transfer_at(struct rehearsal *rehearsal, size_t at)
{
    struct runner *runner = rehearsal->service->runner;

    return at < runner->transfers.count ? runner->transfers.items[at] : NULL;
}

/* The one node that a new schedule wants is on its way, and at this step. */
static struct transfer *scheduled(struct rehearsal *rehearsal, enum transfer_step step)
{
    struct transfer *transfer;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 6);
    transfer = run_to(rehearsal, step);
    assert_non_null(transfer);
    return transfer;
}

/* The same for a reclaim. */
static struct transfer *reclaimed(struct rehearsal *rehearsal, enum transfer_step step)
{
    owned(json) json_t *answer = NULL;
    struct transfer *transfer;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    answer = reclaim(rehearsal, 1);
    transfer = run_to(rehearsal, step);
    assert_non_null(transfer);
    return transfer;
}

/* For an emergency time passes, whatever can be asked. */
static void a_reclaims_deadline_is_never_moved(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    const struct transfer *transfer = reclaimed(rehearsal, STEP_DRAIN);
    int64_t due_ms = transfer->drain_due.ms;

    (void)state;
    simulator_cut_off(rehearsal->simulator, "research-a");
    rehearsal_run(rehearsal, 4 * MINUTE_MS);
    assert_in_range(transfer->step, STEP_DRAIN, STEP_FORCE);
    simulator_cut_off(rehearsal->simulator, NULL);
    rehearsal_run(rehearsal, 40 * SECOND_MS);
    assert_int_equal(transfer->drain_due.ms, due_ms);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 7);
}

/* A node is empty when the scheduler has had its time to see the cordon, and not before. */
static void a_scheduler_that_lags_behind_the_cordon_is_waited_for(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    const struct transfer *transfer;
    int64_t waited_ms;

    (void)state;
    rehearsal->config->drain.settle_ms = 4 * MINUTE_MS;
    transfer = scheduled(rehearsal, STEP_RELEASE);
    waited_ms = runner_now(rehearsal->service->runner).ms - transfer->cordoned.ms;
    assert_in_range(waited_ms, 4 * MINUTE_MS, 5 * MINUTE_MS - 1);
}

/* Nobody asked it before the deadline: it has its own grace yet. */
static void a_pod_that_comes_late_has_its_grace(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12,
                                                                   "faults: { stuck_pod: 1 }\n");
    const struct transfer *transfer = scheduled(rehearsal, STEP_FORCE);
    const struct kube_pod *pod;
    const struct effect *effect;

    (void)state;
    rehearsal_run(rehearsal, 5 * SECOND_MS);
    pod = people_bind(rehearsal, people_node(rehearsal, "research-a", transfer->node), "late",
                      false);
    rehearsal_run(rehearsal, 10 * SECOND_MS);
    effect = effect_find(transfer, EFFECT_DELETE_POD, pod->uid);
    assert_non_null(effect);
    assert_int_equal(effect->grace_s, 30);
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

/* Until the first transfer is at the step, or ended. */
static const struct transfer *go_to(struct rehearsal *rehearsal, enum transfer_step step)
{
    const struct transfer *transfer = transfer_at(rehearsal, 0);

    for (int64_t ms = 0; ms < 4 * HOUR_MS && transfer->state == TRANSFER_LIVE; ms += 100) {
        if (transfer->step == (int)step)
            break;
        rehearsal_run(rehearsal, 100);
    }
    return transfer;
}

/* What it did not see of the first cordon it may miss of the second. */
static void a_scheduler_is_given_its_time_after_each_cordon(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    const struct transfer *transfer;
    int64_t opened_ms;

    (void)state;
    rehearsal->config->drain.settle_ms = 3 * MINUTE_MS;
    transfer = scheduled(rehearsal, STEP_DRAIN);
    rehearsal_run(rehearsal, 170 * SECOND_MS);
    assert_int_equal(transfer->step, STEP_DRAIN);
    people_open(rehearsal, people_node(rehearsal, "research-a", transfer->node));
    opened_ms = loop_now(rehearsal->loop);
    transfer = go_to(rehearsal, STEP_RELEASE);
    assert_int_equal(transfer->state, TRANSFER_LIVE);
    assert_true(loop_now(rehearsal->loop) - opened_ms >= 3 * MINUTE_MS);
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

static const struct effect *removal_of(const struct transfer *transfer)
{
    return effect_find(transfer, EFFECT_REMOVE, transfer->instance);
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

/* A pod that somebody deleted has the rest of its grace before the machine goes. */
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
static void a_node_made_static_while_nobody_lists_its_pods_stays(void **state)
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

/* A machine that the cloud was asked to remove may go at any moment: its node is not given back. */
static void a_removal_that_was_asked_for_is_not_taken_back(void **state)
{
    (void)state;
    for (int is_answered = 0; is_answered < 2; is_answered++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
        struct transfer *transfer = scheduled(rehearsal, STEP_RELEASE);

        while (!removal_of(transfer) || (is_answered && removal_of(transfer)->answered_ms == 0))
            rehearsal_run(rehearsal, 1);
        assert_int_equal(removal_of(transfer)->is_in_flight, !is_answered);
        assert_int_equal(transfer->step, STEP_RELEASE);
        runner_withdraw(rehearsal->service->runner, transfer, "test");
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        expect_rest(rehearsal, 7);
    }
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
    struct error err = { 0 };

    (void)state;
    while (!removal_of(transfer))
        rehearsal_run(rehearsal, 1);
    rehearsal_kill(rehearsal);
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    transfer = transfer_at(rehearsal, 0);
    assert_int_equal(transfer->step, STEP_RELEASE);
    assert_true(effect_may_have_happened(removal_of(transfer)));
    assert_int_equal(removal_of(transfer)->outcome, ERROR_UNKNOWN_OUTCOME);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 7);
}

/* Where there may be no other host, a machine on a bad one is better than none. */
static void a_quarantined_host_is_taken_by_the_last_attempt(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 33, "", "join: {deadline: 6m, stable: 20s}\nguard: {attempts: 2}\n", "");
    const struct transfer *transfer;

    (void)state;
    simulator_fault_next(rehearsal->simulator, "one_gpu_less", NULL);
    transfer = reclaimed(rehearsal, STEP_JOIN);
    simulator_fault_next(rehearsal->simulator, "same_host", NULL);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(transfer->attempt, 2);
    expect_rest(rehearsal, 7);
}

/* Our taint is ours to lift; a cordon on the new node is somebody's word. */
static void a_person_may_keep_the_new_node_closed(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 31, "", "join: {deadline: 60m, stable: 20s}\n", "");
    const struct transfer *transfer = reclaimed(rehearsal, STEP_JOIN);
    struct kube_node *node = NULL;

    (void)state;
    while (!(node = people_node(rehearsal, "prod-a", transfer->new_instance)))
        rehearsal_run(rehearsal, 100);
    node->is_unschedulable = true;
    people_changed(rehearsal, node);
    rehearsal_run(rehearsal, 20 * MINUTE_MS);
    assert_int_equal(transfer->step, STEP_JOIN);
    assert_non_null(strstr(transfer->waiting, "somebody's cordon"));
    node->is_unschedulable = false;
    people_changed(rehearsal, node);
    rehearsal_run(rehearsal, 5 * MINUTE_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
}

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
        assert_true(transfer_at(rehearsal, i)->step > STEP_HOLD);
    }
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 9);
}

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
    const struct transfer *first = scheduled(rehearsal, STEP_HOLD);

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

/* The node that is chosen when `closed` is what a person closed ("": nothing). */
static char *chosen_beside(const char *closed)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
    struct kube_node *node = people_node(rehearsal, "research-a", closed);

    if (node) {
        node->is_unschedulable = true;
        people_changed(rehearsal, node);
    }
    return mem_copy_chars(scheduled(rehearsal, STEP_HOLD)->node);
}

/* A cordon that is not ours is a person's word. */
static void a_node_that_a_person_closed_is_not_chosen(void **state)
{
    owned(chars) char *usual = chosen_beside("");
    owned(chars) char *other = chosen_beside(usual);

    (void)state;
    assert_string_not_equal(other, usual);
}

static size_t announced(struct rehearsal *rehearsal)
{
    owned(json) json_t *board = service_departures(rehearsal->service, DAY_MS);
    size_t count = 0;
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(board, "departures"), i, row)
        count += text_equal(json_text_or(row, "certainty", ""), "announced");
    return count;
}

/* As soon as a move is withdrawn its node counts at home again, and leaves the board. */
static void a_node_that_is_kept_counts_again(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    struct service *service = rehearsal->service;
    struct transfer *transfer = scheduled(rehearsal, STEP_HOLD);
    const struct config_cluster *cluster = transfer->source->cluster;
    const struct node *node = map_get(fleet_snapshot(service->fleet, cluster)->nodes,
                                      transfer->node);

    (void)state;
    assert_non_null(node);
    assert_false(supply_counts(service, cluster, node));
    assert_int_equal(announced(rehearsal), 1);
    runner_withdraw(service->runner, transfer, "test");
    assert_int_equal(transfer->state, TRANSFER_LIVE); /* the way back takes its time */
    assert_true(supply_counts(service, cluster, node));
    assert_int_equal(announced(rehearsal), 0);
}

/* What the plan sees: so many nodes in the pool, and so many that come. */
static void expect_counted(struct rehearsal *rehearsal, const char *pool, int present, int incoming)
{
    owned(survey) struct survey *survey = survey_make(rehearsal->service, rehearsal->service->book);
    const struct plan_pool *found =
        &survey->pools[config_pool(rehearsal->config, pool) - rehearsal->config->pools];

    assert_int_equal(found->present, present);
    assert_int_equal(found->incoming, incoming);
}

/* Wherever its machine is: none, being made, or listed; and at home as soon as it is kept. */
static void who_is_on_the_way_is_counted_once(void **state)
{
    static const enum transfer_step steps[] = { STEP_DRAIN, STEP_ACQUIRE, STEP_JOIN };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    struct transfer *transfer = scheduled(rehearsal, STEP_HOLD);

    (void)state;
    expect_counted(rehearsal, "research-a-east", 9, 0);
    expect_counted(rehearsal, "prod-a-east", 6, 1);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        assert_non_null(run_to(rehearsal, steps[i]));
        rehearsal_run(rehearsal, 10 * SECOND_MS);
        expect_counted(rehearsal, "research-a-east", 9, 0);
        expect_counted(rehearsal, "prod-a-east", 6, 1);
    }

    rehearsal_run(rehearsal, HOUR_MS);
    apply(rehearsal, 8, 8);
    rehearsal_run(rehearsal, MINUTE_MS);
    transfer = transfer_at(rehearsal, 1);
    assert_non_null(transfer);
    assert_int_equal(transfer->step, STEP_HOLD);
    expect_counted(rehearsal, "research-a-east", 8, 0);
    runner_withdraw(rehearsal->service->runner, transfer, "test");
    assert_int_equal(transfer->state, TRANSFER_LIVE);
    expect_counted(rehearsal, "research-a-east", 9, 0);
    expect_counted(rehearsal, "prod-a-east", 7, 0);
}

/* Until its taint is lifted nothing can start on it. */
static void a_node_that_starts_takes_no_replicas(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    const struct service *service = rehearsal->service;
    const struct transfer *transfer = reclaimed(rehearsal, STEP_JOIN);
    const struct config_cluster *cluster = transfer->target->cluster;
    const struct node *node = NULL;
    int looks = 0;

    (void)state;
    while (transfer->state == TRANSFER_LIVE) {
        rehearsal_run(rehearsal, SECOND_MS);
        node = map_get(fleet_snapshot(service->fleet, cluster)->nodes, transfer->new_instance);
        if (!node || !node->is_ready || !node_has_taint(node, SLUICE_TAINT_STARTING))
            continue;
        assert_false(supply_counts(service, cluster, node));
        looks++;
    }
    assert_true(looks > 0);
    assert_true(supply_counts(service, cluster, node));
}

/* The second order comes on top of the first, of which no node is on its way yet. */
static void two_reclaims_add_up(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    const struct config_pool *pool = config_pool(rehearsal->config, "prod-a-east");
    owned(json) json_t *first = NULL;
    owned(json) json_t *second = NULL;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    first = reclaim(rehearsal, 1);
    assert_int_equal(reclaims_level(rehearsal->service, pool), 7);
    second = reclaim(rehearsal, 2);
    assert_int_equal(reclaims_level(rehearsal->service, pool), 9);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reclaims_deadline_is_never_moved),
        cmocka_unit_test(a_scheduler_that_lags_behind_the_cordon_is_waited_for),
        cmocka_unit_test(a_pod_that_comes_late_has_its_grace),
        cmocka_unit_test(a_pod_that_cannot_be_read_keeps_its_node),
        cmocka_unit_test(a_scheduler_is_given_its_time_after_each_cordon),
        cmocka_unit_test(a_node_that_does_not_stay_empty_stays),
        cmocka_unit_test(a_node_whose_taint_is_gone_is_closed_again),
        cmocka_unit_test(a_pod_that_comes_right_after_a_refusal_is_seen),
        cmocka_unit_test(a_pod_that_was_told_to_stop_has_its_grace),
        cmocka_unit_test(a_node_made_static_while_nobody_lists_its_pods_stays),
        cmocka_unit_test(a_removal_that_was_asked_for_is_not_taken_back),
        cmocka_unit_test(a_machine_that_is_being_deleted_is_waited_for),
        cmocka_unit_test(a_removal_before_a_death_may_have_happened),
        cmocka_unit_test(a_quarantined_host_is_taken_by_the_last_attempt),
        cmocka_unit_test(a_person_may_keep_the_new_node_closed),
        cmocka_unit_test(a_reclaim_goes_to_a_pool_that_is_closed),
        cmocka_unit_test(a_node_and_its_machine_have_one_transfer),
        cmocka_unit_test(nothing_of_a_transfer_outlives_it),
        cmocka_unit_test(a_node_that_a_person_closed_is_not_chosen),
        cmocka_unit_test(a_node_that_is_kept_counts_again),
        cmocka_unit_test(who_is_on_the_way_is_counted_once),
        cmocka_unit_test(a_node_that_starts_takes_no_replicas),
        cmocka_unit_test(two_reclaims_add_up),
        cmocka_unit_test(a_reclaim_is_promised_what_may_leave),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
