/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas larger than a node: planned and placed in whole groups, a lost node costs a whole one.
 */
#include "tests/windows/plant.h"
#include "windows/allocation/layout.h"

enum { NODE_GPUS = 8, LARGE = 0, SMALL = 1 };

static const char *const two[] = { "large", "small" };

/* One queue's replicas take two nodes each, those of the other a quarter of one. */
static void group_plant(struct plant *plant)
{
    plant_init(plant, two, 2);
    plant->model.seeds = 1;
    for (size_t i = 0; i < 2; i++)
        plant->queues[i].scale = 0.35;
    plant->workloads[LARGE].gpus = 2 * NODE_GPUS;
    for (size_t i = 0; i < 4; i++)
        plant->place_pools[i].group = 2;
}

/* Returns how many nodes only fill a group. */
static int expect_whole_groups(int repack)
{
    struct plant plant;
    int rests = 0;

    group_plant(&plant);
    plant.model.repack_nodes = repack;

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    assert_true(plan->is_feasible);
    for (size_t window = 0; window < plan->window_count; window++)
        for (size_t i = 0; i < 2; i++) {
            const struct schedule *schedule = plan->schedules[window];
            const struct allocate_need *need = &plan->needs[window * 2 + i];
            const char *cluster = plant.clusters[i].name;
            int large = schedule_replicas_of(schedule, "task-w", cluster);
            int small = schedule_replicas_of(schedule, "task-x", cluster);
            int sum = 0;

            for (size_t zone = 0; zone < 2; zone++) {
                int nodes = schedule_nodes_of(schedule, "h100", "r1", cluster, zone);

                if (nodes % 2 != 0)
                    fail_msg("window %zu: %s has %d nodes in zone %zu", window, cluster, nodes,
                             zone);
                sum += nodes;
            }
            assert_true(large > 0);
            assert_int_equal(need->gpus, 16 * large + 2 * small);
            assert_int_equal(need->packed, 2 * large + (small + 3) / 4);
            assert_int_equal(need->nodes, need->packed + need->repack + need->rest);
            assert_in_range(need->rest, 0, 1);
            assert_int_equal(sum, need->nodes);
            rests += need->rest;
        }
    plant_clear(&plant);
    return rests;
}

static void a_plan_has_whole_groups_in_each_zone(void **state)
{
    (void)state;
    assert_true(expect_whole_groups(0) + expect_whole_groups(1) > 0);
}

/* A node takes with it the replica that it is a part of. */
static void a_lost_node_costs_a_whole_replica(void **state)
{
    static const struct {
        int gpus;
        int lost;
    } cases[] = { { 2, 4 }, { 8, 1 }, { 16, 1 }, { 32, 1 } };
    struct plant plant;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct layout layout;

        group_plant(&plant);
        plant.workloads[LARGE].gpus = cases[i].gpus;
        plant.shares[0].replica_min = 0;
        layout_init(&layout, &plant.model);
        layout_split(&layout, LARGE, 9);
        if (layout_lost_with_node(&layout, LARGE) != cases[i].lost)
            fail_msg("%d GPUs: %d are lost", cases[i].gpus, layout_lost_with_node(&layout, LARGE));
        layout_split(&layout, LARGE, 0);
        assert_int_equal(layout_lost_with_node(&layout, LARGE), 0);
        layout_clear(&layout);
        plant_clear(&plant);
    }
}

static void a_queue_that_survives_a_node_has_one_replica_more(void **state)
{
    struct plant plant;

    (void)state;
    group_plant(&plant);
    plant.queues[LARGE].survives_node = true;

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    assert_true(plan->is_feasible);
    for (size_t window = 0; window < plan->window_count; window++) {
        const struct allocate_cell *cell = &plan->cells[window * 2 + LARGE];

        assert_int_equal(cell->lost, 1);
        assert_true(cell->granted - cell->lost >= cell->degraded);
    }
    plant_clear(&plant);
}

/* Where nodes are short, an odd one is no room for a replica. */
static void an_odd_node_is_no_room(void **state)
{
    struct plant plant;
    struct layout layout;
    int added = 0;

    (void)state;
    group_plant(&plant);
    plant.model.repack_nodes = 0;
    plant.clusters[0].static_nodes = plant.place_pools[0].floor = 0;
    plant.reservation_nodes[0] = 5;
    plant.reservation_nodes[1] = 3;
    layout_init(&layout, &plant.model);
    assert_int_equal(layout_place(&layout), 0);
    while (layout_add(&layout, LARGE))
        added++;
    assert_int_equal(added, 3);
    assert_int_equal(layout.nodes[0] + layout.nodes[2], 4);
    assert_int_equal(layout.nodes[1] + layout.nodes[3], 2);
    layout_clear(&layout);
    plant_clear(&plant);
}

/* Two static nodes in two zones are no group, though their number is one. */
static void static_nodes_apart_are_no_group(void **state)
{
    struct plant plant;
    struct layout layout;

    (void)state;
    group_plant(&plant);
    plant.model.repack_nodes = 0;
    plant.place_pools[1].floor = 1;
    plant.clusters[0].static_nodes = 2;
    plant.workloads[LARGE].share_count = 1;
    layout_init(&layout, &plant.model);
    assert_int_equal(layout_place(&layout), 0);
    assert_true(layout_add(&layout, LARGE));
    assert_int_equal(layout.nodes[0] + layout.nodes[1], 3);
    assert_true(layout.nodes[0] == 2 || layout.nodes[1] == 2);
    layout_clear(&layout);
    plant_clear(&plant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_has_whole_groups_in_each_zone),
        cmocka_unit_test(a_lost_node_costs_a_whole_replica),
        cmocka_unit_test(a_queue_that_survives_a_node_has_one_replica_more),
        cmocka_unit_test(an_odd_node_is_no_room),
        cmocka_unit_test(static_nodes_apart_are_no_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
