/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Demand whose rows are requests with their tokens: every command that reads a demand counts them,
 * and the engine of a queue whose block tells no lengths has theirs.
 */
#include "tests/cli/planned.h"
#include "tests/support/golden.h"

#include <math.h>
#include <stdlib.h>

#define WITH " --demand @/log.csv --config @/sluice.yaml "
#define LAW "slots: 4, iteration: 1s, iteration_per_request: 100ms, prefill_per_token: 200us"

static const char config_head[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: a}\n"
    "reservations:\n"
    "  east: {machine: m8, region: r1, zone: r1-a, gpus_per_node: 8, nodes: 24}\n"
    "providers:\n"
    "  cloud: {kind: gcp}\n"
    "pools:\n"
    "  ae: {cluster: prod-a, reservation: east, provider: cloud, project: x, group: ae}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, gpus: 2, clusters: {prod-a: {}}}\n"
    "queues:\n";

/* Eight days of 120 requests an hour, 30 by night; long prompts have long answers. */
static char *make_log(void)
{
    struct text *csv = text_new(4 << 20);
    int64_t start_ms = civil_day(2026, 11, 16) * DAY_MS;

    text_add(csv, "arrived,queue,input_tokens,output_tokens\n");
    for (int i = 0; i < 8 * 24 * 120; i++) {
        char time[WALL_TEXT_SIZE];
        int hour = i / 120 % 24;

        if ((hour < 8 || hour >= 20) && i % 4 != 0)
            continue;
        wall_format((struct wall_time){ start_ms + i * (int64_t)30 * SECOND_MS }, time);
        text_add(csv, "%s,chat,%d,%d\n", time, i % 8 < 4 ? 200 : 4000, i % 8 < 4 ? 50 : 400);
    }
    return text_take(csv);
}

/* With sluice.yaml, whose queue chat has this engine, and log.csv in it. */
static char *folder_with(const char *engine, const char *log)
{
    char *folder = test_folder_new();
    owned(chars) char *config = text_format("%s  chat: {wait_target: 60s, engine: {%s}}\n",
                                            config_head, engine);

    planned_put(folder, "sluice.yaml", config);
    planned_put(folder, "log.csv", log);
    return folder;
}

static void every_command_takes_lengths_from_the_rows(void **state)
{
    static const struct {
        const char *line;
        const char *says;
    } rows[] = {
        { "allocate --estimate --out @/out" WITH, "day" },
        { "explain workload chat-2x --window day --seeds 2" WITH,
          "by the demand's rows, of 14400 requests" },
        { "whatif --estimate --engine chat.tokens_out=x2" WITH,
          "2100 tokens in, 450 out (cv 0.778)" },
        { "forecast --now 2026-11-24T00:00:00Z" WITH, "chat" },
        { "windows --suggest --count 2" WITH, "gpu_hours_per_week" },
        { "replay --demand @/log.csv --servers 4 --slots 4 --iteration 1s", "FIRST_TOKEN" },
    };
    owned(chars) char *log = make_log();
    owned(test_folder) char *folder = folder_with(LAW, log);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(said) struct said said = expect_code(folder, 0, rows[i].line);

        if (!strstr(said.out->chars, rows[i].says))
            fail_msg("sluice %s: lacks \"%s\":\n%s", rows[i].line, rows[i].says, said.out->chars);
        if (!strstr(said.err->chars,
                    "log.csv: there are columns of tokens and none of counts: each "
                    "row is taken to be a request"))
            fail_msg("sluice %s: %s", rows[i].line, said.err->chars);
    }
}

static void the_plan_of_a_log_is_explained(void **state)
{
    owned(chars) char *log = make_log();
    owned(test_folder) char *folder = folder_with(LAW, log);
    owned(said) struct said said = expect_code(
        folder, 0, "explain workload chat-2x --window day --seeds 2" WITH);

    (void)state;
    golden_check("golden/cli/explain-log.txt", said.out->chars);
}

static void the_header_of_a_plan_says_whose_lengths_they_are(void **state)
{
    owned(chars) char *log = make_log();
    owned(test_folder) char *folder = folder_with(LAW, log);
    owned(said) struct said said = expect_code(folder, 0, "allocate --estimate --out @/out" WITH);
    owned(text) struct text *file = said_file(folder, "out/day.yaml");

    (void)state;
    if (!strstr(file->chars, "# engine of chat, by the demand's rows: 4 slots") ||
        !strstr(file->chars, ", missing zero\n") ||
        !strstr(file->chars, "# note: there are columns of tokens and none of counts"))
        fail_msg("%s", file->chars);
}

