/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Agent pools of Azure against the simulator's strict fake, in virtual time: machines come and go,
 * a growth fails minutes later, another writer changes the count, answers get lost.
 */
#include "tests/providers/azure_world.h"

static void a_machine_comes_and_goes(void **state)
{
    struct rehearsal it;
    char old[INSTANCE_NAME_SIZE];

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 2}}\n");
    list_all(&it, &azure_place);
    assert_int_equal(it.count, 2);
    assert_int_equal(it.items[0].state, INSTANCE_RUNNING);
    assert_string_equal(it.items[0].zone, "region-1");
    text_copy(old, sizeof old, it.items[0].name);
    assert_string_equal(old + strlen(old) - 11, "-vmss000000");

    assert_int_equal(grow_by_one(&it, &azure_place), ERROR_NONE);
    assert_true(it.operation[0] != '\0');
    run_for(&it, 30 * MINUTE_MS);
    list_all(&it, &azure_place);
    assert_int_equal(it.count, 3);
    assert_int_equal(it.shortfall.kind, ERROR_NONE);
    assert_string_equal(it.items[2].name + strlen(old) - 11, "-vmss000002");

    assert_int_equal(take_away(&it, &azure_place, old), ERROR_NONE);
    assert_true(is_there(&it, &azure_place, old));
    run_for(&it, 30 * MINUTE_MS);
    assert_false(is_there(&it, &azure_place, old));
    list_all(&it, &azure_place);
    assert_int_equal(it.count, 2);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-gpu"), 2);

    assert_int_equal(take_away(&it, &azure_place, old), ERROR_NOT_FOUND);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-gpu"), 2);
    rehearsal_close(&it);
}

/* The Node's provider ID names the machine that the list has, whatever the case of its letters. */
static void nodes_and_machines_have_one_id(void **state)
{
    struct rehearsal it;
    char name[INSTANCE_NAME_SIZE];
    size_t claim = 0;

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 1}, lab-more: {nodes: 1, type: "
                        "VirtualMachines}}\n");
    list_all(&it, &azure_place);
    assert_non_null(strstr(it.items[0].provider_id, "/mc_rg_c_region/"));
    assert_true(provider_read_id(it.provider, azure_address(&azure_place), it.items[0].provider_id,
                                 name, &claim));
    assert_string_equal(name, it.items[0].name);
    assert_true(claim > 0);
    list_all(&it, &azure_more);
    assert_true(provider_read_id(it.provider, azure_address(&azure_more), it.items[0].provider_id,
                                 name, &claim));
    assert_string_equal(name, it.items[0].name);
    assert_non_null(strstr(name, "-vms1"));
    rehearsal_close(&it);
}

static void pages_are_one_list(void **state)
{
    struct rehearsal it;

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 4, page: 2}}\n");
    assert_int_equal(list_all(&it, &azure_place), 2);
    assert_int_equal(it.count, 4);
    rehearsal_close(&it);
}

/* Minutes after it was accepted the growth fails, and AKS keeps the count. */
static void a_growth_that_fails_is_taken_back(void **state)
{
    struct rehearsal it;

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 4}}\n"); /* the reservation is full */
    assert_int_equal(grow_by_one(&it, &azure_place), ERROR_NONE);
    run_for(&it, 10 * MINUTE_MS);
    list_all(&it, &azure_place);
    assert_int_equal(it.count, 4);
    assert_int_equal(it.shortfall.kind, ERROR_NO_CAPACITY);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-gpu"), 5);

    assert_int_equal(take_back(&it, &azure_place), ERROR_NONE);
    run_for(&it, MINUTE_MS);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-gpu"), 4);
    list_all(&it, &azure_place);
    assert_int_equal(it.count, 4);
    assert_int_equal(it.shortfall.kind, ERROR_NONE);
    assert_int_equal(take_back(&it, &azure_place), ERROR_CONFLICT);
    rehearsal_close(&it);
}

static void a_stockout_has_its_reason(void **state)
{
    struct rehearsal it;

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 1}}\n"
                        "stockouts: [{zone: region-1, from: 0s, to: 20m}]\n");
    assert_int_equal(grow_by_one(&it, &azure_place), ERROR_NONE);
    assert_int_equal(take_back(&it, &azure_place), ERROR_TRANSIENT); /* it still tries */
    run_for(&it, MINUTE_MS);
    list_all(&it, &azure_place);
    assert_int_equal(it.shortfall.kind, ERROR_NO_CAPACITY);
    assert_non_null(strstr(it.shortfall.text, "ZonalAllocationFailed"));
    run_for(&it, HOUR_MS); /* the stock-out is over, and AKS does not try again */
    list_all(&it, &azure_place);
    assert_int_equal(it.count, 1);
    rehearsal_close(&it);
}

