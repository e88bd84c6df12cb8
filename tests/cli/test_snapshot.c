/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice snapshot as a person gives it: its mistakes, and that a failed one leaves the old file as
 * it was.  What it fetches is compared in tests/real/snapshot.
 */
#include "tests/cli/said.h"
#include "tests/support/folder.h"
#include "tests/support/port.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#define REST                                                                                       \
    "schedules: s\n"                                                                               \
    "clusters: {prod-a: {role: production, kubeconfig: k}}\n"                                      \
    "reservations: {main: {machine: m, region: r, zone: z, gpus_per_node: 8, nodes: 8}}\n"         \
    "providers: {google: {kind: gcp}}\n"                                                           \
    "pools: {a: {cluster: prod-a, reservation: main, provider: google, project: p, group: g}}\n"   \
    "workloads: {chat-8x: {queue: chat, gpus: 8, clusters: {prod-a: {}}}}\n"

static const char without[] = "time_zone: UTC\n" REST
                              "queues: {chat: {wait_target: 1s, service: 1s}}\n";

/* Nothing listens on that port. */
static const char with[] =
    "time_zone: UTC\n" REST
    "sources: {metrics: {kind: prometheus, endpoint: 'http://127.0.0.1:9', token: absent}}\n"
    "queues: {chat: {wait_target: 1s, service: 1s, source: metrics, arrivals: a}}\n";

static const struct {
    const char *config;
    const char *options;
    int code;
    const char *text;
} cases[] = {
    { with, "", 64, "--out is required" },
    { with, "--out new.csv --to yesterday", 64, "--to" },
    { with, "--out new.csv --to 2026-01-01T00:00:30Z", 64, "whole minute" },
    { with, "--out new.csv --to 2999-01-01T00:00:00Z", 64, "may still change" },
    { with, "--out new.csv --days 0", 64, "--days" },
    { without, "--out new.csv", 1, "no queue of" },
    { with, "--out new.csv", 1, "source metrics, queue chat: " },
};

static void mistakes_are_named_and_leave_the_old_file(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *old = test_folder_write(folder, "new.csv", "old");

    (void)state;
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *config = test_folder_write(folder, "sluice.yaml", cases[i].config);
        owned(chars) char *line = text_format("snapshot --config %s %s", config, cases[i].options);
        owned(said) struct said said = say(folder, folder, line);
        owned(text) struct text *file = file_read(old, 10, NULL);

        if (said.code != cases[i].code || !strstr(said.err->chars, cases[i].text))
            fail_msg("%s: %d, %s", cases[i].options, said.code, said.err->chars);
        assert_string_equal(file->chars, "old");
    }
    assert_int_equal(chdir("/"), 0);
}

/* Answers like a Prometheus: three requests in each minute but the first.  Until it is ended. */
static void play_prometheus(int server)
{
    for (;;) {
        char asked[4096] = "";
        size_t length = 0;
        owned(text) struct text *body = text_new(TEXT_UNBOUNDED);
        owned(text) struct text *answer = text_new(TEXT_UNBOUNDED);
        int fd = accept(server, NULL, NULL);
        const char *start = NULL, *end = NULL;

        while (!(start = strstr(asked, "&start=")) || !(end = strstr(start, "&end="))) {
            ssize_t got = recv(fd, asked + length, sizeof asked - 1 - length, 0);

            if (got <= 0)
                _exit(1);
            asked[length += (size_t)got] = '\0';
        }
        text_add(body, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":"
                       "[{\"metric\":{},\"values\":[");
        for (long at = atol(start + strlen("&start=")) + 60; at <= atol(end + strlen("&end="));
             at += 60)
            text_add(body, "%s[%ld,\"3\"]", body->chars[body->length - 1] == '[' ? "" : ",", at);
        text_add(body, "]}]}}");
        text_add(answer,
                 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                 "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                 body->length, body->chars);
        send(fd, answer->chars, answer->length, MSG_NOSIGNAL);
        close(fd);
    }
}

static void what_is_fetched_is_told(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    int port = free_port();
    struct sockaddr_in address = address_of(port);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    owned(chars) char *config = text_format(
        "time_zone: UTC\n" REST
        "sources: {metrics: {kind: prometheus, endpoint: 'http://127.0.0.1:%d'}}\n"
        "queues: {chat: {wait_target: 1s, service: 1s, source: metrics, arrivals: a}}\n",
        port);
    pid_t child;

    (void)state;
    mem_free(test_folder_write(folder, "sluice.yaml", config));
    assert_int_equal(bind(server, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server, 8), 0);
    fflush(NULL);
    child = fork();
    if (child == 0)
        play_prometheus(server);
    close(server);

    owned(said) struct said said = say(folder, folder,
                                       "snapshot -c @/sluice.yaml --out @/new.csv --days 1 "
                                       "--to 2026-01-02T00:00:00Z -o json");

    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (said.code != EXIT_DIFFERENT || !strstr(said.out->chars, "\"queue\": \"chat\""))
        fail_msg("%d: %s%s", said.code, said.out->chars, said.err->chars);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named_and_leave_the_old_file),
        cmocka_unit_test(what_is_fetched_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
