/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prometheus by transcript: what is asked, what each answer means, and how long a source that is
 * busy or away is waited for.
 */
#include "tests/sources/source_bench.h"
#include "tests/support/folder.h"

#define URL "http://127.0.0.1:9090/api/v1/query_range"
#define MATRIX(values)                                                                             \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{},"      \
    "\"values\":[" values "]}]}}"
#define NOTHING                                                                                    \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]},\"warnings\":[]}"
#define FIVE MATRIX("[1794787260,\"5\"]")

static const struct source_settings plain = {
    .name = "metrics",
    .kind = "prometheus",
    .endpoint = "http://127.0.0.1:9090/",
};
static const struct source_queue chat = { "chat", { [DEMAND_LOW] = "requests_total{a=\"b\"}" } };

static struct script_step answer(int status, const char *body)
{
    return (
        struct script_step){ .method = HTTP_POST, .url = URL, .status = status, .answer = body };
}

static void gaps_stay_unknown_and_fractions_keep_their_sum(void **state)
{
    const struct script_step step = answer(
        200, MATRIX("[1794787260,\"1.4\"],[1794787320,\"1.4\"],[1794787380.000,\"1.4\"],"
                    "[1794787440,\"NaN\"],[1794787560,\"7\"]"));
    struct source_bench bench;

    (void)state;
    bench_open(&bench, &plain, &step, 1);
    bench_fetch(&bench, &chat, 1, 6);
    assert_string_equal(bench.script->transcript->chars,
                        "000000 POST " URL " query=sum%28increase%28requests_total%7Ba%3D%22b%22%7D"
                        "%5B60s%5D%29%29&start=1794787260&end=1794787560&step=60"
                        "&partial_response=false\n");
    assert_string_equal(bench.script->content_type, "application/x-www-form-urlencoded");
    assert_false(bench.script->is_mutation);
    assert_int_equal(bench.demand->count, 1);
    assert_true(bench.demand->series[0].is_single);
    assert_null(bench.demand->series[0].counts[DEMAND_HIGH]);
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "1 2 1 ? ? 7");
    bench_close(&bench);
}

static void a_step_that_one_priority_lacks_is_unknown_in_both(void **state)
{
    const struct source_queue queue = { "chat",
                                        { [DEMAND_HIGH] = "high_total", [DEMAND_LOW] = "low" } };
    const struct script_step steps[] = {
        answer(200, MATRIX("[1794787260,\"1\"],[1794787320,\"2\"]")),
        answer(200, MATRIX("[1794787260,\"3\"],[1794787380,\"4\"]")),
    };
    struct source_bench bench;

    (void)state;
    bench_open(&bench, &plain, steps, 2);
    bench_fetch(&bench, &queue, 1, 3);
    assert_false(bench.demand->series[0].is_single);
    expect_counts(&bench.demand->series[0], DEMAND_HIGH, "1 ? ?");
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "3 ? ?");
    bench_close(&bench);
}

/* Five minutes at the end of one hour, and the whole next hour. */
static void silence_is_zero_only_where_asked_and_only_in_an_hour_that_was_heard(void **state)
{
    const struct script_step step = answer(200, FIVE);
    struct source_settings settings = plain;
    struct source_bench bench;
    int zeros = 0, unknown = 0;

    (void)state;
    settings.missing_zero = true;
    bench_open(&bench, &settings, &step, 1);
    bench_fetch(&bench, &chat, 1, 120);
    for (size_t i = 1; i < 120; i++) {
        zeros += bench.demand->series[0].counts[DEMAND_LOW][i] == 0;
        unknown += bench.demand->series[0].counts[DEMAND_LOW][i] == DEMAND_UNKNOWN;
    }
    assert_int_equal(bench.demand->series[0].counts[DEMAND_LOW][0], 5);
    assert_int_equal(zeros, 59);
    assert_int_equal(unknown, 60);
    bench_close(&bench);
}

