/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a plan's service times come from: a law, a file, or what a snapshot measured; the plan
 * follows them, its header names them, and explain tells them.
 */
#include "tests/cli/planned.h"

#define WITH " -c @/sluice.yaml -d @/week.csv --seeds 2 "

/* The configuration with other words about chat's service time. */
static void put_config(const char *folder, const char *service)
{
    static const char old[] = "service: 30s}";
    const char *at = strstr(planned_config, old);
    owned(chars) char *config = text_format("%.*s%s}%s", (int)(at - planned_config), planned_config,
                                            service, at + strlen(old));

    planned_put(folder, "sluice.yaml", config);
}

/* A hundred requests, half of a second and half of `slow_s`. */
static void put_times(const char *folder, double slow_s)
{
    owned(chars) char *file = text_format("seconds,count\n1,50\n%g,50\n", slow_s);

    planned_put(folder, "times.csv", file);
}

static int64_t replicas_of(const char *folder)
{
    owned(said) struct said said = expect_code(folder, 0, "explain workload chat-2x -o json" WITH);
    owned(json) json_t *root = planned_json(&said);
    const json_t *row = json_array_get(
        json_at(json_array_get(json_at(root, "windows"), 0), "queues"), 0);

    return json_int_or(row, "replicas_needed", -1);
}

static const char metrics[] =
    "service: 30s, source: m, arrivals: a, service_histogram: 'x{y=\"z\"}'";

static void put_measured_config(const char *folder)
{
    owned(text) struct text *file = NULL;

    put_config(folder, metrics);
    file = said_file(folder, "sluice.yaml");
    text_add(file, "sources: {m: {kind: prometheus, endpoint: 'http://127.0.0.1:9'}}\n");
    planned_put(folder, "sluice.yaml", file->chars);
}

static void a_plan_follows_the_times_of_a_file(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    int64_t as_given = replicas_of(folder);

    (void)state;
    put_config(folder, "service_file: times.csv");
    put_times(folder, 59);
    assert_in_range(replicas_of(folder), as_given - 3, as_given + 3); /* the same mean */
    put_times(folder, 29);
    assert_in_range(replicas_of(folder), 1, as_given * 2 / 3); /* half of it */

    owned(said) struct said said = expect_code(folder, 0, "explain workload chat-2x" WITH);

    assert_non_null(strstr(said.out->chars, "service     15 s, measured (cv 0.933), by /"));
    assert_non_null(strstr(said.out->chars, "/times.csv, of 100 requests\n"));
    planned_run(folder, "allocate" WITH);

    owned(text) struct text *schedule = said_file(folder, "schedules/day.yaml");

    assert_non_null(strstr(schedule->chars, "# service times of chat times.csv sha256 "));
}

static void a_bad_file_is_refused_with_its_line(void **state)
{
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    put_config(folder, "service_file: times.csv");
    planned_put(folder, "times.csv", "1\n2\nthree\n");

    owned(said) struct said said = expect_code(folder, 1, "allocate" WITH);

    assert_non_null(strstr(said.err->chars, "queue chat: "));
    assert_non_null(strstr(said.err->chars, "times.csv:3: seconds: expected a number"));
}

static void a_law_is_told(void **state)
{
    static const char *const rows[][2] = {
        { "service: 30s", "service     30 s, exponential (cv 1), by configuration\n" },
        { "service: 30s, service_law: constant",
          "service     30 s, constant (cv 0), by configuration\n" },
        { "service: 30s, service_law: lognormal",
          "service     30 s, lognormal (cv 1), by configuration\n" },
    };
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_config(folder, rows[i][0]);

        owned(said) struct said said = expect_code(folder, 0, "explain workload chat-2x" WITH);

        if (!strstr(said.out->chars, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], said.out->chars);
    }
}

