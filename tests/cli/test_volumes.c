/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Volumes of the pods that leave: detached before their machine goes, or let go after it.
 */
#include "broker/sides/kube/kube_effects.h"
#include "tests/cli/stepwise.h"
#include "tools/simulator/kube/kube_volumes.h"

/* Every pod on a node that is about to be drained claims a volume, or the daemon's alone.  One of a
   job and one of the daemon's are attached to the node. */
static struct transfer *drain_with_claims(struct rehearsal *rehearsal, bool is_daemons,
                                          bool is_ephemeral)
{
    struct transfer *transfer;
    struct kube_cluster *cluster;
    struct kube_node *node;
    int claims = 0;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 6);
    transfer = run_to(rehearsal, STEP_NOTICE);
    cluster = sim_cluster(rehearsal->simulator, transfer->source->cluster->name);
    node = map_get(cluster->nodes, transfer->node);
    for (size_t i = 0; i < node->pods.count; i++) {
        struct kube_pod *pod = node->pods.items[i];

        pod->has_claim = !is_daemons || !pod->job;
        pod->is_ephemeral = is_ephemeral;
        claims += pod->has_claim;
        if (!pod->job) {
            owned(chars) char *claim = text_format("%s%s", pod->name, is_ephemeral ? "-data" : "");

            sim_claim_bind(cluster, pod->namespace, claim, "pv-daemon");
        }
        sim_pod_changed(rehearsal->simulator, pod, CHANGE_MODIFIED);
    }
    assert_true(claims > 0);
    if (!is_daemons)
        sim_volume_attach(cluster, "pv-1", transfer->node);
    sim_volume_attach(cluster, "pv-daemon", transfer->node);
    sim_volume_attach(cluster, "pv-elsewhere", "another-node");
    return run_to(rehearsal, STEP_DRAIN);
}

static struct transfer *drain_with_volumes(struct rehearsal *rehearsal, bool is_daemons)
{
    return drain_with_claims(rehearsal, is_daemons, false);
}

static int64_t attachment_lists(struct rehearsal *rehearsal)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);

    return json_int_or(json_object_get(report, "requests"), "list_attachments", 0);
}

static void volumes_are_waited_for_until_they_are_detached(void **state)
{
    (void)state;
    for (int is_ephemeral = 0; is_ephemeral < 2; is_ephemeral++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
        struct transfer *transfer = drain_with_claims(rehearsal, false, is_ephemeral);
        struct kube_cluster *cluster = sim_cluster(rehearsal->simulator,
                                                   transfer->source->cluster->name);

        rehearsal_run(rehearsal, 90 * SECOND_MS);
        assert_int_equal(transfer->step, STEP_DRAIN);
        assert_non_null(strstr(transfer->waiting, "1 volume to be detached"));
        map_remove(cluster->attachments, "pv-1");
        rehearsal_run(rehearsal, 20 * SECOND_MS);
        assert_true(transfer->step >= STEP_FORCE);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

static bool is_fenced(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    const struct kube_node *node = map_get(sim_cluster(rehearsal->simulator, "research-a")->nodes,
                                           transfer->node);

    return node && sim_node_has_taint(node, SIM_OUT_OF_SERVICE);
}

/* Until the node is cleared: it is told to be out of service, only when its machine is gone and it
   is seen to be down, and then its volumes are free. */
static void expect_fence(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "research-a");
    bool was_fenced = false;

    while (transfer->step < STEP_ACQUIRE) {
        const struct kube_node *node = map_get(cluster->nodes, transfer->node);

        if (is_fenced(rehearsal, transfer)) {
            was_fenced = true;
            assert_null(node->machine);
            assert_true(node->readiness != NODE_READY);
        }
        rehearsal_run(rehearsal, 100);
    }
    assert_true(was_fenced);
    assert_null(map_get(cluster->attachments, "pv-1"));
    assert_null(map_get(cluster->attachments, "pv-daemon"));
    assert_non_null(map_get(cluster->attachments, "pv-elsewhere"));
    assert_null(map_get(cluster->nodes, transfer->node)); /* the taint went with the Node */
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

static void a_volume_that_stays_attached_stops_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = drain_with_volumes(rehearsal, false);

    (void)state;
    rehearsal_run(rehearsal, 150 * SECOND_MS);
    assert_int_equal(transfer->step, STEP_DRAIN);
    expect_fence(rehearsal, transfer);
}

static int64_t node_patches(struct rehearsal *rehearsal)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);

    return json_int_or(json_object_get(report, "requests"), "patch_node", 0);
}