static void a_queue_without_a_point_is_unknown_and_series_are_sorted(void **state)
{
    const struct source_queue queues[] = { { "speech", { [DEMAND_LOW] = "a" } },
                                           { "chat", { [DEMAND_LOW] = "b" } } };
    const struct script_step steps[] = { answer(200, NOTHING), answer(200, FIVE) };
    struct source_bench bench;

    (void)state;
    bench_open(&bench, &plain, steps, 2);
    bench_fetch(&bench, queues, 2, 2);
    assert_string_equal(bench.demand->series[0].queue, "chat");
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "5 ?");
    assert_string_equal(bench.demand->series[1].queue, "speech");
    expect_counts(&bench.demand->series[1], DEMAND_LOW, "? ?");
    bench_close(&bench);
}

static const struct {
    const char *name;
    int status;
    const char *answer;
    enum error_kind kind;
    const char *text;
} refusals[] = {
    { "warnings", 200,
      "{\"status\":\"success\",\"warnings\":[\"store-7 is away\"],\"data\":{\"resultType\":"
      "\"matrix\",\"result\":[{\"metric\":{},\"values\":[[1794787260,\"5\"]]}]}}",
      ERROR_CORRUPT, "partial: store-7 is away" },
    { "warnings of another shape", 200,
      "{\"status\":\"success\",\"warnings\":\"odd\",\"data\":{\"resultType\":\"matrix\","
      "\"result\":[]}}",
      ERROR_CORRUPT, "partial" },
    { "two series", 200,
      "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"values\":[]},"
      "{\"values\":[]}]}}",
      ERROR_INVALID, "put sum() around it" },
    { "a native histogram", 200,
      "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"histograms\":[]}"
      "]}}",
      ERROR_CORRUPT, "expected a series of numbers" },
    { "a vector", 200,
      "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}", ERROR_CORRUPT,
      "no matrix" },
    { "a negative count", 200, MATRIX("[1794787260,\"-1\"]"), ERROR_CORRUPT, "-1 arrivals" },
    { "infinity", 200, MATRIX("[1794787260,\"+Inf\"]"), ERROR_CORRUPT, "+Inf" },
    { "between two steps", 200, MATRIX("[1794787270,\"1\"]"), ERROR_CORRUPT, "between two steps" },
    { "half a point", 200, MATRIX("[1794787260]"), ERROR_CORRUPT, "a point is not" },
    { "a number for a text", 200, MATRIX("[1794787260,1]"), ERROR_CORRUPT, "a point is not" },
    { "a proxy's page", 200, "<html>", ERROR_CORRUPT, "answer" },
    { "an error with status 200", 200, "{\"status\":\"error\",\"error\":\"no\"}", ERROR_INVALID,
      "refused: no" },
    { "a bad query", 400, "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse\"}",
      ERROR_INVALID, "400 parse" },
    { "a query that cannot be run", 422, "{\"status\":\"error\",\"error\":\"many-to-many\"}",
      ERROR_INVALID, "422 many-to-many" },
    { "no permission", 403, "no", ERROR_DENIED, "403" },
    { "no such path", 404, "no", ERROR_NOT_FOUND, "404" },
};

static void what_waiting_does_not_heal_ends_the_fetch_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const struct script_step step = answer(refusals[i].status, refusals[i].answer);
        struct source_bench bench;

        bench_open(&bench, &plain, &step, 1);
        bench_fetch(&bench, &chat, 1, 2);
        if (bench.err.kind != refusals[i].kind || !strstr(bench.err.text, refusals[i].text) ||
            !text_starts_with(bench.err.text, "source metrics, queue chat: "))
            fail_msg("%s: %s, %s", refusals[i].name, error_kind_name(bench.err.kind),
                     bench.err.text);
        bench_close(&bench);
    }
}

