/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Spans of transfers: what a collector of OpenTelemetry gets, by the letter of OTLP's JSON, and
 * that a collector which is out of reach changes nothing.
 */
#include "broker/transfer/traces.h"
#include "tests/cli/stepwise.h"

#include <inttypes.h>

static const char endpoint[] = "http://127.0.0.1:4318/v1/traces";
static const char setting[] = "traces: {endpoint: 'http://127.0.0.1:4318/v1/traces'}\n";

/* Stands before the way out of a service, and answers what goes to the endpoint. */
struct collector {
    struct http http;
    struct http *door;
    struct timer *timer;
    int status; /* of the answers; 0: it is out of reach */
    int64_t retry_after_ms;
    http_done_fn done;
    void *context;
    int asked;
    int64_t asked_ms; /* loop time of the last request */
    struct loop *loop;
    ARRAY(json_t *) bodies; /* that were accepted */
    json_t *body;
};

static void answer(void *context)
{
    struct collector *collector = context;
    const struct http_answer reply = { .status = collector->status,
                                       .body = "{}",
                                       .body_size = 2,
                                       .retry_after_ms = collector->retry_after_ms };
    http_done_fn done = collector->done;
    struct error err;

    collector->done = NULL;
    if (collector->status == 200)
        *array_add(&collector->bodies) = json_incref(collector->body);
    json_decref(collector->body);
    collector->body = NULL;
    if (collector->status > 0) {
        done(collector->context, &reply, NULL);
        return;
    }
    error_set(&err, ERROR_TRANSIENT, "connection refused");
    done(collector->context, NULL, &err);
}

static struct http_exchange *collector_send(struct http *http, const struct http_request *request,
                                            http_done_fn done, void *context)
{
    struct collector *collector = (struct collector *)http;
    struct error err;

    if (!text_equal(request->url, endpoint))
        return http_send(collector->door, request, done, context);
    assert_null(collector->done); /* one at a time */
    assert_int_equal(request->method, HTTP_POST);
    assert_int_equal(request->header_count, 1);
    assert_string_equal(request->headers[0].name, "Content-Type");
    assert_string_equal(request->headers[0].value, "application/json");
    assert_true(request->timeout_ms > 0);
    collector->body = json_parse(request->body, request->body_size, "spans", &err);
    assert_non_null(collector->body);
    collector->done = done;
    collector->context = context;
    collector->asked++;
    collector->asked_ms = loop_now(collector->loop);
    timer_set(collector->timer, 50);
    return (struct http_exchange *)collector;
}

static struct collector *the_collector;

static void collector_cancel(struct http_exchange *exchange)
{
    if ((void *)exchange != (void *)the_collector) {
        http_cancel(the_collector->door, exchange);
        return;
    }
    the_collector->done = NULL;
    timer_stop(the_collector->timer);
}

static void collector_keep(struct http *http)
{
    (void)http;
}

static const struct http_verbs verbs = {
    .send = collector_send,
    .cancel = collector_cancel,
    .free = collector_keep,
};

static void collector_open(struct collector *collector, struct loop *loop, int status)
{
    *collector = (struct collector){ .http = { .verbs = &verbs }, .loop = loop, .status = status };
    collector->timer = timer_new(loop, answer, collector);
    the_collector = collector;
}

static void collector_close(struct collector *collector)
{
    for (size_t i = 0; i < collector->bodies.count; i++)
        json_decref(collector->bodies.items[i]);
    array_clear(&collector->bodies);
    json_decref(collector->body);
    timer_free(collector->timer);
}

/* A small world whose service asks by the collector. */
static struct rehearsal *watched(const char *folder, struct collector *collector, int status)
{
    struct rehearsal *rehearsal = small_rehearsal_with(folder, 51, "", setting, "");

    collector_open(collector, rehearsal->loop, status);
    collector->door = rehearsal->world.http;
    rehearsal->world.http = &collector->http;
    return rehearsal;
}

