/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice backtest of queues whose servers are replicas that serve many requests at once: its words
 * and JSON, beside a queue of one request at a time, and what a snapshot measured of them.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/timestamp.h"
#include "tests/cli/said.h"
#include "tests/support/folder.h"
#include "tests/support/golden.h"

#include <math.h>

enum { STEPS = 3 * 7 * 24 };

static const int64_t monday_ms = 1794787200000; /* 2026-11-16 00:00 UTC */

static const char head[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: a}\n"
    "  research-a: {role: research, kubeconfig: r}\n"
    "reservations:\n"
    "  east: {machine: m8, region: r1, zone: r1-a, gpus_per_node: 8, nodes: 24}\n"
    "providers:\n"
    "  cloud: {kind: gcp}\n"
    "pools:\n"
    "  ae: {cluster: prod-a, reservation: east, provider: cloud, project: x, group: ae}\n"
    "  re: {cluster: research-a, reservation: east, provider: cloud, project: x, group: re}\n";

#define CHAT_WORKLOAD "  chat-2x: {queue: chat, gpus: 2, clusters: {prod-a: {}}}\n"
#define DRAW "  draw: {wait_target: 60s, service: 160s}\n"
#define DRAW_WORKLOAD "  draw-1x: {queue: draw, gpus: 1, clusters: {prod-a: {}}}\n"

/* A request alone takes 121 s, in a full batch 184 s. */
#define ENGINE                                                                                     \
    "engine: {slots: 4, iteration: 100ms, iteration_per_request: 20ms, prefill_per_token: 500us, " \
    "tokens_in: 2000, tokens_out: 1000"

/* Three weeks of hours: days twice as busy as nights, the last one half as busy again. */
static void write_demand(const char *folder)
{
    owned(text) struct text *csv = text_new(1 << 20);

    text_add(csv, "t,queue,count\n");
    for (int i = 0; i < STEPS; i++) {
        char time[WALL_TEXT_SIZE];
        int count = (i % 24 >= 8 && i % 24 < 20 ? 400 : 200) * (i < 2 * 168 ? 2 : 3) / 2 +
                    i * 7 % 31;

        wall_format((struct wall_time){ monday_ms + i * (int64_t)HOUR_MS }, time);
        text_add(csv, "%s,chat,%d\n%s,draw,%d\n", time, count, time, count / 4);
    }
    mem_free(test_folder_write(folder, "weeks.csv", csv->chars));
}

static char *folder_with(const char *queues, const char *workloads)
{
    char *folder = test_folder_new();
    owned(chars) char *config = text_format("%squeues:\n%sworkloads:\n%s", head, queues, workloads);

    mem_free(test_folder_write(folder, "sluice.yaml", config));
    write_demand(folder);
    return folder;
}

#define COMMAND "backtest -c @/sluice.yaml --demand @/weeks.csv --seeds 1 "

static json_t *json_of(const char *folder, const char *line)
{
    owned(said) struct said said = expect_code(folder, EXIT_DONE, line);
    struct error err = { 0 };
    json_t *root = json_parse(said.out->chars, said.out->length, "output", &err);

    if (!root)
        fail_msg("%s", err.text);
    return root;
}

static void a_queue_of_engines_stands_beside_one_of_servers(void **state)
{
    owned(test_folder) char *folder = folder_with(
        "  chat: {wait_target: 20s, ttft_target: 30s, " ENGINE "}}\n" DRAW,
        CHAT_WORKLOAD DRAW_WORKLOAD);
    owned(said) struct said said = expect_code(folder, EXIT_DONE,
                                               COMMAND "--threads 2 --csv @/frontier.csv");
    owned(said) struct said again = expect_code(folder, EXIT_DONE,
                                                COMMAND "--threads 1 --csv @/again.csv");

    (void)state;
    golden_check("golden/cli/backtest_engines.txt", said.out->chars);
    assert_string_equal(said.out->chars, again.out->chars);
}

static double number(const json_t *root, const char *path)
{
    const json_t *value = json_at(root, path);

    if (!json_is_number(value))
        fail_msg("%s is no number", path);
    return json_number_value(value);
}

/* Of a policy by its place in what was played. */
static double production_h(const json_t *root, size_t at)
{
    return number(json_array_get(json_at(root, "policies"), at), "measure/production_h");
}

