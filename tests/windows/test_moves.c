/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cheapest moves against every plan there is on small weeks, and against the plain quadratic
 * recursion on long ones.
 */
#include "base/random.h"
#include "tests/support/unit.h"
#include "tests/windows/paths.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { SMALL_SLOTS = 6, SMALL_NODES = 4, LONG_SLOTS = 200, LONG_NODES = 40 };

static struct moves_cost random_cost(struct random *random, int nodes_max)
{
    return (struct moves_cost){ .nodes_max = nodes_max,
                                .slot_h = 1.0 / 12,
                                .up_h = random_between(random, 0, 0.3),
                                .down_h = random_between(random, 0, 0.3) };
}

/* The least over all plans. */
static double least_of_all(const int *need, size_t slots, const struct moves_cost *cost)
{
    double least = INFINITY;
    int plans = 1;

    for (size_t i = 0; i < slots; i++)
        plans *= cost->nodes_max + 1;
    for (int plan = 0; plan < plans; plan++) {
        int nodes[SMALL_SLOTS];
        bool is_valid = true;

        for (size_t i = 0, rest = (size_t)plan; i < slots; i++) {
            nodes[i] = (int)(rest % (size_t)(cost->nodes_max + 1));
            rest /= (size_t)(cost->nodes_max + 1);
            is_valid = is_valid && nodes[i] >= need[i];
        }
        if (is_valid)
            least = fmin(least, path_cost(nodes, slots, cost));
    }
    return least;
}

static void small_weeks_cost_what_the_best_of_all_plans_costs(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 1);
    for (int trial = 0; trial < 300; trial++) {
        struct moves_cost cost = random_cost(&random, 1 + (int)random_below(&random, SMALL_NODES));
        size_t slots = 1 + random_below(&random, SMALL_SLOTS);
        int need[SMALL_SLOTS];
        int nodes[SMALL_SLOTS];

        for (size_t i = 0; i < slots; i++)
            need[i] = (int)random_below(&random, (uint64_t)cost.nodes_max + 1);

        double best = path_best(need, slots, &cost, nodes);

        assert_true(fabs(best - least_of_all(need, slots, &cost)) < 1e-9);
        assert_true(fabs(best - path_cost(nodes, slots, &cost)) < 1e-9);
        for (size_t i = 0; i < slots; i++)
            assert_true(nodes[i] >= need[i] && nodes[i] <= cost.nodes_max);
    }
}

/* O(slots nodes^2), over costs that a stage may have. */
static double plain(const double *stages, size_t slots, const struct moves_cost *cost)
{
    double least[LONG_NODES + 1] = { 0 };
    double best = INFINITY;

    for (size_t slot = 0; slot < slots; slot++) {
        double next[LONG_NODES + 1];

        for (int n = 0; n <= cost->nodes_max; n++) {
            next[n] = slot == 0 ? 0 : INFINITY;
            for (int from = 0; slot > 0 && from <= cost->nodes_max; from++)
                next[n] = fmin(next[n], least[from] + (n > from ? (n - from) * cost->up_h
                                                                : (from - n) * cost->down_h));
            next[n] += stages[slot * (size_t)(cost->nodes_max + 1) + (size_t)n];
        }
        memcpy(least, next, sizeof least);
    }
    for (int n = 0; n <= cost->nodes_max; n++)
        best = fmin(best, least[n]);
    return best;
}

static void long_weeks_cost_what_the_plain_recursion_says(void **state)
{
    static double stages[LONG_SLOTS * (LONG_NODES + 1)];
    struct random random;

    (void)state;
    random_seed(&random, 2);
    for (int trial = 0; trial < 40; trial++) {
        struct moves_cost cost = random_cost(&random, LONG_NODES);
        int need[LONG_SLOTS];
        int nodes[LONG_SLOTS];

        for (size_t i = 0; i < LONG_SLOTS; i++) {
            need[i] = (int)random_below(&random, LONG_NODES + 1);
            for (int n = 0; n <= LONG_NODES; n++)
                stages[i * (LONG_NODES + 1) + (size_t)n] = n < need[i] ? INFINITY : n * cost.slot_h;
        }
        assert_true(fabs(path_best(need, LONG_SLOTS, &cost, nodes) -
                         plain(stages, LONG_SLOTS, &cost)) < 1e-6);
        assert_true(fabs(path_cost(nodes, LONG_SLOTS, &cost) - plain(stages, LONG_SLOTS, &cost)) <
                    1e-6);
        for (size_t i = 0; i < COUNT_OF(stages); i++)
            stages[i] = random_below(&random, 10) == 0 ? INFINITY : random_unit(&random);
        cost.down_h = -cost.down_h;
        assert_true(fabs(moves_staged(stages, LONG_SLOTS, &cost, NULL) -
                         plain(stages, LONG_SLOTS, &cost)) < 1e-6);
    }
}