static bool is_hex(const char *text, size_t length)
{
    return strlen(text) == length && strspn(text, "0123456789abcdef") == length &&
           strspn(text, "0") < length;
}

static void expect_members(const json_t *object, const char *allowed)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        owned(chars) char *word = text_format(" %s ", name);

        if (!strstr(allowed, word))
            fail_msg("OTLP has no member %s here", name);
    }
}

static void expect_attributes(const json_t *attributes)
{
    const json_t *row;
    size_t i;

    assert_true(json_is_array(attributes));
    json_array_foreach(attributes, i, row) {
        const json_t *value = json_object_get(row, "value");

        expect_members(row, " key value ");
        expect_members(value, " stringValue boolValue ");
        assert_true(json_is_string(json_object_get(row, "key")));
        assert_int_equal(json_object_size(value), 1);
        assert_true(json_is_string(json_object_get(value, "stringValue")) ||
                    json_is_boolean(json_object_get(value, "boolValue")));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(json_text_or(row, "key", ""),
                                    json_text_or(json_array_get(attributes, k), "key", ""));
    }
}

static const char *attribute(const json_t *span, const char *key)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(span, "attributes"), i, row) {
        if (text_equal(json_text_or(row, "key", ""), key))
            return json_text_or(json_object_get(row, "value"), "stringValue", "");
    }
    return "";
}

/* opentelemetry/proto/trace/v1/trace.proto, in lowerCamelCase; IDs are hexadecimal, enumerations
   numbers, and times of 64 bits texts. */
static void expect_span(const json_t *span)
{
    const char *began = json_text_or(span, "startTimeUnixNano", "");
    const char *ended = json_text_or(span, "endTimeUnixNano", "");
    long long begin_ns, end_ns;

    expect_members(span, " traceId spanId parentSpanId name kind startTimeUnixNano endTimeUnixNano "
                         "attributes status ");
    assert_true(is_hex(json_text_or(span, "traceId", ""), 32));
    assert_true(is_hex(json_text_or(span, "spanId", ""), 16));
    assert_true(!json_object_get(span, "parentSpanId") ||
                is_hex(json_text_or(span, "parentSpanId", ""), 16));
    assert_string_not_equal(json_text_or(span, "name", ""), "");
    assert_int_equal(json_int_or(span, "kind", 0), 1);
    assert_true(text_to_int(began, 0, INT64_MAX, &begin_ns));
    assert_true(text_to_int(ended, 0, INT64_MAX, &end_ns));
    assert_true(begin_ns > 1700000000LL * 1000000000LL && begin_ns <= end_ns);
    expect_attributes(json_object_get(span, "attributes"));
    if (json_object_get(span, "status")) {
        expect_members(json_object_get(span, "status"), " code message ");
        assert_true(json_is_integer(json_at(span, "status/code")));
    }
}

/* All spans that the collector has, checked; the caller frees the array. */
static json_t *spans_of(const struct collector *collector)
{
    json_t *all = json_array();

    for (size_t i = 0; i < collector->bodies.count; i++) {
        const json_t *body = collector->bodies.items[i];
        const json_t *of_resource = json_array_get(json_object_get(body, "resourceSpans"), 0);
        const json_t *of_scope = json_array_get(json_object_get(of_resource, "scopeSpans"), 0);
        json_t *span;
        size_t k;

        expect_members(body, " resourceSpans ");
        expect_members(of_resource, " resource scopeSpans ");
        expect_members(of_scope, " scope spans ");
        expect_members(json_object_get(of_scope, "scope"), " name version ");
        expect_attributes(json_at(of_resource, "resource/attributes"));
        assert_true(json_array_size(json_object_get(of_scope, "spans")) > 0);
        json_array_foreach(json_object_get(of_scope, "spans"), k, span) {
            expect_span(span);
            json_array_append(all, span);
        }
    }
    return all;
}

