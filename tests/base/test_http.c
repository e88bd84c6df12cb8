/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP client: what an answer is, what each failure means, and that a mutation arrives once.
 */
#include "base/file.h"
#include "tests/base/http_fixture.h"

#include <stdio.h>

static void echo(void *context, struct http_call *call)
{
    size_t size;
    const char *body = http_call_body(call, &size);
    const char *probe = http_call_header(call, "X-Probe");
    owned(text) struct text *out = text_new(1 << 21);
    const struct http_header headers[] = { { "X-Probe", probe ? probe : "none" },
                                           { "Retry-After", "7" } };

    (void)context;
    text_add(out, "%s %s ", http_method_name(http_call_method(call)), http_call_target(call));
    text_add_bytes(out, body, size);
    http_call_answer(call, &(struct http_reply){ .status = 200,
                                                 .content_type = "text/plain",
                                                 .headers = headers,
                                                 .header_count = COUNT_OF(headers),
                                                 .body = out->chars,
                                                 .body_size = out->length });
}

static struct http_request to(const char *url)
{
    return (struct http_request){ .url = url, .timeout_ms = FIXTURE_HANGS_MS };
}

static void ask(struct http_fixture *fixture, const struct http_request *request)
{
    struct result *result = &fixture->results[0];

    result->count = 0;
    result->status = 0;
    result->kind = ERROR_NONE;
    text_reset(result->body);
    http_send(fixture->http, request, fixture_done, result);
    assert_int_equal(result->count, 0);
    fixture_await(fixture, 1);
    assert_int_equal(fixture->results[0].count, 1);
}

static void all_methods_reach_both_sockets(void **state)
{
    static const struct {
        enum http_method method;
        const char *body;
        const char *want;
    } cases[] = {
        { HTTP_GET, NULL, "GET /a?b=c%20d " },
        { HTTP_POST, "x=1", "POST /a?b=c%20d x=1" },
        { HTTP_POST, NULL, "POST /a?b=c%20d " },
        { HTTP_PUT, "{}", "PUT /a?b=c%20d {}" },
        { HTTP_PATCH, "[1]", "PATCH /a?b=c%20d [1]" },
        { HTTP_DELETE, "{\"u\":1}", "DELETE /a?b=c%20d {\"u\":1}" },
        { HTTP_DELETE, NULL, "DELETE /a?b=c%20d " },
    };
    struct http_fixture *fixture = *state;
    const struct http_header headers[] = { { "X-Probe", "pro be" },
                                           { "Connection", "keep-alive" } };
    owned(chars) char *url = text_format("http://127.0.0.1:%d/a?b=c%%20d", fixture->port);

    fixture->handler = echo;
    for (size_t i = 0; i < 4 * COUNT_OF(cases); i++) {
        struct http_request request = to(i & 1 ? url : "http://sluice/a?b=c%20d");

        request.unix_socket = i & 1 ? NULL : fixture->path;
        request.method = cases[i / 4].method;
        request.body = cases[i / 4].body;
        request.body_size = request.body ? strlen(request.body) : 0;
        request.is_mutation = i & 2;
        request.headers = headers;
        request.header_count = COUNT_OF(headers);
        ask(fixture, &request);
        assert_int_equal(fixture->results[0].status, 200);
        assert_string_equal(fixture->results[0].body->chars, cases[i / 4].want);
        assert_string_equal(fixture->results[0].header, "pro be");
        assert_int_equal(fixture->results[0].retry_after_ms, 7000);
    }
}

static void fail_with_500(void *context, struct http_call *call)
{
    (void)context;
    http_call_answer(call, &(struct http_reply){ .status = 500, .body = "broken", .body_size = 6 });
}

static void any_status_is_an_answer(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = to("http://sluice/");

    fixture->handler = fail_with_500;
    request.unix_socket = fixture->path;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].status, 500);
    assert_string_equal(fixture->results[0].body->chars, "broken");
}

static void answer_nothing(void *context, struct http_call *call)
{
    struct http_fixture *fixture = context;

    fixture->held = call;
}

static void answer_much(void *context, struct http_call *call)
{
    owned(chars) char *much = mem_new(1 << 20);

    (void)context;
    memset(much, 'x', 1 << 20);
    http_call_answer(call,
                     &(struct http_reply){ .status = 200, .body = much, .body_size = 1 << 20 });
}

static void a_body_over_the_limit_is_corrupt(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = to("http://sluice/");

    fixture->handler = answer_much;
    request.unix_socket = fixture->path;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].body->length, 1 << 20);
    request.answer_limit = (1 << 20) - 1;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].kind, ERROR_CORRUPT);
}

