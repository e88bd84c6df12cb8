/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Engines of the world, played iteration by iteration, against the closed form of engines with
 * whole tokens left out, and what becomes of requests when replicas come and go.
 */
#include "base/random.h"
#include "tests/simulator/bench.h"
#include "tools/simulator/model/traffic.h"

#include <math.h>

/* 10 ms + 0.5 ms for each request, answers of 200 tokens: 18 ms and 4.444 requests a second with
   all 16 slots running. */
static const struct engine_plan r1 = {
    .slots = 16,
    .iteration_s = 0.010,
    .per_request_s = 0.0005,
    .tokens_out = 200,
    .tokens_cv = 1,
};

/* Poisson arrivals a minute, as a demand history would hold them. */
static int poisson(struct random *random, double mean)
{
    int count = 0;

    for (double sum = random_exponential(random, 1); sum < mean; count++)
        sum += random_exponential(random, 1);
    return count;
}

struct sample {
    const char *name;
    struct engine_plan plan;
    int replicas;
    double rate;
    double high_share;
    const char *figure; /* of the report */
    double least, most;
};

/* The mean of the figure over runs of 1,000 minutes, and its standard error. */
static double run_sample(const struct sample *sample, size_t number, double *ret_error)
{
    double runs[8];
    double sum = 0;
    double spread = 0;

    for (uint64_t run = 0; run < COUNT_OF(runs); run++) {
        struct random random;
        struct queue_play *play = queue_play_new_engines(random_mix(1, "engine", run, number),
                                                         &sample->plan, 1, INFINITY);

        random_seed(&random, random_mix(1, "arrivals", run, number));
        queue_play_servers(play, sample->replicas);
        for (int minute = 0; minute < 1000 / sample->replicas; minute++) {
            const int count[2] = {
                poisson(&random, sample->rate * 60 * sample->high_share),
                poisson(&random, sample->rate * 60 * (1 - sample->high_share)),
            };

            queue_play_arrivals(play, minute * 60, 60, count);
            queue_play_until(play, (minute + 1) * 60);
        }

        owned(json) json_t *report = queue_play_report(play);

        runs[run] = json_number_value(json_at(report, sample->figure));
        sum += runs[run];
        queue_play_free(play);
    }
    for (size_t run = 0; run < COUNT_OF(runs); run++)
        spread += pow(runs[run] - sum / (double)COUNT_OF(runs), 2);
    *ret_error = sqrt(spread / (double)(COUNT_OF(runs) - 1) / (double)COUNT_OF(runs));
    return sum / (double)COUNT_OF(runs);
}

static struct engine_plan with(struct engine_plan plan, enum engine_choice choice, double cv)
{
    plan.choice = choice;
    plan.tokens_cv = cv;
    return plan;
}

/* `least` is the closed form, or what a simulation without iterations has; a request that comes
   waits for the end of the iteration besides, at most 18 ms. */