static void a_short_gap_is_not_worth_a_release(void **state)
{
    struct moves_cost cost = { .nodes_max = 10, .slot_h = 1.0 / 12, .up_h = 0.5, .down_h = 0.25 };
    int need[20];
    int nodes[20];

    (void)state;
    for (int gap = 1; gap < 18; gap++) {
        bool is_released = gap > 9; /* 0.75 hours of a node */

        for (int i = 0; i < 20; i++)
            need[i] = i > 0 && i <= gap ? 0 : 4;
        if (gap == 9)
            continue; /* either */
        path_best(need, 20, &cost, nodes);
        assert_int_equal(nodes[1], is_released ? 0 : 4);
    }
}

static void more_than_there_is_costs_without_end(void **state)
{
    struct moves_cost cost = { .nodes_max = 3, .slot_h = 1, .up_h = 1, .down_h = 1 };
    int need[] = { 1, 4, 1 };
    int nodes[] = { -1, -1, -1 };

    (void)state;
    assert_true(isinf(path_best(need, 3, &cost, nodes)));
    assert_int_equal(nodes[0], -1);
}

/* Nodes in groups: whatever the moves cost or bring, no path of single nodes is cheaper. */
static void groups_of_nodes_cost_no_more_than_any_path(void **state)
{
    static const int levels[] = { 0, 1, 3, 4 };
    struct random random;
    double grouped = 0;
    double single = 0;

    (void)state;
    random_seed(&random, 9);
    for (int trial = 0; trial < 600; trial++) {
        struct moves_cost cost = random_cost(&random, 4);
        size_t slots = 1 + random_below(&random, trial % 4 < 2 ? 3 : LONG_SLOTS);
        double *stages = mem_new_array(slots * 5, sizeof *stages);
        double *least = mem_new_array(slots * 4, sizeof *least);
        int need = 0; /* that changes rarely, so that moves are what counts */

        if (trial % 3 == 0)
            cost.up_h *= -0.1;
        if (trial % 3 == 1)
            cost.down_h *= -0.1;
        for (size_t slot = 0; slot < slots; slot++) {
            need = random_below(&random, 3) == 0 ? (int)random_below(&random, 5) : need;
            for (int level = 0, n = 0; level < 4; level++)
                for (least[slot * 4 + (size_t)level] = INFINITY; n <= levels[level]; n++) {
                    double *stage = &stages[slot * 5 + (size_t)n];
                    double *group = &least[slot * 4 + (size_t)level];

                    *stage = trial % 2  ? random_between(&random, 0, 1)
                             : n < need ? 100
                                        : n * cost.slot_h;
                    *group = fmin(*group, *stage);
                }
        }

        double exact = moves_staged(stages, slots, &cost, NULL);

        cost.levels = levels;
        cost.nodes_max = 3;

        double bound = moves_staged(least, slots, &cost, NULL);

        assert_true(bound <= exact + 1e-9);
        grouped += bound;
        single += exact;
        mem_free(stages);
        mem_free(least);
    }
    assert_true(grouped > 0.5 * single);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_weeks_cost_what_the_best_of_all_plans_costs),
        cmocka_unit_test(long_weeks_cost_what_the_plain_recursion_says),
        cmocka_unit_test(a_short_gap_is_not_worth_a_release),
        cmocka_unit_test(more_than_there_is_costs_without_end),
        cmocka_unit_test(groups_of_nodes_cost_no_more_than_any_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