static void answer_much_in_little(void *context, struct http_call *call)
{
    static const struct http_header coding = { "Content-Encoding", "gzip" };
    const char *accepted = http_call_header(call, "Accept-Encoding");
    owned(chars) char *much = mem_new(1 << 20);
    owned(text) struct text *little = NULL;

    (void)context;
    memset(much, 'x', 1 << 20);
    little = file_pack(much, 1 << 20);
    if (accepted && strcmp(accepted, "gzip") == 0)
        http_call_answer(call, &(struct http_reply){ .status = 200,
                                                     .headers = &coding,
                                                     .header_count = 1,
                                                     .body = little->chars,
                                                     .body_size = little->length });
    else
        http_call_answer(call,
                         &(struct http_reply){ .status = 200, .body = much, .body_size = 1 << 20 });
}

/* The limit is that of what is unpacked. */
static void a_compressed_body_is_handed_on_as_it_was(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = to("http://sluice/");

    fixture->handler = answer_much_in_little;
    request.unix_socket = fixture->path;
    for (int gzip = 0; gzip < 2; gzip++) {
        request.accepts_gzip = gzip;
        request.answer_limit = 1 << 20;
        ask(fixture, &request);
        assert_int_equal(fixture->results[0].body->length, 1 << 20);
        assert_int_equal(strspn(fixture->results[0].body->chars, "x"), 1 << 20);
        request.answer_limit = (1 << 20) - 1;
        ask(fixture, &request);
        assert_int_equal(fixture->results[0].kind, ERROR_CORRUPT);
    }
}

static void a_late_answer_has_an_unknown_outcome(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = to("http://sluice/");

    fixture->handler = answer_nothing;
    request.unix_socket = fixture->path;
    request.timeout_ms = SECOND_MS;
    request.is_mutation = true;
    request.method = HTTP_POST;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].kind, ERROR_UNKNOWN_OUTCOME);
    assert_int_equal(fixture->call_count, 1);
    http_call_answer(fixture->held, &(struct http_reply){ .status = 200 });
    fixture_run_for(fixture, 50);
}

/* No server listens on this port: it was bound and closed. */
static int dead_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    getsockname(fd, (struct sockaddr *)&address, &size);
    close(fd);
    return ntohs(address.sin_port);
}

static void what_was_never_sent_is_transient(void **state)
{
    struct http_fixture *fixture = *state;
    owned(chars) char *refused = text_format("http://127.0.0.1:%d/", dead_port());
    owned(chars) char *no_tls = text_format("https://127.0.0.1:%d/", fixture->port);
    const char *const urls[] = { refused, no_tls, "https://no-such-name.invalid/" };

    fixture->handler = echo;
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct http_request request = to(urls[i]);

        request.is_mutation = true;
        request.timeout_ms = 12000;
        ask(fixture, &request);
        assert_int_equal(fixture->results[0].kind, ERROR_TRANSIENT);
    }
    assert_int_equal(fixture->call_count, 0);
}

static void what_must_not_be_sent_is_invalid(void **state)
{
    static const struct http_header broken = { "X-A", "b\r\nX-C: d" };
    static const struct {
        const char *url;
        const struct http_header *header;
        const char *text;
    } cases[] = {
        { "http://192.0.2.1/", NULL, "plain http is refused" },
        { "http://example.com/", NULL, "plain http is refused" },
        { "http://127.0.0.1.example.com/", NULL, "plain http is refused" },
        { "http://169.254.170.24/", NULL, "plain http is refused" },
        { "http://[fd00:ec2::24]/", NULL, "plain http is refused" },
        { "ftp://127.0.0.1/", NULL, "ftp is no scheme" },
        { "https://user:word@127.0.0.1/", NULL, "with a user" },
        { "nonsense", NULL, "not a URL" },
        { "", NULL, "not a URL" },
        { "http://127.0.0.1/", &broken, "header X-A" },

    };
    struct http_fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct http_request request = to(cases[i].url);

        request.headers = cases[i].header;
        request.header_count = cases[i].header ? 1 : 0;
        ask(fixture, &request);
        assert_int_equal(fixture->results[0].kind, ERROR_INVALID);
        assert_non_null(strstr(fixture->results[0].text, cases[i].text));
    }
}

static const char *answer_each(int number)
{
    (void)number;
    return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
}

/* Requests to receivers that a person chose.  The first check is of the text; the second, of the
   address of each connection, holds for names too. */