static void what_a_snapshot_measured_counts_instead_of_the_configuration(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    int64_t as_given = replicas_of(folder);

    (void)state;
    put_measured_config(folder);

    owned(said) struct said without = expect_code(folder, 0, "allocate" WITH);

    assert_non_null(strstr(without.err->chars, "queue chat: its service time was not measured"));
    assert_int_equal(replicas_of(folder), as_given);
    planned_put(folder, "week.service.csv",
                "queue,mean_s,from_s,to_s,count\nchat,15,0,10,500\nchat,15,10,30,500\n");
    assert_in_range(replicas_of(folder), 1, as_given * 2 / 3);

    owned(said) struct said with = expect_code(folder, 0, "allocate" WITH);
    owned(said) struct said told = expect_code(folder, 0, "explain workload chat-2x" WITH);
    owned(text) struct text *schedule = said_file(folder, "schedules/day.yaml");

    assert_null(strstr(with.err->chars, "not measured"));

    owned(said) struct said forecast = expect_code(folder, 0,
                                                   "forecast chat -c @/sluice.yaml -d "
                                                   "@/week.csv");

    assert_null(strstr(forecast.err->chars, "not measured"));
    assert_non_null(strstr(told.out->chars, "service     15 s, measured (cv "));
    assert_non_null(strstr(told.out->chars, "/week.service.csv, of 1000 requests\n"));
    assert_non_null(strstr(schedule->chars, "# service times week.service.csv sha256 "));
    planned_put(folder, "week.service.csv", "queue,mean_s,from_s,to_s,count\nchat,15,0,10,x\n");

    owned(said) struct said bad = expect_code(folder, 1, "allocate" WITH);

    assert_non_null(strstr(bad.err->chars, "week.service.csv:2: count: expected a number"));
}

#define ENGINE_HEADER                                                                              \
    "queue,iteration_s,iteration_per_request_s,prefill_per_token_s,tokens_in,tokens_out,"          \
    "tokens_cv\n"

static void put_engine_config(const char *folder, const char *engine)
{
    owned(chars) char *service = text_format("source: m, arrivals: a, engine: {%s}", engine);
    owned(text) struct text *file = NULL;

    put_config(folder, service);
    file = said_file(folder, "sluice.yaml");
    text_add(file, "sources: {m: {kind: prometheus, endpoint: 'http://127.0.0.1:9'}}\n");
    planned_put(folder, "sluice.yaml", file->chars);
}

/* A measured engine takes the place of the configured law and lengths, and of nothing else. */
static void a_measured_engine_counts_instead_of_the_configured_one(void **state)
{
    static const char engine[] = "slots: 8, iteration: 200ms, iteration_per_request: 1ms, "
                                 "tokens_out: 200, metrics: 'vllm{model_name=\"chat\"}'";
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    put_engine_config(folder, engine);

    owned(said) struct said without = expect_code(folder, 0, "allocate" WITH);
    int64_t as_given = replicas_of(folder);

    assert_non_null(strstr(without.err->chars, "queue chat: its engine was not measured"));
    planned_put(folder, "week.engine.csv", ENGINE_HEADER "chat,0.05,0.001,0,0,200,1\n");

    owned(said) struct said with = expect_code(folder, 0, "allocate" WITH);
    owned(said) struct said told = expect_code(folder, 0, "explain workload chat-2x" WITH);
    owned(text) struct text *schedule = said_file(folder, "schedules/day.yaml");

    assert_in_range(replicas_of(folder), 1, as_given * 2 / 3);
    assert_null(strstr(with.err->chars, "not measured"));
    assert_non_null(strstr(told.out->chars, "/week.engine.csv"));
    assert_non_null(strstr(schedule->chars, "# engines week.engine.csv sha256 "));
    assert_non_null(strstr(schedule->chars, " allocate. Edit it and it is obeyed; the next "
                                            "allocate\n# overwrites it.\n"));

    owned(said) struct said forecast = expect_code(folder, 0,
                                                   "forecast chat -c @/sluice.yaml -d "
                                                   "@/week.csv");

    assert_null(strstr(forecast.err->chars, "not measured"));
    planned_put(folder, "week.engine.csv", ENGINE_HEADER "chat,9,1,0.01,1000,200,1\n");

    owned(said) struct said slow = expect_code(folder, 1, "allocate" WITH);

    assert_non_null(strstr(slow.err->chars, "which one iteration of a full batch takes"));
    planned_put(folder, "week.engine.csv", ENGINE_HEADER "chat,fast,1,0,0,200,1\n");

    owned(said) struct said bad = expect_code(folder, 1, "allocate" WITH);

    assert_non_null(strstr(bad.err->chars, "week.engine.csv:2: iteration_s: expected a number"));
}

