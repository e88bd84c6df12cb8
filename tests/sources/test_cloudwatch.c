/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * CloudWatch by transcript for what it may answer, and on real sockets against a strict fake; the
 * vendor's own client asks the same fake, where it is installed, and must find the same.
 */
#include "tests/sources/fake_cloudwatch.h"
#include "tests/sources/source_bench.h"
#include "tests/support/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define URL "https://monitoring.us-east-1.amazonaws.com/"
#define RESULT(status, times, values)                                                              \
    "{\"MetricDataResults\":[{\"Id\":\"q0\",\"Timestamps\":[" times "],\"Values\":[" values        \
    "],\"StatusCode\":\"" status "\"}]"
#define PAGE(status, times, values, next)                                                          \
    RESULT(status, times, values) ",\"NextToken\":\"" next "\"}"
#define LAST(status, times, values) RESULT(status, times, values) "}"

static const struct source_settings plain = {
    .name = "aws",
    .kind = "cloudwatch",
    .account = { .region = "us-east-1" },
};
static const struct source_queue chat = { "chat", { [DEMAND_LOW] = "jobs-a" } };

static int set_keys(void **state)
{
    (void)state;
    setenv("AWS_ACCESS_KEY_ID", FAKE_ID, 1);
    setenv("AWS_SECRET_ACCESS_KEY", FAKE_SECRET, 1);
    unsetenv("AWS_SESSION_TOKEN");
    unsetenv("AWS_PROFILE");
    return 0;
}

static struct script_step answer(int status, const char *body)
{
    return (
        struct script_step){ .method = HTTP_POST, .url = URL, .status = status, .answer = body };
}

static void one_request_says_all_there_is_to_say(void **state)
{
    const struct script_step step = answer(200, LAST("Complete", "1794787200,1794787320", "3,4.0"));
    struct source_bench bench;

    (void)state;
    bench_open(&bench, &plain, &step, 1);
    bench_fetch(&bench, &chat, 1, 3);
    assert_string_equal(
        bench.script->transcript->chars,
        "000000 POST " URL " {\"StartTime\":1794787200,\"EndTime\":1794787380,"
        "\"ScanBy\":\"TimestampAscending\",\"MaxDatapoints\":100800,\"MetricDataQueries\":["
        "{\"Id\":\"q0\",\"ReturnData\":true,\"MetricStat\":{\"Metric\":{\"Namespace\":\"AWS/SQS\","
        "\"MetricName\":\"NumberOfMessagesSent\",\"Dimensions\":[{\"Name\":\"QueueName\","
        "\"Value\":\"jobs-a\"}]},\"Period\":60,\"Stat\":\"Sum\"}}]}\n");
    assert_string_equal(bench.script->content_type, "application/x-amz-json-1.0");
    assert_true(text_starts_with(bench.script->authorization,
                                 "AWS4-HMAC-SHA256 Credential=" FAKE_ID
                                 "/20261118/us-east-1/monitoring/aws4_request, SignedHeaders="));
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "3 ? 4");
    bench_close(&bench);
}

static void a_metric_over_several_pages_counts_when_it_is_complete(void **state)
{
    const struct script_step steps[] = {
        answer(200, PAGE("PartialData", "1794787200", "1", "p2")),
        answer(200, PAGE("InternalError", "", "", "p3")),
        answer(200, LAST("Complete", "1794787260,1794787200", "2,9")), /* a late correction */
    };
    struct source_bench bench;

    (void)state;
    bench_open(&bench, &plain, steps, 3);
    bench_fetch(&bench, &chat, 1, 2);
    assert_non_null(strstr(bench.script->body, "\"NextToken\":\"p3\""));
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "9 2");
    bench_close(&bench);
}