static void no_receiver_is_a_metadata_server(void **state)
{
    static const struct {
        const char *url;
        const char *refused;
        bool by_address;
    } cases[] = {
        { "https://169.254.169.254/latest", "where clouds answer", true },
        { "https://0xa9fea9fe/", "where clouds answer", true },
        { "https://[::ffff:169.254.169.254]/", "where clouds answer", true },
        { "https://[64:ff9b::a9fe:a9fe]/", "where clouds answer", true },
        { "https://168.63.129.16/", "where clouds answer", true },
        { "https://[fe80::1]/", "where clouds answer", true },
        { "https://[fd00:ec2::254]/", "where clouds answer", true },
        { "https://metadata.google.internal/", "where clouds answer", false },
        { "http://169.254.169.254/", "plain http is refused", false },
        { "http://example.com/", "plain http is refused", false },
        { "https://user@example.com/", "with a user", false },
        { "https://hooks.example.com/a", NULL, false },
        { "https://10.0.0.1/", NULL, false },
        { "http://127.0.0.1:8080/", NULL, false },
    };
    struct http_fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct http_request request = to(cases[i].url);
        struct error err = { 0 };

        assert_int_equal(http_check_outward_url(cases[i].url, &err), cases[i].refused ? -1 : 0);
        if (cases[i].refused && !strstr(err.text, cases[i].refused))
            fail_msg("%s: %s", cases[i].url, err.text);
        if (!cases[i].by_address)
            continue;
        request.is_outward = true;
        ask(fixture, &request);
        assert_int_equal(fixture->results[0].kind, ERROR_INVALID);
        assert_non_null(strstr(fixture->results[0].text, "where clouds answer"));
    }
}

static void a_receiver_is_asked_like_any_other_server(void **state)
{
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->raw_port);
    struct http_request request = to(url);

    fixture->raw_answer = answer_each;
    request.is_outward = true;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].status, 200);
}

static void accept_at_length(void *context, struct http_call *call)
{
    owned(text) struct text *out = text_new(2 << 20);

    (void)context;
    while (!out->is_cut)
        text_add(out, "a long answer ");
    http_call_answer(call, &(struct http_reply){ .status = 202,
                                                 .content_type = "text/plain",
                                                 .body = out->chars,
                                                 .body_size = out->length });
}

/* Who takes a body in pieces bounds it, whichever word of success comes before it. */
static void an_answer_in_pieces_may_be_long(void **state)
{
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->port);
    struct http_request request = to(url);

    fixture->handler = accept_at_length;
    request.method = HTTP_POST;
    request.is_mutation = true;
    request.on_chunk = fixture_chunk;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].status, 202);
    assert_int_equal(fixture->results[0].chunks->length, 2 << 20);
}

static const char *answer_once(int number)
{
    return number == 1 ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" : NULL;
}

/* The trap: on a kept connection that dies, libcurl sends even a POST again. */
static void a_mutation_arrives_once(void **state)
{
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->raw_port);
    struct http_request request = to(url);

    fixture->raw_answer = answer_once;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].status, 200);
    request.method = HTTP_POST;
    request.is_mutation = true;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].kind, ERROR_UNKNOWN_OUTCOME);
    fixture_run_for(fixture, 100);
    assert_int_equal(fixture->raw_count, 2);
    assert_int_equal(fixture->raw_connection_count, 2);
}

/* Hundreds of evictions are hundreds of handshakes otherwise. */
static void only_a_repeatable_mutation_uses_a_kept_connection(void **state)
{
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->raw_port);
    struct http_request request = to(url);

    fixture->raw_answer = answer_each;
    request.method = HTTP_POST;
    request.is_mutation = true;
    request.is_repeatable = true;
    for (int i = 0; i < 4; i++) {
        if (i == 3)
            request.is_repeatable = false;
        ask(fixture, &request);
        assert_int_equal(fixture->results[0].status, 200);
        assert_int_equal(fixture->raw_connection_count, i < 3 ? 1 : 2);
    }
}

static const char *cut_body(int number)
{
    (void)number;
    return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nok";
}

static void a_cut_body_has_an_unknown_outcome(void **state)
{
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->raw_port);
    struct http_request request = to(url);

    fixture->raw_answer = cut_body;
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_run_for(fixture, 100);
    assert_int_equal(fixture->raw_connection_count, 1);
    shutdown(bufferevent_getfd(fixture->raw_connections[0]), SHUT_RDWR);
    fixture_await(fixture, 1);
    assert_int_equal(fixture->results[0].kind, ERROR_UNKNOWN_OUTCOME);
}

static const char *endless_body(int number)
{
    return number == 1 ? "HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nok"
                       : "HTTP/1.1 410 Gone\r\nContent-Length: 9000000\r\n\r\nno";
}