static void a_quota_is_refused_at_once(void **state)
{
    struct rehearsal it;

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 2, quota: 2}}\n");
    assert_int_equal(grow_by_one(&it, &azure_place), ERROR_DENIED);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-gpu"), 2);
    rehearsal_close(&it);
}

/* While one pool of the managed cluster changes, no other one may. */
static void a_busy_cluster_refuses_all(void **state)
{
    struct rehearsal it;

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 1}, lab-more: {nodes: 1}}\n");
    assert_int_equal(grow_by_one(&it, &azure_place), ERROR_NONE);
    assert_int_equal(grow_by_one(&it, &azure_more), ERROR_TRANSIENT);
    assert_true(it.err.retry_after_ms >= 10000);
    list_all(&it, &azure_more);
    assert_int_equal(take_away(&it, &azure_more, it.items[0].name), ERROR_TRANSIENT);
    run_for(&it, 30 * MINUTE_MS);
    assert_int_equal(grow_by_one(&it, &azure_more), ERROR_NONE);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-more"), 2);
    rehearsal_close(&it);
}

/* A person, or an autoscaler, grows the pool by its own client. */
static void grow_as_another(struct rehearsal *it)
{
    struct error err = { 0 };
    struct provider *other = azure_provider(&it->world, &it->account, &err);
    struct provider *ours = it->provider;

    it->provider = other;
    assert_int_equal(grow_by_one(it, &azure_place), ERROR_NONE);
    it->provider = ours;
    provider_close(other);
    run_for(it, 30 * MINUTE_MS);
}

/* The order counts on from what the other writer left, and each gets its machine. */
static void another_writer_is_not_overwritten(void **state)
{
    struct rehearsal it;
    char progress[160];

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 1}}\n");
    assert_int_equal(grow(&it, &azure_place, "r-1", ""), ERROR_TRANSIENT);
    text_copy(progress, sizeof progress, it.operation);
    grow_as_another(&it);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-gpu"), 2);
    assert_int_equal(grow(&it, &azure_place, "r-1", progress), ERROR_TRANSIENT);
    assert_ptr_equal(it.err.cause, &provider_goes_on); /* plans again */
    text_copy(progress, sizeof progress, it.operation);
    assert_int_equal(grow(&it, &azure_place, "r-1", progress), ERROR_NONE);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-gpu"), 3);
    rehearsal_close(&it);
}

static void faults_have_their_kinds(void **state)
{
    static const struct {
        const char *fault;
        const char *verb;
        enum error_kind want;
        int target; /* after a repeat */
    } cases[] = {
        { "http_429", "put_pool", ERROR_THROTTLED, 2 },
        { "http_500", "put_pool", ERROR_UNKNOWN_OUTCOME, 2 },
        { "http_500_after", "put_pool", ERROR_UNKNOWN_OUTCOME, 2 },
        { "lost_answer", "put_pool", ERROR_UNKNOWN_OUTCOME, 2 },
        { "refused", "put_pool", ERROR_TRANSIENT, 2 },
        { "http_403", "put_pool", ERROR_DENIED, 2 },
        { "lost_answer", "get_pool", ERROR_TRANSIENT, 2 },
        { "http_500", "token", ERROR_TRANSIENT, 2 },
        { "lost_answer", "token", ERROR_TRANSIENT, 2 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rehearsal it;
        char progress[160] = "";

        rehearsal_open(&it, "pools: {lab-gpu: {nodes: 1}}\n");
        if (text_equal(cases[i].verb, "put_pool")) {
            assert_int_equal(grow(&it, &azure_place, "r-1", ""), ERROR_TRANSIENT);
            text_copy(progress, sizeof progress, it.operation);
        }
        simulator_fault_next(it.simulator, cases[i].fault, cases[i].verb);
        if (grow(&it, &azure_place, "r-1", progress) != cases[i].want)
            fail_msg("%s of %s: %s", cases[i].fault, cases[i].verb, it.err.text);
        for (int k = 0; k < 5 && it.err.kind != ERROR_NONE; k++) {
            run_for(&it, 30 * SECOND_MS);
            if (it.err.cause == &provider_goes_on)
                text_copy(progress, sizeof progress, it.operation);
            grow(&it, &azure_place, "r-1", progress);
        }
        assert_int_equal(it.err.kind, ERROR_NONE);
        assert_int_equal(simulator_pool_target(it.simulator, "lab-gpu"), cases[i].target);
        rehearsal_close(&it);
    }
}

/* However often it is repeated, one machine goes. */
static void a_removal_whose_answer_is_lost(void **state)
{
    static const char *const faults[] = { "lost_answer", "http_500_after", "http_500" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        struct rehearsal it;
        char name[INSTANCE_NAME_SIZE];

        rehearsal_open(&it, "pools: {lab-gpu: {nodes: 3}}\n");
        list_all(&it, &azure_place);
        text_copy(name, sizeof name, it.items[1].name);
        simulator_fault_next(it.simulator, faults[i], "delete_machines");
        assert_int_equal(take_away(&it, &azure_place, name), ERROR_UNKNOWN_OUTCOME);
        for (int k = 0; k < 50 && take_away(&it, &azure_place, name) != ERROR_NOT_FOUND; k++)
            run_for(&it, 30 * SECOND_MS);
        assert_int_equal(it.err.kind, ERROR_NOT_FOUND);
        assert_int_equal(simulator_pool_target(it.simulator, "lab-gpu"), 2);
        rehearsal_close(&it);
    }
}

/* A list that is empty by mistake frees nothing by itself: reads by name go on. */
static void an_empty_list_hides_no_machine_from_a_look(void **state)
{
    struct rehearsal it;
    char name[INSTANCE_NAME_SIZE];

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 2}}\n");
    list_all(&it, &azure_place);
    text_copy(name, sizeof name, it.items[0].name);
    simulator_fault_next(it.simulator, "empty_list", "list_machines");
    list_all(&it, &azure_place);
    assert_int_equal(it.count, 0);
    assert_true(is_there(&it, &azure_place, name));
    rehearsal_close(&it);
}