static const json_t *span_named(const json_t *spans, const char *name)
{
    const json_t *span;
    size_t i;

    json_array_foreach(spans, i, span) {
        if (text_equal(json_text_or(span, "name", ""), name))
            return span;
    }
    fail_msg("no span %s", name);
    return NULL;
}

static void a_transfer_is_a_trace_with_a_span_for_each_step(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct collector collector;
    struct rehearsal *rehearsal = watched(folder, &collector, 200);
    struct transfer *transfer = scheduled(rehearsal, STEP_ANNOUNCE);
    owned(json) json_t *spans = NULL;
    const json_t *root;

    (void)state;
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    spans = spans_of(&collector);
    assert_int_equal(json_array_size(spans), STEP_COUNT + 1);
    root = span_named(spans, "transfer");
    assert_null(json_object_get(root, "parentSpanId"));
    assert_string_equal(attribute(root, "sluice.transfer"), transfer->id);
    assert_string_equal(attribute(root, "sluice.from"), "research-a-east");
    assert_string_equal(attribute(root, "sluice.to"), "prod-a-east");
    assert_string_equal(attribute(root, "sluice.state"), "done");
    assert_int_equal(json_int_or(root, "status/code", 0), 1);
    for (int i = 0; i < STEP_COUNT; i++) {
        const json_t *span = span_named(spans, transfer_steps[i].name);

        assert_string_equal(json_text_or(span, "traceId", ""), json_text_or(root, "traceId", "-"));
        assert_string_equal(json_text_or(span, "parentSpanId", ""),
                            json_text_or(root, "spanId", "-"));
        assert_string_not_equal(json_text_or(span, "spanId", ""), json_text_or(root, "spanId", ""));
    }
    rehearsal_close(rehearsal);
    collector_close(&collector);
}

