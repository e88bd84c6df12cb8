/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What others than people ask the service: Prometheus on its port, and systemd, which the service
 * tells how it is.  sluice-simulator and `sluice serve` run as programs.
 */
#include "tests/cli/programs.h"
#include "tests/support/port.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static pid_t programs[2]; /* the simulator, the service */
static int metrics_port;
static int supervisor; /* the socket of NOTIFY_SOCKET */

static void add_metrics_port(void)
{
    owned(chars) char *path = text_format("%s/sluice.yaml", folder);
    owned(text) struct text *text = file_read(path, 1 << 16, NULL);
    owned(chars) char *next = NULL;

    assert_non_null(text);
    metrics_port = free_port();
    next = text_format("metrics_port: %d\n%s", metrics_port, text->chars);
    mem_free(test_folder_write(folder, "sluice.yaml", next));
}

static void listen_as_supervisor(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval patience = { .tv_sec = START_MS / SECOND_MS };
    owned(chars) char *path = text_format("%s/notify", folder);

    assert_true(text_copy(address.sun_path, sizeof address.sun_path, path));
    supervisor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(supervisor, (const struct sockaddr *)&address, sizeof address), 0);
    setsockopt(supervisor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setenv("NOTIFY_SOCKET", path, 1);
    setenv("WATCHDOG_USEC", "200000", 1);
}

static int open_world(void **state)
{
    (void)state;
    folder = test_folder_new();
    programs[0] = start_simulator();
    add_metrics_port();
    listen_as_supervisor();
    programs[1] = start_service();
    return await_service() ? 0 : -1;
}

static int close_world(void **state)
{
    int code = end_program(programs[1]);

    (void)state;
    close(supervisor);
    if (end_program(programs[0]) != 0 || code != 0)
        return -1;
    test_folder_free(folder);
    return 0;
}

/* The whole answer of one request, with its head; the caller frees it. */
static char *get(const char *path, const char *host, const char *accept)
{
    owned(chars) char *request = text_format("GET %s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n"
                                             "Connection: close\r\n\r\n",
                                             path, host, accept);
    struct sockaddr_in address = address_of(metrics_port);
    struct text *answer = text_new(1 << 20);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char bytes[4096];
    ssize_t size;

    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
    while ((size = read(fd, bytes, sizeof bytes)) > 0)
        text_add_bytes(answer, bytes, (size_t)size);
    close(fd);
    return text_take(answer);
}

static void the_port_answers_three_requests_and_no_other(void **state)
{
    static const struct {
        const char *path, *host, *accept, *says;
    } cases[] = {
        { "/metrics", "127.0.0.1", "*/*",
          "{id=\"no_schedules\",severity=\"note\",cluster=\"\"} 1\n" },
        { "/metrics", "127.0.0.1", "*/*",
          "\nsluice_condition_info{id=\"no_schedules\",affects=\"all scheduled moves\","
          "advice=\"`sluice apply` puts schedules in force\"} 1\n" },
        { "/metrics", "localhost:9470", "*/*", "Content-Type: text/plain; version=0.0.4" },
        { "/metrics", "127.0.0.1", "application/openmetrics-text;version=1.0.0",
          "Content-Type: application/openmetrics-text; version=1.0.0" },
        { "/metrics", "127.0.0.1", "*/*",
          "sluice_ready_gpus{cluster=\"prod-a\",role=\"production\"} " },
        { "/healthz", "127.0.0.1", "*/*", "HTTP/1.1 200 " },
        { "/readyz", "127.0.0.1", "*/*", "HTTP/1.1 200 " },
        { "/v1/status", "127.0.0.1", "*/*", "HTTP/1.1 404 " },
        { "/v1/transfers/x", "localhost", "*/*", "HTTP/1.1 404 " },
        { "/metrics", "evil.example", "*/*", "HTTP/1.1 404 " },
        { "/metrics", "127.0.0.1.evil.example", "*/*", "HTTP/1.1 404 " },
        { "/metrics", "localhost.evil.example:80", "*/*", "HTTP/1.1 404 " },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *answer = get(cases[i].path, cases[i].host, cases[i].accept);

        if (!strstr(answer, cases[i].says))
            fail_msg("%s of %s lacks \"%s\":\n%s", cases[i].path, cases[i].host, cases[i].says,
                     answer);
    }
}

static void expect_said(const char *state)
{
    char said[128] = "";
    ssize_t size;

    do {
        size = recv(supervisor, said, sizeof said - 1, 0);
        if (size < 0)
            fail_msg("systemd never heard %s", state);
        said[size] = '\0';
    } while (!text_equal(said, state));
}

/* A second service of another journal, whose port is taken: it says so, and does without. */
static void a_taken_port_is_named(void **state)
{
    owned(chars) char *path = text_format("%s/sluice.yaml", folder);
    owned(text) struct text *mine = file_read(path, 1 << 16, NULL);
    owned(chars) char *port = text_format("metrics_port %d: cannot bind 127.0.0.1:%d", metrics_port,
                                          metrics_port);
    owned(text) struct text *next = text_new(1 << 16);
    const char *journal = strstr(mine->chars, "sluice.db");

    (void)state;
    assert_non_null(journal);
    text_add(next, "socket: other.sock\n%.*sother.db%s", (int)(journal - mine->chars), mine->chars,
             journal + strlen("sluice.db"));
    mem_free(test_folder_write(folder, "other.yaml", next->chars));

    owned(chars) char *config = text_format("%s/other.yaml", folder);
    owned(chars) char *log_path = text_format("%s/other.log", folder);
    owned(chars) char *supervisor_path = mem_copy_chars(getenv("NOTIFY_SOCKET"));
    owned(text) struct text *log = NULL;
    pid_t pid;

    unsetenv("NOTIFY_SOCKET"); /* this one has none */
    pid = start("other.log",
                (const char *[]){ SLUICE_BUILD "/sluice", "serve", "-c", config, NULL });
    setenv("NOTIFY_SOCKET", supervisor_path, 1);
    for (int64_t end_ms = now_ms() + START_MS; now_ms() < end_ms; pause_a_little()) {
        text_free(log);
        log = file_read(log_path, SAID_LIMIT, NULL);
        if (log && strstr(log->chars, "id=door_closed"))
            break;
    }
    assert_int_equal(end_program(pid), 0);
    assert_non_null(log);
    if (!strstr(log->chars, "the metrics port does not answer: ") || !strstr(log->chars, port))
        fail_msg("%s is not in: %s", port, log->chars);
}

static void systemd_hears_ready_alive_and_stopping(void **state)
{
    (void)state;
    expect_said("READY=1");
    expect_said("WATCHDOG=1");
    expect_said("WATCHDOG=1");
    assert_int_equal(kill(programs[1], SIGHUP), 0); /* a reload may ask a slow directory server */
    expect_said("WATCHDOG_USEC=600000000\nWATCHDOG=1");
    expect_said("WATCHDOG_USEC=200000\nWATCHDOG=1");
    assert_int_equal(end_program(programs[1]), 0);
    programs[1] = 0;
    expect_said("STOPPING=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_port_answers_three_requests_and_no_other),
        cmocka_unit_test(a_taken_port_is_named),
        cmocka_unit_test(systemd_hears_ready_alive_and_stopping),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, open_world, close_world);
}
