/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plan does beyond its targets: it spends what is left over, keeps enough for a lost node or
 * zone, goes to another cluster where one is full; and the ways to compute it in parts.
 */
#include "tests/windows/plant.h"
#include "windows/allocation/layout.h"
#include "windows/servers/engine_lengths.h"

#include <string.h>

static const char *const three[] = { "a", "b", "c" };

/* One seed and a third of the arrivals: what is tested here is not the replay. */
static void quick_plant(struct plant *plant)
{
    plant_init(plant, three, 3);
    plant->model.seeds = 1;
    for (size_t i = 0; i < 3; i++)
        plant->queues[i].scale = 0.35;
}

static int nodes_of(const struct schedule *schedule)
{
    int sum = 0;

    for (size_t i = 0; i < schedule->nodes_count; i++)
        for (size_t zone = 0; zone < schedule->nodes[i].zone_count; zone++)
            sum += schedule->nodes[i].counts[zone];
    return sum;
}

/* The wait over the target of the queue that is worst off. */
static double thinnest(const struct plant *plant, const struct allocate_plan *plan, size_t window)
{
    double worst = 0;

    for (size_t i = 0; i < plan->queue_count; i++) {
        const struct allocate_cell *cell = &plan->cells[window * plan->queue_count + i];

        worst = fmax(worst, cell->wait_s * SECOND_MS / (double)plant->queues[i].target.wait_ms);
    }
    return worst;
}

static void a_saturated_plan_spends_every_node_on_the_thinnest_cushion(void **state)
{
    struct plant plant;

    (void)state;
    quick_plant(&plant);

    owned(allocate_plan) struct allocate_plan *lean = plan_of(&plant);

    plant.model.is_saturated = true;

    owned(allocate_plan) struct allocate_plan *full = plan_of(&plant);

    assert_true(full->is_feasible);
    for (size_t window = 0; window < full->window_count; window++) {
        assert_true(nodes_of(lean->schedules[window]) < 120);
        assert_int_equal(nodes_of(full->schedules[window]), 120);
        assert_true(thinnest(&plant, full, window) < thinnest(&plant, lean, window));
        for (size_t i = 0; i < 3; i++) {
            const struct allocate_cell *cell = &full->cells[window * 3 + i];

            assert_true(cell->granted > cell->needed);
            assert_int_equal(cell->needed, lean->cells[window * 3 + i].granted);
        }
    }
    plant_clear(&plant);
}

/* One node more: what it holds goes to the queue that was worst off, and no queue is worse off. */
static void the_first_to_get_more_is_the_thinnest(void **state)
{
    struct plant plant;

    (void)state;
    quick_plant(&plant);
    plant.model.window_first = 1;
    plant.model.window_end = 2;

    owned(allocate_plan) struct allocate_plan *lean = plan_of(&plant);
    int nodes = nodes_of(lean->schedules[1]);

    plant.reservation_nodes[0] = (nodes + 1) / 2;
    plant.reservation_nodes[1] = nodes + 1 - plant.reservation_nodes[0];
    plant.model.is_saturated = true;

    owned(allocate_plan) struct allocate_plan *more = plan_of(&plant);
    size_t worst = 0;
    bool is_worst_helped = false;

    for (size_t i = 0; i < 3; i++) {
        if (lean->cells[3 + i].wait_s > lean->cells[3 + worst].wait_s)
            worst = i;
        assert_true(more->cells[3 + i].granted >= lean->cells[3 + i].granted);
    }
    is_worst_helped = more->cells[3 + worst].granted > lean->cells[3 + worst].granted;
    assert_true(is_worst_helped);
    assert_true(thinnest(&plant, more, 1) <= thinnest(&plant, lean, 1));
    assert_null(more->schedules[0]);
    plant_clear(&plant);
}

/* Both end a request in 20 s of a server that is full; the second serves sixteen at once.  Where
   no request waits, what is left over goes by how full replicas are, not by what runs in them. */