static void json_tells_what_the_rows_told(void **state)
{
    owned(chars) char *log = make_log();
    owned(test_folder) char *folder = folder_with(LAW, log);
    owned(said) struct said said = expect_code(
        folder, 0,
        "replay --demand @/log.csv --servers 4 --slots 4 --iteration 1s --kv-tokens 6900 -o json");
    owned(json) json_t *root = planned_json(&said);
    const json_t *queue = json_array_get(json_at(root, "demand/queues"), 0);

    (void)state;
    assert_true(json_bool_or(root, "demand/is_log", false));
    assert_string_equal(json_text_or(root, "demand/missing", ""), "zero");
    assert_true(json_number_value(json_at(queue, "tokens/requests")) == 14400);
    assert_true(json_number_value(json_at(queue, "tokens/in_mean")) == 2100);
    assert_true(json_number_value(json_at(queue, "tokens/out_mean")) == 225);
    assert_int_equal(json_int_or(queue, "tokens/rows_without_answer", -1), 0);
    assert_true(json_number_value(json_at(root, "engine/tokens_in")) == 2100);
    assert_int_equal(json_int_or(root, "engine/slots", 0), 3);
    assert_string_equal(json_text_or(root, "engine/limit", ""), "kv");
}

/* What the configuration says of lengths, by whatever key, is not the demand's to say. */
static void lengths_of_the_configuration_win(void **state)
{
    static const struct {
        const char *engine;
        const char *says;
    } rows[] = {
        { LAW ", tokens_in: 10, tokens_out: 30", "10 tokens in, 30 out (cv 1)" },
        { LAW ", tokens_file: other.csv", "7 tokens in, 9 out (cv 0)" },
        { LAW, "2100 tokens in, 225 out (cv 0.778)" },
    };
    owned(chars) char *log = make_log();
    owned(text) struct text *other = text_new(1 << 16);

    (void)state;
    text_add(other, "input_tokens,output_tokens\n");
    for (int i = 0; i < 100; i++)
        text_add(other, "7,9\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = folder_with(rows[i].engine, log);

        planned_put(folder, "other.csv", other->chars);

        owned(said) struct said said = expect_code(
            folder, 0, "explain workload chat-2x --window night --seeds 1" WITH);

        if (!strstr(said.out->chars, rows[i].says))
            fail_msg("%s: lacks \"%s\":\n%s", rows[i].engine, rows[i].says, said.out->chars);
    }
}

/* So are those that a snapshot measured beside it. */
static void lengths_of_a_snapshot_win(void **state)
{
    owned(chars) char *log = make_log();
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *config = text_format(
        "%ssources:\n  p: {kind: prometheus, endpoint: 'http://127.0.0.1:1'}\n", config_head);
    char *queues = strstr(config, "queues:\n");
    owned(chars) char *whole = text_format(
        "%.*squeues:\n  chat: {wait_target: 60s, source: p, arrivals: x, engine: {" LAW
        ", metrics: 'vllm{a=\"b\"}'}}\n%s",
        (int)(queues - config), config, queues + strlen("queues:\n"));

    (void)state;
    planned_put(folder, "sluice.yaml", whole);
    planned_put(folder, "log.csv", log);
    planned_put(
        folder, "log.engine.csv",
        "queue,iteration_s,iteration_per_request_s,prefill_per_token_s,tokens_in,tokens_out,"
        "tokens_cv\nchat,0.5,0.1,0.0002,11,31,1\n");

    owned(said) struct said said = expect_code(
        folder, 0, "explain workload chat-2x --window night --seeds 1" WITH);

    assert_non_null(strstr(said.out->chars, "11 tokens in, 31 out (cv 1)"));
    assert_non_null(strstr(said.out->chars, "log.engine.csv"));
}

