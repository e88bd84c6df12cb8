/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which nodes count, and where: for replicas ahead of their window those on which they can start;
 * for the plan each node once, wherever its machine is.
 */
#include "broker/service/supply.h"
#include "tests/cli/people.h"
#include "tools/simulator/kube/deployments.h"

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
        { "team", "NoSchedule", 24 }, /* the pool's maker may have meant it */
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

/* A number that is written takes no pod down: nodes go when the pods were told to stop. */
static void nodes_stay_until_their_replicas_are_told_to_stop(void **state)
{
    static const struct {
        bool is_stalled;
        int outdated; /* pods of the version before: a rollout has more than are wanted, forever */
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
    struct transfer *transfer = scheduled(rehearsal, STEP_NOTICE);
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
    struct transfer *transfer = scheduled(rehearsal, STEP_NOTICE);

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
    assert_int_equal(transfer->step, STEP_NOTICE);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_grow_with_nodes_that_can_take_them),
        cmocka_unit_test(nodes_of_no_pool_let_nothing_up),
        cmocka_unit_test(nodes_that_are_to_leave_do_not_count),
        cmocka_unit_test(nodes_stay_until_their_replicas_are_told_to_stop),
        cmocka_unit_test(a_node_that_is_kept_counts_again),
        cmocka_unit_test(who_is_on_the_way_is_counted_once),
        cmocka_unit_test(a_node_that_starts_takes_no_replicas),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
