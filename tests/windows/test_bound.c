/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bound against every plan there is on short stretches: none that the judge passes costs less.
 * On a longer one it is compared with the oracle.
 */
#include "tests/windows/paths.h"
#include "tests/windows/ward.h"
#include "windows/backtest/bound.h"
#include "windows/backtest/oracle.h"

#include <math.h>

enum { INSTANCES = 600, PLANS_MAX = 800, DAYS_SLOTS = 3 * 288 };

static bool is_passed(const struct occurrence_setup *setup, const int *servers)
{
    struct judge_plan plan = { setup->begin, servers, setup->slots };
    struct judge_score scores[WARD_SPANS];

    judge(&(struct judge_setup){ setup->arrivals, &setup->target, setup->spans, setup->span_count },
          &plan, scores);
    for (size_t span = 0; span < setup->span_count; span++)
        if (!scores[span].is_met)
            return false;
    return true;
}

/* Over all numbers of servers a slot, each on as few nodes as hold it; paid from `first` on. */
static double least_of_all(const struct occurrence_setup *setup, size_t first, int servers_per_node,
                           const struct moves_cost *cost)
{
    int most = servers_per_node * cost->nodes_max;
    double least = INFINITY;
    int plans = 1;

    for (size_t i = 0; i < setup->slots; i++)
        plans *= most + 1;
    for (int plan = 0; plan < plans; plan++) {
        int servers[WARD_SLOTS];
        int nodes[WARD_SLOTS];
        int rest = plan;

        for (size_t i = 0; i < setup->slots; i++, rest /= most + 1) {
            servers[i] = rest % (most + 1);
            nodes[i] = (servers[i] + servers_per_node - 1) / servers_per_node;
        }

        double hours = path_cost(nodes + first, setup->slots - first, cost);

        if (hours < least && is_passed(setup, servers))
            least = hours;
    }
    return least;
}

static void no_plan_that_passes_costs_less(void **state)
{
    struct random random;
    double bounds = 0;
    double optima = 0;
    int solved = 0;

    (void)state;
    random_seed(&random, 31);
    for (int trial = 0; trial < INSTANCES; trial++) {
        int servers_per_node = 1 + (int)random_below(&random, 2);
        size_t slots = 1 + random_below(&random, 6);
        size_t first = trial % 2 == 0 ? 0 : random_below(&random, slots);
        struct moves_cost cost = { .nodes_max = 1, .slot_h = 1.0 / 12 };
        struct ward ward;

        while (pow(servers_per_node * (cost.nodes_max + 1) + 1, (double)slots) < PLANS_MAX &&
               cost.nodes_max < 4)
            cost.nodes_max++;
        if (random_below(&random, 3) > 0) {
            cost.up_h = random_between(&random, 0, 0.2);
            cost.down_h = random_between(&random, 0, 0.2);
        }
        ward_init(&ward, &random, slots, 1 + (int)random_below(&random, 4));

        double bound = bound_node_hours(&ward.setup, first, servers_per_node, &cost);
        double least = least_of_all(&ward.setup, first, servers_per_node, &cost);

        if (bound > least + 1e-9)
            fail_msg("instance %d: bound %g, least %g", trial, bound, least);
        if (least < INFINITY) {
            bounds += bound;
            optima += least;
            solved++;
        }
        ward_clear(&ward);
    }
    assert_true(solved > INSTANCES / 2);
    assert_true(bounds > 0.6 * optima);
}

/* One request of constant length in these minutes, one span, two nodes at most; the plan has a
   server in every n-th slot, or two in the last. */
static const struct {
    const char *name;
    double service_s;
    size_t slots;
    size_t first_minute;
    size_t every_minutes;
    size_t every_slots; /* 0: the last */
} unpaid[] = {
    { "what a withdrawn server finishes costs nothing", 600, 24, 4, 15, 3 },
    { "nor does what is left at the end", 3600, 12, 57, 1, 0 },
};

