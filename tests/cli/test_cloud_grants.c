/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An account that has only the generated policy can do everything: nodes move, and orders that do
 * not come are taken back.  Without the one action that removes or adds a machine no node arrives.
 */
#include "tests/cli/clouds.h"
#include "tests/cli/dying.h"
#include "tests/cli/grants.h"

static struct rehearsal *reclaim_with(const char *folder, const struct test_cloud *cloud,
                                      const char *more)
{
    owned(chars) char *world = text_format("seed: 11\n%s%s", small_machines, more);
    owned(chars) char *config = cloud_config(cloud);
    struct rehearsal *rehearsal;
    json_t *answer;

    cloud_write_accounts(folder);
    rehearsal = world_start(folder, config, world, 6, 11);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, NODES);
    json_decref(answer);
    return rehearsal;
}

static bool is_at_rest(struct rehearsal *rehearsal)
{
    return transfers_of(rehearsal, false) == 0 && nodes_of(rehearsal, "prod-a-east") == 6 + NODES;
}

static void move_with(const struct test_cloud *cloud, const char *grants, const char *faults)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *more = text_format("%s%s", grants, faults);
    owned(rehearsal) struct rehearsal *rehearsal = reclaim_with(folder, cloud, more);

    print_message("%s, %s\n", cloud->name, faults);
    for (int64_t ms = 0; ms < 3 * HOUR_MS && !is_at_rest(rehearsal); ms += MINUTE_MS)
        rehearsal_run(rehearsal, MINUTE_MS);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    expect_rest(rehearsal, 6 + NODES);
    expect_tidy(rehearsal);
}

static void the_policy_is_enough(void **state)
{
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(test_clouds); i++) {
        owned(chars) char *grants = grants_of(provider_kind_find(test_clouds[i].kind), "");

        if (!grants)
            continue;
        move_with(&test_clouds[i], grants, "");
        move_with(&test_clouds[i], grants, "faults: {stockout: 0.3}\n");
        count++;
    }
    /* Cluster API has a ClusterRole, and machines of one's own have users. */
    assert_int_equal(count, COUNT_OF(test_clouds) - 2);
}

static void expect_no_move(const struct test_cloud *cloud, const char *action)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *grants = grants_of(provider_kind_find(cloud->kind), action);
    owned(rehearsal) struct rehearsal *rehearsal = reclaim_with(folder, cloud, grants);

    print_message("%s without %s\n", cloud->name, action);
    assert_null(strstr(grants, action));
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 6);
}

/* So that an account which may do everything could not pass. */
static void without_one_change_no_node_arrives(void **state)
{
    static const struct {
        const char *cloud;
        const char *action;
    } needed[] = {
        { "google", "compute.instanceGroupManagers.update" },
        { "aws by launch", "autoscaling:LaunchInstances" },
        { "aws by launch", "autoscaling:TerminateInstanceInAutoScalingGroup" },
        { "aws by number", "autoscaling:SetDesiredCapacity" },
        { "azure", "Microsoft.ContainerService/managedClusters/agentPools/write" },
        { "azure", "Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action" },
        { "oracle", "manage cluster-node-pools" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(needed); i++)
        expect_no_move(cloud_of(needed[i].cloud), needed[i].action);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_policy_is_enough),
        cmocka_unit_test(without_one_change_no_node_arrives),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