static void wrong_settings_free_no_machine(void **state)
{
    static const struct azure_place places[] = {
        { .resource_group = "other", .managed_cluster = "c", .agent_pool = "gpu" },
        { .resource_group = "rg", .managed_cluster = "other", .agent_pool = "gpu" },
        { .resource_group = "rg", .managed_cluster = "c", .agent_pool = "other" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct rehearsal it;

        rehearsal_open(&it, "pools: {lab-gpu: {nodes: 1}}\n");
        assert_int_equal(take_away(&it, &places[i], "aks-gpu-1-vmss000000"), ERROR_INVALID);
        provider_look(it.provider, azure_address(&places[i]), "aks-gpu-1-vmss000000", on_look, &it);
        assert_int_equal(answer_of(&it), ERROR_INVALID);
        rehearsal_close(&it);
    }
}

static void an_inspection_names_what_is_wrong(void **state)
{
    struct rehearsal it;
    static const char *const lines[] = {
        "2 enableAutoScaling\n",
        "2 availabilityZones\n",
        "2 scaleDownMode\n",
        "1 mode\n",
        "1 capacityReservationGroupID\n",
        "2 Microsoft.ContainerService/managedClusters/agentPools/write\n",
        "0 Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action\n",
    };

    (void)state;
    rehearsal_open(&it,
                   "pools: {lab-gpu: {nodes: 1, autoscaler: 'true', zones: '1,2', mode: System,"
                   " scale_down_mode: Deallocate, reservation: none, denied: "
                   "Microsoft.ContainerService/managedClusters/agentPools/write}}\n");
    provider_inspect(it.provider, azure_address(&azure_place), on_finding, on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NONE);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(it.found->chars, lines[i]))
            fail_msg("no %sin:\n%s", lines[i], it.found->chars);
    assert_int_equal(grow_by_one(&it, &azure_place), ERROR_INVALID);
    rehearsal_close(&it);
}

/* A pool of single virtual machines has its count elsewhere. */
static void a_pool_of_virtual_machines_grows(void **state)
{
    struct rehearsal it;

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 1, type: VirtualMachines}}\n");
    assert_int_equal(grow_by_one(&it, &azure_place), ERROR_NONE);
    run_for(&it, 30 * MINUTE_MS);
    list_all(&it, &azure_place);
    assert_int_equal(it.count, 2);
    rehearsal_close(&it);
}

/* After an hour tokens end: the next call gets another one. */
static void tokens_end(void **state)
{
    struct rehearsal it;

    (void)state;
    rehearsal_open(&it, "pools: {lab-gpu: {nodes: 1}}\n");
    list_all(&it, &azure_place);
    for (int i = 0; i < 5; i++) {
        run_for(&it, 40 * MINUTE_MS);
        list_all(&it, &azure_place);
        assert_int_equal(it.count, 1);
    }
    rehearsal_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_comes_and_goes),
        cmocka_unit_test(nodes_and_machines_have_one_id),
        cmocka_unit_test(pages_are_one_list),
        cmocka_unit_test(a_growth_that_fails_is_taken_back),
        cmocka_unit_test(a_stockout_has_its_reason),
        cmocka_unit_test(a_quota_is_refused_at_once),
        cmocka_unit_test(a_busy_cluster_refuses_all),
        cmocka_unit_test(another_writer_is_not_overwritten),
        cmocka_unit_test(faults_have_their_kinds),
        cmocka_unit_test(a_removal_whose_answer_is_lost),
        cmocka_unit_test(an_empty_list_hides_no_machine_from_a_look),
        cmocka_unit_test(wrong_settings_free_no_machine),
        cmocka_unit_test(an_inspection_names_what_is_wrong),
        cmocka_unit_test(a_pool_of_virtual_machines_grows),
        cmocka_unit_test(tokens_end),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
