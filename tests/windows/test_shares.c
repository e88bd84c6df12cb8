/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Misses shared out among cells, against every way to share them.
 */
#include "base/memory.h"
#include "base/random.h"
#include "tests/support/unit.h"
#include "windows/forecast/shares.h"

#include <math.h>

enum { CELLS = 3, TRIALS = 60 };

/* Bounds that rise in steps of any size, on one to five days. */
static void cell_init(struct shares_cell *cell, struct random *random)
{
    double bound = random_between(random, 1, 50);

    *cell = (struct shares_cell){ .cost = random_between(random, 0.1, 10),
                                  .days = 1 + (double)random_below(random, 5) };
    for (size_t share = 0; share < SHARES; share++) {
        cell->bounds[share] = bound;
        cell->misses[share] = cell->days * shares_grid[share];
        bound += random_below(random, 4) == 0 ? 0 : exp(random_between(random, -3, 4));
    }
}

struct outcome {
    double cost;
    double misses;
};

static struct outcome outcome_of(const struct shares_cell *cells, const size_t *shares)
{
    struct outcome outcome = { 0, 0 };

    for (size_t i = 0; i < CELLS; i++) {
        outcome.cost += cells[i].cost * cells[i].bounds[shares[i]];
        outcome.misses += cells[i].misses[shares[i]];
    }
    return outcome;
}

static void no_other_way_misses_as_little_for_less(void **state)
{
    struct random random;
    int bolder = 0;

    (void)state;
    random_seed(&random, 3);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct shares_cell cells[CELLS];
        double allowed = random_between(&random, 0.01, 0.3);
        double days = 0;
        size_t chosen[CELLS];
        size_t other[CELLS];

        for (size_t i = 0; i < CELLS; i++) {
            cell_init(&cells[i], &random);
            days += cells[i].days;
        }
        shares_choose(cells, CELLS, allowed, chosen);

        struct outcome best = outcome_of(cells, chosen);

        assert_true(best.misses <= allowed * days);
        bolder += chosen[0] != chosen[1] || chosen[1] != chosen[2];
        for (size_t way = 0; way < SHARES * SHARES * SHARES; way++) {
            other[0] = way % SHARES;
            other[1] = way / SHARES % SHARES;
            other[2] = way / SHARES / SHARES;

            struct outcome outcome = outcome_of(cells, other);

            if (outcome.misses <= best.misses && outcome.cost < best.cost - 1e-6 * best.cost)
                fail_msg("trial %d: %g instead of %g", trial, outcome.cost, best.cost);
        }
    }
    assert_true(bolder > TRIALS / 2);
}

static void where_too_many_miss_all_are_as_safe_as_can_be(void **state)
{
    struct random random;
    struct shares_cell cells[CELLS];
    size_t chosen[CELLS];

    (void)state;
    random_seed(&random, 4);
    for (size_t i = 0; i < CELLS; i++)
        cell_init(&cells[i], &random);
    shares_choose(cells, CELLS, 0.001, chosen);
    for (size_t i = 0; i < CELLS; i++)
        assert_true(cells[i].bounds[chosen[i]] >= cells[i].bounds[SHARES - 1]);
    shares_choose(cells, 0, 0.1, chosen);
}

/* The price of a miss has the size of the cells' cost: a large fleet's is as good as a small one's.
 */
static void any_fleet_stays_within_what_is_allowed(void **state)
{
    static const double costs[] = { 1e-6, 1, 1e6, 1e12 };

    (void)state;
    for (size_t at = 0; at < COUNT_OF(costs) * 10; at++) {
        struct shares_cell cells[CELLS];
        double allowed = 0.01 * (double)(1 + at % 10);
        size_t chosen[CELLS];

        for (size_t i = 0; i < CELLS; i++) {
            cells[i] = (struct shares_cell){ .cost = costs[at / 10], .days = 7 };
            for (size_t share = 0; share < SHARES; share++) {
                cells[i].bounds[share] = 1000 + 60 * (double)(share * (i + 1));
                cells[i].misses[share] = 7 * shares_grid[share];
            }
        }
        shares_choose(cells, CELLS, allowed, chosen);
        assert_true(outcome_of(cells, chosen).misses <= allowed * 7 * CELLS);
    }
}

static void between_two_bounds_the_share_is_between_theirs(void **state)
{
    double bounds[SHARES];

    (void)state;
    for (size_t share = 0; share < SHARES; share++)
        bounds[share] = 10 + (double)share;
    assert_true(shares_beyond(bounds, 9.9) >= 1);
    assert_true(fabs(shares_beyond(bounds, 10) - shares_grid[0]) < 1e-12);
    assert_true(fabs(shares_beyond(bounds, 12.5) - (shares_grid[2] + shares_grid[3]) / 2) < 1e-12);
    assert_true(fabs(shares_beyond(bounds, 1000) - shares_grid[SHARES - 1]) < 1e-12);
    bounds[1] = bounds[0];
    assert_true(fabs(shares_beyond(bounds, 10) - shares_grid[1]) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_way_misses_as_little_for_less),
        cmocka_unit_test(where_too_many_miss_all_are_as_safe_as_can_be),
        cmocka_unit_test(any_fleet_stays_within_what_is_allowed),
        cmocka_unit_test(between_two_bounds_the_share_is_between_theirs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