static void work_beyond_the_plan_is_not_asked_for(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(unpaid); row++) {
        struct moves_cost cost = { .nodes_max = 2, .slot_h = 1.0 / 12 };
        size_t slots = unpaid[row].slots;
        struct random random;
        struct ward ward;
        int servers[24] = { 0 };

        random_seed(&random, 1);
        ward_init(&ward, &random, slots, 1);
        service_time_free(ward.service);
        ward.service = service_time_new(unpaid[row].service_s, 0);
        for (size_t i = 0; i < ward.series.count; i++) {
            bool is_one = i >= unpaid[row].first_minute &&
                          (i - unpaid[row].first_minute) % unpaid[row].every_minutes == 0;

            if (ward.series.counts[DEMAND_HIGH])
                ward.series.counts[DEMAND_HIGH][i] = 0;
            ward.series.counts[DEMAND_LOW][i] = is_one && (unpaid[row].every_slots > 0 || i < 59);
        }
        segments_clear(&ward.segments);
        segments_of_series(
            &ward.series,
            (struct wall_span){ ward.series.start, demand_time(&ward.series, slots * 5) },
            &ward.segments);
        arrivals_free(ward.arrivals);

        struct arrivals_setup setup = { &ward.series, &ward.segments, ward.service, 1, 1 };

        ward.arrivals = arrivals_new(&setup, NULL);
        ward.spans[0] = (struct wall_span){ ward.series.start,
                                            demand_time(&ward.series, slots * 5) };
        ward.setup.arrivals = ward.arrivals;
        ward.setup.span_count = 1;
        ward.setup.target = (struct replay_target){ .wait_ms = 0, .percentile = 98 };
        servers[slots - 1] = unpaid[row].every_slots == 0 ? 2 : 0;
        for (size_t i = 0; unpaid[row].every_slots > 0 && i < slots; i += unpaid[row].every_slots)
            servers[i] = 1;
        if (!is_passed(&ward.setup, servers))
            fail_msg("%s: the plan fails", unpaid[row].name);
        if (bound_node_hours(&ward.setup, 0, 1, &cost) > path_cost(servers, slots, &cost) + 1e-9)
            fail_msg("%s: bound %g", unpaid[row].name, bound_node_hours(&ward.setup, 0, 1, &cost));
        ward_clear(&ward);
    }
}

/* Three days of waves, in windows of eight hours. */
static void the_oracle_is_near_the_bound(void **state)
{
    static int servers[DAYS_SLOTS];
    struct random random;
    struct ward ward = { 0 };
    struct wall_span spans[9];
    struct moves_cost cost = { .nodes_max = 60, .slot_h = 1.0 / 12 };
    double hours = 0;

    (void)state;
    random_seed(&random, 5);
    ward.series = (struct demand_series){ .queue = (char *)(uintptr_t) "waves",
                                          .start = { 1767225600000 },
                                          .step_ms = MINUTE_MS,
                                          .count = 5 * DAYS_SLOTS,
                                          .is_single = true };
    ward.series.counts[DEMAND_LOW] = mem_new_array(ward.series.count, sizeof(int32_t));
    for (size_t i = 0; i < ward.series.count; i++) {
        double level = 40 - 30 * cos((double)i / 1440 * 2 * M_PI);

        ward.series.counts[DEMAND_LOW][i] = (int32_t)fmax(0, level + sqrt(level) *
                                                                         random_normal(&random));
    }
    ward.service = service_time_new(30, 1);
    segments_of_series(
        &ward.series,
        (struct wall_span){ ward.series.start, demand_time(&ward.series, ward.series.count) },
        &ward.segments);
    for (size_t i = 0; i < COUNT_OF(spans); i++)
        spans[i] = (struct wall_span){ demand_time(&ward.series, i * 480),
                                       demand_time(&ward.series, (i + 1) * 480) };

    struct arrivals_setup setup = { &ward.series, &ward.segments, ward.service, 1, 3 };

    ward.arrivals = arrivals_new(&setup, NULL);
    assert_non_null(ward.arrivals);

    struct oracle_setup oracle = { .arrivals = &ward.arrivals,
                                   .repetitions = 1,
                                   .target = { .wait_ms = 30 * SECOND_MS, .percentile = 98 },
                                   .spans = spans,
                                   .span_count = COUNT_OF(spans),
                                   .begin = ward.series.start,
                                   .slots = DAYS_SLOTS };
    struct occurrence_setup occurrence = oracle_occurrence_setup(&oracle, 0);

    assert_int_equal(oracle_staffing(&oracle, servers, NULL), 0);
    for (int i = 0; i < DAYS_SLOTS; i++)
        hours += servers[i] / 12.0;

    double bound = bound_node_hours(&occurrence, 0, 1, &cost);

    assert_true(bound <= hours);
    assert_true(hours < 1.25 * bound);
    cost.up_h = 0.5;
    cost.down_h = 0.75;
    assert_true(bound_node_hours(&occurrence, 0, 1, &cost) <=
                path_best(servers, DAYS_SLOTS, &cost, servers));
    assert_true(bound_node_hours(&occurrence, 0, 1, &cost) > bound);
    ward_clear(&ward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_that_passes_costs_less),
        cmocka_unit_test(work_beyond_the_plan_is_not_asked_for),
        cmocka_unit_test(the_oracle_is_near_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
