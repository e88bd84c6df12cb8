/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas of several nodes in a backtest: all of their nodes are counted, and the bound knows that
 * they come in groups.
 */
#include "tests/windows/backtest_world.h"

static void node_hours_of_groups_are_those_of_nodes_times_their_size(void **state)
{
    static const int gpus[] = { 8, 16, 32 };
    double first_h[2] = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(gpus); i++) {
        struct world world;
        struct error err = { 0 };

        world_init(&world);
        world.queue.gpus = gpus[i];
        world.setup.fleet.nodes = 40 * gpus[i] / gpus[0];
        world.setup.played = 1u << POLICY_STATIC | BACKTEST_LIMIT;

        struct backtest *backtest = backtest_run(&world.setup, &err);

        if (!backtest)
            fail_msg("%s", err.text);

        double hours[2] = { backtest->limit.node_h,
                            backtest_node_hours(backtest, &backtest->rows[0].tuned) };

        for (size_t at = 0; at < 2; at++) {
            if (i == 0)
                first_h[at] = hours[at];
            if (fabs(hours[at] - first_h[at] * gpus[i] / gpus[0]) > 1e-6 * hours[at])
                fail_msg("%d GPUs, %zu: %g node-hours, %g with %d", gpus[i], at, hours[at],
                         first_h[at], gpus[0]);
        }
        assert_true(hours[0] > 0 && hours[1] >= hours[0]);
        backtest_free(backtest);
        world_clear(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_hours_of_groups_are_those_of_nodes_times_their_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
