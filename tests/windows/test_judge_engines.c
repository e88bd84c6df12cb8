/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The judge where servers are replicas of engines: against the replay where their number is
 * constant, against the judge of one request at a time where each has one slot, and against itself
 * where several plans are judged together.
 */
#include "tests/support/unit.h"
#include "tools/engine_rows.h"
#include "windows/judge/judge.h"

#include <string.h>

/* As many minutes of quiet before the segment as both judges look back. */
enum { QUIET = 60, MINUTES = 180, SLOTS = MINUTES / 5, SPANS = 3, TOGETHER = 4 };

struct stage {
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct arrivals *arrivals;
    struct wall_time begin;
};

static void stage_init(struct stage *stage, struct service_time *service, double rate,
                       uint64_t seed, size_t hole)
{
    struct arrivals_setup setup;

    *stage = (struct stage){ .service = service };
    engine_stream(&stage->series, rate, 0.4, rate * 60 * (QUIET + MINUTES), seed);
    stage->series.count = QUIET + MINUTES;
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        memset(stage->series.counts[class], 0, QUIET * sizeof(int32_t));
        if (hole > 0)
            stage->series.counts[class][QUIET + hole] = DEMAND_UNKNOWN;
    }
    stage->begin = demand_time(&stage->series, QUIET);
    segments_of_series(
        &stage->series,
        (struct wall_span){ stage->begin, demand_time(&stage->series, stage->series.count) },
        &stage->segments);
    setup = (struct arrivals_setup){ &stage->series, &stage->segments, service, 1, seed };
    stage->arrivals = arrivals_new(&setup, NULL);
    assert_non_null(stage->arrivals);
}

static void stage_clear(struct stage *stage)
{
    arrivals_free(stage->arrivals);
    segments_clear(&stage->segments);
    engine_stream_clear(&stage->series);
    service_time_free(stage->service);
}

static struct wall_span span_of(const struct stage *stage, size_t from_minute, size_t to_minute)
{
    return (struct wall_span){ demand_time(&stage->series, QUIET + from_minute),
                               demand_time(&stage->series, QUIET + to_minute) };
}

static const struct replay_target all_targets = {
    .wait_ms = SECOND_MS,
    .percentile = 98,
    .ttft = { 2.2, 95 },
    .itl = { 0.105, 90 },
};

static void assert_seconds(double found, double want)
{
    if (!(fabs(found - want) < 1e-9))
        fail_msg("%.9f s, not %.9f", found, want);
}

/* The lines of the three targets as the replay has them: the worst of the counts is told. */
static void assert_class(const struct judge_score *score, int class,
                         const struct replay_result *result)
{
    const struct replay_class *found = &result->classes[class];
    int64_t most = found->violations;

    most = found->ttft.violations > most ? found->ttft.violations : most;
    most = found->itl.violations > most ? found->itl.violations : most;
    assert_int_equal(score->count[class], found->count);
    assert_int_equal(score->violations[class], most);
    assert_seconds(score->wait_s[class], found->quantile_s);
    assert_seconds(score->ttft_s[class], found->ttft.quantile_s);
    assert_seconds(score->itl_s[class], found->itl.quantile_s);
}

static void constant_replicas_are_judged_as_the_replay_judges_them(void **state)
{
    int passed = 0;
    int failed = 0;

    (void)state;
    for (int router = 0; router < ENGINE_ROUTERS; router++)
        for (int servers = 1; servers <= 7; servers++) {
            const struct engine_law law = { 6, 0.05, 0.01, 0.0002, 0, (enum engine_router)router };
            struct judge_score score;
            struct replay_result result;
            struct stage stage;

            stage_init(&stage, engine_service(&law, 100, 1.2, 1500), 1.5, 11, 70);

            struct wall_span span = span_of(&stage, 0, MINUTES);

            judge(&(struct judge_setup){ stage.arrivals, &all_targets, &span, 1 },
                  &(struct judge_plan){ stage.begin, &servers, 1 }, &score);
            assert_int_equal(replay_report(stage.arrivals, servers, &all_targets, &result, NULL),
                             0);
            for (int class = 0; class < DEMAND_CLASSES; class ++)
                assert_class(&score, class, &result);
            assert_int_equal(score.is_met,
                             replay_passes(stage.arrivals, servers, &all_targets, NULL));
            passed += score.is_met;
            failed += !score.is_met;
            stage_clear(&stage);
        }
    assert_true(passed > 3 && failed > 3);
}

/* Each target alone fails a span, and is told. */
static void every_target_counts(void **state)
{
    static const struct replay_target targets[] = {
        { 5 * SECOND_MS, 98, { 0, 0 }, { 0, 0 } },
        { 5 * SECOND_MS, 98, { 0.2, 98 }, { 0, 0 } },
        { 5 * SECOND_MS, 98, { 0, 0 }, { 0.07, 98 } },
    };
    const struct engine_law law = { 6, 0.05, 0.01, 0.0002, 0, ENGINE_LEAST_OUTSTANDING };
    const int servers = 7;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        struct judge_score score;
        struct stage stage;

        stage_init(&stage, engine_service(&law, 100, 1, 1500), 1.5, 3, 0);

        struct wall_span span = span_of(&stage, 0, MINUTES);

        judge(&(struct judge_setup){ stage.arrivals, &targets[i], &span, 1 },
              &(struct judge_plan){ stage.begin, &servers, 1 }, &score);
        assert_int_equal(score.is_met, i == 0);
        assert_int_equal(score.violations[DEMAND_LOW] > score.count[DEMAND_LOW] / 50, i > 0);
        assert_int_equal(score.ttft_s[DEMAND_LOW] > 0.2, i == 1);
        assert_int_equal(score.itl_s[DEMAND_LOW] > 0.07, i == 2);
        stage_clear(&stage);
    }
}

