/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The judge against the replay where servers are constant, and against cases counted by hand where
 * they come and go.
 */
#include "base/random.h"
#include "tests/support/unit.h"
#include "windows/backtest/judge.h"

#include <string.h>

enum { STEPS = 600, SLOTS = STEPS / 5 };

static const int64_t start_ms = 1767225600000;

struct stage {
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct arrivals *arrivals;
};

/* Minutes of these counts; a negative one is unknown. */
static void stage_init(struct stage *stage, const int32_t *high, const int32_t *low, size_t steps,
                       double service_s, double cv)
{
    struct error err = { 0 };

    *stage = (struct stage){ .series = { .queue = (char *)(uintptr_t) "q",
                                         .start = { start_ms },
                                         .step_ms = MINUTE_MS,
                                         .count = steps } };
    stage->series.counts[DEMAND_HIGH] = mem_new_array(steps, sizeof *high);
    stage->series.counts[DEMAND_LOW] = mem_new_array(steps, sizeof *low);
    for (size_t i = 0; i < steps; i++) {
        stage->series.counts[DEMAND_HIGH][i] = low[i] < 0 ? DEMAND_UNKNOWN : high ? high[i] : 0;
        stage->series.counts[DEMAND_LOW][i] = low[i];
    }
    stage->service = service_time_new(service_s, cv);
    segments_of_series(&stage->series, stage->series.start,
                       demand_time(&stage->series, stage->series.count), &stage->segments);

    struct arrivals_setup setup = { &stage->series, &stage->segments, stage->service, 1, 7 };

    stage->arrivals = arrivals_new(&setup, &err);
    assert_non_null(stage->arrivals);
}

static void stage_clear(struct stage *stage)
{
    arrivals_free(stage->arrivals);
    service_time_free(stage->service);
    segments_clear(&stage->segments);
    mem_free(stage->series.counts[DEMAND_HIGH]);
    mem_free(stage->series.counts[DEMAND_LOW]);
}

static struct judge_span span_of(size_t from_minute, size_t to_minute)
{
    return (struct judge_span){ { start_ms + (int64_t)from_minute * MINUTE_MS },
                                { start_ms + (int64_t)to_minute * MINUTE_MS } };
}

static void constant_servers_are_judged_as_the_replay_judges_them(void **state)
{
    static const double cvs[] = { 0, 1, 2.5 };
    int32_t high[STEPS];
    int32_t low[STEPS];
    struct random random;

    (void)state;
    random_seed(&random, 3);
    for (int i = 0; i < STEPS; i++) {
        high[i] = (int32_t)random_below(&random, 20);
        low[i] = (int32_t)random_below(&random, 60);
    }
    for (size_t at = 0; at < COUNT_OF(cvs); at++)
        for (int servers = 6; servers < 30; servers += 3) {
            struct replay_target target = { 9 * SECOND_MS, 98 };
            struct judge_span span = span_of(0, STEPS);
            struct judge_score score;
            struct replay_result result;
            struct error err = { 0 };
            struct stage stage;

            stage_init(&stage, high, low, STEPS, 12, cvs[at]);
            judge(stage.arrivals, &(struct judge_plan){ { start_ms }, &servers, 1 }, &target, &span,
                  1, &score);
            assert_int_equal(replay_report(stage.arrivals, servers, &target, &result, &err), 0);
            for (int class = 0; class < DEMAND_CLASSES; class ++) {
                assert_int_equal(score.count[class], result.classes[class].count);
                assert_int_equal(score.violations[class], result.classes[class].violations);
                assert_true(score.wait_s[class] == result.classes[class].quantile_s);
            }
            assert_int_equal(score.is_met, replay_passes(stage.arrivals, servers, &target, NULL));
            stage_clear(&stage);
        }
}

