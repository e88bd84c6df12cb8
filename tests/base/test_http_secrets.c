/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A server repeats what it was sent: no secret of ours comes back, wherever it stands in the
 * answer and however a stream is cut.
 */
#include "base/world/http_secrets.h"
#include "tests/base/http_fixture.h"

static const char token[] = "eyJhbGciOi.tiger-tiger.burning_bright";

/* In a header of its own, in the body or as a stream of pieces that cut the token. */
static void parrot(void *context, struct http_call *call)
{
    struct http_fixture *fixture = context;
    const char *said = http_call_header(call, "Authorization");
    const char *assertion = strstr(http_call_body(call, NULL), "assertion=") ?: "";
    struct http_header probe = { "X-Probe", said ?: "none" };
    owned(chars) char *body = text_format("<%s> may not %s; %s.", said ?: "", assertion,
                                          said ?: "");

    if (!text_equal(http_call_target(call), "/stream")) {
        http_call_answer(call, &(struct http_reply){ .status = 403,
                                                     .headers = &probe,
                                                     .header_count = 1,
                                                     .body = body,
                                                     .body_size = strlen(body) });
        return;
    }
    http_call_stream_begin(call, NULL, NULL, NULL);
    http_call_stream_send(call, body, 20);
    fixture->held = call;
}

static struct http_request ask(const struct http_fixture *fixture, const char *url,
                               const struct http_header *headers, size_t count)
{
    return (struct http_request){
        .url = url,
        .unix_socket = fixture->path,
        .headers = headers,
        .header_count = count,
        .timeout_ms = 10 * SECOND_MS,
    };
}

static void what_a_server_repeats_is_struck_out(void **state)
{
    struct http_fixture *fixture = *state;
    const struct result *result = &fixture->results[0];
    owned(chars) char *bearer = text_format("Bearer %s", token);
    struct http_header headers[] = { { "Authorization", bearer },
                                     { "Content-Type", "application/x-www-form-urlencoded" } };
    struct http_request request = ask(fixture, "http://sluice/", headers, 2);

    request.method = HTTP_POST;
    request.body = "grant_type=x&assertion=tyger.tyger.signature&b=c";
    request.body_size = strlen(request.body);
    fixture->handler = parrot;
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_await(fixture, 1);
    assert_int_equal(result->status, 403);
    assert_string_equal(result->body->chars,
                        "<[redacted]> may not assertion=[redacted]&b=c; [redacted].");
    assert_string_equal(result->header, "");
}

static void so_it_is_in_a_stream_that_cuts_it(void **state)
{
    struct http_fixture *fixture = *state;
    const struct result *result = &fixture->results[0];
    owned(chars) char *bearer = text_format("Bearer %s", token);
    struct http_header header = { "Authorization", bearer };
    struct http_request request = ask(fixture, "http://sluice/stream", &header, 1);

    request.timeout_ms = 0;
    request.on_chunk = fixture_chunk;
    fixture->handler = parrot;
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_run_for(fixture, 100);
    assert_non_null(fixture->held);
    http_call_stream_send(fixture->held, token + 12, strlen(token + 12));
    http_call_stream_send(fixture->held, ">\n", 2);
    http_call_stream_end(fixture->held);
    fixture_await(fixture, 1);
    assert_string_equal(result->chunks->chars, "<[redacted]>\n");
}