/* What a receiver has said counts, even if it never ends its sentence. */
static void the_status_of_a_receiver_counts(void **state)
{
    static const int statuses[] = { 202, 410 };
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->raw_port);
    struct http_request request = to(url);

    fixture->raw_answer = endless_body;
    request.method = HTTP_POST;
    request.is_mutation = true;
    request.is_outward = true;
    request.timeout_ms = 2 * SECOND_MS;
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        ask(fixture, &request);
        assert_int_equal(fixture->results[0].kind, ERROR_NONE);
        assert_int_equal(fixture->results[0].status, statuses[i]);
    }
}

static const char *redirect(int number)
{
    (void)number;
    return "HTTP/1.1 100 Continue\r\nX-Probe: early\r\n\r\n"
           "HTTP/1.1 307 Elsewhere\r\nLocation: /there\r\nX-Probe:  late \r\n"
           "Date: Wed, 21 Oct 2026 07:27:00 GMT\r\n"
           "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n";
}

static void a_redirect_is_not_followed(void **state)
{
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->raw_port);
    struct http_request request = to(url);

    fixture->raw_answer = redirect;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].status, 307);
    assert_int_equal(fixture->raw_count, 1);
    assert_string_equal(fixture->results[0].header, "late");
    assert_int_equal(fixture->results[0].retry_after_ms, MINUTE_MS);
}

static void note_order(void *context, struct http_call *call)
{
    struct http_fixture *fixture = context;
    char letter[2] = { http_call_target(call)[1], '\0' };

    strncat(fixture->order, letter, sizeof fixture->order - strlen(fixture->order) - 1);
    http_call_answer(call, &(struct http_reply){ .status = 200 });
}

static int set_up_narrow(void **state)
{
    return fixture_set_up_with(state, &(struct http_limits){ .in_flight = 1 });
}

static void the_urgent_go_first(void **state)
{
    static const struct {
        const char *url;
        enum http_priority priority;
    } cases[] = {
        { "http://s/a", HTTP_INVENTORY }, { "http://s/b", HTTP_POLL },
        { "http://s/c", HTTP_RECLAIM },   { "http://s/d", HTTP_POLL },
        { "http://s/e", HTTP_DRAIN },     { "http://s/f", HTTP_RECLAIM },
    };
    struct http_fixture *fixture = *state;

    fixture->handler = note_order;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct http_request request = to(cases[i].url);

        request.unix_socket = fixture->path;
        request.priority = cases[i].priority;
        http_send(fixture->http, &request, fixture_done, &fixture->results[i]);
    }
    fixture_await(fixture, COUNT_OF(cases));
    assert_string_equal(fixture->order, "cfebda");
}

static void a_cancelled_exchange_is_silent(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = to("http://sluice/");
    struct http_exchange *exchanges[3];

    fixture->handler = answer_nothing;
    request.unix_socket = fixture->path;
    for (size_t i = 0; i < COUNT_OF(exchanges); i++)
        exchanges[i] = http_send(fixture->http, &request, fixture_done, &fixture->results[i]);
    http_cancel(fixture->http, exchanges[0]); /* waiting */
    fixture_run_for(fixture, 50);
    assert_int_equal(fixture->call_count, 1);
    http_cancel(fixture->http, exchanges[1]); /* in flight */
    http_cancel(fixture->http, NULL);
    fixture->handler = echo;
    fixture_await(fixture, 1);
    assert_int_equal(fixture->results[0].count, 0);
    assert_int_equal(fixture->results[1].count, 0);
    assert_int_equal(fixture->results[2].status, 200);
    http_call_drop(fixture->held);
}

static void count_close(void *context)
{
    ((struct http_fixture *)context)->closed_count++;
}

static void begin_stream(void *context, struct http_call *call)
{
    struct http_fixture *fixture = context;

    fixture->held = call;
    http_call_stream_begin(call, "application/json", count_close, fixture);
    assert_true(http_call_stream_send(call, "one\n", 4));
}

static struct http_request stream_request(const struct http_fixture *fixture)
{
    struct http_request request = to("http://sluice/watch");

    request.unix_socket = fixture->path;
    request.timeout_ms = 0;
    request.on_chunk = fixture_chunk;
    return request;
}

static void a_stream_comes_in_pieces_and_ends_as_an_answer(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = stream_request(fixture);

    fixture->handler = begin_stream;
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_run_for(fixture, 50);
    assert_string_equal(fixture->results[0].chunks->chars, "one\n");
    assert_true(http_call_stream_send(fixture->held, "two\n", 4));
    fixture_run_for(fixture, 50);
    assert_string_equal(fixture->results[0].chunks->chars, "one\ntwo\n");
    http_call_stream_end(fixture->held);
    fixture_await(fixture, 1);
    assert_int_equal(fixture->results[0].status, 200);
    assert_int_equal(fixture->results[0].body->length, 0);
    assert_int_equal(fixture->closed_count, 0);
}