static void replicas_that_serve_many_at_once_are_no_thinner_for_it(void **state)
{
    struct plant plant;
    struct service_shape *shape = service_shape_new(SERVICE_EXPONENTIAL, 320, 1, "test");

    (void)state;
    plant_init(&plant, three, 2);
    service_shape_set_slots(shape, 16, ENGINE_CENTRAL);
    plant.queues[1] = plant.queues[0];
    plant.queues[1].name = three[1];
    plant.queues[1].shape = shape;
    for (size_t i = 0; i < 2; i++)
        plant.queues[i].scale = 0.1;
    plant.model.is_estimate = true;
    plant.model.is_saturated = true;

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    for (size_t window = 0; window < plan->window_count; window++) {
        const struct allocate_cell *cells = &plan->cells[window * 2];

        if (10 * abs(cells[0].granted - cells[1].granted) > cells[0].granted)
            fail_msg("%d and %d replicas", cells[0].granted, cells[1].granted);
    }
    service_shape_free(shape);
    plant_clear(&plant);
}

/* Two queues of engines that have to give tokens in 0.2 s and in 0.13 s, and two thirds of what
   this takes: what is given goes by how late both are. */
static void scarce_nodes_go_to_tokens_that_are_late(void **state)
{
    const struct engine_law law = { .slots = 16, .iteration_s = 0.1, .per_request_s = 0.01 };
    struct service_shape *shape = service_shape_of_engine(
        engine_new_by_law(&law, &(struct engine_tokens){ 0, 400, 1, 0 }), "test", NULL);
    struct plant plant;

    (void)state;
    plant_init(&plant, three, 2);
    for (size_t i = 0; i < 2; i++) {
        plant.queues[i].demand = plant.queues[0].demand;
        plant.queues[i].shape = shape;
        plant.queues[i].scale = 5;
        plant.queues[i].target.itl = (struct replay_limit){ i == 0 ? 0.2 : 0.13, 90 };
    }
    plant.model.is_estimate = true;
    plant.model.window_first = 1;
    plant.model.window_end = 2;

    owned(allocate_plan) struct allocate_plan *plenty = plan_of(&plant);
    const struct allocate_cell *wants = &plenty->cells[2];

    plant.reservation_nodes[0] = plant.reservation_nodes[1] =
        (wants[0].granted + wants[1].granted) / 12;

    owned(allocate_plan) struct allocate_plan *scarce = plan_of(&plant);
    const struct allocate_cell *cells = &scarce->cells[2];

    assert_true(plenty->is_feasible && !scarce->is_feasible);
    if (3 * cells[1].granted < 4 * cells[0].granted)
        fail_msg("%d of %d and %d of %d replicas", cells[0].granted, wants[0].granted,
                 cells[1].granted, wants[1].granted);
    service_shape_free(shape);
    plant_clear(&plant);
}

static void what_a_lost_node_leaves_is_enough(void **state)
{
    struct plant plant;

    (void)state;
    quick_plant(&plant);
    plant.queues[1].scale = 1;

    owned(allocate_plan) struct allocate_plan *before = plan_of(&plant);

    plant.queues[1].survives_node = true;

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    assert_true(plan->is_feasible);
    for (size_t window = 0; window < plan->window_count; window++) {
        const struct allocate_cell *cell = &plan->cells[window * 3 + 1];

        assert_int_equal(cell->lost, 4); /* 8 GPUs of 2 */
        assert_true(cell->degraded > 0 && cell->degraded <= cell->search.servers);
        assert_true(cell->granted - 4 >= cell->degraded);
        assert_int_equal(cell->granted, cell->degraded + 4 > cell->search.servers
                                            ? cell->degraded + 4
                                            : cell->search.servers);
        for (size_t i = 0; i < 3; i += 2)
            assert_int_equal(plan->cells[window * 3 + i].granted,
                             before->cells[window * 3 + i].granted);
    }
    plant_clear(&plant);
}

static void what_a_lost_zone_leaves_is_enough_in_the_worst_zone(void **state)
{
    struct plant plant;

    (void)state;
    quick_plant(&plant);
    for (size_t i = 0; i < 3; i++)
        plant.queues[i].survives_zone = true;

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    assert_true(plan->is_feasible);
    for (size_t window = 0; window < plan->window_count; window++)
        for (size_t i = 0; i < 3; i++) {
            const struct allocate_cell *cell = &plan->cells[window * 3 + i];
            const struct schedule *schedule = plan->schedules[window];

            for (size_t zone = 0; zone < 2; zone++) {
                int left = 0;

                for (size_t at = 0; at < 2; at++) {
                    const char *name = plant.clusters[at].name;
                    int replicas = schedule_replicas_of(schedule, plant.workloads[i].name, name);
                    int gone = schedule_nodes_of(schedule, "h100", "r1", name, zone);
                    int stays = schedule_nodes_of(schedule, "h100", "r1", name, 1 - zone);

                    left += replicas * stays / (stays + gone);
                }
                assert_true(left >= cell->degraded);
            }
            assert_true(cell->lost * 2 >= cell->granted);
        }
    plant_clear(&plant);
}