static void programs_read_what_the_replicas_are(void **state)
{
    owned(test_folder) char *folder = folder_with("  chat: {wait_target: 20s, " ENGINE "}}\n",
                                                  CHAT_WORKLOAD);
    owned(test_folder) char *plain = folder_with("  chat: {wait_target: 20s, service: 121s}\n",
                                                 CHAT_WORKLOAD);
    owned(json) json_t *engines = json_of(folder, COMMAND
                                          "--policy static-peak,reactive,sluice,bound -o json");
    owned(json) json_t *servers = json_of(plain, COMMAND
                                          "--policy static-peak,reactive,sluice,bound -o json");
    const json_t *engine = json_array_get(json_at(engines, "engines"), 0);

    (void)state;
    assert_string_equal(json_text_or(engine, "queue", ""), "chat");
    assert_true(number(engine, "engine/slots") == 4);
    assert_true(fabs(number(engine, "engine/capacity_per_s") - 4 / 184.) < 1e-4);
    assert_true(json_is_null(json_object_get(engines, "bound")));
    assert_string_equal(json_text_or(engines, "bound_lacks", ""), "chat");
    assert_int_equal(json_array_size(json_at(servers, "engines")), 0);
    assert_true(json_is_object(json_object_get(servers, "bound")));
    assert_true(json_is_null(json_object_get(servers, "bound_lacks")));
    for (size_t at = 0; at < 3; at++)
        assert_true(production_h(engines, at) < 0.7 * production_h(servers, at));
}

static void a_first_token_that_came_late_is_told_with_a_reason(void **state)
{
    owned(test_folder) char *folder = folder_with(
        "  chat: {wait_target: 600s, ttft_target: 5s, " ENGINE "}}\n", CHAT_WORKLOAD);
    owned(said) struct said said = expect_code(folder, EXIT_DONE,
                                               COMMAND "--policy sluice --missed");
    owned(json) json_t *root = json_of(folder, COMMAND "--policy sluice --missed -o json");
    const json_t *missed = json_at(json_array_get(json_at(root, "policies"), 0), "missed");
    const json_t *miss = json_array_get(missed, 0);

    (void)state;
    golden_check("golden/cli/backtest_engines_missed.txt", said.out->chars);
    assert_true(json_array_size(missed) > 0);
    assert_string_equal(json_text_or(miss, "missed", ""), "ttft");
    assert_true(number(miss, "limit_s") == 5);
    assert_true(number(miss, "found_s") > 5);
    assert_true(number(miss, "target_s") == 600);
}

/* Twice as slow by the table of the snapshot: what it was measured to be counts. */
static void what_a_snapshot_measured_goes_before_the_configuration(void **state)
{
    owned(test_folder) char *folder = folder_with(
        "  chat: {wait_target: 20s, source: m, arrivals: a, " ENGINE
        ", metrics: 'vllm{model_name=\"chat\"}'}}\n",
        CHAT_WORKLOAD "sources: {m: {kind: prometheus, endpoint: 'http://127.0.0.1:9'}}\n");
    owned(said) struct said lacking = expect_code(folder, EXIT_DONE,
                                                  COMMAND "--policy static-peak -o json");
    owned(json) json_t *before = json_of(folder, COMMAND "--policy static-peak -o json");

    (void)state;
    assert_non_null(strstr(lacking.err->chars, "its engine was not measured"));
    mem_free(test_folder_write(folder, "weeks.engine.csv",
                               "queue,iteration_s,iteration_per_request_s,prefill_per_token_s,"
                               "tokens_in,tokens_out,tokens_cv\n"
                               "chat,0.2,0.04,0.001,2000,1000,1\n"));

    owned(json) json_t *after = json_of(folder, COMMAND "--policy static-peak -o json");

    assert_true(number(json_array_get(json_at(after, "engines"), 0), "engine/iteration_s") == 0.2);
    assert_true(production_h(after, 0) > 1.5 * production_h(before, 0));
}

static void slots_of_plain_queues_are_an_option(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_demand(folder);

    owned(json) json_t *four = json_of(
        folder, "backtest --demand @/weeks.csv --service 160s --slots 4 --router central "
                "--policy static-peak -o json");
    owned(json) json_t *one = json_of(
        folder, "backtest --demand @/weeks.csv --service 160s --policy static-peak -o json");
    owned(said) struct said alone = expect_code(
        folder, EXIT_USAGE, "backtest --demand @/weeks.csv --service 160s --router central");
    owned(said) struct said config = expect_code(folder, EXIT_USAGE,
                                                 "backtest --demand @/weeks.csv --slots 4");

    assert_string_equal(
        json_text_or(json_at(json_array_get(json_at(four, "engines"), 0), "engine"), "router", ""),
        "central");
    assert_true(production_h(four, 0) < 0.5 * production_h(one, 0));
    assert_non_null(strstr(alone.err->chars, "--router requires --slots"));
    assert_non_null(strstr(config.err->chars, "--slots"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_of_engines_stands_beside_one_of_servers),
        cmocka_unit_test(programs_read_what_the_replicas_are),
        cmocka_unit_test(a_first_token_that_came_late_is_told_with_a_reason),
        cmocka_unit_test(what_a_snapshot_measured_goes_before_the_configuration),
        cmocka_unit_test(slots_of_plain_queues_are_an_option),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
