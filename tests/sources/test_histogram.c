/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Service times out of histograms: what is asked, what answers are refused, and that questions to a
 * source take turns.
 */
#include "tests/sources/source_bench.h"
#include "windows/servers/service_shape.h"

#include <math.h>

#define URL "http://127.0.0.1:9090/api/v1/query_range"
#define SERIES(le, values) "{\"metric\":{\"le\":\"" le "\"},\"values\":[" values "]}"
#define ANSWER(series)                                                                             \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}"

static const struct source_settings settings = {
    .name = "metrics",
    .kind = "prometheus",
    .endpoint = "http://127.0.0.1:9090",
};
static const struct source_histogram histogram = { .name = "latency{model=\"a\"}" };

struct heard {
    struct service_shape *shape;
    struct error err;
    int calls;
};

static void hear(void *context, struct service_shape *shape, const struct error *err)
{
    struct heard *heard = context;

    heard->shape = shape;
    heard->calls++;
    if (err)
        heard->err = *err;
}

static struct script_step answer(int status, const char *body)
{
    return (
        struct script_step){ .method = HTTP_POST, .url = URL, .status = status, .answer = body };
}

/* Two days from midnight on. */
static void ask(struct source_bench *bench, const struct source_histogram *of, struct heard *heard)
{
    int64_t from_ms = MIDNIGHT * SECOND_MS;
    struct source_histogram asked = *of;

    asked.span = (struct source_span){ { from_ms }, { from_ms + 2 * DAY_MS }, MINUTE_MS };
    *heard = (struct heard){ 0 };
    if (source_measure(bench->source, &asked, hear, heard, &heard->err) == 0)
        assert_int_equal(heard->calls, 0);
}

#define GOOD                                                                                       \
    ANSWER(SERIES("0.5", "[1794873600,\"300\"],[1794960000,\"300\"]") "," SERIES(                  \
        "+Inf",                                                                                    \
        "[179487"                                                                                  \
        "3600,"                                                                                    \
        "\"600\""                                                                                  \
        "],["                                                                                      \
        "1794960"                                                                                  \
        "000,"                                                                                     \
        "\"600\""                                                                                  \
        "]") "," SERIES("1", "[1794873600,\"600\"],[1794960000,\"600\"]") "," SERIES("sum",        \
                                                                                     "[1794873600" \
                                                                                     ",\"300\"],[" \
                                                                                     "1794960000," \
                                                                                     "\"300\"]"))

static void days_are_added_up(void **state)
{
    const struct script_step step = answer(200, GOOD);
    struct source_bench bench;
    struct heard heard;

    (void)state;
    bench_open(&bench, &settings, &step, 1);
    ask(&bench, &histogram, &heard);
    loop_run(bench.loop);
    if (!heard.shape)
        fail_msg("%s", heard.err.text);
    assert_true(heard.shape->requests == 1200);
    assert_true(heard.shape->mean_s == 0.5);
    assert_int_equal(heard.shape->count, 2);
    assert_string_equal(
        bench.script->body,
        "query=sum%20by%20%28le%29%20%28increase%28latency_bucket%7Bmodel%3D%22a%22%7D%5B86400s%5D"
        "%29%29%20or%20label_replace%28sum%28increase%28latency_sum%7Bmodel%3D%22a%22%7D%5B86400s"
        "%5D%29%29%2C%20%22le%22%2C%20%22sum%22%2C%20%22%22%2C%20%22%22%29"
        "&start=1794873600&end=1794960000&step=86400&partial_response=false");
    service_shape_free(heard.shape);
    bench_close(&bench);
}

#define TWO(value) "[1794873600,\"" value "\"],[1794960000,\"" value "\"]"
#define POINT(value) "[1794873600,\"" value "\"]"

static const struct {
    const char *name;
    int status;
    const char *body;
    enum error_kind kind;
    const char *want;
} refusals[] = {
    { "nothing", 200, ANSWER(""), ERROR_INVALID, "no series called so" },
    { "only a sum", 200, ANSWER(SERIES("sum", POINT("3"))), ERROR_INVALID, "no series called so" },
    { "no sum", 200, ANSWER(SERIES("1", POINT("300")) "," SERIES("+Inf", POINT("300"))),
      ERROR_INVALID, "the sum of the times is nan" },
    { "no last bucket", 200,
      ANSWER(SERIES("1", POINT("300")) "," SERIES("2", POINT("300")) "," SERIES("sum", POINT("3"))),
      ERROR_INVALID, "+Inf" },
    { "not a number", 200,
      ANSWER(
          SERIES("1", POINT("NaN")) "," SERIES("+Inf", POINT("300")) "," SERIES("sum", POINT("3"))),
      ERROR_INVALID, "nan requests" },
    { "a sum of fewer days", 200,
      ANSWER(
          SERIES("1", TWO("300")) "," SERIES("+Inf", TWO("300")) "," SERIES("sum", POINT("150"))),
      ERROR_INVALID, "le=\"sum\" and le=\"+Inf\" have 1 and 2 points" },
    { "a bucket of fewer days", 200,
      ANSWER(SERIES("1", POINT("297")) "," SERIES("2", TWO("297")) "," SERIES(
          "+Inf", TWO("300")) "," SERIES("sum", TWO("150"))),
      ERROR_INVALID, "le=\"1\" and le=\"+Inf\" have 1 and 2 points" },
    { "a sum of another day", 200,
      ANSWER(SERIES("1", POINT("300")) "," SERIES("+Inf", POINT("300")) "," SERIES(
          "sum", "[1794960000,\"150\"]")),
      ERROR_INVALID, "le=\"sum\" and le=\"+Inf\" tell of different days" },
    { "falling buckets", 200,
      ANSWER(SERIES("1", POINT("300")) "," SERIES("2", POINT("200")) "," SERIES(
          "+Inf", POINT("300")) "," SERIES("sum", POINT("3"))),
      ERROR_INVALID, "no histogram" },
    { "a bound that is none", 200, ANSWER(SERIES("fast", POINT("300"))), ERROR_INVALID,
      "le=\"fast\"" },
    { "a bucket without a bound", 200, ANSWER("{\"metric\":{},\"values\":[" POINT("3") "]}"),
      ERROR_INVALID, "le=\"\"" },
    { "a native histogram", 200,
      ANSWER("{\"metric\":{},\"histograms\":[[1794873600,{\"count\":\"3\"}]]}"), ERROR_INVALID,
      "native histogram" },
    { "a value that is none", 200, ANSWER(SERIES("1", POINT("many"))), ERROR_CORRUPT, "\"many\"" },
    { "values that are none", 200, ANSWER("{\"metric\":{\"le\":\"1\"}}"), ERROR_CORRUPT, "values" },
    { "warnings", 200, "{\"status\":\"success\",\"warnings\":[\"cut\"],\"data\":{}}", ERROR_CORRUPT,
      "partial: cut" },
    { "a bad query", 400, "{\"error\":\"parse error\"}", ERROR_INVALID, "parse error" },
    { "no right to ask", 403, "", ERROR_DENIED, "403" },
};