static void a_queue_that_stands_in_one_zone_cannot_survive_it(void **state)
{
    struct plant plant;

    (void)state;
    quick_plant(&plant);
    for (size_t i = 0; i < 4; i++)
        plant.pools[i].zone_name = "z1";
    plant.queues[2].survives_zone = true;

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    assert_false(plan->is_feasible);
    for (size_t window = 0; window < plan->window_count; window++) {
        const struct allocate_cell *cell = &plan->cells[window * 3 + 2];

        assert_int_equal(cell->lost, cell->granted);
        assert_int_equal(cell->granted, cell->search.servers); /* more would not help */
        assert_int_equal(plan->missing_nodes[window], 0);
    }
    plant_clear(&plant);
}

static int most_in_zone(const struct allocate_plan *plan, size_t zone)
{
    int most = 0;

    for (size_t window = 0; window < plan->window_count; window++) {
        const struct schedule *schedule = plan->schedules[window];
        int sum = 0;

        for (size_t i = 0; i < schedule->nodes_count; i++)
            sum += schedule->nodes[i].counts[zone];
        most = sum > most ? sum : most;
    }
    return most;
}

/* All that is left over is in one zone: to spend it would put most nodes of a cluster there. */
static void a_saturated_plan_keeps_what_has_to_survive_a_zone_and_says_so(void **state)
{
    struct plant plant;
    int withheld = 0;

    (void)state;
    quick_plant(&plant);
    plant.queues[0].survives_zone = true;

    owned(allocate_plan) struct allocate_plan *lean = plan_of(&plant);

    plant.model.is_saturated = true;
    plant.reservation_nodes[0] = most_in_zone(lean, 0);
    plant.reservation_nodes[1] = most_in_zone(lean, 1) + 8;

    owned(allocate_plan) struct allocate_plan *full = plan_of(&plant);

    assert_true(full->is_feasible);
    for (size_t window = 0; window < full->window_count; window++) {
        const struct allocate_cell *cell = &full->cells[window * 3];

        assert_true(allocate_is_met(cell));
        assert_false(lean->is_withheld[window]);
        if (!full->is_withheld[window])
            continue;
        withheld++;
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(full->cells[window * 3 + i].granted,
                             full->cells[window * 3 + i].needed);
    }
    assert_true(withheld > 0);
    plant_clear(&plant);
}

/* However many wait: no queue gives what it needs, or what it has to keep after a loss. */
static void those_who_wait_come_after_targets_and_losses(void **state)
{
    static const double waiting[] = { 100, 1000, 20000, 1e9 };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(waiting); row++) {
        struct plant plant;
        int more = 0;

        quick_plant(&plant);
        plant.queues[0].survives_zone = true;
        plant.queues[1].survives_zone = true;

        owned(allocate_plan) struct allocate_plan *lean = plan_of(&plant);

        plant.queues[0].waiting = waiting[row];
        plant.queues[2].waiting = waiting[row] / 2;

        owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

        assert_true(lean->is_feasible && plan->is_feasible);
        for (size_t i = 0; i < plan->window_count * plan->queue_count; i++) {
            const struct allocate_cell *cell = &plan->cells[i];

            assert_true(allocate_is_met(cell));
            assert_int_equal(cell->needed, lean->cells[i].needed);
            assert_true(cell->granted >= cell->needed);
            assert_true(cell->granted <= cell->needed + cell->catch_up);
            assert_true(i % 3 != 1 || cell->catch_up == 0);
            more += cell->granted - cell->needed;
        }
        assert_true(more > 0);
        plant_clear(&plant);
    }
}

static void a_full_cluster_leaves_the_rest_to_the_other(void **state)
{
    struct plant plant;

    (void)state;
    quick_plant(&plant);
    plant.place_pools[2].cap = 2; /* prod-b */
    plant.place_pools[3].cap = 2;

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    assert_true(plan->is_feasible);
    for (size_t window = 0; window < plan->window_count; window++)
        for (size_t i = 0; i < 3; i++) {
            const struct allocate_cell *cell = &plan->cells[window * 3 + i];
            const char *name = plant.workloads[i].name;

            assert_int_equal(cell->granted, cell->search.servers);
            assert_int_equal(schedule_replicas_of(plan->schedules[window], name, "prod-a") +
                                 schedule_replicas_of(plan->schedules[window], name, "prod-b"),
                             cell->granted);
        }
    plant_clear(&plant);
}