/* The first page is asked for again, and what it told before is forgotten. */
static void pages_that_were_lost_are_asked_for_from_the_first(void **state)
{
    static const char *const failures[] = {
        "{\"__type\":\"com.amazonaws#InvalidNextToken\",\"message\":\"old\"}",
        NULL, /* InternalError without another page */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        const struct script_step steps[] = {
            answer(200, PAGE("PartialData", "1794787200", "1", "p2")),
            failures[i] ? answer(400, failures[i]) : answer(200, LAST("InternalError", "", "")),
            answer(200, LAST("Complete", "1794787260", "2")),
        };
        struct source_bench bench;

        bench_open(&bench, &plain, steps, 3);
        bench_fetch(&bench, &chat, 1, 2);
        if (!bench.demand)
            fail_msg("%s", bench.err.text);
        assert_null(strstr(bench.script->body, "NextToken"));
        expect_counts(&bench.demand->series[0], DEMAND_LOW, "? 2");
        bench_close(&bench);
    }
}

static const struct {
    const char *name;
    int status;
    const char *answer;
    enum error_kind kind;
    const char *text;
} refusals[] = {
    { "partial to the end", 200, LAST("PartialData", "1794787200", "1"), ERROR_CORRUPT, "partial" },
    { "a metric unheard of", 200, "{\"MetricDataResults\":[]}", ERROR_CORRUPT, "partial" },
    { "a message about the whole", 200,
      "{\"MetricDataResults\":[],\"Messages\":[{\"Code\":\"M\",\"Value\":\"too many metrics\"}]}",
      ERROR_CORRUPT, "partial: too many metrics" },
    { "forbidden", 200, LAST("Forbidden", "", ""), ERROR_DENIED, "forbidden" },
    { "another status", 200, LAST("Fine", "", ""), ERROR_CORRUPT, "\"Fine\"" },
    { "what was not asked", 200,
      "{\"MetricDataResults\":[{\"Id\":\"q1\",\"StatusCode\":\"Complete\"}]}", ERROR_CORRUPT,
      "not asked" },
    { "more times than values", 200, LAST("Complete", "1794787200,1794787260", "1"), ERROR_CORRUPT,
      "2 times and 1 values" },
    { "between two steps", 200, LAST("Complete", "1794787210", "1"), ERROR_CORRUPT, "between" },
    { "no JSON", 200, "<xml/>", ERROR_CORRUPT, "answer" },
    { "a signature that does not match", 403,
      "{\"__type\":\"SignatureDoesNotMatch\",\"message\":\"no\"}", ERROR_DENIED,
      "403 SignatureDoesNotMatch: no" },
    { "an expired token", 400, "{\"__type\":\"ExpiredTokenException\"}", ERROR_DENIED, "Expired" },
    { "a parameter", 400, "{\"__type\":\"a.b#InvalidParameterValueException:http://x\"}",
      ERROR_INVALID, "400 InvalidParameterValueException" },
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
            strstr(bench.err.text, FAKE_SECRET))
            fail_msg("%s: %s, %s", refusals[i].name, error_kind_name(bench.err.kind),
                     bench.err.text);
        bench_close(&bench);
    }
}

static void throttling_is_waited_out(void **state)
{
    const struct script_step steps[] = {
        answer(400, "{\"__type\":\"Throttling\"}"),
        answer(400, "{\"__type\":\"x#ThrottlingException\"}"),
        answer(503, "{\"__type\":\"ServiceUnavailable\"}"),
        answer(500, "{\"__type\":\"InternalServiceFault\"}"),
        answer(200, LAST("Complete", "1794787200", "1")),
    };
    struct source_bench bench;

    (void)state;
    bench_open(&bench, &plain, steps, COUNT_OF(steps));
    bench_fetch(&bench, &chat, 1, 1);
    assert_int_equal(source_effort(bench.source).repeats, 4);
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "1");
    bench_close(&bench);
}

static void pages_without_an_end_are_refused(void **state)
{
    const struct script_step steps[] = { answer(200, PAGE("PartialData", "", "", "p2")),
                                         answer(200, PAGE("PartialData", "", "", "p2")) };
    struct source_bench bench;

    (void)state;
    bench_open(&bench, &plain, steps, 2);
    bench_fetch(&bench, &chat, 1, 1);
    assert_int_equal(bench.err.kind, ERROR_CORRUPT);
    assert_non_null(strstr(bench.err.text, "no end"));
    bench_close(&bench);
}