static void what_tells_no_lengths_is_refused(void **state)
{
    static const struct mistake mistakes[] = {
        { "allocate --estimate --out @/out" WITH, EXIT_ERROR,
          "sluice.yaml:16: queues.chat.engine: needs tokens_out, the mean length of an answer (1 "
          "at "
          "least), or tokens_file, or a demand with columns input_tokens and output_tokens, which "
          "this one has not" },
        { "forecast --now 2026-11-24T00:00:00Z" WITH, EXIT_ERROR, "queues.chat.engine: needs" },
        { "windows --suggest" WITH, EXIT_ERROR, "queues.chat.engine: needs" },
        { "backtest" WITH, EXIT_ERROR, "queues.chat.engine: needs" },
        { "replay --demand @/log.csv --servers 4 --slots 4 --iteration 1s", EXIT_ERROR,
          "--tokens-out is needed, the mean length of an answer: the demand has no columns of "
          "tokens" },
        { "replay --demand @/log.csv --servers 4 --slots 4 --iteration 1s --tokens-in 5",
          EXIT_USAGE, "--iteration needs --tokens-out" },
        { "replay --demand @/log.csv --servers 4 --slots 4 --iteration 1s --service-cv 0",
          EXIT_USAGE, "--service-cv needs --tokens-out beside it" },
    };
    owned(test_folder) char *folder = folder_with(
        LAW, "t,queue,count\n2026-11-16T00:00:00Z,chat,5\n2026-11-16T00:01:00Z,chat,5\n");

    (void)state;
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
}

static void a_hundred_answers_are_needed(void **state)
{
    owned(text) struct text *log = text_new(1 << 16);
    owned(test_folder) char *folder = NULL;

    (void)state;
    text_add(log, "t,queue,input_tokens,output_tokens\n");
    for (int i = 0; i < 199; i++)
        text_add(log, "2026-11-16T00:00:00Z,chat,5,%d\n", i % 2);
    folder = folder_with(LAW, log->chars);

    owned(said) struct said said = expect_code(folder, EXIT_ERROR,
                                               "allocate --estimate --out @/out" WITH);

    if (!strstr(said.err->chars,
                "queue chat has lengths from nowhere else: the demand: 99 requests "
                "of chat with an answer, and 100 are needed") ||
        !strstr(said.err->chars, "100 rows of queue chat have no answer"))
        fail_msg("%s", said.err->chars);
}

/* Rows of an hour with mean lengths; 450 requests an hour by day and 225 by night. */
static char *make_means(const char *unit, double day, double night)
{
    struct text *csv = text_new(1 << 20);
    int64_t start_ms = civil_day(2026, 11, 16) * DAY_MS;

    text_add(csv, "t,queue,%s,input_tokens,output_tokens\n", unit);
    for (int i = 0; i < 8 * 24; i++) {
        char time[WALL_TEXT_SIZE];
        bool is_day = i % 24 >= 8 && i % 24 < 20;

        wall_format((struct wall_time){ start_ms + i * (int64_t)HOUR_MS }, time);
        text_add(csv, "%s,chat,%.10g,%d,%d\n", time, is_day ? day : night, is_day ? 2000 : 400,
                 is_day ? 100 : 300);
    }
    return text_take(csv);
}

static void rates_and_counts_of_the_same_requests_make_the_same_plan(void **state)
{
    owned(chars) char *counts = make_means("count", 450, 225);
    owned(chars) char *rates = make_means("rps", 0.125, 0.0625);
    owned(test_folder) char *by_counts = folder_with(LAW, counts);
    owned(test_folder) char *by_rates = folder_with(LAW, rates);
    owned(said) struct said a = expect_code(by_counts, 0, "whatif --seeds 1 -o json" WITH);
    owned(said) struct said b = expect_code(by_rates, 0, "whatif --seeds 1 -o json" WITH);
    owned(json) json_t *counted = planned_json(&a);
    owned(json) json_t *rated = planned_json(&b);
    const json_t *one = json_at(json_array_get(json_at(counted, "demand/queues"), 0), "tokens");
    const json_t *two = json_at(json_array_get(json_at(rated, "demand/queues"), 0), "tokens");

    (void)state;
    assert_true(json_number_value(json_at(one, "requests")) == 8 * 12 * (450 + 225));
    assert_true(json_equal(one, two));
    assert_true(json_equal(json_at(counted, "windows"), json_at(rated, "windows")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_takes_lengths_from_the_rows),
        cmocka_unit_test(the_plan_of_a_log_is_explained),
        cmocka_unit_test(the_header_of_a_plan_says_whose_lengths_they_are),
        cmocka_unit_test(json_tells_what_the_rows_told),
        cmocka_unit_test(lengths_of_the_configuration_win),
        cmocka_unit_test(lengths_of_a_snapshot_win),
        cmocka_unit_test(what_tells_no_lengths_is_refused),
        cmocka_unit_test(a_hundred_answers_are_needed),
        cmocka_unit_test(rates_and_counts_of_the_same_requests_make_the_same_plan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
