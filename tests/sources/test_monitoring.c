/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cloud Monitoring by transcript: the token, the pages, and what each answer means.
 */
#include "tests/sources/source_bench.h"

#define TOKEN_URL "http://127.0.0.1:1/computeMetadata/v1/instance/service-accounts/default/token"
#define URL(from, to)                                                                              \
    "http://127.0.0.1:2/v3/projects/serving/timeSeries?filter=metric.type%3D%22a%22"               \
    "&interval.startTime=" from "&interval.endTime=" to                                            \
    "&aggregation.alignmentPeriod=60s&aggregation.perSeriesAligner=ALIGN_DELTA"                    \
    "&aggregation.crossSeriesReducer=REDUCE_SUM&view=FULL&pageSize=100000"
#define FOUR URL("2026-11-16T00:00:00Z", "2026-11-16T00:04:00Z")
#define POINT(minute, value)                                                                       \
    "{\"interval\":{\"startTime\":\"2026-11-16T00:00:00Z\",\"endTime\":\"2026-11-16T00:0" minute   \
    ":00Z\"},\"value\":{" value "}}"
#define SERIES(points) "\"timeSeries\":[{\"points\":[" points "]}]"
#define TOKEN(text) "{\"access_token\":\"" text "\",\"expires_in\":3600,\"token_type\":\"Bearer\"}"

static const struct source_settings plain = {
    .name = "google",
    .kind = "monitoring",
    .endpoint = "http://127.0.0.1:2",
    .metadata = "http://127.0.0.1:1",
    .project = "serving",
    .query = "metric.type=\"$arrivals\"",
};
static const struct source_queue chat = { "chat", { [DEMAND_LOW] = "a" } };

static struct script_step token(const char *text)
{
    return (struct script_step){
        .method = HTTP_GET, .url = TOKEN_URL, .status = 200, .answer = text, .header = "Google"
    };
}

static struct script_step answer(const char *url, int status, const char *body)
{
    return (struct script_step){ .method = HTTP_GET, .url = url, .status = status, .answer = body };
}

static void pages_are_read_newest_first_and_whole_numbers_are_texts(void **state)
{
    const struct script_step steps[] = {
        token(TOKEN("t1")),
        answer(FOUR, 200,
               "{" SERIES(POINT("4", "\"int64Value\":\"7\"") "," POINT(
                   "3", "\"doubleValue\":2.0")) ",\"nextPageToken\":\"p/2\"}"),
        answer(FOUR "&pageToken=p%2F2", 200,
               "{" SERIES(POINT("1", "\"int64Value\":\"1\"")) ",\"nextPageToken\":\"\"}"),
    };
    struct source_bench bench;

    (void)state;
    bench_open(&bench, &plain, steps, 3);
    bench_fetch(&bench, &chat, 1, 4);
    if (!bench.demand)
        fail_msg("%s", bench.err.text);
    assert_string_equal(bench.script->authorization, "Bearer t1");
    assert_true(script_is_played(bench.script));
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "1 ? 2 7");
    bench_close(&bench);
}

static void a_refused_token_is_replaced_once(void **state)
{
    for (int attempts = 1; attempts <= 2; attempts++) {
        const struct script_step steps[] = {
            token(TOKEN("old")),
            answer(FOUR, 401, "{\"error\":{\"message\":\"expired\"}}"),
            token(TOKEN("new")),
            attempts == 1 ? answer(FOUR, 200, "{}")
                          : answer(FOUR, 401, "{\"error\":{\"message\":\"expired\"}}"),
        };
        struct source_bench bench;

        bench_open(&bench, &plain, steps, 4);
        bench_fetch(&bench, &chat, 1, 4);
        assert_string_equal(bench.script->authorization, "Bearer new");
        if (attempts == 1) {
            expect_counts(&bench.demand->series[0], DEMAND_LOW, "? ? ? ?");
        } else {
            assert_int_equal(bench.err.kind, ERROR_DENIED);
            assert_non_null(strstr(bench.err.text, "401 expired"));
        }
        bench_close(&bench);
    }
    (void)state;
}

static const struct {
    const char *name;
    int status;
    const char *answer;
    enum error_kind kind;
    const char *text;
} refusals[] = {
    { "errors beside points", 200,
      "{" SERIES(
          POINT("1", "\"int64Value\":\"1\"")) ",\"executionErrors\":[{\"message\":\"shard\"}]}",
      ERROR_CORRUPT, "partial: shard" },
    { "what could not be reached", 200, "{\"unreachable\":[\"us-east1\"]}", ERROR_CORRUPT,
      "partial" },
    { "two series", 200, "{\"timeSeries\":[{\"points\":[]},{\"points\":[]}]}", ERROR_INVALID,
      "2 series" },
    { "a distribution", 200, "{" SERIES(POINT("1", "\"distributionValue\":{}")) "}", ERROR_CORRUPT,
      "no value that counts" },
    { "a point without a time", 200, "{" SERIES("{\"value\":{\"int64Value\":\"1\"}}") "}",
      ERROR_CORRUPT, "endTime" },
    { "a negative delta", 200, "{" SERIES(POINT("1", "\"int64Value\":\"-1\"")) "}", ERROR_CORRUPT,
      "-1 arrivals" },
    { "no JSON", 200, "", ERROR_CORRUPT, "answer" },
    { "a bad filter", 400, "{\"error\":{\"message\":\"filter\"}}", ERROR_INVALID, "400 filter" },
    { "no permission", 403, "{\"error\":{\"message\":\"role\"}}", ERROR_DENIED, "403 role" },
    { "no such project", 404, "{}", ERROR_NOT_FOUND, "404" },
};

static void what_waiting_does_not_heal_ends_the_fetch_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const struct script_step steps[] = { token(TOKEN("t1")),
                                             answer(FOUR, refusals[i].status, refusals[i].answer) };
        struct source_bench bench;

        bench_open(&bench, &plain, steps, 2);
        bench_fetch(&bench, &chat, 1, 4);
        if (bench.err.kind != refusals[i].kind || !strstr(bench.err.text, refusals[i].text))
            fail_msg("%s: %s, %s", refusals[i].name, error_kind_name(bench.err.kind),
                     bench.err.text);
        bench_close(&bench);
    }
}

static void a_token_that_cannot_be_had_ends_the_fetch(void **state)
{
    struct script_step step = token("{\"error\":\"no account\"}");
    struct source_bench bench;

    (void)state;
    step.status = 404;
    bench_open(&bench, &plain, &step, 1);
    bench_fetch(&bench, &chat, 1, 4);
    assert_int_equal(bench.err.kind, ERROR_DENIED);
    assert_true(text_starts_with(bench.err.text, "source google, queue chat: "));
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_read_newest_first_and_whole_numbers_are_texts),
        cmocka_unit_test(a_refused_token_is_replaced_once),
        cmocka_unit_test(what_waiting_does_not_heal_ends_the_fetch_at_once),
        cmocka_unit_test(a_token_that_cannot_be_had_ends_the_fetch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
