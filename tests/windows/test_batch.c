/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The replay of engines against what is known without it: an event simulation that was written
 * apart from it, closed forms, the replay of one request at a time where there is one slot, and a
 * plain simulation that counts the tokens of every request.
 */
#include "tests/support/unit.h"
#include "tools/engine_rows.h"

#include <inttypes.h>
#include <string.h>

enum { SEEDS = 10, REQUESTS = 40000 };

static void assert_near(const char *row, const char *what, const struct engine_figure *figure,
                        const struct engine_mean *found, double error_max)
{
    if (figure->want <= 0)
        return;
    if (!(engine_apart(figure, found) <= 3) || engine_error_of(found) > error_max * figure->want)
        fail_msg("%s: %s is %.5g +- %.2g, not %.5g +- %.2g", row, what, engine_mean_of(found),
                 engine_error_of(found), figure->want, figure->error);
}

/* Standard errors are those between seeds: requests of one seed wait for each other. */
static void the_reference_rows_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(engine_rows); i++) {
        const struct engine_row *row = &engine_rows[i];
        struct engine_found found;

        /* a crowd of so many takes longer to come and to go */
        double requests = row->law.slots * row->replicas > 100 ? 8 * REQUESTS : REQUESTS;

        assert_int_equal(engine_row_run(row,
                                        &(struct engine_repeats){ SEEDS, 1 + 100 * i, requests },
                                        &found, NULL),
                         0);
        assert_near(row->name, "the share that waits", &row->waits, &found.waits, 0.08);
        assert_near(row->name, "the mean", &row->mean_s, &found.mean_s, 0.2);
        assert_near(row->name, "p98", &row->p98_s, &found.p98_s, 0.2);
        assert_near(row->name, "the mean of high", &row->high_mean_s, &found.high_mean_s, 0.03);
    }
}

/* What waits in all does not depend on who goes first: the shares of the two classes add up to the
   mean of first come, first served. */
static void priorities_move_waits_and_make_none(void **state)
{
    const struct engine_row *row = &engine_rows[COUNT_OF(engine_rows) - 1];
    struct engine_figure all = { 1.158, 0.001 };
    struct engine_found found;
    struct engine_mean mean = { 0 };

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_int_equal(
            engine_row_run(row, &(struct engine_repeats){ 1, seed, REQUESTS }, &found, NULL), 0);
        engine_mean_add(&mean, row->high * engine_mean_of(&found.high_mean_s) +
                                   (1 - row->high) * engine_mean_of(&found.mean_s));
    }
    assert_near(row->name, "the mean of both classes", &all, &mean, 0.1);
}

/* ---- one slot ---- */

/* As many seconds of quiet before the segment as both replays look back. */
enum { QUIET = 60, MINUTES = 120 };

struct stage {
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct arrivals_setup setup;
};

static void stage_init(struct stage *stage, struct service_time *service, double rate, double high,
                       uint64_t seed)
{
    *stage = (struct stage){ .service = service };
    engine_stream(&stage->series, rate, high, rate * 60 * (QUIET + MINUTES), seed);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        memset(stage->series.counts[class], 0, QUIET * sizeof(int32_t));
    *array_add(&stage->segments.list) = (struct segment){ QUIET, MINUTES };
    stage->setup = (struct arrivals_setup){ &stage->series, &stage->segments, service, 1, seed };
}

static void stage_clear(struct stage *stage)
{
    segments_clear(&stage->segments);
    engine_stream_clear(&stage->series);
    service_time_free(stage->service);
}

static void one_slot_is_one_request_at_a_time(void **state)
{
    static const enum engine_router routers[] = { ENGINE_CENTRAL, ENGINE_LEAST_OUTSTANDING };
    const struct replay_target target = { .wait_ms = 5 * SECOND_MS, .percentile = 98 };

    (void)state;
    for (int servers = 1; servers <= 5; servers++) {
        const struct engine_law law = { 1, 0.001, 0, 0, 0, servers == 1 ? routers[1] : routers[0] };
        struct service_time *service = engine_service(&law, 3000, 1, 0);
        struct engine *engine = service->engine;
        struct replay_result one;
        struct replay_result slot;
        struct stage stage;

        for (size_t i = 0; i < ENGINE_LENGTHS; i++) { /* whole ticks */
            engine->out[i] = roundf(engine->out[i]);
            service->ticks[i] = (uint64_t)engine->out[i] * TICKS_PER_MS;
        }
        stage_init(&stage, service, 0.3 * servers, 0.4, (uint64_t)servers);

        owned(arrivals) struct arrivals *arrivals = arrivals_new(&stage.setup, NULL);

        assert_int_equal(replay_report(arrivals, servers, &target, &slot, NULL), 0);
        service->engine = NULL;
        assert_int_equal(replay_report(arrivals, servers, &target, &one, NULL), 0);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            slot.classes[class].ttft = slot.classes[class].itl = (struct replay_spread){ 0 };
            assert_true(one.classes[class].max_s > 1);
            assert_memory_equal(&one.classes[class], &slot.classes[class],
                                sizeof one.classes[class]);
        }
        assert_memory_equal(&one.waits, &slot.waits, sizeof one.waits);
        service->engine = engine;
        stage_clear(&stage);
    }
}

