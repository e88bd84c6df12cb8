/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * HTTP under pressure: more calls, or longer answers, than one turn of the loop has time for;
 * clients that leave, and clients that vanish.
 */
#include "tests/base/http_fixture.h"

#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/wait.h>

static void answer_fine(void *context, struct http_call *call)
{
    (void)context;
    http_call_answer(call, &(struct http_reply){ .status = 200, .body = "fine", .body_size = 4 });
}

static void write_all(int fd, const char *chars)
{
    assert_int_equal(send(fd, chars, strlen(chars), MSG_NOSIGNAL), strlen(chars));
}

/* What the server has sent so far; -1: it closed the connection. */
static ssize_t read_some(int fd, char *out, size_t size)
{
    ssize_t got = recv(fd, out, size, MSG_DONTWAIT);

    return got < 0 && errno == EAGAIN ? 0 : got > 0 ? got : -1;
}

static bool is_closed(int fd)
{
    char bytes[4096];
    ssize_t got;

    while ((got = read_some(fd, bytes, sizeof bytes)) > 0)
        continue;
    return got < 0;
}

static void count_close(void *context)
{
    ((struct http_fixture *)context)->closed_count++;
}

enum { BUSY_CALLS = 5, BUSY_US = 20000 };

static char turns[4 * BUSY_CALLS];
static struct timer *between;

static void note_turn(void *context)
{
    (void)context;
    turns[strlen(turns)] = 't';
}

static void answer_slowly(void *context, struct http_call *call)
{
    turns[strlen(turns)] = 'c';
    timer_set(between, 0);
    usleep(BUSY_US); /* as an answer that takes long to make */
    answer_fine(context, call);
}