/* The answer to the taint gets lost: the node shows it, and it is not sent again. */
static void a_fence_whose_answer_was_lost_is_seen(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = drain_with_volumes(rehearsal, false);
    const struct effect *fence;
    int64_t patches;

    (void)state;
    while (transfer->step < STEP_CLEAR)
        rehearsal_run(rehearsal, STEPWISE_MS);
    patches = node_patches(rehearsal);
    simulator_fault_next(rehearsal->simulator, "lost_answer", "patch_node");
    while (!is_fenced(rehearsal, transfer))
        rehearsal_run(rehearsal, STEPWISE_MS);
    fence = effect_find(transfer, &kube_effect_fence, transfer->node_uid);
    while (fence->is_in_flight) /* the server has done it, and its answer is lost */
        rehearsal_run(rehearsal, STEPWISE_MS);
    assert_int_equal(fence->outcome, ERROR_UNKNOWN_OUTCOME);
    while (transfer->step == STEP_CLEAR)
        rehearsal_run(rehearsal, STEPWISE_MS);
    assert_int_equal(node_patches(rehearsal), patches + 1);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* The machine is gone, and its node is not seen to be down yet. */
static void a_node_that_counts_as_ready_is_not_fenced(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = drain_with_volumes(rehearsal, false);
    struct kube_node *node = map_get(sim_cluster(rehearsal->simulator, "research-a")->nodes,
                                     transfer->node);

    (void)state;
    for (int cleared = 0; cleared < 200; cleared += transfer->step == STEP_CLEAR) {
        assert_true(transfer->step <= STEP_CLEAR && !is_fenced(rehearsal, transfer));
        node->stamp++; /* no controller notices that its machine is silent */
        rehearsal_run(rehearsal, 100);
    }
    assert_int_equal(node->readiness, NODE_READY);
    node->readiness = NODE_UNREACHABLE;
    sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
    expect_fence(rehearsal, transfer);
}

/* The daemon's volume is one that is not attached (a file share), or its claim may not be read: it
   stands for no other volume. */
static void a_daemons_claim_hides_no_volume(void **state)
{
    static const char *const faults[] = { NULL, "http_403", "http_500" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
        struct transfer *transfer = drain_with_volumes(rehearsal, false);
        struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "research-a");

        if (faults[i])
            simulator_fault_next(rehearsal->simulator, faults[i], "get_claim");
        map_remove(cluster->attachments, "pv-daemon");
        rehearsal_run(rehearsal, 90 * SECOND_MS);
        assert_int_equal(transfer->step, STEP_DRAIN);
        assert_non_null(strstr(transfer->waiting, "1 volume to be detached"));
        map_remove(cluster->attachments, "pv-1");
        rehearsal_run(rehearsal, 20 * SECOND_MS);
        assert_true(transfer->step >= STEP_FORCE);
    }
}

static int64_t claims_read(struct rehearsal *rehearsal)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);

    return json_int_or(json_object_get(report, "requests"), "get_claim", 0);
}

/* A right that is missing costs the wait for the daemon's volume, and is not asked for again and
   again; a server that is busy is asked again. */
static void a_claim_that_cannot_be_read_is_waited_for(void **state)
{
    (void)state;
    for (int is_denied = 0; is_denied < 2; is_denied++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
        struct transfer *transfer = drain_with_volumes(rehearsal, false);
        struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "research-a");

        simulator_fault_next(rehearsal->simulator, is_denied ? "http_403" : "http_500",
                             "get_claim");
        map_remove(cluster->attachments, "pv-1");
        rehearsal_run(rehearsal, 90 * SECOND_MS);
        assert_int_equal(transfer->step > STEP_DRAIN, !is_denied);
        assert_int_equal(claims_read(rehearsal), is_denied ? 1 : 2);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(transfer->state, TRANSFER_DONE);
    }
}

static void volumes_that_stay_or_are_not_there_cost_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = drain_with_volumes(rehearsal, true);

    (void)state;
    rehearsal_run(rehearsal, 90 * SECOND_MS);
    assert_true(transfer->step > STEP_DRAIN);
    assert_int_equal(attachment_lists(rehearsal), 0);
}

/* A machine that died with volumes on it: when it is gone, and its node is seen to be down, that is
   said by the taint, and the volumes are free long before the six minutes that a kubelet has. */
static void a_dead_machine_lets_its_volumes_go(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = drain_with_volumes(rehearsal, false);
    struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "research-a");
    struct kube_node *node = map_get(cluster->nodes, transfer->node);

    (void)state;
    node->is_alive = false;
    node->readiness = NODE_UNREACHABLE;
    sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
    expect_fence(rehearsal, transfer);
}

/* The volumes are detached by the time that the machine is gone: no taint is needed. */
static void a_machine_without_volumes_is_told_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = drain_with_volumes(rehearsal, false);

    (void)state;
    sim_volumes_let_go(sim_cluster(rehearsal->simulator, "research-a"), transfer->node);
    while (transfer->step < STEP_ACQUIRE) {
        assert_false(is_fenced(rehearsal, transfer));
        rehearsal_run(rehearsal, 100);
    }
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* A reclaim is not held up by research's volumes once the machine is gone. */
static void a_reclaim_waits_for_no_fence(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    struct transfer *transfer = drain_with_volumes(rehearsal, false);
    int clears = 0;

    (void)state;
    transfer->is_emergency = true;
    for (; transfer->step < STEP_ACQUIRE; clears += transfer->step == STEP_CLEAR) {
        assert_false(is_fenced(rehearsal, transfer));
        rehearsal_run(rehearsal, 100);
    }
    assert_in_range(clears, 0, 50); /* 5 s; the fence may take 90 */
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_are_waited_for_until_they_are_detached),
        cmocka_unit_test(a_volume_that_stays_attached_stops_nothing),
        cmocka_unit_test(a_fence_whose_answer_was_lost_is_seen),
        cmocka_unit_test(a_node_that_counts_as_ready_is_not_fenced),
        cmocka_unit_test(a_daemons_claim_hides_no_volume),
        cmocka_unit_test(a_claim_that_cannot_be_read_is_waited_for),
        cmocka_unit_test(volumes_that_stay_or_are_not_there_cost_nothing),
        cmocka_unit_test(a_dead_machine_lets_its_volumes_go),
        cmocka_unit_test(a_machine_without_volumes_is_told_nothing),
        cmocka_unit_test(a_reclaim_waits_for_no_fence),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