static void endless_beginnings_are_refused(void **state)
{
    struct script_step steps[18];
    struct source_bench bench;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i += 2) {
        steps[i] = answer(200, PAGE("PartialData", "1794787200", "1", "p2"));
        steps[i + 1] = answer(400, "{\"__type\":\"com.amazonaws#InvalidNextToken\"}");
    }
    bench_open(&bench, &plain, steps, COUNT_OF(steps));
    bench_fetch(&bench, &chat, 1, 1);
    assert_int_equal(bench.err.kind, ERROR_CORRUPT);
    assert_non_null(strstr(bench.err.text, "given up after 9 beginnings"));
    assert_true(script_is_played(bench.script));
    bench_close(&bench);
}

static void minutes_are_kept_for_fifteen_days(void **state)
{
    static const struct {
        int64_t days, step_ms;
        bool is_kept;
    } cases[] = {
        { 15, MINUTE_MS, true },      { 16, MINUTE_MS, false }, { 63, 5 * MINUTE_MS, true },
        { 64, 5 * MINUTE_MS, false }, { 455, HOUR_MS, true },   { 456, HOUR_MS, false },
        { 1, 30 * SECOND_MS, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct source_bench bench;

        bench_open(&bench, &plain, NULL, 0);

        int64_t now_ms = loop_wall(bench.loop).ms;
        const struct source_query query = {
            .queues = &chat,
            .queue_count = 1,
            .span = { { now_ms - cases[i].days * DAY_MS }, { now_ms }, cases[i].step_ms },
        };

        assert_int_equal(source_fetch(bench.source, &query, bench_done, &bench, &bench.err),
                         cases[i].is_kept ? 0 : -1);
        assert_true(cases[i].is_kept || bench.err.kind == ERROR_INVALID);
        bench_close(&bench);
    }
}

static void keys_come_from_the_profile_that_is_named(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "credentials",
                                                "# keys\n[default]\naws_access_key_id = A\n"
                                                "aws_secret_access_key=B\n\n[ metrics ]\r\n"
                                                "aws_access_key_id=C\r\n"
                                                "aws_secret_access_key = D=\r\n"
                                                "aws_session_token = E\n[empty]\n");
    const struct script_step steps[] = { answer(200, LAST("Complete", "", "")) };
    static const struct {
        const char *profile, *id, *text;
    } cases[] = { { NULL, "Credential=A/", NULL },
                  { "metrics", "Credential=C/", NULL },
                  { "empty", NULL, "no aws_access_key_id" },
                  { "other", NULL, "has no profile other" } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct source_settings settings = plain;
        struct source_bench bench;

        settings.account.credentials = path;
        settings.account.profile = cases[i].profile;
        bench_open(&bench, &settings, steps, 1);
        bench_fetch(&bench, &chat, 1, 1);
        if (cases[i].id) {
            assert_non_null(strstr(bench.script->authorization, cases[i].id));
            assert_true(!cases[i].profile ==
                        !strstr(bench.script->authorization, "x-amz-security-token"));
        } else {
            assert_int_equal(bench.err.kind, ERROR_DENIED);
            assert_non_null(strstr(bench.err.text, cases[i].text));
        }
        bench_close(&bench);
    }
}

#define OTHER_STS "https://sts.example.com/"
#define STS "https://sts.us-east-1.amazonaws.com/"
#define LENT(id)                                                                                   \
    "<R><S><Credentials><AccessKeyId>" id                                                          \
    "</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T"                            \
    "</SessionToken><Expiration>2026-11-18T01:00:00Z</Expiration></Credentials></S></R>"

static struct script_step lend(const char *id)
{
    return (struct script_step){ .method = HTTP_POST, .url = STS, .status = 200, .answer = id };
}

static void keys_that_end_within_a_fetch_are_replaced(void **state)
{
    const struct script_step steps[] = {
        lend(LENT("ONE")),
        answer(200, PAGE("PartialData", "1794787200", "3", "p2")),
        answer(400, "{\"__type\":\"ExpiredTokenException\"}"),
        lend(LENT("TWO")),
        answer(200, LAST("Complete", "1794787260", "4")),
    };
    struct source_settings with_role = plain;
    struct source_bench bench;

    (void)state;
    with_role.account.role = "arn:aws:iam::1:role/r";
    bench_open(&bench, &with_role, steps, COUNT_OF(steps));
    bench_fetch(&bench, &chat, 1, 2);
    if (!bench.demand)
        fail_msg("%s", bench.err.text);
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "3 4");
    assert_non_null(strstr(bench.script->authorization, "Credential=TWO/"));
    bench_close(&bench);
}