static double suggested(const char *folder)
{
    owned(said) struct said said = expect_code(
        folder, 0, "windows --suggest --count 2 -o json -c @/sluice.yaml -d @/week.csv");
    owned(json) json_t *root = planned_json(&said);

    return json_number_value(json_object_get(root, "floor"));
}

/* Windows are proposed by the times and engines that plans are made with. */
static void proposed_windows_go_by_what_a_snapshot_measured(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    double as_given;

    (void)state;
    put_measured_config(folder);
    as_given = suggested(folder);
    planned_put(folder, "week.service.csv",
                "queue,mean_s,from_s,to_s,count\nchat,15,0,10,500\nchat,15,10,30,500\n");
    assert_true(suggested(folder) < as_given);
    put_engine_config(folder, "slots: 8, iteration: 200ms, metrics: 'vllm{model_name=\"chat\"}'");
    planned_put(folder, "week.engine.csv", ENGINE_HEADER "chat,0.05,0.001,0,0,200,1\n");
    assert_true(suggested(folder) < as_given);
    planned_put(folder, "week.engine.csv", ENGINE_HEADER "chat,fast,1,0,0,200,1\n");

    owned(said) struct said bad = expect_code(folder, 1,
                                              "windows --suggest -c @/sluice.yaml -d @/week.csv");

    assert_non_null(strstr(bad.err->chars, "week.engine.csv:2: iteration_s: expected a number"));
}

/* Neither the configuration nor the measurement says what --engine supposes. */
static void a_supposed_engine_says_over_what_it_is_supposed(void **state)
{
    static const struct {
        const char *table;
        const char *line;
        const char *want;
    } rows[] = {
        { "", "whatif --engine chat.slots=16" WITH,
          "; an assumption (--engine) over configuration\n" },
        { ENGINE_HEADER "chat,0.05,0.001,0,0,200,1\n",
          "whatif --engine chat.slots=16 --engine chat.times=x0.5" WITH, "/week.engine.csv\n" },
    };
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    put_engine_config(folder, "slots: 8, iteration: 200ms, iteration_per_request: 1ms, "
                              "tokens_out: 200, metrics: 'vllm{model_name=\"chat\"}'");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].table[0])
            planned_put(folder, "week.engine.csv", rows[i].table);

        owned(said) struct said said = expect_code(folder, 0, rows[i].line);
        owned(chars) char *line = text_format("%s-o json", rows[i].line);
        owned(said) struct said json = expect_code(folder, 0, line);
        owned(json) json_t *root = planned_json(&json);
        const char *origin = json_text_or(json_array_get(json_at(root, "engines"), 0), "origin",
                                          "");

        if (!strstr(said.out->chars, "; an assumption (--engine) over ") ||
            !strstr(said.out->chars, rows[i].want))
            fail_msg("%s", said.out->chars);
        assert_true(text_starts_with(origin, "an assumption (--engine) over "));
    }
}

static void metrics_of_an_engine_need_a_prometheus(void **state)
{
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    put_config(folder, "engine: {slots: 8, iteration: 20ms, tokens_out: 200, metrics: vllm}");

    owned(said) struct said said = expect_code(folder, 1, "allocate" WITH);

    assert_non_null(strstr(said.err->chars, "metrics: needs a source of the kind prometheus"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_follows_the_times_of_a_file),
        cmocka_unit_test(a_bad_file_is_refused_with_its_line),
        cmocka_unit_test(a_law_is_told),
        cmocka_unit_test(what_a_snapshot_measured_counts_instead_of_the_configuration),
        cmocka_unit_test(a_measured_engine_counts_instead_of_the_configured_one),
        cmocka_unit_test(proposed_windows_go_by_what_a_snapshot_measured),
        cmocka_unit_test(a_supposed_engine_says_over_what_it_is_supposed),
        cmocka_unit_test(metrics_of_an_engine_need_a_prometheus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
