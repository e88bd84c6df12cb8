/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which nodes replicas are let up by, ahead of their window: those on which they can start.
 */
#include "tests/cli/stepwise.h"
#include "tools/simulator/deployments.h"

static void taint(struct rehearsal *rehearsal, const char *key, const char *effect)
{
    struct kube_node *node = NULL;
    void *value;

    for (size_t i = 0;
         map_next(sim_cluster(rehearsal->simulator, "prod-a")->nodes, &i, NULL, &value);)
        node = value;
    json_array_append_new(node->taints,
                          json_make("{s:s, s:s, s:s}", "key", key, "value", "x", "effect", effect));
    sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
}

/* Until the window to come counts, and no node has come for it. */
static void run_into_reach(struct rehearsal *rehearsal)
{
    while (transfers_of(rehearsal, true) == 0)
        rehearsal_run(rehearsal, SECOND_MS);
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 6);
}

/* Six nodes hold four replicas each; all of them are wanted by day, in two hours. */
static void replicas_grow_with_nodes_that_can_take_them(void **state)
{
    static const struct {
        const char *key; /* of a taint on one of the nodes; NULL: none */
        const char *effect;
        int replicas;
    } rows[] = {
        { NULL, NULL, 24 },
        { "team", "NoSchedule", 24 }, /* whoever made the pool may have meant it */
        { "node.kubernetes.io/disk-pressure", "PreferNoSchedule", 24 },
        { "node.kubernetes.io/disk-pressure", "NoSchedule", 20 },
        { "node.kubernetes.io/unreachable", "NoExecute", 20 },
        { "karpenter.sh/disrupted", "NoSchedule", 20 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        if (rows[i].key)
            taint(rehearsal, rows[i].key, rows[i].effect);
        rehearsal_run(rehearsal, SECOND_MS);
        apply(rehearsal, 7, 6);
        run_into_reach(rehearsal);
        assert_int_equal(simulator_replicas(rehearsal->simulator, "prod-a", "serving", "chat-2x"),
                         rows[i].replicas);
    }
}

static void nodes_of_no_pool_let_nothing_up(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *node = json_make("{s:{s:s}, s:{s:s}, s:{s:{s:s}}}", "metadata", "name",
                                         "a100", "spec", "providerID", "other://a100", "status",
                                         "allocatable", "nvidia.com/gpu", "8");

    (void)state;
    sim_node_post(rehearsal->simulator, sim_cluster(rehearsal->simulator, "prod-a"), node);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    run_into_reach(rehearsal);
    assert_int_equal(simulator_replicas(rehearsal->simulator, "prod-a", "serving", "chat-2x"), 24);
}

/* From the first word of it on, and not when it is taken back. */
static void nodes_that_are_to_leave_do_not_count(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    const struct service *service = rehearsal->service;
    const struct config_cluster *cluster = config_cluster(rehearsal->config, "research-a");
    struct transfer *transfer;
    const struct node *node;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    transfer = run_to(rehearsal, STEP_ANNOUNCE);
    node = map_get(fleet_snapshot(service->fleet, cluster)->nodes, transfer->node);
    assert_non_null(node);
    assert_false(supply_counts(service, cluster, node));
    transfer->wants_undo = true;
    assert_true(supply_counts(service, cluster, node));
}

/* A number that is written takes nobody down: nodes go when the pods were told to stop. */
static void nodes_stay_until_their_replicas_are_told_to_stop(void **state)
{
    static const struct {
        bool is_stalled;
        int outdated; /* pods of the version before: a rollout has more than are wanted, for ever */
        bool goes;
    } rows[] = { { false, 0, true }, { true, 0, false }, { true, 4, true } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
        struct deployment *deployment = sim_deployment_find(
            sim_cluster(rehearsal->simulator, "prod-a"), "serving", "chat-2x");

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        deployment->is_stalled = rows[i].is_stalled;
        deployment->outdated = rows[i].outdated;
        apply(rehearsal, 5, 5);
        rehearsal_run(rehearsal, 90 * SECOND_MS);
        assert_int_equal(deployment->replicas, 16);
        if ((transfers_of(rehearsal, true) > 0) != rows[i].goes)
            fail_msg("row %zu", i);
        deployment->is_stalled = false;
        sim_deployment_reconcile(rehearsal->simulator, deployment);
        rehearsal_run(rehearsal, 30 * SECOND_MS);
        assert_true(transfers_of(rehearsal, true) > 0);
        deployment->outdated = 0;
        rehearsal_run(rehearsal, HOUR_MS);
        expect_rest(rehearsal, 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_grow_with_nodes_that_can_take_them),
        cmocka_unit_test(nodes_of_no_pool_let_nothing_up),
        cmocka_unit_test(nodes_that_are_to_leave_do_not_count),
        cmocka_unit_test(nodes_stay_until_their_replicas_are_told_to_stop),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