static void keys_are_lent_where_the_settings_say(void **state)
{
    struct script_step steps[] = { lend(LENT("ONE")),
                                   answer(200, LAST("Complete", "1794787200", "3")) };
    struct source_settings with_role = plain;
    struct source_bench bench;

    (void)state;
    steps[0].url = OTHER_STS;
    with_role.account.role = "arn:aws:iam::1:role/r";
    with_role.account.sts_endpoint = OTHER_STS;
    bench_open(&bench, &with_role, steps, COUNT_OF(steps));
    bench_fetch(&bench, &chat, 1, 1);
    if (!bench.demand)
        fail_msg("%s", bench.err.text);
    expect_counts(&bench.demand->series[0], DEMAND_LOW, "3");
    bench_close(&bench);
}

static void keys_that_cannot_be_had_end_the_fetch(void **state)
{
    const struct script_step step = {
        .method = HTTP_POST,
        .url = STS,
        .status = 403,
        .answer = "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>",
    };
    struct source_settings with_role = plain;
    struct source_bench bench;

    (void)state;
    with_role.account.role = "arn:aws:iam::1:role/r";
    bench_open(&bench, &with_role, &step, 1);
    bench_fetch(&bench, &chat, 1, 2);
    assert_int_equal(bench.err.kind, ERROR_DENIED);
    assert_string_equal(bench.err.text, "source aws, queue chat: keys for AWS: AssumeRole: "
                                        "refused: 403 AccessDenied");
    bench_close(&bench);
}

/* The bench's clock shows 2026-11-18T00:00:00Z. */
static void a_wrong_clock_is_corrected(void **state)
{
    static const char skewed[] = "{\"__type\":\"RequestTimeTooSkewed\"}";
    struct script_step steps[] = { answer(403, skewed),
                                   answer(200, PAGE("PartialData", "1794787200", "3", "p2")),
                                   answer(200, LAST("Complete", "1794787260", "4")) };
    struct source_bench bench;

    (void)state;
    steps[0].date = "Wed, 18 Nov 2026 00:20:00 GMT";
    bench_open(&bench, &plain, steps, COUNT_OF(steps));
    bench_fetch(&bench, &chat, 1, 2);
    if (!bench.demand)
        fail_msg("%s", bench.err.text);
    assert_string_equal(bench.script->aws_time, "20261118T002000Z"); /* the second page's too */
    assert_int_equal(source_effort(bench.source).requests, 3);
    bench_close(&bench);
    steps[1] = answer(403, skewed);
    steps[1].date = "Wed, 18 Nov 2026 00:40:00 GMT";
    bench_open(&bench, &plain, steps, 2);
    bench_fetch(&bench, &chat, 1, 2);
    assert_int_equal(bench.err.kind, ERROR_DENIED);
    assert_int_equal(source_effort(bench.source).requests, 2);
    bench_close(&bench);
}

/* Real sockets, real time. */
struct live {
    struct loop *loop;
    struct world world;
    struct random random;
    struct fake_cloudwatch fake;
    struct source *source;
    struct source_settings settings;
    char *endpoint;
    struct demand *demand;
    struct error err;
};

static void live_open(struct live *live)
{
    *live = (struct live){ 0 };
    live->loop = loop_libevent_new(NULL);
    random_seed(&live->random, 1);
    live->world = (struct world){ live->loop, http_curl_new(live->loop, NULL, NULL), &live->random,
                                  NULL, NULL };
    fake_cloudwatch_open(&live->fake, live->loop);
    live->endpoint = text_format("http://127.0.0.1:%d/", live->fake.port);
    live->settings = plain;
    live->settings.endpoint = live->endpoint;
    live->source = source_open(&live->world, &live->settings, &live->err);
}

