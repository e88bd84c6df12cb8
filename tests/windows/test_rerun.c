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

    judge(&(struct judge_setup){ ward->arrivals, &ward->setup.target, ward->spans,
                                 ward->setup.span_count },
          &plan, scores);
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

            bool is_met = try_all(rerun, first, count, delta, &added);

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
        assert_true(try_all(rerun, 0, ward.setup.slots, 1000, NULL));
        rerun_undo(rerun);
        ward_clear(&ward);
    }
    assert_in_range(met, 100, 1400);
}

/* What a trial said that was not kept. */
struct verdict {
    bool is_met;
    bool is_lost;
    int64_t added;
    struct rerun_reach reach;
};

static struct verdict verdict_of(struct rerun *rerun, size_t first, size_t count, int64_t limit)
{
    struct verdict verdict;

    verdict.is_met = rerun_try(rerun, (struct rerun_change){ first, count, -1 }, limit,
                               &verdict.added);
    verdict.is_lost = rerun_is_lost(rerun);
    verdict.reach = rerun_reach(rerun);
    rerun_undo(rerun);
    return verdict;
}

static void init_plan(struct ward *ward, struct random *random, int *servers)
{
    ward_init(ward, random, 4 + random_below(random, 9), 1 + (int)random_below(random, 8));
    for (size_t i = 0; i < ward->setup.slots; i++)
        servers[i] = 4 + (int)random_below(random, 9);
}

static void a_trial_within_a_limit_stops_only_when_it_cannot_be_kept(void **state)
{
    struct random random;
    int stopped = 0;
    int kept = 0;

    (void)state;
    random_seed(&random, 61);
    for (int trial = 0; trial < 80; trial++) {
        struct ward ward;
        int servers[WARD_SLOTS];

        init_plan(&ward, &random, servers);

        owned(rerun) struct rerun *rerun = rerun_new(&ward.setup);
        bool passes = rerun_passes(rerun, servers);

        assert_int_equal(passes, rerun_plan(rerun, servers));
        for (int change = 0; change < 40; change++) {
            size_t first = random_below(&random, ward.setup.slots);
            size_t count = 1 + random_below(&random, ward.setup.slots - first);
            int64_t limit = (int64_t)random_below(&random, 6);
            struct verdict full = verdict_of(rerun, first, count, INT64_MAX);
            struct verdict within = verdict_of(rerun, first, count, limit);

            assert_true(within.added <= full.added);
            assert_true(!within.is_met || (full.is_met && within.added == full.added));
            assert_true(within.is_met || !full.is_met || full.added > limit);
            assert_true(!within.is_lost || !full.is_met);
            stopped += !within.is_met && within.added < full.added;
            if (full.is_met && rerun_servers(rerun)[first] > 1) {
                assert_true(try_all(rerun, first, 1, -1, NULL) || count > 1);
                kept++;
                rerun_keep(rerun);
            }
        }
        ward_clear(&ward);
    }
    assert_true(stopped > 100);
    assert_true(kept > 100);
}

static void what_changes_out_of_reach_changes_no_verdict(void **state)
{
    struct random random;
    int unchanged = 0;
    int changed = 0;
    int lost = 0;

    (void)state;
    random_seed(&random, 71);
    for (int trial = 0; trial < 200; trial++) {
        struct ward ward;
        int servers[WARD_SLOTS];

        init_plan(&ward, &random, servers);

        owned(rerun) struct rerun *rerun = rerun_new(&ward.setup);

        (void)rerun_plan(rerun, servers);
        for (int change = 0; change < 20; change++) {
            size_t first = random_below(&random, ward.setup.slots);
            size_t other = random_below(&random, ward.setup.slots);
            int64_t limit = random_below(&random, 2) == 0 ? INT64_MAX : 2;
            struct verdict before = verdict_of(rerun, first, 1, limit);
            uint64_t kept = rerun_kept(rerun);

            (void)try_all(rerun, other, 1, rerun_servers(rerun)[other] > 1 ? -1 : 0, NULL);
            rerun_keep(rerun);
            assert_int_equal(rerun_kept(rerun), kept + 1);
            if (rerun_changed(rerun, before.reach) > kept) {
                changed++;
                continue;
            }

            struct verdict after = verdict_of(rerun, first, 1, limit);

            unchanged++;
            lost += before.is_lost;
            assert_true(after.is_lost || !before.is_lost);
            if (limit == INT64_MAX)
                assert_int_equal(after.added, before.added);
        }
        ward_clear(&ward);
    }
    assert_true(unchanged > 300 && changed > 300);
    assert_true(lost > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_tried_is_judged_alike),
        cmocka_unit_test(a_trial_within_a_limit_stops_only_when_it_cannot_be_kept),
        cmocka_unit_test(what_changes_out_of_reach_changes_no_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