/* Constant service of 60 s: what waits follows from counting. */
static const struct {
    const char *name;
    int32_t counts[15]; /* a minute; they come anywhere in it */
    int servers[3];     /* a slot */
    int64_t target_s;
    int64_t violations[3]; /* a slot as a span */
} cases[] = {
    { "nobody waits over a minute with as many servers as come",
      { 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 },
      { 6, 6, 6 },
      60,
      { 0, 0, 0 } },
    { "without servers all wait for the next slot",
      { 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
      { 0, 2, 0 },
      239,
      { 2, 0, 0 } },
    { "and not longer than to its begin",
      { 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
      { 0, 2, 0 },
      300,
      { 0, 0, 0 } },
    { "a backlog is carried on and makes those wait who come later",
      { 0, 0, 0, 0, 20, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0 },
      { 1, 2, 2 }, /* starts at 24x, 300, 30x, 360, 36x, ... */
      65,
      { 17, 1, 0 } },
    { "a busy server that leaves finishes first, and nobody starts for it",
      { 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
      { 4, 1, 1 },
      60,
      { 0, 0, 0 } },
};

static void servers_come_and_go_as_counted_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct replay_target target = { cases[i].target_s * SECOND_MS, 98 };
        struct judge_span spans[] = { span_of(0, 5), span_of(5, 10), span_of(10, 15) };
        struct judge_score scores[3];
        struct stage stage;

        stage_init(&stage, NULL, cases[i].counts, 15, 60, 0);
        judge(stage.arrivals, &(struct judge_plan){ { start_ms }, cases[i].servers, 3 }, &target,
              spans, 3, scores);
        for (int at = 0; at < 3; at++)
            if (scores[at].violations[DEMAND_LOW] != cases[i].violations[at])
                fail_msg("%s: slot %d: %d violations", cases[i].name, at,
                         (int)scores[at].violations[DEMAND_LOW]);
        stage_clear(&stage);
    }
}

/* One server, 300 s each, three at once: they start 300 s apart, then two servers come. */
static void a_server_that_comes_back_before_it_has_left_is_not_one_more(void **state)
{
    int32_t counts[30] = { 0 };
    int servers[] = { 2, 1, 2, 2, 2, 2 };
    struct judge_span span = span_of(0, 30);
    struct replay_target target = { 0, 98 };
    struct judge_score score;
    struct stage stage;

    (void)state;
    counts[4] = 3;
    stage_init(&stage, NULL, counts, 30, 900, 0);
    judge(stage.arrivals, &(struct judge_plan){ { start_ms }, servers, COUNT_OF(servers) }, &target,
          &span, 1, &score);
    assert_int_equal(score.violations[DEMAND_LOW], 1);
    /* Both servers are busy until 19 minutes at least; the third cannot start at 10. */
    assert_true(score.wait_s[DEMAND_LOW] > 840);
    stage_clear(&stage);
}

static void spans_count_who_arrives_in_them_across_a_gap(void **state)
{
    int32_t counts[30];
    int servers = 50;
    struct judge_span spans[] = { span_of(0, 4), span_of(7, 13), span_of(13, 40) };
    struct judge_score scores[3];
    struct replay_target target = { 60 * SECOND_MS, 98 };
    struct stage stage;

    (void)state;
    for (int i = 0; i < 30; i++)
        counts[i] = i >= 10 && i < 15 ? -1 : i + 1;
    stage_init(&stage, NULL, counts, 30, 5, 1);
    judge(stage.arrivals, &(struct judge_plan){ { start_ms }, &servers, 1 }, &target, spans, 3,
          scores);
    assert_int_equal(scores[0].count[DEMAND_LOW], 1 + 2 + 3 + 4);
    assert_int_equal(scores[1].count[DEMAND_LOW], 8 + 9 + 10);
    assert_int_equal(scores[2].count[DEMAND_LOW], (16 + 30) * 15 / 2);
    stage_clear(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_servers_are_judged_as_the_replay_judges_them),
        cmocka_unit_test(servers_come_and_go_as_counted_by_hand),
        cmocka_unit_test(a_server_that_comes_back_before_it_has_left_is_not_one_more),
        cmocka_unit_test(spans_count_who_arrives_in_them_across_a_gap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