static void a_busy_source_is_waited_for_as_long_as_it_says(void **state)
{
    struct script_step steps[] = {
        answer(503, "busy"),   answer(429, "busy"),
        answer(502, "<html>"), { .method = HTTP_POST, .url = URL, .fails = ERROR_UNKNOWN_OUTCOME },
        answer(200, FIVE),
    };
    struct source_bench bench;
    int at[5];
    int last = 0;
    const char *line;

    (void)state;
    steps[0].retry_after = "9";
    bench_open(&bench, &plain, steps, COUNT_OF(steps));
    bench_fetch(&bench, &chat, 1, 1);
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "5");
    assert_int_equal(source_effort(bench.source).requests, 5);
    assert_int_equal(source_effort(bench.source).repeats, 4);
    line = bench.script->transcript->chars;
    for (int i = 0; i < 5; i++) {
        long long ms = 0;
        char number[7];

        text_copy(number, sizeof number, line);
        assert_true(text_to_int(number, 0, 999999, &ms) || ms == 0);
        at[i] = (int)ms;
        line = strchr(line, '\n') + 1;
    }
    assert_true(at[1] >= 9000);
    for (int i = 2; i < 5; i++) {
        int rest = at[i] - at[i - 1];

        assert_true(rest >= 1000 && rest > last / 2);
        last = rest;
    }
    bench_close(&bench);
}

static void a_source_that_asks_for_a_day_is_asked_again_after_minutes(void **state)
{
    struct script_step steps[] = { answer(429, "busy"), answer(200, FIVE) };
    struct source_bench bench;
    int64_t began_ms;

    (void)state;
    steps[0].retry_after = "80000";
    bench_open(&bench, &plain, steps, COUNT_OF(steps));
    began_ms = loop_now(bench.loop);
    bench_fetch(&bench, &chat, 1, 1);
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "5");
    assert_in_range(loop_now(bench.loop) - began_ms, 5 * MINUTE_MS, 6 * MINUTE_MS);
    bench_close(&bench);
}

static void patience_ends_after_eight_attempts(void **state)
{
    struct script_step steps[8];
    struct source_bench bench;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        steps[i] = answer(500, "");
    bench_open(&bench, &plain, steps, COUNT_OF(steps));
    bench_fetch(&bench, &chat, 1, 1);
    assert_int_equal(bench.err.kind, ERROR_TRANSIENT);
    assert_non_null(strstr(bench.err.text, "given up after 8 attempts"));
    bench_close(&bench);
}

/* 8 days are 11520 minutes. */
static void no_request_asks_for_more_points_than_the_server_gives(void **state)
{
    const struct script_step steps[] = { answer(200, FIVE),
                                         answer(200, MATRIX("[1795447260,\"6\"]")) };
    struct source_bench bench;

    (void)state;
    bench_open(&bench, &plain, steps, 2);
    bench_fetch(&bench, &chat, 1, 8 * 1440);
    assert_non_null(strstr(bench.script->transcript->chars, "start=1794787260&end=1795447200&"));
    assert_non_null(strstr(bench.script->transcript->chars, "start=1795447260&end=1795478400&"));
    assert_int_equal(bench.demand->series[0].counts[DEMAND_LOW][0], 5);
    assert_int_equal(bench.demand->series[0].counts[DEMAND_LOW][10999], DEMAND_UNKNOWN);
    assert_int_equal(bench.demand->series[0].counts[DEMAND_LOW][11000], 6);
    bench_close(&bench);
}

static void the_token_is_read_for_each_request_and_never_shown(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "token", "s3cret\n");
    struct source_settings settings = plain;
    const struct script_step steps[] = { answer(200, FIVE), answer(401, "no") };
    struct source_bench bench;

    (void)state;
    settings.token = path;
    settings.query = "rate($arrivals[$step]) * 60";
    bench_open(&bench, &settings, steps, 2);
    bench_fetch(&bench, &chat, 1, 1);
    assert_string_equal(bench.script->authorization, "Bearer s3cret");
    assert_non_null(strstr(bench.script->transcript->chars, "query=rate%28requests_total"));
    bench.calls = 0;
    demand_free(bench.demand);
    bench.demand = NULL;
    mem_free(test_folder_write(folder, "token", "renewed"));
    bench_fetch(&bench, &chat, 1, 1);
    assert_string_equal(bench.script->authorization, "Bearer renewed");
    assert_int_equal(bench.err.kind, ERROR_DENIED);
    assert_null(strstr(bench.err.text, "renewed"));
    bench_close(&bench);
}

