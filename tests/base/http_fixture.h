/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client, our server on both kinds of socket, and a server of raw bytes that can misbehave in
 * ways in which ours cannot.  Shared by the tests of HTTP.
 */
#pragma once

#include "base/memory.h"
#include "base/text.h"
#include "base/world/http.h"
#include "base/world/http_server.h"
#include "tests/support/unit.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* What came of one request. */
struct result {
    struct http_fixture *fixture;
    int count; /* how often `done` was called */
    int status;
    enum error_kind kind;
    int64_t retry_after_ms;
    char text[ERROR_TEXT_SIZE];
    char header[64];
    struct text *body;
    struct text *chunks;
};

/* Bytes for the n-th request, counted from 1; NULL: close. */
typedef const char *(*raw_answer_fn)(int number);

struct http_fixture {
    struct loop *loop;
    struct http *http;
    struct http_server *server;
    int port;
    char path[64];
    http_handler_fn handler;
    int call_count;
    struct http_call *held; /* a call or stream that a test answers itself */
    int closed_count;
    char order[32];
    struct evconnlistener *raw;
    int raw_port;
    int raw_count;
    raw_answer_fn raw_answer;
    struct bufferevent *raw_connections[16];
    int raw_connection_count;
    struct timer *give_up;
    bool is_late;
    struct result results[8];
};

static inline void fixture_give_up(void *context)
{
    struct http_fixture *fixture = context;

    fixture->is_late = true;
    loop_stop(fixture->loop);
}

static inline void fixture_handle(void *context, struct http_call *call)
{
    struct http_fixture *fixture = context;

    fixture->call_count++;
    fixture->handler(fixture, call);
}

static inline void raw_read(struct bufferevent *connection, void *context)
{
    struct http_fixture *fixture = context;
    struct evbuffer *input = bufferevent_get_input(connection);
    struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);

    if (end.pos < 0)
        return;
    evbuffer_drain(input, evbuffer_get_length(input));

    const char *answer = fixture->raw_answer(++fixture->raw_count);

    if (answer)
        bufferevent_write(connection, answer, strlen(answer));
    else
        shutdown(bufferevent_getfd(connection), SHUT_RDWR);
}

static inline void raw_accept(struct evconnlistener *listener, evutil_socket_t fd,
                              struct sockaddr *address, int size, void *context)
{
    struct http_fixture *fixture = context;
    struct bufferevent *connection = bufferevent_socket_new(evconnlistener_get_base(listener), fd,
                                                            BEV_OPT_CLOSE_ON_FREE);

    (void)address;
    (void)size;
    require(fixture->raw_connection_count < (int)COUNT_OF(fixture->raw_connections));
    fixture->raw_connections[fixture->raw_connection_count++] = connection;
    bufferevent_setcb(connection, raw_read, NULL, NULL, fixture);
    bufferevent_enable(connection, EV_READ | EV_WRITE);
}

static inline void fixture_listen_raw(struct http_fixture *fixture)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fixture->raw = evconnlistener_new_bind(loop_event_base(fixture->loop), raw_accept, fixture,
                                           LEV_OPT_CLOSE_ON_FREE, 16, (struct sockaddr *)&address,
                                           sizeof address);
    require(fixture->raw);
    getsockname(evconnlistener_get_fd(fixture->raw), (struct sockaddr *)&address, &size);
    fixture->raw_port = ntohs(address.sin_port);
}

static inline int fixture_set_up_with(void **state, const struct http_limits *limits)
{
    struct http_fixture *fixture = mem_new(sizeof *fixture);
    struct error err;

    fixture->loop = loop_libevent_new(&err);
    fixture->http = http_curl_new(fixture->loop, limits, &err);
    fixture->server = http_server_new(fixture->loop, fixture_handle, fixture);
    snprintf(fixture->path, sizeof fixture->path, "/tmp/sluice-test-%d.socket", (int)getpid());
    require(http_server_listen_unix(fixture->server, fixture->path, 0600, &err) == 0);
    require(http_server_listen_loopback(fixture->server, 0, &fixture->port, &err) == 0);
    fixture_listen_raw(fixture);
    fixture->give_up = timer_new(fixture->loop, fixture_give_up, fixture);
    for (size_t i = 0; i < COUNT_OF(fixture->results); i++) {
        fixture->results[i].fixture = fixture;
        fixture->results[i].body = text_new(1 << 22);
        fixture->results[i].chunks = text_new(1 << 22);
    }
    *state = fixture;
    return 0;
}

static inline int fixture_set_up(void **state)
{
    return fixture_set_up_with(state, NULL);
}

static inline int fixture_tear_down(void **state)
{
    struct http_fixture *fixture = *state;

    http_free(fixture->http);
    http_server_free(fixture->server);
    evconnlistener_free(fixture->raw);
    for (int i = 0; i < fixture->raw_connection_count; i++)
        bufferevent_free(fixture->raw_connections[i]);
    timer_free(fixture->give_up);
    for (size_t i = 0; i < COUNT_OF(fixture->results); i++) {
        text_free(fixture->results[i].body);
        text_free(fixture->results[i].chunks);
    }
    loop_free(fixture->loop);
    mem_free(fixture);
    return 0;
}

static inline void fixture_done(void *context, const struct http_answer *answer,
                                const struct error *err)
{
    struct result *result = context;
    const char *header;

    result->count++;
    loop_stop(result->fixture->loop);
    if (err) {
        result->kind = err->kind;
        text_copy(result->text, sizeof result->text, err->text);
        return;
    }
    result->status = answer->status;
    result->retry_after_ms = answer->retry_after_ms;
    text_add_bytes(result->body, answer->body, answer->body_size);
    header = http_header_find(answer->headers, answer->header_count, "x-probe");
    text_copy(result->header, sizeof result->header, header ? header : "");
}

static inline void fixture_chunk(void *context, const char *bytes, size_t size)
{
    struct result *result = context;

    text_add_bytes(result->chunks, bytes, size);
}

enum {
    FIXTURE_TURNS = 50,
    FIXTURE_HANGS_MS = 2 * MINUTE_MS, /* a busy machine is slow, but not that slow */
};

/* Runs until `count` of the results are there, or fails when they hang. */
static inline void fixture_await(struct http_fixture *fixture, int count)
{
    for (;;) {
        int seen = 0;

        for (size_t i = 0; i < COUNT_OF(fixture->results); i++)
            seen += fixture->results[i].count;
        if (seen >= count)
            break;
        timer_set(fixture->give_up, FIXTURE_HANGS_MS);
        loop_run(fixture->loop);
        timer_stop(fixture->give_up);
        assert_false(fixture->is_late);
    }
}

/* For so long by the loop's clock, which does not wait for it, in many turns: both ends are in this
   process, so what counts is how often they had their turn. */
static inline void fixture_run_for(struct http_fixture *fixture, int64_t duration_ms)
{
    int64_t turn_ms = duration_ms > FIXTURE_TURNS ? duration_ms / FIXTURE_TURNS : 1;

    for (int turn = 0; turn < FIXTURE_TURNS; turn++) {
        loop_skip(fixture->loop, turn_ms);
        loop_run_until(fixture->loop, loop_now(fixture->loop));
    }
}

static inline int fixture_connect_unix(const struct http_fixture *fixture)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    text_copy(address.sun_path, sizeof address.sun_path, fixture->path);
    require(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}
