/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The judge against the replay where servers are constant, and against cases counted by hand where
 * they come and go.
 */
#include "base/random.h"
#include "tests/windows/ward.h"
#include "windows/judge/judge.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 600, SLOTS = STEPS / 5, TOGETHER = 7, REQUESTS_MAX = 4096 };

static const int64_t start_ms = 1767225600000;

struct stage {
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct arrivals *arrivals;
};

/* Minutes of these counts; a negative one is unknown. */
/* Requests of each minute. */
struct minutes {
    const int32_t *high; /* NULL: none */
    const int32_t *low;  /* negative: unknown */
    size_t count;
};

static void stage_init(struct stage *stage, const struct minutes *minutes, double service_s,
                       double cv)
{
    struct error err = { 0 };

    *stage = (struct stage){ .series = { .queue = (char *)(uintptr_t) "q",
                                         .start = { start_ms },
                                         .step_ms = MINUTE_MS,
                                         .count = minutes->count } };
    stage->series.counts[DEMAND_HIGH] = mem_new_array(minutes->count, sizeof *minutes->high);
    stage->series.counts[DEMAND_LOW] = mem_new_array(minutes->count, sizeof *minutes->low);
    for (size_t i = 0; i < minutes->count; i++) {
        stage->series.counts[DEMAND_HIGH][i] = minutes->low[i] < 0 ? DEMAND_UNKNOWN
                                               : minutes->high     ? minutes->high[i]
                                                                   : 0;
        stage->series.counts[DEMAND_LOW][i] = minutes->low[i];
    }
    stage->service = service_time_new(service_s, cv);
    segments_of_series(
        &stage->series,
        (struct wall_span){ stage->series.start, demand_time(&stage->series, stage->series.count) },
        &stage->segments);

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

static struct wall_span span_of(size_t from_minute, size_t to_minute)
{
    return (struct wall_span){ { start_ms + (int64_t)from_minute * MINUTE_MS },
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
            struct replay_target target = { .wait_ms = 9 * SECOND_MS, .percentile = 98 };
            struct wall_span span = span_of(0, STEPS);
            struct judge_score score;
            struct replay_result result;
            struct error err = { 0 };
            struct stage stage;

            stage_init(&stage, &(struct minutes){ high, low, STEPS }, 12, cvs[at]);
            judge(&(struct judge_setup){ stage.arrivals, &target, &span, 1 },
                  &(struct judge_plan){ { start_ms }, &servers, 1 }, &score);
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
        struct replay_target target = { .wait_ms = cases[i].target_s * SECOND_MS,
                                        .percentile = 98 };
        struct wall_span spans[] = { span_of(0, 5), span_of(5, 10), span_of(10, 15) };
        struct judge_score scores[3];
        struct stage stage;

        stage_init(&stage, &(struct minutes){ NULL, cases[i].counts, 15 }, 60, 0);
        judge(&(struct judge_setup){ stage.arrivals, &target, spans, 3 },
              &(struct judge_plan){ { start_ms }, cases[i].servers, 3 }, scores);
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
    struct wall_span span = span_of(0, 30);
    struct replay_target target = { .wait_ms = 0, .percentile = 98 };
    struct judge_score score;
    struct stage stage;

    (void)state;
    counts[4] = 3;
    stage_init(&stage, &(struct minutes){ NULL, counts, 30 }, 900, 0);
    judge(&(struct judge_setup){ stage.arrivals, &target, &span, 1 },
          &(struct judge_plan){ { start_ms }, servers, COUNT_OF(servers) }, &score);
    assert_int_equal(score.violations[DEMAND_LOW], 1);
    /* Both servers are busy until 19 minutes at least; the third cannot start at 10. */
    assert_true(score.wait_s[DEMAND_LOW] > 840);
    stage_clear(&stage);
}

static void spans_count_who_arrives_in_them_across_a_gap(void **state)
{
    int32_t counts[30];
    int servers = 50;
    struct wall_span spans[] = { span_of(0, 4), span_of(7, 13), span_of(13, 40) };
    struct judge_score scores[3];
    struct replay_target target = { .wait_ms = 60 * SECOND_MS, .percentile = 98 };
    struct stage stage;

    (void)state;
    for (int i = 0; i < 30; i++)
        counts[i] = i >= 10 && i < 15 ? -1 : i + 1;
    stage_init(&stage, &(struct minutes){ NULL, counts, 30 }, 5, 1);
    judge(&(struct judge_setup){ stage.arrivals, &target, spans, 3 },
          &(struct judge_plan){ { start_ms }, &servers, 1 }, scores);
    assert_int_equal(scores[0].count[DEMAND_LOW], 1 + 2 + 3 + 4);
    assert_int_equal(scores[1].count[DEMAND_LOW], 8 + 9 + 10);
    assert_int_equal(scores[2].count[DEMAND_LOW], (16 + 30) * 15 / 2);
    stage_clear(&stage);
}

/* A segment's requests and services, and when each starts. */
struct plain {
    uint64_t at[DEMAND_CLASSES][REQUESTS_MAX];
    uint64_t start[DEMAND_CLASSES][REQUESTS_MAX];
    size_t count[DEMAND_CLASSES];
    uint64_t done[2 * REQUESTS_MAX]; /* of all who ever were busy */
    size_t done_count;
};

static size_t busy_at(const struct plain *plain, uint64_t tick)
{
    size_t busy = 0;

    for (size_t i = 0; i < plain->done_count; i++)
        busy += plain->done[i] > tick;
    return busy;
}

/* The first moment from `tick` on at which fewer are busy than there are servers. */
static uint64_t when_free(const struct plain *plain, const struct judge_plan *plan, uint64_t origin,
                          uint64_t tick)
{
    for (;;) {
        size_t slot = (size_t)((origin + tick) / (JUDGE_SLOT_MS * TICKS_PER_MS));
        int servers = plan->servers[slot < plan->slots ? slot : plan->slots - 1];
        uint64_t then = (slot + 1) * (uint64_t)JUDGE_SLOT_MS * TICKS_PER_MS - origin;

        if (slot + 1 >= plan->slots && servers < 1)
            servers = 1;
        if (busy_at(plain, tick) < (size_t)servers)
            return tick;
        for (size_t i = 0; i < plain->done_count; i++)
            if (plain->done[i] > tick && plain->done[i] < then)
                then = plain->done[i];
        tick = then;
    }
}

static void fill_plain(struct plain *plain, struct arrivals *arrivals, size_t segment, int servers)
{
    size_t busy;
    const uint64_t *left = arrivals_before(arrivals, segment, &busy);
    const struct arrivals_chunk *chunk;
    size_t at = arrivals_first_chunk(arrivals, segment);

    *plain = (struct plain){ 0 };
    for (size_t i = 0; i < busy && i < (size_t)servers; i++)
        plain->done[plain->done_count++] = left[i];
    do {
        chunk = arrivals_chunk(arrivals, at++);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            for (size_t i = 0; i < chunk->count[class]; i++)
                plain->at[class][plain->count[class]++] = chunk->at[class][i];
        assert_true(plain->count[0] < REQUESTS_MAX && plain->count[1] < REQUESTS_MAX);
    } while (!chunk->is_last);
}

/* Start after start, as judge.h says it. */
static void run_plain(struct plain *plain, struct arrivals *arrivals, size_t segment,
                      const struct judge_plan *plan, uint64_t origin)
{
    const struct arrivals_setup *setup = arrivals_setup_of(arrivals);
    size_t next[DEMAND_CLASSES] = { 0 };
    struct random random;
    uint64_t word = 0;
    uint64_t tick = 0;

    random_seed(&random, arrivals_service_seed(setup, setup->segments->list.items[segment].first));
    for (size_t k = 0; k < plain->count[DEMAND_HIGH] + plain->count[DEMAND_LOW]; k++) {
        uint64_t first = UINT64_MAX;

        for (int class = 0; class < DEMAND_CLASSES; class ++)
            if (next[class] < plain->count[class] && plain->at[class][next[class]] < first)
                first = plain->at[class][next[class]];
        tick = when_free(plain, plan, origin, first > tick ? first : tick);

        int class = next[DEMAND_HIGH] < plain->count[DEMAND_HIGH] &&
                            plain->at[DEMAND_HIGH][next[DEMAND_HIGH]] <= tick
                        ? DEMAND_HIGH
                        : DEMAND_LOW;

        plain->start[class][next[class]++] = tick;
        word = k % 4 == 0 ? random_next(&random) : word >> 16;
        plain->done[plain->done_count++] = tick + setup->service->ticks[word & 0xffff];
    }
}

static int compare_waits(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* What a plan is worth in one span, from the begin of the week. */
static struct judge_score plain_score(struct ward *ward, const struct judge_plan *plan, size_t span)
{
    static struct plain plain;
    static uint64_t waits[DEMAND_CLASSES][2 * REQUESTS_MAX];
    const struct segment_list *segments = &ward->segments;
    struct judge_score score = { .is_met = true };

    for (size_t i = 0; i < segments->list.count; i++) {
        int64_t origin_ms = demand_time(&ward->series, segments->list.items[i].first).ms;
        int64_t since_ms = origin_ms - plan->begin.ms;

        fill_plain(&plain, ward->arrivals, i, plan->servers[since_ms / JUDGE_SLOT_MS]);
        run_plain(&plain, ward->arrivals, i, plan, (uint64_t)since_ms * TICKS_PER_MS);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            for (size_t at = 0; at < plain.count[class]; at++) {
                int64_t at_ms = origin_ms + (int64_t)(plain.at[class][at] / TICKS_PER_MS);
                uint64_t wait = plain.start[class][at] - plain.at[class][at];

                if (at_ms < ward->spans[span].begin.ms || at_ms >= ward->spans[span].end.ms)
                    continue;
                waits[class][score.count[class]++] = wait;
                score.violations[class] += wait >
                                           (uint64_t)ward->setup.target.wait_ms * TICKS_PER_MS;
            }
    }
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        int64_t count = score.count[class];
        int64_t allowed = replay_allowed(count, ward->setup.target.percentile);

        qsort(waits[class], (size_t)count, sizeof(uint64_t), compare_waits);
        score.wait_s[class] = count > 0
                                  ? (double)waits[class][count - allowed - 1] / TICKS_PER_SECOND
                                  : 0;
        score.is_met = score.is_met && score.violations[class] <= allowed;
    }
    return score;
}

static void plans_judged_together_get_the_scores_of_a_plain_replay(void **state)
{
    struct random random;
    int late = 0;

    (void)state;
    random_seed(&random, 41);
    for (int trial = 0; trial < 60; trial++) {
        int servers[TOGETHER][WARD_SLOTS];
        struct judge_score scores[TOGETHER][WARD_SPANS];
        struct judge_case together[TOGETHER];
        struct ward ward;

        ward_init(&ward, &random, 2 + random_below(&random, 15), 1 + (int)random_below(&random, 8));
        for (int plan = 0; plan < TOGETHER; plan++) {
            for (size_t i = 0; i < ward.setup.slots; i++)
                servers[plan][i] = (int)random_below(&random, 8) + 3 * plan;
            together[plan] = (struct judge_case){
                { ward.setup.begin, servers[plan], ward.setup.slots }, scores[plan]
            };
        }
        judge_all(&(struct judge_setup){ ward.arrivals, &ward.setup.target, ward.spans,
                                         ward.setup.span_count },
                  together, TOGETHER);
        for (int plan = 0; plan < TOGETHER; plan++)
            for (size_t span = 0; span < ward.setup.span_count; span++) {
                struct judge_score plain = plain_score(&ward, &together[plan].plan, span);

                if (memcmp(&plain, &scores[plan][span], sizeof plain) != 0)
                    fail_msg("trial %d, plan %d, span %zu: %d and %d late, not %d and %d", trial,
                             plan, span, (int)scores[plan][span].violations[0],
                             (int)scores[plan][span].violations[1], (int)plain.violations[0],
                             (int)plain.violations[1]);
                late += plain.violations[DEMAND_LOW] > 0;
            }
        ward_clear(&ward);
    }
    assert_true(late > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_servers_are_judged_as_the_replay_judges_them),
        cmocka_unit_test(servers_come_and_go_as_counted_by_hand),
        cmocka_unit_test(a_server_that_comes_back_before_it_has_left_is_not_one_more),
        cmocka_unit_test(spans_count_who_arrives_in_them_across_a_gap),
        cmocka_unit_test(plans_judged_together_get_the_scores_of_a_plain_replay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