static void the_body_of_a_failed_stream_is_in_the_answer(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = stream_request(fixture);

    fixture->handler = fail_with_500;
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_await(fixture, 1);
    assert_int_equal(fixture->results[0].status, 500);
    assert_string_equal(fixture->results[0].body->chars, "broken");
    assert_int_equal(fixture->results[0].chunks->length, 0);
}

static void a_cancelled_stream_closes_at_the_server(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = stream_request(fixture);
    struct http_exchange *exchange;

    fixture->handler = begin_stream;
    exchange = http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_run_for(fixture, 50);
    http_cancel(fixture->http, exchange);
    fixture_run_for(fixture, 50);
    assert_int_equal(fixture->closed_count, 1);
    assert_int_equal(fixture->results[0].count, 0);
}

struct cutter {
    struct http_fixture *fixture;
    struct http_exchange *exchange;
    int chunk_count;
    int done_count;
};

static void cancel_on_chunk(void *context, const char *bytes, size_t size)
{
    struct cutter *cutter = context;

    (void)bytes;
    (void)size;
    cutter->chunk_count++;
    http_cancel(cutter->fixture->http, cutter->exchange);
}

static void count_done(void *context, const struct http_answer *answer, const struct error *err)
{
    (void)answer;
    (void)err;
    ((struct cutter *)context)->done_count++;
}

static void a_stream_may_be_cancelled_by_its_own_piece(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = stream_request(fixture);
    struct cutter cutter = { .fixture = fixture };

    fixture->handler = begin_stream;
    request.on_chunk = cancel_on_chunk;
    cutter.exchange = http_send(fixture->http, &request, count_done, &cutter);
    fixture_run_for(fixture, 100);
    assert_int_equal(cutter.chunk_count, 1);
    assert_int_equal(cutter.done_count, 0);
    assert_int_equal(fixture->closed_count, 1);
}

static void streams_do_not_take_the_places_of_requests(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request stream = stream_request(fixture), request = to("http://sluice/");

    fixture->handler = begin_stream;
    for (int i = 0; i < 3; i++)
        http_send(fixture->http, &stream, fixture_done, &fixture->results[i + 1]);
    request.unix_socket = fixture->path;
    fixture_run_for(fixture, 50);
    assert_int_equal(fixture->call_count, 3);
    fixture->handler = echo;
    ask(fixture, &request);
    assert_int_equal(fixture->results[0].status, 200);
}

#define HTTP_TEST(test)                                                                            \
    {                                                                                              \
#test, test, fixture_set_up, fixture_tear_down, NULL                                       \
    }
#define NARROW_TEST(test)                                                                          \
    {                                                                                              \
#test, test, set_up_narrow, fixture_tear_down, NULL                                        \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(all_methods_reach_both_sockets),
        HTTP_TEST(any_status_is_an_answer),
        HTTP_TEST(a_body_over_the_limit_is_corrupt),
        HTTP_TEST(a_compressed_body_is_handed_on_as_it_was),
        HTTP_TEST(a_late_answer_has_an_unknown_outcome),
        HTTP_TEST(what_was_never_sent_is_transient),
        HTTP_TEST(what_must_not_be_sent_is_invalid),
        HTTP_TEST(a_mutation_arrives_once),
        HTTP_TEST(only_a_repeatable_mutation_uses_a_kept_connection),
        HTTP_TEST(a_cut_body_has_an_unknown_outcome),
        HTTP_TEST(no_receiver_is_a_metadata_server),
        HTTP_TEST(a_receiver_is_asked_like_any_other_server),
        HTTP_TEST(an_answer_in_pieces_may_be_long),
        HTTP_TEST(the_status_of_a_receiver_counts),
        HTTP_TEST(a_redirect_is_not_followed),
        NARROW_TEST(the_urgent_go_first),
        NARROW_TEST(a_cancelled_exchange_is_silent),
        HTTP_TEST(a_stream_comes_in_pieces_and_ends_as_an_answer),
        HTTP_TEST(the_body_of_a_failed_stream_is_in_the_answer),
        HTTP_TEST(a_cancelled_stream_closes_at_the_server),
        HTTP_TEST(a_stream_may_be_cancelled_by_its_own_piece),
        NARROW_TEST(streams_do_not_take_the_places_of_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
