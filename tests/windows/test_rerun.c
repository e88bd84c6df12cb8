/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Trials against the judge: whatever was tried, kept and taken back, the count of those who wait
 * too long is the one that the judge finds for the plan from its begin.
 */
#include "base/random.h"
#include "tests/windows/ward.h"
#include "windows/backtest/rerun.h"

static void assert_judged(struct ward *ward, const struct rerun *rerun, bool is_met)
{
    struct judge_plan plan = { ward->setup.begin, rerun_servers(rerun), ward->setup.slots };
    struct judge_score scores[WARD_SPANS];
    bool is_judged_met = true;

    judge(ward->arrivals, &plan, &ward->setup.target, ward->spans, ward->setup.span_count, scores);
    for (size_t i = 0; i < ward->setup.span_count; i++) {
        is_judged_met = is_judged_met && scores[i].is_met;
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            assert_int_equal(rerun_violations(rerun, (enum demand_class) class, i),
                             scores[i].violations[class]);
    }
    assert_int_equal(is_met, is_judged_met);
}

static void what_is_tried_is_judged_alike(void **state)
{
    struct random random;
    int met = 0;

    (void)state;
    random_seed(&random, 11);
    for (int trial = 0; trial < 60; trial++) {
        struct ward ward;
        int servers[WARD_SLOTS];

        ward_init(&ward, &random, 4 + random_below(&random, 9), 1 + (int)random_below(&random, 8));

        owned(rerun) struct rerun *rerun = rerun_new(&ward.setup);

        for (size_t i = 0; i < ward.setup.slots; i++)
            servers[i] = (int)random_below(&random, 7);
        assert_judged(&ward, rerun, rerun_plan(rerun, servers));
        for (int change = 0; change < 25; change++) {
            size_t first = random_below(&random, ward.setup.slots);
            size_t count = 1 + random_below(&random, ward.setup.slots - first);
            int least = 100;

            for (size_t i = first; i < first + count; i++)
                least = rerun_servers(rerun)[i] < least ? rerun_servers(rerun)[i] : least;

            int delta = (int)random_below(&random, 4) - (least < 2 ? least : 2);
            int64_t before = 0;
            int64_t after = 0;
            int64_t added;

            for (size_t i = 0; i <= ward.setup.span_count; i++)
                before += rerun_violations(rerun, DEMAND_HIGH, i) +
                          rerun_violations(rerun, DEMAND_LOW, i);

            bool is_met = rerun_try(rerun, first, count, delta, &added);

            met += is_met;
            assert_judged(&ward, rerun, is_met);
            for (size_t i = 0; i <= ward.setup.span_count; i++)
                after += rerun_violations(rerun, DEMAND_HIGH, i) +
                         rerun_violations(rerun, DEMAND_LOW, i);
            assert_int_equal(after - before, added);
            if (random_below(&random, 2) == 0) {
                rerun_keep(rerun);
            } else {
                rerun_undo(rerun);
            }
        }
        assert_true(rerun_try(rerun, 0, ward.setup.slots, 1000, NULL));
        rerun_undo(rerun);
        ward_clear(&ward);
    }
    assert_in_range(met, 100, 1400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_tried_is_judged_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
