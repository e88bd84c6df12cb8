/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clusters whose GPUs a driver of Dynamic Resource Allocation gives out: new nodes serve by their
 * slices, and what pods hold is what their claims were allocated.
 */
#include "broker/terminal/board.h"
#include "clusters/gpus.h"
#include "tests/cli/people.h"
#include "tools/simulator/kube/kube_devices.h"

static const char driver[] = "gpu.nvidia.com";

static struct rehearsal *with_driver(const char *folder, uint64_t seed)
{
    struct rehearsal *rehearsal = small_rehearsal_with(folder, seed, "",
                                                       "join: {deadline: 6m, stable: 20s}\n", "");

    sim_cluster_use_driver(rehearsal->simulator, "prod-a", driver);
    sim_cluster_use_driver(rehearsal->simulator, "research-a", driver);
    restart(rehearsal); /* as it would find such clusters at its start */
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    return rehearsal;
}

static int64_t gpus_of(struct rehearsal *rehearsal, const char *cluster, const char *node)
{
    const struct config *config = rehearsal->service->config;

    for (size_t i = 0; i < config->cluster_count; i++) {
        const struct snapshot *snapshot = fleet_snapshot(rehearsal->service->fleet,
                                                         &config->clusters[i]);

        if (text_equal(config->clusters[i].name, cluster))
            return gpus_of_node(snapshot, map_get(snapshot->nodes, node));
    }
    fail_msg("no cluster %s", cluster);
    return 0;
}

static void a_node_serves_by_its_slices(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = with_driver(folder, 51);
    const struct runner *runner = rehearsal->service->runner;

    (void)state;
    apply(rehearsal, 8, 8);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_int_equal(transfers_of(rehearsal, true), 2);
    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];

        assert_int_equal(transfer->state, TRANSFER_DONE);
        assert_int_equal(transfer->attempt, 1);
        assert_int_equal(gpus_of(rehearsal, "prod-a", transfer->new_node), 8);
    }
    assert_int_equal(rehearsal->simulator->machines_created, 2);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* Seven devices of eight: the machine is discarded, as one whose plugin shows seven. */
static void a_slice_that_lacks_a_device_keeps_its_node_from_serving(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = with_driver(folder, 52);
    const struct transfer *transfer;

    (void)state;
    simulator_fault_next(rehearsal->simulator, "one_gpu_less", NULL);
    apply(rehearsal, 7, 7);
    rehearsal_run(rehearsal, 2 * HOUR_MS);
    assert_int_equal(transfers_of(rehearsal, true), 1);
    transfer = rehearsal->service->runner->transfers.items[0];
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(transfer->attempt, 2);
    assert_int_equal(gpus_of(rehearsal, "prod-a", transfer->new_node), 8);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

enum { REFUSALS = 400 }; /* more than are asked for */

/* sluice was upgraded and its role was not: what the machine has cannot be read.  It is not thrown
   away for that, and its host not avoided; once the right is there, the node serves. */
static void a_node_whose_slices_may_not_be_read_waits_for_an_operator(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = with_driver(folder, 54);
    owned(json) json_t *hosts = NULL;
    owned(json) json_t *status = NULL;
    const struct transfer *transfer;
    const json_t *row;
    int named = 0;
    size_t i;

    (void)state;
    for (int k = 0; k < REFUSALS; k++)
        simulator_fault_next(rehearsal->simulator, "http_403", "list_slices");
    restart(rehearsal);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 7);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfers_of(rehearsal, true), 1);
    transfer = rehearsal->service->runner->transfers.items[0];
    assert_int_equal(transfer->step, STEP_JOIN);
    assert_true(transfer->needs_operator);
    assert_non_null(strstr(transfer->waiting, "Dynamic Resource Allocation cannot be read"));
    assert_int_equal(transfer->attempt, 1);
    assert_int_equal(rehearsal->simulator->machines_created, 1);
    hosts = attempts_hosts(rehearsal->service->runner->attempts, loop_wall(rehearsal->world.loop));
    assert_int_equal(json_array_size(hosts), 0);
    status = service_status(rehearsal->service);
    json_array_foreach(json_object_get(status, "clusters"), i, row)
        named += strstr(json_text_or(row, "trouble", ""), "resourceslices") != NULL;
    assert_int_equal(named, 2);
    assert_true(warns_of(rehearsal, "prod-a does not show its devices of Dynamic Resource "));

    array_clear(&rehearsal->simulator->scripted);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(gpus_of(rehearsal, "prod-a", transfer->new_node), 8);
    assert_false(warns_of(rehearsal, "Dynamic Resource"));
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* The plan's numbers are guesses where devices may not be read: it says so as the status does. */
static void a_plan_says_that_devices_may_not_be_read(void **state)
{
    static const char wants[] = "research-a does not show its devices of Dynamic Resource "
                                "Allocation: a pod with claims counts as a whole node";
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = with_driver(folder, 55);
    owned(json) json_t *sure = NULL;
    owned(json) json_t *unsure = NULL;
    owned(text) struct text *quiet = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *page = text_new(TEXT_UNBOUNDED);
    struct error err = { 0 };

    (void)state;
    sure = service_plan(rehearsal->service, NULL, &err);
    for (int k = 0; k < REFUSALS; k++)
        simulator_fault_next(rehearsal->simulator, "http_403", "list_slices");
    restart(rehearsal);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    unsure = service_plan(rehearsal->service, NULL, &err);
    assert_int_equal(json_array_size(json_object_get(unsure, "warnings")), 2);
    board_warnings(sure, quiet);
    board_warnings(unsure, page);
    assert_string_equal(quiet->chars, "");
    assert_non_null(strstr(page->chars, "warning: "));
    assert_non_null(strstr(page->chars, wants));
    assert_true(warns_of(rehearsal, wants));
}

/* Jobs come and go for hours; what the snapshot says of each is what the world gave it. */
static void a_pod_holds_what_its_claim_was_allocated(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = with_driver(folder, 53);
    int compared = 0;

    (void)state;
    for (int hour = 0; hour < 12; hour++) {
        const struct config *config = rehearsal->service->config;
        const struct kube_cluster *world = sim_cluster(rehearsal->simulator, "research-a");
        void *value;

        rehearsal_run(rehearsal, HOUR_MS);
        for (size_t c = 0; c < config->cluster_count; c++) {
            const struct snapshot *snapshot = fleet_snapshot(rehearsal->service->fleet,
                                                             &config->clusters[c]);

            for (size_t i = 0; map_next(snapshot->pods, &i, NULL, &value);) {
                const struct pod *pod = value;
                owned(chars) char *key = text_format("%s/%s", pod->namespace, pod->name);
                const struct kube_pod *real = map_get(world->pods, key);
                struct gpu_demand demand = gpus_of_pod(snapshot, pod);

                if (!real || pod->device_claims[0] == '\0' || pod->node_name[0] == '\0' ||
                    sim_pod_is_over(real))
                    continue;
                assert_false(demand.is_whole);
                assert_int_equal(demand.parts, (int64_t)real->gpus * GPU_PARTS);
                compared++;
            }
        }
    }
    assert_true(compared > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_serves_by_its_slices),
        cmocka_unit_test(a_slice_that_lacks_a_device_keeps_its_node_from_serving),
        cmocka_unit_test(a_node_whose_slices_may_not_be_read_waits_for_an_operator),
        cmocka_unit_test(a_plan_says_that_devices_may_not_be_read),
        cmocka_unit_test(a_pod_holds_what_its_claim_was_allocated),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