/* ---- every request and every token ---- */

enum { JOBS = 3000, REPLICAS_MAX = 3 };

struct job {
    double arrived;
    int class;
    int replica;
    double start; /* < 0: waits */
    double first;
    double left; /* tokens; 0: done */
    double length;
    double each_ns;
};

struct plain {
    const struct engine *engine;
    struct job jobs[JOBS];
    size_t count;
    double now;
    double pause[REPLICAS_MAX];
    double tokens[REPLICAS_MAX]; /* of who runs since the batch was empty */
    double read[REPLICAS_MAX];   /* when all prompts are */
    struct random random;
    uint64_t word;
    unsigned drawn;
};

static int running_in(const struct plain *plain, int replica)
{
    int count = 0;

    for (size_t i = 0; i < plain->count; i++)
        count += plain->jobs[i].replica == replica && plain->jobs[i].left > 0;
    return count;
}

static double pace_of(const struct plain *plain, int replica)
{
    return 1e6 * engine_iteration_s(&plain->engine->law, running_in(plain, replica));
}

static void plain_start(struct plain *plain, struct job *job)
{
    const struct engine_law *law = &plain->engine->law;
    double *tokens = &plain->tokens[job->replica];
    double *read = &plain->read[job->replica];
    unsigned index;

    if (running_in(plain, job->replica) == 0)
        *tokens = 0;
    if (plain->drawn++ % 4 == 0)
        plain->word = random_next(&plain->random);
    index = plain->word & 0xffff;
    plain->word >>= 16;

    double chunks = (double)plain->engine->in[index] / 2048;
    double prefill = 1e6 * law->prefill_s * (double)plain->engine->in[index];

    job->start = plain->now;
    job->length = (double)plain->engine->out[index];
    job->left = job->length + fmax(1, ceil(chunks)) - 1;
    plain->pause[job->replica] += prefill;

    double pace = pace_of(plain, job->replica);
    double waits = *read > plain->now ? *read - plain->now + pace
                   : job->arrived == plain->now /* and not when another one ended */
                       ? (ceil(*tokens) - *tokens) * pace
                       : 0;

    job->first = plain->now + waits + prefill + fmax(1, chunks) * pace;
    *read = fmax(*read, plain->now) + prefill + chunks * pace;
    job->each_ns = plain->now + plain->pause[job->replica] + fmax(1, ceil(chunks)) * pace;
}

static void plain_fill(struct plain *plain, int replica)
{
    while (running_in(plain, replica) < plain->engine->law.slots) {
        struct job *next = NULL;

        for (size_t i = 0; i < plain->count; i++) {
            struct job *job = &plain->jobs[i];

            if (job->start < 0 && job->arrived <= plain->now && job->replica == replica &&
                (!next || job->class < next->class ||
                 (job->class == next->class && job->arrived < next->arrived)))
                next = job;
        }
        if (!next)
            return;
        plain_start(plain, next);
    }
}

/* All replicas go on until `then`. */
static void plain_pass(struct plain *plain, int replicas, double then)
{
    for (int replica = 0; replica < replicas; replica++) {
        double passed = then - plain->now;
        double paused = fmin(passed, plain->pause[replica]);
        double pace = pace_of(plain, replica);

        plain->pause[replica] -= paused;
        if (running_in(plain, replica) > 0)
            plain->tokens[replica] += (passed - paused) / pace;
        for (size_t i = 0; i < plain->count; i++)
            if (plain->jobs[i].replica == replica && plain->jobs[i].left > 0)
                plain->jobs[i].left -= (passed - paused) / pace;
    }
    plain->now = then;
}

/* Who ends first, and when. */
static struct job *plain_first(struct plain *plain, double *ret_when)
{
    struct job *first = NULL;

    *ret_when = HUGE_VAL;
    for (size_t i = 0; i < plain->count; i++) {
        struct job *job = &plain->jobs[i];
        double when;

        if (!(job->left > 0))
            continue;
        when = plain->now + plain->pause[job->replica] + job->left * pace_of(plain, job->replica);
        if (when < *ret_when) {
            *ret_when = when;
            first = job;
        }
    }
    return first;
}

