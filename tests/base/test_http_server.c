/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server: who may connect, for how long, and what it refuses.
 */
#include "base/log.h"
#include "tests/base/http_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void answer_fine(void *context, struct http_call *call)
{
    struct http_fixture *fixture = context;

    fixture->held = call;
    http_call_answer(call, &(struct http_reply){ .status = 200, .body = "fine", .body_size = 4 });
}

static void write_all(int fd, const char *chars)
{
    assert_int_equal(send(fd, chars, strlen(chars), MSG_NOSIGNAL), strlen(chars));
}

/* What the server has sent so far; -1: it closed the connection. */
static ssize_t read_some(int fd, char *out, size_t size)
{
    ssize_t got = recv(fd, out, size - 1, 0);

    if (got < 0 && errno == EAGAIN)
        got = 0;
    else if (got <= 0)
        got = -1;
    out[got > 0 ? got : 0] = '\0';
    return got;
}

static bool is_closed(int fd)
{
    char bytes[4096];
    ssize_t got;

    while ((got = read_some(fd, bytes, sizeof bytes)) > 0)
        continue;
    return got < 0;
}

static void requests_that_can_be_misread_are_refused(void **state)
{
    static const struct {
        const char *request;
        const char *status;
    } cases[] = {
        { "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 " },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 200 " },
        { "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
          "HTTP/1.1 200 " },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
          "2\r\nab\r\n0\r\n\r\n",
          "HTTP/1.1 400 " },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab",
          "HTTP/1.1 400 " },
        { "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "HTTP/1.1 400 " },
        { "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 " },
        { "GET / HTTP/1.1\r\nHost: a\r\nX-A: \001\r\n\r\n", "HTTP/1.1 400 " },
        { "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 501 " },
        { "OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 501 " },
        { "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 501 " },
        { "BREW / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 501 " },
        { "nonsense\r\n\r\n", "HTTP/1.1 400 " },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n", "HTTP/1.1 413 " },
    };
    struct http_fixture *fixture = *state;

    fixture->handler = answer_fine;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int fd = fixture_connect_unix(fixture), count = fixture->call_count;
        char answer[4096];

        write_all(fd, cases[i].request);
        fixture_run_for(fixture, 30);
        assert_true(read_some(fd, answer, sizeof answer) > 0);
        if (strncmp(answer, cases[i].status, strlen(cases[i].status)) != 0)
            print_error("case %zu: %s\n", i, answer);
        assert_memory_equal(answer, cases[i].status, strlen(cases[i].status));
        assert_int_equal(fixture->call_count - count, strstr(cases[i].status, "200") ? 1 : 0);
        close(fd);
    }
}

static void a_connection_is_kept_for_the_next_request(void **state)
{
    struct http_fixture *fixture = *state;
    int fd = fixture_connect_unix(fixture);
    char answer[4096];

    fixture->handler = answer_fine;
    for (int i = 0; i < 3; i++) {
        write_all(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        fixture_run_for(fixture, 30);
        assert_true(read_some(fd, answer, sizeof answer) > 0);
        assert_non_null(strstr(answer, "Content-Length: 4\r\n"));
        assert_non_null(strstr(answer, "Content-Type: application/json\r\n"));
        assert_non_null(strstr(answer, "\r\n\r\nfine"));
    }
    assert_int_equal(fixture->call_count, 3);
    assert_false(is_closed(fd));
    close(fd);
}

static struct http_peer seen_peer;

static void note_peer(void *context, struct http_call *call)
{
    seen_peer = http_call_peer(call);
    answer_fine(context, call);
}

static void the_kernel_says_who_is_there(void **state)
{
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->port);
    struct http_request request = { .url = url, .timeout_ms = FIXTURE_HANGS_MS };

    fixture->handler = note_peer;
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_await(fixture, 1);
    assert_false(seen_peer.is_local);
    request.unix_socket = fixture->path;
    http_send(fixture->http, &request, fixture_done, &fixture->results[1]);
    fixture_await(fixture, 2);
    assert_true(seen_peer.is_local);
    assert_int_equal(seen_peer.uid, getuid());
    assert_int_equal(seen_peer.gid, getgid());
    assert_int_equal(seen_peer.pid, getpid());
}