static void what_is_no_histogram_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const struct script_step step = answer(refusals[i].status, refusals[i].body);
        struct source_bench bench;
        struct heard heard;

        bench_open(&bench, &settings, &step, 1);
        ask(&bench, &histogram, &heard);
        loop_run(bench.loop);
        if (heard.shape || heard.calls != 1 || heard.err.kind != refusals[i].kind ||
            !strstr(heard.err.text, refusals[i].want))
            fail_msg("%s: %s, %s", refusals[i].name, error_kind_name(heard.err.kind),
                     heard.err.text);
        assert_non_null(strstr(heard.err.text, "source metrics"));
        bench_close(&bench);
    }
}

static void a_name_that_is_none_is_not_asked_for(void **state)
{
    static const char *const names[] = { "", "{a=\"b\"}", "rate(a[5m])", "a{b=\"c\"", "a b" };
    struct source_bench bench;
    struct heard heard;

    (void)state;
    bench_open(&bench, &settings, NULL, 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct source_histogram bad = { .name = names[i] };

        ask(&bench, &bad, &heard);
        if (heard.err.kind != ERROR_INVALID)
            fail_msg("%s: was asked for", names[i]);
    }
    bench_close(&bench);
}

/* The first of three is busy for a while; the others wait for it, and nothing overlaps. */
static void questions_take_turns(void **state)
{
    struct script_step steps[4];
    struct source_bench bench;
    struct heard heards[3];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        steps[i] = answer(i == 0 ? 429 : 200, i == 0 ? "" : GOOD);
        steps[i].delay_ms = 100;
    }
    steps[0].retry_after = "5";
    bench_open(&bench, &settings, steps, COUNT_OF(steps));
    for (size_t i = 0; i < COUNT_OF(heards); i++)
        ask(&bench, &histogram, &heards[i]);
    loop_run_until(bench.loop, loop_now(bench.loop) + 5000);
    assert_int_equal(source_effort(bench.source).requests, 1);
    while (heards[2].calls == 0) {
        loop_run_until(bench.loop, loop_now(bench.loop) + 10);
        assert_in_range(bench.script->in_flight, 0, 1);
    }
    for (size_t i = 0; i < COUNT_OF(heards); i++) {
        assert_non_null(heards[i].shape);
        service_shape_free(heards[i].shape);
    }
    assert_int_equal(source_effort(bench.source).requests, 4);
    assert_int_equal(source_effort(bench.source).repeats, 1);
    bench_close(&bench);
}

static void a_question_does_not_shorten_the_wait_of_another(void **state)
{
    struct script_step steps[3];
    struct source_bench bench;
    struct heard heards[2];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        steps[i] = answer(i == 0 ? 429 : 200, i == 0 ? "" : GOOD);
    steps[0].retry_after = "5";
    bench_open(&bench, &settings, steps, COUNT_OF(steps));
    ask(&bench, &histogram, &heards[0]);
    loop_run_until(bench.loop, loop_now(bench.loop) + 1000);
    ask(&bench, &histogram, &heards[1]);
    loop_run_until(bench.loop, loop_now(bench.loop) + 3900);
    assert_int_equal(source_effort(bench.source).requests, 1);
    loop_run(bench.loop);
    assert_int_equal(source_effort(bench.source).requests, 3);
    for (size_t i = 0; i < COUNT_OF(heards); i++) {
        assert_non_null(heards[i].shape);
        service_shape_free(heards[i].shape);
    }
    bench_close(&bench);
}

static void a_source_may_be_closed_while_questions_wait(void **state)
{
    struct script_step step = answer(200, GOOD);
    struct source_bench bench;
    struct heard heards[2];

    (void)state;
    step.hangs = true;
    bench_open(&bench, &settings, &step, 1);
    ask(&bench, &histogram, &heards[0]);
    ask(&bench, &histogram, &heards[1]);
    loop_run_until(bench.loop, loop_now(bench.loop) + 1000);
    assert_int_equal(bench.script->in_flight, 1);
    bench_close(&bench);
    assert_int_equal(heards[0].calls + heards[1].calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_are_added_up),
        cmocka_unit_test(what_is_no_histogram_is_refused),
        cmocka_unit_test(a_name_that_is_none_is_not_asked_for),
        cmocka_unit_test(questions_take_turns),
        cmocka_unit_test(a_question_does_not_shorten_the_wait_of_another),
        cmocka_unit_test(a_source_may_be_closed_while_questions_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