/* All calls have arrived when the first is handed on. */
static void calls_leave_time_for_timers(void **state)
{
    struct http_fixture *fixture = *state;
    int fds[BUSY_CALLS];

    memset(turns, 0, sizeof turns);
    between = timer_new(fixture->loop, note_turn, NULL);
    fixture->handler = answer_slowly;
    for (int i = 0; i < BUSY_CALLS; i++) {
        fds[i] = fixture_connect_unix(fixture);
        write_all(fds[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    while (fixture->call_count < BUSY_CALLS)
        fixture_run_for(fixture, 20);
    fixture_run_for(fixture, 20);
    assert_string_equal(turns, "ctctctctct");
    timer_free(between);
    for (int i = 0; i < BUSY_CALLS; i++)
        close(fds[i]);
}

enum { LONG_ANSWER = 1 << 21, CHUNK_US = 100, MOST_IN_A_TURN = 1 << 19 };

static size_t read_in_turn, most_in_turn;

static void end_turn(void *context)
{
    (void)context;
    read_in_turn = 0;
}

static void read_slowly(void *context, const char *bytes, size_t size)
{
    fixture_chunk(context, bytes, size);
    read_in_turn += size;
    most_in_turn = read_in_turn > most_in_turn ? read_in_turn : most_in_turn;
    timer_set(between, 0);
    usleep(CHUNK_US); /* as what is parsed */
}

/* A server in a process of its own, for one request: it sends while the client is busy. */
static pid_t begin_long_answer(int listener)
{
    static char bytes[LONG_ANSWER];
    pid_t child = fork();
    int fd;

    if (child != 0)
        return child;
    fd = accept(listener, NULL, NULL);
    memset(bytes, 'x', sizeof bytes);
    if (recv(fd, bytes, 1, 0) == 1 &&
        dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LONG_ANSWER) > 0)
        for (ssize_t sent = 0, at = 0; sent >= 0 && at < LONG_ANSWER; at += sent)
            sent = send(fd, bytes + at, (size_t)(LONG_ANSWER - at), MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        continue;
    _exit(0);
}

/* However much of them is there, a turn reads a part only, and of each in its turn. */
static void long_answers_leave_time_for_timers(void **state)
{
    struct http_fixture *fixture = *state;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct http_request request = { .timeout_ms = MINUTE_MS, .on_chunk = read_slowly };
    owned(chars) char *url = NULL;
    pid_t servers[2];

    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 2), 0);
    getsockname(listener, (struct sockaddr *)&address, &size);
    request.url = url = text_format("http://127.0.0.1:%d/", ntohs(address.sin_port));
    between = timer_new(fixture->loop, end_turn, NULL);
    for (size_t i = 0; i < COUNT_OF(servers); i++) {
        servers[i] = begin_long_answer(listener);
        http_send(fixture->http, &request, fixture_done, &fixture->results[i]);
    }
    fixture_await(fixture, 1);
    for (size_t i = 0; i < COUNT_OF(servers);
         i++) /* when the first ends, the other is not far behind */
        assert_true(fixture->results[i].chunks->length > LONG_ANSWER / 2);
    fixture_await(fixture, 2);
    assert_in_range(most_in_turn, 1, MOST_IN_A_TURN);
    timer_free(between);
    close(listener);
    for (size_t i = 0; i < COUNT_OF(servers); i++) {
        kill(servers[i], SIGKILL);
        assert_int_equal(waitpid(servers[i], NULL, 0), servers[i]);
    }
}

enum { SMALL = 8, SMALL_TURNS = 10, TRIES = 5 };

static int busy_turns;

static void be_busy(void *context)
{
    (void)context;
    busy_turns++;
    usleep(BUSY_US / 2); /* longer than what libcurl and the handler get of a turn */
    timer_set(between, 0);
}

/* A turn in which others are busy is no turn lost: several requests go on in each.  A machine that
   does something else for a moment costs turns, too, so the best of some tries counts. */
static void small_requests_go_on_beside_busy_timers(void **state)
{
    struct http_fixture *fixture = *state;
    owned(chars) char *url = text_format("http://127.0.0.1:%d/", fixture->port);
    struct http_request request = { /* each on a connection of its own */
                                    .method = HTTP_POST,
                                    .is_mutation = true,
                                    .url = url,
                                    .timeout_ms = MINUTE_MS
    };
    int fewest = INT_MAX;

    between = timer_new(fixture->loop, be_busy, NULL);
    timer_set(between, 0);
    fixture->handler = answer_fine;
    for (int try = 1; try <= TRIES && fewest > SMALL_TURNS; try++) {
        busy_turns = 0;
        for (size_t i = 0; i < SMALL; i++)
            http_send(fixture->http, &request, fixture_done, &fixture->results[i]);
        fixture_await(fixture, try * SMALL);
        fewest = busy_turns < fewest ? busy_turns : fewest;
    }
    assert_in_range(fewest, 1, SMALL_TURNS);
    timer_free(between);
}

enum { FEW_TURNS = 20 };

static void send_long_answer(void *context, struct http_call *call)
{
    static char bytes[LONG_ANSWER / 2];

    (void)context;
    memset(bytes, 'x', sizeof bytes);
    http_call_answer(
        call, &(struct http_reply){ .status = 200, .body = bytes, .body_size = sizeof bytes });
}

/* Who reads as fast as we write has it after a few turns of a loop that may be busy. */
static void a_long_answer_is_written_in_few_turns(void **state)
{
    struct http_fixture *fixture = *state;
    int fd = fixture_connect_unix(fixture);
    char bytes[4096];
    ssize_t got, sum = 0;

    fixture->handler = send_long_answer;
    write_all(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int turn = 0; turn < FEW_TURNS; turn++) {
        loop_run_until(fixture->loop, loop_now(fixture->loop));
        while ((got = read_some(fd, bytes, sizeof bytes)) > 0)
            sum += got;
    }
    assert_true(sum > LONG_ANSWER / 2);
    close(fd);
}

static int leaver = -1;

static void let_another_leave(void *context, struct http_call *call)
{
    if (leaver >= 0)
        close(leaver);
    leaver = -1;
    usleep(BUSY_US);
    answer_fine(context, call);
}

static void a_client_may_leave_before_its_turn(void **state)
{
    struct http_fixture *fixture = *state;
    int first = fixture_connect_unix(fixture);
    char answer[4096];

    leaver = fixture_connect_unix(fixture);
    fixture->handler = let_another_leave;
    write_all(first, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    write_all(leaver, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_run_for(fixture, 200);
    assert_true(read_some(first, answer, sizeof answer) > 0);
    assert_in_range(fixture->call_count, 1, 2);
    write_all(first, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); /* the server goes on */
    fixture_run_for(fixture, 200);
    assert_true(read_some(first, answer, sizeof answer) > 0);
    close(first);
}

/* A server may end while calls wait for their turn. */
static void waiting_calls_end_with_their_server(void **state)
{
    struct http_fixture *fixture = *state;
    int fds[BUSY_CALLS];

    memset(turns, 0, sizeof turns);
    between = timer_new(fixture->loop, note_turn, NULL);
    fixture->handler = answer_slowly;
    for (int i = 0; i < BUSY_CALLS; i++) {
        fds[i] = fixture_connect_unix(fixture);
        write_all(fds[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    while (fixture->call_count < 1)
        fixture_run_for(fixture, 1);
    http_server_free(fixture->server);
    fixture->server = http_server_new(fixture->loop, fixture_handle, fixture);
    timer_free(between);
    for (int i = 0; i < BUSY_CALLS; i++) {
        assert_true(is_closed(fds[i]));
        close(fds[i]);
    }
}

/* The server's end of a connection to its port. */
static int find_accepted(int port)
{
    for (int fd = 3; fd < 200; fd++) {
        struct sockaddr_in ours = { 0 }, theirs = { 0 };
        socklen_t our_size = sizeof ours, their_size = sizeof theirs;

        if (getsockname(fd, (struct sockaddr *)&ours, &our_size) == 0 &&
            ours.sin_family == AF_INET && ntohs(ours.sin_port) == port &&
            getpeername(fd, (struct sockaddr *)&theirs, &their_size) == 0)
            return fd;
    }
    return -1;
}

/* The kernel ends a connection whose other end confirms nothing any more. */
static void a_client_that_vanishes_is_noticed(void **state)
{
    struct http_fixture *fixture = *state;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)fixture->port) };
    int client = socket(AF_INET, SOCK_STREAM, 0), accepted, value = 0;
    socklen_t size = sizeof value;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    fixture_run_for(fixture, 50);
    accepted = find_accepted(fixture->port);
    assert_true(accepted >= 0);
    assert_int_equal(getsockopt(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &size), 0);
    assert_int_equal(value, 30 * SECOND_MS);
    assert_int_equal(getsockopt(accepted, SOL_SOCKET, SO_KEEPALIVE, &value, &size), 0);
    assert_int_equal(value, 1);
    assert_int_equal(getsockopt(accepted, IPPROTO_TCP, TCP_KEEPIDLE, &value, &size), 0);
    assert_int_equal(value, 15);
    close(client);
}

/* The last bytes of a stream have to be taken, too. */
static void begin_much_and_end(void *context, struct http_call *call)
{
    static char piece[1 << 16];

    http_call_stream_begin(call, NULL, count_close, context);
    while (http_call_stream_send(call, piece, sizeof piece))
        continue;
    http_call_stream_end(call);
}

static void the_end_of_a_stream_that_is_not_taken_is_cut_off(void **state)
{
    struct http_fixture *fixture = *state;
    int fd = fixture_connect_unix(fixture);
    ssize_t got = 0;
    char bytes[512];

    http_server_limit_answers(fixture->server, SECOND_MS);
    fixture->handler = begin_much_and_end;
    write_all(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 100 && got >= 0; i++) {
        got = read_some(fd, bytes, 64);
        loop_skip(fixture->loop, 100);
        fixture_run_for(fixture, 1);
    }
    while ((got = read_some(fd, bytes, sizeof bytes)) > 0)
        continue;
    assert_int_equal(got, -1);
    close(fd);
}

/* Those that wait are closed, the others after their answer; new ones are served. */
static void connections_can_be_retired(void **state)
{
    struct http_fixture *fixture = *state;
    int idle = fixture_connect_unix(fixture), fresh = fixture_connect_unix(fixture), later;
    char answer[4096];

    fixture->handler = answer_fine;
    write_all(idle, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_run_for(fixture, 50);
    assert_true(read_some(idle, answer, sizeof answer) > 0);
    http_server_retire(fixture->server);
    later = fixture_connect_unix(fixture);
    write_all(later, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_run_for(fixture, 300);
    assert_true(is_closed(idle));
    assert_true(is_closed(fresh));
    assert_true(read_some(later, answer, sizeof answer) > 0);
    assert_false(is_closed(later));
    close(idle);
    close(fresh);
    close(later);
}

static void answer_and_retire(void *context, struct http_call *call)
{
    struct http_fixture *fixture = context;

    http_server_retire(fixture->server);
    answer_fine(context, call);
}

static void a_call_is_answered_before_its_connection_retires(void **state)
{
    struct http_fixture *fixture = *state;
    int fd = fixture_connect_unix(fixture);
    char answer[4096];

    fixture->handler = answer_and_retire;
    write_all(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    fixture_run_for(fixture, 300);
    assert_true(read_some(fd, answer, sizeof answer) > 0);
    assert_non_null(memmem(answer, sizeof answer, "fine", 4));
    assert_true(is_closed(fd));
    close(fd);
}

#define PRESSURE_TEST(test)                                                                        \
    {                                                                                              \
#test, test, fixture_set_up, fixture_tear_down, NULL                                       \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRESSURE_TEST(connections_can_be_retired),
        PRESSURE_TEST(a_call_is_answered_before_its_connection_retires),
        PRESSURE_TEST(calls_leave_time_for_timers),
        PRESSURE_TEST(long_answers_leave_time_for_timers),
        PRESSURE_TEST(a_long_answer_is_written_in_few_turns),
        PRESSURE_TEST(small_requests_go_on_beside_busy_timers),
        PRESSURE_TEST(a_client_may_leave_before_its_turn),
        PRESSURE_TEST(waiting_calls_end_with_their_server),
        PRESSURE_TEST(a_client_that_vanishes_is_noticed),
        PRESSURE_TEST(the_end_of_a_stream_that_is_not_taken_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
