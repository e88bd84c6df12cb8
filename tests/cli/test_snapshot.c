/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice snapshot as a person gives it: its mistakes, and that a failed one leaves the old file as
 * it was.  What it fetches is compared in tests/real/snapshot.
 */
#include "tests/cli/said.h"
#include "tests/support/folder.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named_and_leave_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