/* What is secret of a request: the header or the form that shows it. */
static void each_kind_of_secret_is_known(void **state)
{
    static const struct {
        const char *header, *value, *url, *body;
        const char *secret; /* NULL: none */
    } rows[] = {
        { "authorization", "Bearer abcdefgh", "https://a/", NULL, "abcdefgh" },
        { "Authorization", "Bearer abcdefg", "https://a/", NULL, "Bearer abcdefg" },
        { "Authorization", "plain-token", "https://a/", NULL, "plain-token" },
        { "Authorization", "short", "https://a/", NULL, NULL },
        { "X-Amz-Security-Token", "session/token+", "https://a/", NULL, "session/token+" },
        { "X-aws-ec2-metadata-token", "metadata==", "https://a/", NULL, "metadata==" },
        { "Cookie", "a=b; c=d e", "https://a/", NULL, "a=b; c=d e" },
        { "Accept", "application/json", "https://a/", NULL, NULL },
        { "Accept", "x", "https://a/?Action=b&WebIdentityToken=abcdefgh", NULL, "abcdefgh" },
        { "Accept", "x", "https://a/?password=abcdefgh&c=d", NULL, "abcdefgh" },
        { "Accept", "x", "https://a/?my_password=abcdefgh", NULL, NULL },
        { "Content-Type", "application/x-www-form-urlencoded; charset=utf-8", "https://a/",
          "a&b=c&client_secret=abcdefgh", "abcdefgh" },
        { "Content-Type", "application/x-www-form-urlencoded", "https://a/",
          "a=b&client_assertion=abcdefgh", "abcdefgh" },
        { "Content-Type", "application/json", "https://a/", "client_secret=abcdefgh", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_header header = { rows[i].header, rows[i].value };
        struct http_request request = { .url = rows[i].url,
                                        .headers = &header,
                                        .header_count = 1,
                                        .body = rows[i].body,
                                        .body_size = rows[i].body ? strlen(rows[i].body) : 0 };
        struct http_secrets *secrets = http_secrets_new(&request);
        owned(text) struct text *text = text_new(100);

        assert_true((secrets != NULL) == (rows[i].secret != NULL));
        if (secrets) {
            text_add(text, "a %s b", rows[i].secret);
            http_secrets_strike(secrets, text);
            assert_string_equal(text->chars, "a [redacted] b");
        }
        http_secrets_free(secrets);
    }
}

static void add_piece(void *context, const char *bytes, size_t size)
{
    text_add_bytes(context, bytes, size);
}

/* A body with the secret twice, its beginnings and its repetitions, in two pieces and in single
   bytes: what comes out is the same wherever it is cut. */
static void no_cut_lets_a_secret_through(void **state)
{
    static const char body[] = "aabaabaac aabaaba aabaabaacaabaabaac, aabaabaabaac\n";
    static const char want[] = "[redacted] aabaaba [redacted][redacted], aab[redacted]\n";
    struct http_header header = { "Authorization", "aabaabaac" };
    struct http_request request = { .url = "https://a/", .headers = &header, .header_count = 1 };

    (void)state;
    for (size_t cut = 0; cut <= sizeof body; cut++) {
        struct http_secrets *secrets = http_secrets_new(&request);
        owned(text) struct text *out = text_new(1000);

        if (cut < sizeof body) {
            http_secrets_stream(secrets, body, cut, add_piece, out);
            http_secrets_stream(secrets, body + cut, sizeof body - 1 - cut, add_piece, out);
        }
        for (size_t i = 0; cut == sizeof body && i < sizeof body - 1; i++)
            http_secrets_stream(secrets, body + i, 1, add_piece, out);
        assert_string_equal(out->chars, want);
        http_secrets_free(secrets);
    }
}

/* A watch's line is handed on when it is there, not when the next one comes. */
static void nothing_else_is_kept_back(void **state)
{
    struct http_header header = { "Authorization", "Bearer eyJhbGciOi" };
    struct http_request request = { .url = "https://a/", .headers = &header, .header_count = 1 };
    struct http_secrets *secrets = http_secrets_new(&request);
    owned(text) struct text *out = text_new(1000);

    (void)state;
    http_secrets_stream(secrets, "{\"type\":\"ADDED\"}\n", 17, add_piece, out);
    assert_string_equal(out->chars, "{\"type\":\"ADDED\"}\n");
    http_secrets_stream(secrets, "ey", 2, add_piece, out);
    assert_int_equal(out->length, 17);
    http_secrets_stream(secrets, "e\n", 2, add_piece, out);
    assert_string_equal(out->chars + 17, "eye\n");
    http_secrets_free(secrets);
    http_secrets_stream(NULL, "a", 1, add_piece, out);
    assert_int_equal(out->length, 22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_server_repeats_is_struck_out, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(so_it_is_in_a_stream_that_cuts_it, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test(each_kind_of_secret_is_known),
        cmocka_unit_test(no_cut_lets_a_secret_through),
        cmocka_unit_test(nothing_else_is_kept_back),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