/* The collector comes late: nothing was slower, and all spans of the move arrive. */
static void a_collector_out_of_reach_changes_nothing(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct collector collector;
    struct rehearsal *rehearsal = watched(folder, &collector, 0);
    struct transfer *transfer = scheduled(rehearsal, STEP_ANNOUNCE);
    owned(json) json_t *spans = NULL;

    (void)state;
    rehearsal_run(rehearsal, 3 * HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(collector.bodies.count, 0);
    /* It is asked again after 10 s, 20 s and so on, and then each five minutes. */
    assert_true(collector.asked > 20 && collector.asked < 60);
    collector.status = 200;
    rehearsal_run(rehearsal, 6 * MINUTE_MS);
    spans = spans_of(&collector);
    assert_int_equal(json_array_size(spans), STEP_COUNT + 1);
    rehearsal_close(rehearsal);
    collector_close(&collector);
}

/* The rest needs no service. */
struct bench {
    struct loop *loop;
    struct world world;
    struct collector collector;
    struct config_pool pools[2];
    struct transfer *transfer;
    struct traces *traces;
};

static void bench_open(struct bench *bench, int status)
{
    static char names[2][8] = { "from", "to" };
    const struct wall_time start = { (int64_t)civil_day(2026, 11, 17) * DAY_MS };

    *bench = (struct bench){ .loop = loop_virtual_new(start) };
    collector_open(&bench->collector, bench->loop, status);
    bench->world = (struct world){ .loop = bench->loop, .http = &bench->collector.http };
    bench->transfer = transfer_new();
    text_copy(bench->transfer->id, sizeof bench->transfer->id, "t-0123456789");
    for (int i = 0; i < 2; i++)
        bench->pools[i].name = names[i];
    bench->transfer->source = &bench->pools[0];
    bench->transfer->target = &bench->pools[1];
    bench->transfer->created = bench->transfer->step_began = start;
    bench->traces = traces_new(&bench->world, endpoint);
}

static void bench_close(struct bench *bench)
{
    traces_free(bench->traces);
    transfer_free(bench->transfer);
    collector_close(&bench->collector);
    loop_free(bench->loop);
}

static void add_steps(struct bench *bench, int count)
{
    for (int i = 0; i < count; i++) {
        const struct trace_step ended = { .step = STEP_DRAIN,
                                          .began = { bench->transfer->created.ms - i },
                                          .waited_for = "pods" };

        traces_add(bench->traces, bench->transfer, &ended);
    }
}

static void run_for(struct bench *bench, int64_t ms)
{
    loop_run_until(bench->loop, loop_now(bench->loop) + ms);
}

static void a_queue_that_is_full_drops_what_comes(void **state)
{
    struct bench bench;
    owned(json) json_t *spans = NULL;

    (void)state;
    bench_open(&bench, 0);
    add_steps(&bench, TRACES_QUEUED + 100);
    run_for(&bench, HOUR_MS);
    bench.collector.status = 200;
    run_for(&bench, HOUR_MS);
    spans = spans_of(&bench.collector);
    assert_int_equal(json_array_size(spans), TRACES_QUEUED);
    assert_true(bench.collector.bodies.count >= 8); /* no request has them all */
    bench_close(&bench);
}

/* Only what the specification names is sent again, and not before Retry-After. */
static void a_refusal_ends_a_batch_and_a_busy_collector_is_asked_again(void **state)
{
    static const struct {
        int status;
        bool is_repeated;
    } cases[] = { { 400, false }, { 413, false }, { 500, false }, { 429, true },
                  { 502, true },  { 503, true },  { 504, true } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench bench;
        int64_t first_ms;

        bench_open(&bench, cases[i].status);
        bench.collector.retry_after_ms = 2 * MINUTE_MS;
        add_steps(&bench, 3);
        run_for(&bench, MINUTE_MS);
        assert_int_equal(bench.collector.asked, 1);
        first_ms = bench.collector.asked_ms;
        bench.collector.status = 200;
        run_for(&bench, HOUR_MS);
        assert_int_equal(bench.collector.asked, cases[i].is_repeated ? 2 : 1);
        if (cases[i].is_repeated)
            assert_true(bench.collector.asked_ms >= first_ms + 2 * MINUTE_MS);
        bench_close(&bench);
    }
}

static void the_same_span_has_the_same_ids(void **state)
{
    struct bench bench;
    owned(json) json_t *spans = NULL;
    const json_t *one, *other;

    (void)state;
    bench_open(&bench, 200);
    add_steps(&bench, 2);
    run_for(&bench, MINUTE_MS);
    add_steps(&bench, 1);
    run_for(&bench, MINUTE_MS);
    spans = spans_of(&bench.collector);
    assert_int_equal(json_array_size(spans), 3);
    one = json_array_get(spans, 0);
    other = json_array_get(spans, 2);
    assert_true(json_equal(one, other));
    assert_string_not_equal(json_text_or(one, "spanId", ""),
                            json_text_or(json_array_get(spans, 1), "spanId", ""));
    assert_string_equal(attribute(one, "sluice.waited_for"), "pods");
    bench_close(&bench);
}

static void without_an_endpoint_there_are_none(void **state)
{
    struct bench bench;
    const struct trace_step ended = { .step = STEP_DRAIN, .waited_for = "" };
    struct traces *none;

    (void)state;
    bench_open(&bench, 200);
    none = traces_new(&bench.world, NULL);
    assert_null(none);
    traces_add(none, bench.transfer, &ended);
    traces_free(none);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_is_a_trace_with_a_span_for_each_step),
        cmocka_unit_test(a_collector_out_of_reach_changes_nothing),
        cmocka_unit_test(a_queue_that_is_full_drops_what_comes),
        cmocka_unit_test(a_refusal_ends_a_batch_and_a_busy_collector_is_asked_again),
        cmocka_unit_test(the_same_span_has_the_same_ids),
        cmocka_unit_test(without_an_endpoint_there_are_none),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
