/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The oracle's plan is one that the judge passes, costs no more than the best constant number, and
 * leaves no server that could simply go.
 */
#include "tests/windows/ward.h"
#include "windows/backtest/oracle.h"

#include <math.h>

static bool is_passed(const struct oracle_setup *setup, const int *servers)
{
    struct judge_plan plan = { setup->begin, servers, setup->slots };

    for (int i = 0; i < setup->repetitions; i++) {
        struct judge_score scores[WARD_SPANS];

        judge(&(struct judge_setup){ setup->arrivals[i], &setup->target, setup->spans,
                                     setup->span_count },
              &plan, scores);
        for (size_t span = 0; span < setup->span_count; span++)
            if (!scores[span].is_met)
                return false;
    }
    return true;
}

static struct oracle_setup oracle_setup_of(const struct ward *ward, struct arrivals **arrivals,
                                           int repetitions)
{
    return (struct oracle_setup){ .arrivals = arrivals,
                                  .repetitions = repetitions,
                                  .target = ward->setup.target,
                                  .spans = ward->spans,
                                  .span_count = ward->setup.span_count,
                                  .begin = ward->setup.begin,
                                  .slots = ward->setup.slots };
}

/* The smallest number that, in all slots, is passed. */
static int smallest_constant(const struct oracle_setup *setup)
{
    int servers[WARD_SLOTS] = { 0 };

    while (!is_passed(setup, servers))
        for (size_t i = 0; i < setup->slots; i++)
            servers[i]++;
    return servers[0];
}

static int sum_of(const int *servers, size_t slots)
{
    int sum = 0;

    for (size_t i = 0; i < slots; i++)
        sum += servers[i];
    return sum;
}

static void hear(void *context, double share)
{
    double *last = context;

    assert_true(share > *last && share <= 1);
    *last = share;
}

static void the_plan_passes_and_costs_no_more_than_a_constant(void **state)
{
    struct random random;
    int saved = 0;

    (void)state;
    random_seed(&random, 21);
    for (int trial = 0; trial < 120; trial++) {
        struct ward ward;
        struct arrivals *arrivals[2];
        int servers[WARD_SLOTS];
        double heard = 0;
        int constant;

        ward_init(&ward, &random, 2 + random_below(&random, 14), 1 + (int)random_below(&random, 9));

        struct arrivals_setup other = *arrivals_setup_of(ward.arrivals);

        other.seed++;
        arrivals[0] = ward.arrivals;
        arrivals[1] = arrivals_new(&other, NULL);
        assert_non_null(arrivals[1]);

        struct oracle_setup setup = oracle_setup_of(&ward, arrivals, 1 + trial % 2);

        setup.tell = hear;
        setup.context = &heard;
        assert_int_equal(oracle_staffing(&setup, servers, NULL), 0);
        assert_true(heard >= 1);
        constant = smallest_constant(&setup);
        assert_true(is_passed(&setup, servers));
        assert_true(sum_of(servers, setup.slots) <= constant * (int)setup.slots);
        saved += constant * (int)setup.slots - sum_of(servers, setup.slots);
        for (size_t i = 0; i < setup.slots; i++) {
            servers[i]--;
            assert_true(servers[i] < 0 || !is_passed(&setup, servers));
            servers[i]++;
        }
        arrivals_free(arrivals[1]);
        ward_clear(&ward);
    }
    assert_true(saved > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plan_passes_and_costs_no_more_than_a_constant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