static void live_close(struct live *live)
{
    demand_free(live->demand);
    source_close(live->source);
    http_server_free(live->fake.server);
    http_free(live->world.http);
    loop_free(live->loop);
    mem_free(live->endpoint);
}

static void live_done(void *context, struct demand *demand, const struct error *err)
{
    struct live *live = context;

    live->demand = demand;
    if (err)
        live->err = *err;
    loop_stop(live->loop);
}

static void live_fetch(struct live *live, size_t count, int64_t days)
{
    static const char *const names[] = { "q0", "q1", "q2", "q3", "q4",  "q5",
                                         "q6", "q7", "q8", "q9", "q10", "q11" };
    struct source_queue queues[COUNT_OF(names)];
    int64_t to_ms = loop_wall(live->loop).ms / HOUR_MS * HOUR_MS;
    const struct source_query query = {
        .queues = queues,
        .queue_count = count,
        .span = { { to_ms - days * DAY_MS }, { to_ms }, MINUTE_MS },
    };

    for (size_t i = 0; i < count; i++)
        queues[i] = (struct source_queue){ names[i], { [DEMAND_LOW] = names[i] } };
    if (source_fetch(live->source, &query, live_done, live, &live->err) == 0)
        loop_run(live->loop);
    if (!live->demand)
        fail_msg("%s (%s)", live->err.text, live->fake.refusal);
}

/* Every minute of every series is what the fake holds, and unknown where it holds nothing. */
static void expect_all(const struct demand *demand, size_t queues, size_t steps)
{
    assert_int_equal(demand->count, queues);
    for (size_t i = 0; i < queues; i++) {
        const struct demand_series *series = &demand->series[i];

        assert_int_equal(series->count, steps);
        for (size_t at = 0; at < steps; at++)
            assert_int_equal(series->counts[DEMAND_LOW][at],
                             fake_arrivals(series->queue, demand_time(series, at).ms / MINUTE_MS));
    }
}

static void a_week_of_minutes_goes_ten_queues_a_page(void **state)
{
    struct live live;

    (void)state;
    live_open(&live);
    live_fetch(&live, 12, 7);
    expect_all(live.demand, 12, 10080);
    assert_int_equal(live.fake.page_queries_most, 10);
    assert_int_equal(live.fake.requests, 2);
    live_close(&live);
}

static void pages_throttles_and_lost_tokens_change_nothing(void **state)
{
    struct live live;

    (void)state;
    setenv("AWS_SESSION_TOKEN", FAKE_TOKEN, 1);
    live_open(&live);
    live.fake.page_points = 3000;
    live.fake.throttle_requests = 1;
    live.fake.forget_page = 2;
    live_fetch(&live, 12, 1);
    expect_all(live.demand, 12, 1440);
    assert_int_equal(live.fake.page_points_most, 3000);
    assert_int_equal(live.fake.page_queries_most, 12);
    assert_int_equal(source_effort(live.source).repeats, 2);
    live_close(&live);
    set_keys(NULL);
}

static void other_keys_are_refused(void **state)
{
    struct live live;
    struct source_query query = { .queues = &chat, .queue_count = 1 };

    (void)state;
    setenv("AWS_SECRET_ACCESS_KEY", "another", 1);
    live_open(&live);
    query.span.step_ms = MINUTE_MS;
    query.span.to.ms = loop_wall(live.loop).ms / HOUR_MS * HOUR_MS;
    query.span.from.ms = query.span.to.ms - HOUR_MS;
    assert_int_equal(source_fetch(live.source, &query, live_done, &live, &live.err), 0);
    loop_run(live.loop);
    assert_int_equal(live.err.kind, ERROR_DENIED);
    assert_non_null(strstr(live.err.text, "SignatureDoesNotMatch"));
    assert_null(strstr(live.err.text, "another"));
    live_close(&live);
    set_keys(NULL);
}

struct vendor {
    struct live *live;
    struct timer *timer;
    pid_t pid;
    int status;
};

static void await_vendor(void *context)
{
    struct vendor *vendor = context;

    if (waitpid(vendor->pid, &vendor->status, WNOHANG) == vendor->pid)
        loop_stop(vendor->live->loop);
    else
        timer_set(vendor->timer, 20);
}