static void test_waits_are_those_of_the_birth_death_chain(void **state)
{
    struct engine_plan one = {
        .slots = 1, .iteration_s = 0.001, .tokens_out = 100, .tokens_cv = 1
    };
    struct engine_plan prompts = r1;
    struct engine_plan limit = {
        .slots = 8, .iteration_s = 0.025, .tokens_out = 40, .tokens_cv = 1
    };

    prompts.prefill_s = 20e-6;
    prompts.tokens_in = 1000;

    const struct sample samples[] = {
        { "M/M/1", one, 1, 8, 1, "all/mean_s", 0.398, 0.4 },
        { "Erlang C", limit, 1, 7, 1, "all/mean_s", 0.63532, 0.66 },
        { "R1", r1, 1, 4, 1, "all/mean_s", 1.158, 1.176 },
        { "R1, 70 %", r1, 1, 3.11111, 1, "all/mean_s", 0.05555, 0.0736 },
        { "R1, high first", r1, 1, 4, 0.3, "high/mean_s", 0.1586, 0.1766 },
        { "R1, low behind", r1, 1, 4, 0.3, "low/mean_s", 1.586, 1.604 },
        { "lengths of one", with(r1, CHOICE_LEAST, 0), 1, 4, 1, "all/mean_s", 0.599, 0.617 },
        { "cv 1.5", with(r1, CHOICE_LEAST, 1.5), 1, 4, 1, "all/mean_s", 1.691, 1.709 },
        { "prompts", prompts, 1, 3.2, 1, "all/mean_s", 0.185, 0.201 },
        { "random", with(r1, CHOICE_RANDOM, 1), 4, 16, 1, "all/mean_s", 1.158, 1.176 },
        { "in turn", with(r1, CHOICE_IN_TURN, 1), 4, 16, 1, "all/mean_s", 0.563, 0.581 },
        { "least", with(r1, CHOICE_LEAST, 1), 4, 16, 1, "all/mean_s", 0.1243, 0.1423 },
        { "central", with(r1, CHOICE_CENTRAL, 1), 4, 16, 1, "all/mean_s", 0.1194, 0.1374 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        const struct sample *sample = &samples[i];
        double error;
        double mean = run_sample(sample, i, &error);

        print_message("%-18s %.4f s, from %.4f to %.4f s, standard error %.4f s\n", sample->name,
                      mean, sample->least, sample->most, error);
        assert_true(mean > sample->least - 4 * error);
        assert_true(mean < sample->most + 4 * error);
        assert_true(error < sample->least / 15);
    }
}

/* Answers of one length in an empty fleet: each time is known. */
static struct queue_play *play_two(int slots)
{
    struct engine_plan plan = {
        .slots = slots,
        .iteration_s = 1,
        .per_request_s = 0.5,
        .prefill_s = 0.001,
        .tokens_in = 3000,
        .tokens_out = 4,
        .tokens_cv = 0,
    };

    return queue_play_new_engines(1, &plan, 100, 100);
}

static double number_at(const json_t *report, const char *path)
{
    return json_number_value(json_at(report, path));
}

/* Two prompts of 3,000 tokens with 2,048 in an iteration: 3.048, 3.048 (1,096 of the second) and
   2.904 + 0.5 s, of which the first ends its prompt in the second, the other in the third. */
static void test_a_prompt_is_computed_in_chunks(void **state)
{
    const int one[2] = { 1, 0 };
    struct queue_play *play = play_two(2);

    (void)state;
    queue_play_servers(play, 1);
    queue_play_arrivals(play, 0, 1e-9, one);
    queue_play_arrivals(play, 1e-9, 1e-9, one);
    queue_play_until(play, 100);

    owned(json) json_t *report = queue_play_report(play);

    /* The second comes while the first's iteration runs. */
    assert_true(fabs(number_at(report, "all/max_s") - 3.048) < 1e-6);
    assert_true(fabs(number_at(report, "all/mean_s") - 3.048 / 2) < 1e-6);
    assert_true(fabs(number_at(report, "first_token/max_s") - (3.048 + 3.048 + 3.404)) < 1e-6);
    assert_true(fabs(number_at(report, "first_token/mean_s") - (6.096 + 9.5) / 2) < 1e-6);
    queue_play_free(play);
}

static void test_a_replica_that_goes_ends_what_it_runs(void **state)
{
    const int two[2] = { 2, 0 };
    struct queue_play *play = play_two(1);

    (void)state;
    queue_play_servers(play, 1);
    queue_play_arrivals(play, 0, 1e-9, two);
    queue_play_until(play, 1);
    queue_play_servers(play, -1);
    queue_play_until(play, 50);

    owned(json) json_t *before = queue_play_report(play);

    assert_int_equal(json_int_or(before, "first_token/count", 0), 1);
    assert_int_equal(json_int_or(before, "waiting", 0), 1);
    assert_int_equal(json_int_or(before, "servers", -1), 0);
    queue_play_servers(play, 1);
    queue_play_until(play, 100);

    owned(json) json_t *after = queue_play_report(play);

    assert_int_equal(json_int_or(after, "waiting", 0), 0);
    assert_int_equal(json_int_or(after, "servers", 0), 1);
    assert_true(fabs(number_at(after, "all/max_s") - 50) < 1e-6);
    queue_play_free(play);
}

/* What waits in a replica that goes waits for the others, which have slots. */
static void test_who_waits_where_a_replica_goes_is_given_to_others(void **state)
{
    const int four[2] = { 2, 2 };
    struct queue_play *play = play_two(1);

    (void)state;
    queue_play_servers(play, 2);
    queue_play_arrivals(play, 0, 1e-9, four);
    queue_play_until(play, 1);
    queue_play_servers(play, -1);
    queue_play_until(play, 1000);

    owned(json) json_t *report = queue_play_report(play);

    /* Alone a request takes 3.048 + 1.952 and three of 1.5 s: the last waits for three of them. */
    assert_int_equal(json_int_or(report, "all/count", 0), 4);
    assert_int_equal(json_int_or(report, "waiting", -1), 0);
    assert_true(fabs(number_at(report, "all/max_s") - 2 * 9.5) < 1e-6);
    queue_play_free(play);
}

static void test_replicas_of_a_configuration_serve_many_at_once(void **state)
{
    static const struct {
        const char *engine;
        int least_waiting, most_waiting; /* of 60 a minute of 10 s each, four replicas */
    } cases[] = {
        { "engine: {slots: 16}", 0, 0 },
        { "engine: {slots: 2}", 400, 1000 },
        { "engine: {slots: 64, iteration: 40ms, tokens_out: 250, kv_tokens: 250}", 400, 1000 },
        { "engine: {slots: 16, iteration: 20ms, iteration_per_request: 2ms, tokens_out: 200}", 0,
          5 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench here, *bench = &here;
        owned(text) struct text *demand = text_new(1 << 20);
        owned(chars) char *world = text_format("%sdemand: demand.csv\n", bench_world);
        owned(chars) char *before = mem_copy_chars(bench_config);
        char *at = strstr(before, "service: 10s, service_cv: 1");
        owned(chars) char *config = NULL;

        assert_non_null(at);
        *at = '\0';
        config = text_format("%sservice: 10s, %s%s", before, cases[i].engine,
                             at + strlen("service: 10s, service_cv: 1"));
        text_add(demand, "minute_utc_iso,queue,count,priority\n");
        for (int minute = 0; minute < 60; minute++)
            text_add(demand, "2026-11-25T10:%02d:00Z,chat,60,high\n", minute);
        bench_open(bench, config, world, demand->chars);
        bench_wait(bench, HOUR_MS);

        owned(json) json_t *report = simulator_report(bench->simulator);

        assert_int_equal(json_int_or(report, "queues/chat/servers", 0), 4);
        assert_in_range(json_int_or(report, "queues/chat/waiting", -1), cases[i].least_waiting,
                        cases[i].most_waiting);
        bench_close(bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_are_those_of_the_birth_death_chain),
        cmocka_unit_test(test_a_prompt_is_computed_in_chunks),
        cmocka_unit_test(test_a_replica_that_goes_ends_what_it_runs),
        cmocka_unit_test(test_who_waits_where_a_replica_goes_is_given_to_others),
        cmocka_unit_test(test_replicas_of_a_configuration_serve_many_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