static void a_socket_in_use_is_left_alone_and_a_dead_one_replaced(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_server *other = http_server_new(fixture->loop, fixture_handle, fixture);
    owned(chars) char *path = text_format("%s.dead", fixture->path);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char longest[200];
    struct error err = { 0 };
    struct stat status;

    assert_int_equal(http_server_listen_unix(other, fixture->path, 0600, &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);

    int dead = socket(AF_UNIX, SOCK_STREAM, 0);

    text_copy(address.sun_path, sizeof address.sun_path, path);
    assert_int_equal(bind(dead, (struct sockaddr *)&address, sizeof address), 0);
    close(dead);
    assert_int_equal(http_server_listen_unix(other, path, 0660, &err), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    assert_int_equal(http_server_listen_unix(other, SLUICE_SOURCE "/CMakeLists.txt", 0600, &err),
                     -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(http_server_listen_unix(other, longest, 0600, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(http_server_listen_loopback(other, fixture->port, NULL, &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    http_server_free(other);
    assert_int_equal(stat(path, &status), -1);
    assert_int_equal(stat(fixture->path, &status), 0);
}

/* A byte a second keeps libevent's own timeouts from ever firing. */
static void a_slow_request_is_cut_after_ten_seconds(void **state)
{
    struct http_fixture *fixture = *state;
    int slow = fixture_connect_unix(fixture), kept = fixture_connect_unix(fixture);
    char answer[4096];
    int64_t sent_ms; /* its time runs from between these two */
    int64_t began_ms;
    int64_t open_ms = 0; /* in the loop's time: the server cannot act between its turns */

    fixture->handler = answer_fine;
    write_all(kept, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_run_for(fixture, 50);
    assert_true(read_some(kept, answer, sizeof answer) > 0);
    sent_ms = loop_now(fixture->loop);
    write_all(kept, "GET / HT");
    write_all(slow, "GET / HTTP/1.1\r\n");
    fixture_run_for(fixture, 50);
    began_ms = loop_now(fixture->loop);
    for (; !is_closed(slow); open_ms = loop_now(fixture->loop) - began_ms) {
        assert_in_range(open_ms, 0, 12 * SECOND_MS);
        write_all(slow, "X-A: b\r\n");
        if (loop_now(fixture->loop) - sent_ms < 9 * SECOND_MS)
            assert_false(is_closed(kept));
        fixture_run_for(fixture, SECOND_MS);
    }
    assert_true(loop_now(fixture->loop) - sent_ms >= 9 * SECOND_MS);
    fixture_run_for(fixture, SECOND_MS);
    assert_true(is_closed(kept));
    assert_int_equal(fixture->call_count, 1);
    close(slow);
    close(kept);
}

static void connections_over_the_cap_are_cut(void **state)
{
    enum { COUNT = 260, CAP = 256 };
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->port);
    struct http_request request = { .url = url, .timeout_ms = FIXTURE_HANGS_MS };
    int fds[COUNT], closed_count = 0;

    fixture->handler = answer_fine;
    for (int i = 0; i < COUNT; i++) {
        fds[i] = fixture_connect_unix(fixture);
        if (i % 50 == 0)
            fixture_run_for(fixture, 20);
    }
    fixture_run_for(fixture, 50);
    for (int i = 0; i < COUNT; i++)
        closed_count += is_closed(fds[i]);
    assert_int_equal(closed_count, COUNT - CAP);
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_await(fixture, 1);
    assert_int_equal(fixture->results[0].status, 200);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    fixture_run_for(fixture, 300);
    request.unix_socket = fixture->path;
    http_send(fixture->http, &request, fixture_done, &fixture->results[1]);
    fixture_await(fixture, 2);
    assert_int_equal(fixture->results[1].status, 200);
}

enum { PLACES = 256, NOBODY = 65534 };

/* One more request than there are places, all of which one client holds and does not use. */
static void a_client_that_keeps_all_places_is_served_again(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = { .url = "http://sluice/",
                                    .unix_socket = fixture->path,
                                    .timeout_ms = FIXTURE_HANGS_MS };
    int fds[PLACES];

    fixture->handler = answer_fine;
    for (int i = 0; i < PLACES; i++) {
        fds[i] = fixture_connect_unix(fixture);
        if (i % 50 == 0)
            fixture_run_for(fixture, 20);
    }
    fixture_run_for(fixture, 50);
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_await(fixture, 1);
    assert_int_equal(fixture->results[0].status, 200);
    fixture_run_for(fixture, 300);
    assert_true(is_closed(fds[0])); /* the oldest, and no other */
    for (int i = 1; i < PLACES; i++)
        assert_false(is_closed(fds[i]));
    for (int i = 0; i < PLACES; i++)
        close(fds[i]);
}

/* In a process of another user: takes all places and holds them until the pipe is closed. */
static void crowd(const struct http_fixture *fixture, int told, int tells)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char byte = 'x';

    text_copy(address.sun_path, sizeof address.sun_path, fixture->path);
    if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
        _exit(1);
    for (int i = 0; i < PLACES + 40; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
            _exit(2);
    }
    (void)!write(tells, &byte, 1);
    (void)!read(told, &byte, 1);
    _exit(0);
}

/* His 256 connections are alive; ours go on and new ones come in, at his expense. */
static void one_user_does_not_keep_others_out(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = { .url = "http://sluice/",
                                    .unix_socket = fixture->path,
                                    .timeout_ms = FIXTURE_HANGS_MS };
    int to_child[2], from_child[2], ours[8], status;
    char byte;

    if (geteuid() != 0)
        skip(); /* only root can be another user */
    fixture->handler = answer_fine;
    assert_int_equal(chmod(fixture->path, 0666), 0);
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe2(from_child, O_NONBLOCK), 0);
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        ours[i] = fixture_connect_unix(fixture);
    fixture_run_for(fixture, 50);

    pid_t child = fork();

    if (child == 0) {
        close(to_child[1]);
        crowd(fixture, to_child[0], from_child[1]);
    }
    close(to_child[0]);
    for (int ms = 0; ms < FIXTURE_HANGS_MS && read(from_child[0], &byte, 1) != 1; ms += 20)
        loop_run_until(fixture->loop, loop_now(fixture->loop) + 20); /* its time is not ours */
    fixture_run_for(fixture, 50);
    for (size_t i = 0; i < 6; i++)
        http_send(fixture->http, &request, fixture_done, &fixture->results[i]);
    fixture_await(fixture, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(fixture->results[i].status, 200);
    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        assert_false(is_closed(ours[i]));
        close(ours[i]);
    }
    close(to_child[1]);
    close(from_child[0]);
    close(from_child[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int complaint_count;

static void count_complaint(void *context, const char *line)
{
    (void)context;
    complaint_count += strstr(line, "accept_failed") != NULL;
}

/* Level-triggered accepting would otherwise turn the loop as fast as it can. */
static void a_lack_of_descriptors_pauses_accepting(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = { .url = "http://sluice/", .timeout_ms = FIXTURE_HANGS_MS };
    struct rlimit limit, none = { 0 };
    int64_t began_ms;
    int fd = fixture_connect_unix(fixture);

    fixture->handler = answer_fine;
    request.unix_socket = fixture->path;
    getrlimit(RLIMIT_NOFILE, &limit);
    none = (struct rlimit){ 3, limit.rlim_max };
    complaint_count = 0;
    log_set_sink(count_complaint, NULL);
    setrlimit(RLIMIT_NOFILE, &none);
    began_ms = loop_now(fixture->loop);
    fixture_run_for(fixture, 300);
    setrlimit(RLIMIT_NOFILE, &limit);
    log_set_sink(NULL, NULL);
    /* One in each of its rests, which are 200 ms. */
    assert_in_range(complaint_count, 1, 2 + (loop_now(fixture->loop) - began_ms) / 200);
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_await(fixture, 1);
    assert_int_equal(fixture->results[0].status, 200);
    close(fd);
}

static void drop_it(void *context, struct http_call *call)
{
    (void)context;
    http_call_drop(call);
}

static void a_dropped_call_has_an_unknown_outcome(void **state)
{
    struct http_fixture *fixture = *state;
    struct http_request request = { .url = "http://sluice/",
                                    .unix_socket = fixture->path,
                                    .timeout_ms = FIXTURE_HANGS_MS,
                                    .method = HTTP_POST,
                                    .is_mutation = true };

    fixture->handler = answer_fine;
    http_send(fixture->http, &request, fixture_done, &fixture->results[0]);
    fixture_await(fixture, 1);
    fixture->handler = drop_it;
    http_send(fixture->http, &request, fixture_done, &fixture->results[1]);
    fixture_await(fixture, 2);
    assert_int_equal(fixture->results[1].kind, ERROR_UNKNOWN_OUTCOME);
    fixture_run_for(fixture, 50);
    assert_int_equal(fixture->call_count, 2);
}

static void count_close(void *context)
{
    struct http_fixture *fixture = context;

    fixture->closed_count++;
    fixture->held = NULL;
}

static struct http_call *streams[64];
static int stream_count;

static void begin_stream(void *context, struct http_call *call)
{
    http_call_stream_begin(call, NULL, count_close, context);
    streams[stream_count++] = call;
}

static void a_slow_reader_is_noticed(void **state)
{
    struct http_fixture *fixture = *state;
    int fd = fixture_connect_unix(fixture);
    char piece[65536];
    int sent = 0;

    stream_count = 0;
    fixture->handler = begin_stream;
    write_all(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_run_for(fixture, 50);
    assert_int_equal(stream_count, 1);
    memset(piece, 'x', sizeof piece);
    while (sent < 100 && http_call_stream_send(streams[0], piece, sizeof piece)) {
        sent++;
        fixture_run_for(fixture, 2);
    }
    assert_in_range(sent, 16, 40);
    close(fd);
    fixture_run_for(fixture, 50);
    assert_int_equal(fixture->closed_count, 1);
}

/* No handler reads what a client sends on a stream: it must not fill the memory. */
static void who_sends_on_a_stream_is_cut_off(void **state)
{
    struct http_fixture *fixture = *state;
    int fd = fixture_connect_unix(fixture);
    static char piece[1 << 16];
    ssize_t sent = 0, written = 0;

    stream_count = 0;
    fixture->handler = begin_stream;
    write_all(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_run_for(fixture, 50);
    assert_int_equal(stream_count, 1);
    memset(piece, 'x', sizeof piece);
    for (int i = 0; i < 400 && fixture->closed_count == 0; i++) {
        written = send(fd, piece, sizeof piece, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += written > 0 ? written : 0;
        fixture_run_for(fixture, 5);
    }
    assert_int_equal(fixture->closed_count, 1);
    assert_in_range(sent, 1, 4 << 20);
    close(fd);
}

static void answer_much(void *context, struct http_call *call)
{
    static char body[16 << 20];

    (void)context;
    http_call_answer(call,
                     &(struct http_reply){ .status = 200, .body = body, .body_size = sizeof body });
}

/* A few bytes now and then keep libevent's own timeouts from ever firing. */
static void an_answer_that_is_taken_too_slowly_is_cut_off(void **state)
{
    struct http_fixture *fixture = *state;
    int fd = fixture_connect_unix(fixture);
    int64_t began_ms = loop_now(fixture->loop);
    int64_t taken = 0;
    char bytes[512];
    ssize_t got;

    http_server_limit_answers(fixture->server, SECOND_MS);
    fixture->handler = answer_much;
    write_all(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    for (; loop_now(fixture->loop) - began_ms < 3 * SECOND_MS; taken += got)
        if ((got = read_some(fd, bytes, sizeof bytes)) < 0)
            break;
        else
            fixture_run_for(fixture, 100);
    while ((got = read_some(fd, bytes, sizeof bytes)) > 0)
        taken += got;
    assert_int_equal(got, -1);
    assert_in_range(taken, 1, 8 << 20);
    close(fd);
}

static void many_streams_share_the_loop(void **state)
{
    struct http_fixture *fixture = *state;
    int fds[COUNT_OF(streams)];
    char answer[4096];

    stream_count = 0;
    fixture->handler = begin_stream;
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        fds[i] = fixture_connect_unix(fixture);
        write_all(fds[i], "GET /watch HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    }
    fixture_run_for(fixture, 100);
    assert_int_equal(stream_count, COUNT_OF(streams));
    for (size_t i = 0; i < COUNT_OF(streams); i++)
        assert_true(http_call_stream_send(streams[i], "event\n", 6));
    fixture_run_for(fixture, 100);
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        assert_true(read_some(fds[i], answer, sizeof answer) > 0);
        assert_non_null(strstr(answer, "\r\n\r\n6\r\nevent\n\r\n"));
    }
    for (size_t i = 0; i < 32; i++)
        http_call_stream_end(streams[i]);
    for (size_t i = 32; i < 48; i++)
        close(fds[i]);
    fixture_run_for(fixture, 100);
    assert_int_equal(fixture->closed_count, 16);
    fixture->handler = answer_fine;
    for (size_t i = 0; i < 32; i++) {
        assert_true(read_some(fds[i], answer, sizeof answer) > 0);
        assert_string_equal(answer, "0\r\n\r\n");
        write_all(fds[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    fixture_run_for(fixture, 100);
    assert_int_equal(fixture->call_count, COUNT_OF(streams) + 32);
    for (size_t i = 0; i < COUNT_OF(streams); i++)
        if (i < 32 || i >= 48)
            close(fds[i]); /* 48 on: streams that the server ends with itself */
}

static void hold(void *context, struct http_call *call)
{
    ((struct http_fixture *)context)->held = call;
}

/* Each of these ends a call in another way while the client is gone already. */
static void a_call_outlives_its_client(void **state)
{
    struct http_fixture *fixture = *state;

    fixture->handler = hold;
    for (int way = 0; way < 4; way++) {
        int fd = fixture_connect_unix(fixture);

        write_all(fd, "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1");
        fixture_run_for(fixture, 30);
        close(fd);
        fixture_run_for(fixture, 30);
        assert_string_equal(http_call_target(fixture->held), "/x");
        if (way == 0)
            http_call_answer(fixture->held, &(struct http_reply){ .status = 200 });
        else if (way == 1)
            http_call_drop(fixture->held);
        else if (way == 2)
            http_call_stream_begin(fixture->held, NULL, count_close, fixture);
        if (way == 2)
            http_call_stream_send(fixture->held, "x", 1);
        fixture_run_for(fixture, 50);
    }
    assert_int_equal(fixture->closed_count, 1);
}

#define SERVER_TEST(test)                                                                          \
    {                                                                                              \
#test, test, fixture_set_up, fixture_tear_down, NULL                                       \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVER_TEST(requests_that_can_be_misread_are_refused),
        SERVER_TEST(a_connection_is_kept_for_the_next_request),
        SERVER_TEST(the_kernel_says_who_is_there),
        SERVER_TEST(a_socket_in_use_is_left_alone_and_a_dead_one_replaced),
        SERVER_TEST(a_slow_request_is_cut_after_ten_seconds),
        SERVER_TEST(connections_over_the_cap_are_cut),
        SERVER_TEST(a_client_that_keeps_all_places_is_served_again),
        SERVER_TEST(one_user_does_not_keep_others_out),
        SERVER_TEST(a_lack_of_descriptors_pauses_accepting),
        SERVER_TEST(a_dropped_call_has_an_unknown_outcome),
        SERVER_TEST(a_slow_reader_is_noticed),
        SERVER_TEST(who_sends_on_a_stream_is_cut_off),
        SERVER_TEST(an_answer_that_is_taken_too_slowly_is_cut_off),
        SERVER_TEST(many_streams_share_the_loop),
        SERVER_TEST(a_call_outlives_its_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