/* `aws cloudwatch get-metric-data` with its own paging, its output into the file. */
static pid_t start_vendor(const struct live *live, const char *out, int64_t from_s, int64_t to_s)
{
    owned(chars) char *from = text_format("%lld", (long long)from_s);
    owned(chars) char *to = text_format("%lld", (long long)to_s);
    static const char queries[] =
        "[{\"Id\":\"m1\",\"MetricStat\":{\"Metric\":{\"Namespace\":\"AWS/SQS\",\"MetricName\":"
        "\"NumberOfMessagesSent\",\"Dimensions\":[{\"Name\":\"QueueName\",\"Value\":\"q1\"}]},"
        "\"Period\":60,\"Stat\":\"Sum\"}}]";
    pid_t pid = fork();

    if (pid != 0)
        return pid;

    int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    setenv("AWS_DEFAULT_REGION", "us-east-1", 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    dup2(fd, 1);
    dup2(fd, 2);
    execlp("aws", "aws", "cloudwatch", "get-metric-data", "--endpoint-url", live->endpoint,
           "--output", "json", "--scan-by", "TimestampAscending", "--start-time", from,
           "--end-time", to, "--metric-data-queries", queries, (char *)NULL);
    _exit(127);
}

static bool has_vendor(void)
{
    owned(chars) char *path = mem_copy_chars(getenv("PATH") ?: "");

    for (char *at = path; *at;) {
        size_t length = strcspn(at, ":");
        owned(chars) char *file = text_format("%.*s/aws", (int)length, at);

        if (access(file, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static void the_vendors_own_client_finds_the_same(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *out = text_format("%s/said.json", folder);
    struct live live;

    (void)state;
    if (!has_vendor())
        skip();
    live_open(&live);
    live.fake.page_points = 700;

    int64_t to_s = loop_wall(live.loop).ms / HOUR_MS * 3600;
    struct vendor vendor = { .live = &live, .pid = start_vendor(&live, out, to_s - 86400, to_s) };

    vendor.timer = timer_new(live.loop, await_vendor, &vendor);
    timer_set(vendor.timer, 20);
    loop_run(live.loop);
    timer_free(vendor.timer);

    owned(text) struct text *said = file_read(out, 4 << 20, NULL);
    owned(json) json_t *root = json_parse(said->chars, said->length, "aws", NULL);
    size_t points = 0;

    if (!root || vendor.status != 0)
        fail_msg("%s (%s)", said->chars, live.fake.refusal);
    for (size_t i = 0; i < json_array_size(json_at(root, "MetricDataResults")); i++)
        points += json_array_size(
            json_at(json_array_get(json_at(root, "MetricDataResults"), i), "Values"));
    assert_int_equal(points, 1440 - 30);
    assert_int_equal(live.fake.requests, 3);
    live_close(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_says_all_there_is_to_say),
        cmocka_unit_test(a_metric_over_several_pages_counts_when_it_is_complete),
        cmocka_unit_test(pages_that_were_lost_are_asked_for_from_the_first),
        cmocka_unit_test(what_waiting_does_not_heal_ends_the_fetch_at_once),
        cmocka_unit_test(throttling_is_waited_out),
        cmocka_unit_test(pages_without_an_end_are_refused),
        cmocka_unit_test(endless_beginnings_are_refused),
        cmocka_unit_test(minutes_are_kept_for_fifteen_days),
        cmocka_unit_test(keys_come_from_the_profile_that_is_named),
        cmocka_unit_test(keys_that_end_within_a_fetch_are_replaced),
        cmocka_unit_test(keys_are_lent_where_the_settings_say),
        cmocka_unit_test(keys_that_cannot_be_had_end_the_fetch),
        cmocka_unit_test(a_wrong_clock_is_corrected),
        cmocka_unit_test(a_week_of_minutes_goes_ten_queues_a_page),
        cmocka_unit_test(pages_throttles_and_lost_tokens_change_nothing),
        cmocka_unit_test(other_keys_are_refused),
        cmocka_unit_test(the_vendors_own_client_finds_the_same),
    };
    return cmocka_run_group_tests(tests, set_keys, NULL);
}