static void a_token_that_would_add_a_header_is_not_sent(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "token", "a\r\nX-Other: b");
    struct source_settings settings = plain;
    struct source_bench bench;

    (void)state;
    settings.token = path;
    bench_open(&bench, &settings, NULL, 0);
    bench_fetch(&bench, &chat, 1, 1);
    assert_int_equal(bench.err.kind, ERROR_INVALID);
    assert_null(strstr(bench.err.text, "X-Other"));
    bench_close(&bench);
}

static void a_source_may_be_closed_at_any_moment(void **state)
{
    const struct script_step step = { .method = HTTP_POST, .url = URL, .hangs = true };
    const struct source_query query = {
        .queues = &chat,
        .queue_count = 1,
        .span = { { MIDNIGHT * SECOND_MS }, { MIDNIGHT * SECOND_MS + MINUTE_MS }, MINUTE_MS },
    };

    (void)state;
    for (int turns = 0; turns < 2; turns++) {
        struct source_bench bench;

        bench_open(&bench, &plain, &step, 1);
        assert_int_equal(source_fetch(bench.source, &query, bench_done, &bench, &bench.err), 0);
        loop_run_until(bench.loop, turns * 10);
        source_close(bench.source);
        bench.source = NULL;
        loop_run(bench.loop);
        assert_int_equal(bench.calls, 0);
        assert_int_equal(bench.script->in_flight, 0);
        bench_close(&bench);
    }
}

static void settings_that_cannot_work_are_refused_at_once(void **state)
{
    static const struct {
        struct source_settings settings;
        const char *text;
    } cases[] = {
        { { .name = "m", .kind = "graphite" }, "no kind \"graphite\"" },
        { { .name = "m", .kind = "prometheus" }, "has no endpoint" },
        { { .name = "m", .kind = "prometheus", .endpoint = "http://127.0.0.1", .query = "up" },
          "all queues would be one" },
        { { .name = "m", .kind = "prometheus", .endpoint = "http://127.0.0.1", .ca = "/nowhere" },
          "/nowhere" },
        { { .name = "m", .kind = "monitoring" }, "has no project" },
        { { .name = "m", .kind = "cloudwatch", .account = { .region = "us east" } },
          "expected a region" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct source_bench bench;

        bench_open(&bench, &cases[i].settings, NULL, 0);
        assert_null(bench.source);
        if (!strstr(bench.err.text, cases[i].text))
            fail_msg("%s", bench.err.text);
        bench_close(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_stay_unknown_and_fractions_keep_their_sum),
        cmocka_unit_test(a_step_that_one_priority_lacks_is_unknown_in_both),
        cmocka_unit_test(silence_is_zero_only_where_asked_and_only_in_an_hour_that_was_heard),
        cmocka_unit_test(a_queue_without_a_point_is_unknown_and_series_are_sorted),
        cmocka_unit_test(what_waiting_does_not_heal_ends_the_fetch_at_once),
        cmocka_unit_test(a_busy_source_is_waited_for_as_long_as_it_says),
        cmocka_unit_test(a_source_that_asks_for_a_day_is_asked_again_after_minutes),
        cmocka_unit_test(patience_ends_after_eight_attempts),
        cmocka_unit_test(no_request_asks_for_more_points_than_the_server_gives),
        cmocka_unit_test(the_token_is_read_for_each_request_and_never_shown),
        cmocka_unit_test(a_token_that_would_add_a_header_is_not_sent),
        cmocka_unit_test(a_source_may_be_closed_at_any_moment),
        cmocka_unit_test(settings_that_cannot_work_are_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