static void fill_plan(int *servers, struct random *random, int most)
{
    for (int slot = 0; slot < SLOTS; slot++)
        servers[slot] = (int)random_below(random, (uint64_t)most + 1);
}

/* One queue for all replicas: which of them is which does not matter, as with servers. */
static void one_slot_is_one_request_at_a_time(void **state)
{
    const struct replay_target target = { .wait_ms = 5 * SECOND_MS, .percentile = 98 };
    struct random random;
    int64_t late = 0;

    (void)state;
    random_seed(&random, 8);
    for (int trial = 0; trial < 30; trial++) {
        const struct engine_law law = { 1, 0.001, 0, 0, 0, ENGINE_CENTRAL };
        struct service_time *service = engine_service(&law, 3000, 1, 0);
        struct engine *engine = service->engine;
        int most = 2 + trial % 6;
        int servers[SLOTS];
        struct judge_score slot[SPANS];
        struct judge_score one[SPANS];
        struct stage stage;

        for (size_t i = 0; i < ENGINE_LENGTHS; i++) { /* whole ticks */
            engine->out[i] = roundf(engine->out[i]);
            service->ticks[i] = (uint64_t)engine->out[i] * TICKS_PER_MS;
        }
        stage_init(&stage, service, 0.12 * most, 100 + (uint64_t)trial, 0);
        fill_plan(servers, &random, most);

        struct judge_plan plan = { stage.begin, servers, SLOTS };
        struct wall_span spans[SPANS] = { span_of(&stage, 0, 50), span_of(&stage, 50, 110),
                                          span_of(&stage, 125, MINUTES) };

        judge(&(struct judge_setup){ stage.arrivals, &target, spans, SPANS }, &plan, slot);
        service->engine = NULL;
        judge(&(struct judge_setup){ stage.arrivals, &target, spans, SPANS }, &plan, one);
        service->engine = engine;
        for (int span = 0; span < SPANS; span++) {
            if (memcmp(&slot[span], &one[span], sizeof *one) != 0)
                fail_msg("trial %d, span %d: %d late and %.6f s, not %d and %.6f", trial, span,
                         (int)slot[span].violations[DEMAND_LOW], slot[span].wait_s[DEMAND_LOW],
                         (int)one[span].violations[DEMAND_LOW], one[span].wait_s[DEMAND_LOW]);
            late += one[span].violations[DEMAND_LOW];
        }
        stage_clear(&stage);
    }
    assert_true(late > 1000);
}

/* Whatever is judged beside it, and however long its spans are, each request is counted once. */
static void plans_judged_together_get_their_own_scores(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 21);
    for (int trial = 0; trial < 12; trial++) {
        const struct engine_law law = {
            6, 0.05, 0.01, 0.0002, 0, (enum engine_router)(trial % ENGINE_ROUTERS)
        };
        int servers[TOGETHER][SLOTS];
        struct judge_score scores[TOGETHER][SPANS];
        struct judge_case together[TOGETHER];
        struct stage stage;

        stage_init(&stage, engine_service(&law, 100, 1, 1500), 1, 50 + (uint64_t)trial,
                   trial % 2 ? 70 : 0);

        struct wall_span spans[SPANS] = { span_of(&stage, 0, 50), span_of(&stage, 50, 110),
                                          span_of(&stage, 110, MINUTES) };
        struct wall_span whole = span_of(&stage, 0, MINUTES);

        for (int plan = 0; plan < TOGETHER; plan++) {
            fill_plan(servers[plan], &random, 2 + 2 * plan);
            together[plan] = (struct judge_case){ { stage.begin, servers[plan], SLOTS },
                                                  scores[plan] };
        }
        memcpy(servers[TOGETHER - 1], servers[1], sizeof servers[1]); /* alike */
        judge_all(&(struct judge_setup){ stage.arrivals, &all_targets, spans, SPANS }, together,
                  TOGETHER);
        for (int plan = 0; plan < TOGETHER; plan++) {
            struct judge_score alone[SPANS];
            struct judge_score all;
            int64_t sum[2] = { 0 };

            judge(&(struct judge_setup){ stage.arrivals, &all_targets, spans, SPANS },
                  &together[plan].plan, alone);
            judge(
                &(struct judge_setup){ stage.arrivals,
                                       &(struct replay_target){ SECOND_MS, 98, { 0, 0 }, { 0, 0 } },
                                       &whole, 1 },
                &together[plan].plan, &all);
            assert_memory_equal(alone, scores[plan], sizeof alone);
            judge(
                &(struct judge_setup){ stage.arrivals,
                                       &(struct replay_target){ SECOND_MS, 98, { 0, 0 }, { 0, 0 } },
                                       spans, SPANS },
                &together[plan].plan, alone);
            for (int span = 0; span < SPANS; span++) {
                sum[0] += alone[span].count[DEMAND_LOW];
                sum[1] += alone[span].violations[DEMAND_LOW];
            }
            assert_int_equal(sum[0], all.count[DEMAND_LOW]);
            assert_int_equal(sum[1], all.violations[DEMAND_LOW]);
            assert_true(plan > 0 || all.violations[DEMAND_LOW] > 0);
        }
        stage_clear(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_replicas_are_judged_as_the_replay_judges_them),
        cmocka_unit_test(every_target_counts),
        cmocka_unit_test(one_slot_is_one_request_at_a_time),
        cmocka_unit_test(plans_judged_together_get_their_own_scores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