static void parts_in_any_order_are_the_whole(void **state)
{
    static const size_t order[] = { 4, 0, 6, 2, 4, 7, 1, 5, 3 };
    struct plant plant;
    struct error err = { 0 };

    (void)state;
    quick_plant(&plant);
    plant.queues[0].survives_node = true;

    owned(allocate_plan) struct allocate_plan *whole = plan_of(&plant);
    owned(allocate_plan) struct allocate_plan *joined = allocate_plan_new(&plant.model);

    for (size_t i = 0; i < COUNT_OF(order); i++) {
        owned(allocate_plan) struct allocate_plan *part = allocate_plan_new(&plant.model);

        assert_int_equal(allocate_search(&plant.model, part, order[i], 8, &err), 0);
        for (size_t at = 0; at < 15; at++)
            if (part->cells[at].is_known) {
                assert_int_equal(allocate_part(at / 3, at % 3, 8), order[i]);
                joined->cells[at] = part->cells[at];
            }
    }
    assert_int_equal(allocate_fill(&plant.model, joined, &err), 0);

    owned(chars) char *left = all_schedules(whole);
    owned(chars) char *right = all_schedules(joined);

    assert_string_equal(left, right);
    plant_clear(&plant);
}

static void an_estimated_plan_is_near_the_replayed_one(void **state)
{
    struct plant plant;

    (void)state;
    quick_plant(&plant);
    plant.queues[0].survives_node = true;

    owned(allocate_plan) struct allocate_plan *exact = plan_of(&plant);

    plant.model.is_estimate = true;

    owned(allocate_plan) struct allocate_plan *quick = plan_of(&plant);

    for (size_t i = 0; i < 15; i++) {
        const struct allocate_cell *left = &exact->cells[i];
        const struct allocate_cell *right = &quick->cells[i];

        assert_true(abs(left->search.servers - right->search.servers) * 100 <=
                    15 * left->search.servers);
        assert_true(right->wait_s >= 0 && right->wait_s <= 30);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            assert_true(llabs(left->search.requests[class] - right->search.requests[class]) * 100 <=
                        left->search.requests[class]);
        assert_int_equal(right->search.worst_seed, -1);
        assert_true((left->degraded > 0) == (right->degraded > 0));
    }
    plant_clear(&plant);
}

static void nodes_are_explained_by_what_stands_on_them(void **state)
{
    struct plant plant;

    (void)state;
    quick_plant(&plant);

    owned(allocate_plan) struct allocate_plan *plan = plan_of(&plant);

    for (size_t window = 0; window < plan->window_count; window++) {
        int nodes = 0;

        for (size_t i = 0; i < 2; i++) {
            const struct allocate_need *need = &plan->needs[window * 2 + i];

            assert_int_equal(need->packed, (need->gpus + 7) / 8);
            assert_int_equal(need->nodes, need->packed + 1);
            nodes += need->nodes;
        }
        assert_int_equal(nodes, nodes_of(plan->schedules[window]));
    }
    plant_clear(&plant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saturated_plan_spends_every_node_on_the_thinnest_cushion),
        cmocka_unit_test(the_first_to_get_more_is_the_thinnest),
        cmocka_unit_test(replicas_that_serve_many_at_once_are_no_thinner_for_it),
        cmocka_unit_test(scarce_nodes_go_to_tokens_that_are_late),
        cmocka_unit_test(what_a_lost_node_leaves_is_enough),
        cmocka_unit_test(what_a_lost_zone_leaves_is_enough_in_the_worst_zone),
        cmocka_unit_test(a_queue_that_stands_in_one_zone_cannot_survive_it),
        cmocka_unit_test(a_saturated_plan_keeps_what_has_to_survive_a_zone_and_says_so),
        cmocka_unit_test(those_who_wait_come_after_targets_and_losses),
        cmocka_unit_test(a_full_cluster_leaves_the_rest_to_the_other),
        cmocka_unit_test(parts_in_any_order_are_the_whole),
        cmocka_unit_test(an_estimated_plan_is_near_the_replayed_one),
        cmocka_unit_test(nodes_are_explained_by_what_stands_on_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