/* Jobs are in the order of arrival; they go round. */
static void plain_run(struct plain *plain, int replicas)
{
    size_t next = 0;
    double when;

    for (size_t i = 0; i < plain->count; i++)
        plain->jobs[i].replica = (int)(i % (size_t)replicas);
    for (;;) {
        struct job *first = plain_first(plain, &when);

        if (next < plain->count && plain->jobs[next].arrived <= when) {
            plain_pass(plain, replicas, plain->jobs[next].arrived);
            plain_fill(plain, plain->jobs[next++].replica);
            continue;
        }
        if (!first)
            return;
        plain_pass(plain, replicas, when);
        first->left = 0;
        if (first->length >= 2)
            first->each_ns = 1000 * (plain->now - first->each_ns) / (first->length - 1);
        else
            first->each_ns = 0;
        plain_fill(plain, first->replica);
    }
}

static void plain_take(struct plain *plain, struct arrivals *arrivals)
{
    for (size_t i = 0; i < arrivals_chunks(arrivals); i++) {
        const struct arrivals_chunk *chunk = arrivals_chunk(arrivals, i);
        size_t at[DEMAND_CLASSES] = { 0 };

        while (at[0] < chunk->count[0] || at[1] < chunk->count[1]) {
            int class = at[1] >= chunk->count[1] || (at[0] < chunk->count[0] &&
                                                     chunk->at[0][at[0]] <= chunk->at[1][at[1]])
                            ? 0
                            : 1;

            assert_true(plain->count < JOBS);
            plain->jobs[plain->count++] = (struct job){
                .arrived = (double)chunk->at[class][at[class]++], .class = class, .start = -1
            };
        }
    }
    random_seed(&plain->random, arrivals_service_seed(arrivals_setup_of(arrivals), QUIET));
}

static void assert_mean(const char *what, double found_s, double sum_ticks, double count)
{
    if (!(fabs(found_s - sum_ticks / count / 1e6) < 2e-6))
        fail_msg("%s: %.7f, not %.7f", what, found_s, sum_ticks / count / 1e6);
}

static void every_token_is_where_a_plain_simulation_has_it(void **state)
{
    static const struct {
        struct engine_law law;
        int replicas;
        double in;
        double cv;
        double rate;
    } rows[] = {
        { { 4, 0.05, 0.01, 0, 0, ENGINE_ROUND_ROBIN }, 1, 0, 1, 0.2 },
        { { 4, 0.05, 0.01, 0.0005, 0, ENGINE_ROUND_ROBIN }, 1, 3000, 1, 0.12 },
        { { 3, 0.05, 0.02, 0.0002, 0, ENGINE_ROUND_ROBIN }, 3, 5000, 1.5, 0.3 },
    };
    const struct replay_target target = { .wait_ms = SECOND_MS, .percentile = 98 };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct plain *plain = mem_new(sizeof *plain);
        struct replay_result found;
        struct stage stage;

        stage_init(&stage, engine_service(&rows[row].law, 200, rows[row].cv, rows[row].in),
                   rows[row].rate, 0.4, row + 5);
        for (size_t i = 0; i < ENGINE_LENGTHS; i++) /* each prompt another */
            stage.service->engine->in[i] *= (float)((double)(i * 40503 % 65536) / 32768);

        owned(arrivals) struct arrivals *arrivals = arrivals_new(&stage.setup, NULL);

        plain->engine = stage.service->engine;
        plain_take(plain, arrivals);
        plain_run(plain, rows[row].replicas);
        assert_int_equal(replay_report(arrivals, rows[row].replicas, &target, &found, NULL), 0);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            double count = (double)found.classes[class].count;
            double sums[3] = { 0 };

            assert_true(count > 300 && found.classes[class].max_s > 1);
            for (size_t i = 0; i < plain->count; i++) {
                const struct job *job = &plain->jobs[i];

                if (job->class != class)
                    continue;
                sums[0] += job->start - job->arrived;
                sums[1] += job->first - job->arrived;
                sums[2] += job->each_ns / 1000;
            }
            assert_mean("wait", found.classes[class].mean_s, sums[0], count);
            assert_mean("first token", found.classes[class].ttft.mean_s, sums[1], count);
            assert_mean("each token", found.classes[class].itl.mean_s, sums[2], count);
        }
        stage_clear(&stage);
        mem_free(plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_rows_hold),
        cmocka_unit_test(priorities_move_waits_and_make_none),
        cmocka_unit_test(one_slot_is_one_request_at_a_time),
        cmocka_unit_test(every_token_is_where_a_plain_simulation_has_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
