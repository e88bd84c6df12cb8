/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The planning commands as people call them: exit codes, the names in their JSON, files that are
 * written whole or not at all.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "tests/cli/said.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/sluice-planning-XXXXXX";

/* What the command says on both of its outputs. */
static int run(const char *line, struct text **ret_output)
{
    owned(said) struct said said = say(folder, folder, line);
    struct text *output = text_new(TEXT_UNBOUNDED);

    text_add(output, "%s%s", said.out->chars, said.err->chars);
    *ret_output = output;
    return said.code;
}

static void put(const char *name, const char *content)
{
    owned(chars) char *path = text_format("%s/%s", folder, name);
    struct error err = { 0 };

    if (file_write(path, content, strlen(content), 0600, &err) < 0)
        fail_msg("%s", err.text);
}

static const char config_text[] =
    "time_zone: UTC\n"
    "clusters:\n"
    "  prod-a: { role: production, kubeconfig: a }\n"
    "  research-a: { role: research, kubeconfig: r }\n"
    "reservations:\n"
    "  r1: { machine: m8, region: here, zone: z1, gpus_per_node: 8, nodes: 40 }\n"
    "providers:\n"
    "  cloud: { kind: gcp }\n"
    "pools:\n"
    "  p: { cluster: prod-a, reservation: r1, provider: cloud, project: x, group: p }\n"
    "  r: { cluster: research-a, reservation: r1, provider: cloud, project: x, group: r,\n"
    "       static_nodes: 4 }\n"
    "queues:\n"
    "  chat: { wait_target: 20s, service: 30s }\n"
    "workloads:\n"
    "  task-chat: { queue: chat, gpus: 2, clusters: { prod-a: {} } }\n";

static const char kubeconfig_text[] =
    "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
    "clusters: [{name: c, cluster: {server: 'https://c'}}]\nusers: [{name: u, user: {token: t}}]\n";

/* A week of chat in steps of ten minutes: more by day. */
static int make_folder(void **state)
{
    owned(text) struct text *csv = text_new(1 << 20);

    (void)state;
    text_add(csv, "t,queue,count\n");
    for (int64_t i = 0; i < 7 * 144; i++) {
        char time[WALL_TEXT_SIZE];

        text_add(csv, "%s,chat,%d\n",
                 wall_format((struct wall_time){ 1794787200000 + i * 10 * MINUTE_MS }, time),
                 i % 144 > 48 && i % 144 < 120 ? 700 : 200);
    }
    if (!mkdtemp(folder))
        return -1;
    put("sluice.yaml", config_text);
    put("a", kubeconfig_text);
    put("r", kubeconfig_text);
    put("week.csv", csv->chars);
    return 0;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {
        "sluice.yaml",
        "a",
        "r",
        "week.csv",
        "output",
        "bad.csv",
        "bad.yaml",
        "dated.yaml",
        "schedules/weekday-day.yaml",
        "schedules/weekday-peak.yaml",
        "schedules/weekday-night.yaml",
        "schedules/weekend-day.yaml",
        "schedules/weekend-night.yaml",
        "schedules",
        "",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *path = text_format("%s/%s", folder, names[i]);

        (void)remove(path);
    }
    return 0;
}

static bool has_schedules(void)
{
    owned(chars) char *path = text_format("%s/schedules", folder);

    return file_exists(path);
}

static const struct {
    const char *line;
    int code;
    const char *output; /* part of it */
} calls[] = {
    { "wait --servers 40 --rate 1.2/s --service 25s", EXIT_DONE, "30 erlangs on 40 servers" },
    { "wait --servers 40 --rate 72/min --service 25.0s", EXIT_DONE, "30 erlangs on 40 servers" },
    { "wait --servers 40 --rate 72/m --service 25s", EXIT_DONE, "2.54024" },
    { "wait --servers 40 --rate 4320/h --service 25s", EXIT_DONE, "2.54024" },
    { "wait --servers 4 --rate 1.2/s --service 25s", EXIT_DONE, "unstable" },
    { "wait --servers 4 --rate 1.2/s --service 25s -o json", EXIT_DONE, "\"wait_p98_s\": null" },
    { "wait --servers 4 --rate 1.2 --service 25s", EXIT_USAGE, "is not a rate" },
    { "wait --servers 4 --rate 1.2/s", EXIT_USAGE, "--service" },
    { "wait --servers 4 --rate 1/s --high 2/s --service 1s", EXIT_USAGE, "--high" },
    { "replay --demand @/week.csv --service 30s --servers 60 -o json", EXIT_DONE,
      "\"wait_p98_s\"" },
    { "replay --demand @/week.csv --service 30s --servers 60", EXIT_DONE, "all" },
    { "replay --demand @/week.csv --queue x --service 30s --servers 60", EXIT_ERROR,
      "queue x: the demand has no such queue; it has \"" },
    { "replay --demand @/week.csv --service 30s", EXIT_USAGE, "--servers" },
    { "replay --demand @/none.csv --service 30s --servers 4", EXIT_ERROR, "none.csv" },
    { "replay --demand @/week.csv --service 1s --servers 4 --missing nil", EXIT_USAGE,
      "--missing" },
    { "windows --zone Europe/Berlin --check-year 2026", EXIT_DONE, "525600 minutes" },
    { "windows --zone Europe/Berlin --at 2026-11-17T12:12:05Z", EXIT_DONE, "weekday-day" },
    { "windows --zone Europe/Nowhere", EXIT_ERROR, "Europe/Nowhere" },
    { "windows --zone UTC --at yesterday", EXIT_USAGE, "--at" },
    { "windows --suggest --zone UTC", EXIT_USAGE, "--demand" },
    { "windows --suggest --zone UTC --demand @/week.csv --count 1", EXIT_USAGE, "--count" },
    { "windows --suggest --zone UTC --demand @/week.csv --shortest 9h", EXIT_ERROR,
      "5 windows of this length do not fit into a day" },
    { "windows --suggest --zone UTC --demand @/week.csv --count 4", EXIT_DONE,
      "mon-fri-0810: {days: mon-fri, from: \"08:10\", to: \"20:00\"}" },
    { "windows --suggest --config @/sluice.yaml --demand @/week.csv -o json", EXIT_DONE,
      "\"unit\": \"gpu_hours_per_week\"" },
    { "windows --config @/dated.yaml --check-year 2026", EXIT_DONE, "525600 minutes" },
    { "windows --config @/dated.yaml", EXIT_DONE, "arrivals x 2 of chat" },
    { "windows --config @/dated.yaml", EXIT_DONE, "2026-12-25 has the windows of a sunday" },
    { "windows --config @/dated.yaml --at 2026-12-25T12:00:00Z", EXIT_DONE, "weekend-day" },
    { "windows --config @/dated.yaml --check-year 2026 -o json", EXIT_DONE,
      "\"minutes_in_year\": 150" },
    { "allocate", EXIT_USAGE, "--demand" },
    { "allocate --demand @/none.csv --config @/sluice.yaml", EXIT_ERROR, "none.csv" },
    { "allocate --demand @/bad.csv --config @/sluice.yaml", EXIT_ERROR,
      "bad.csv:3: count: expected a number that is not negative, found \"-4\"" },
    { "allocate --demand @/week.csv --config @/bad.yaml", EXIT_ERROR, "bad.yaml" },
    { "allocate --demand @/week.csv --config @/sluice.yaml --scale-up 5", EXIT_INFEASIBLE,
      "queue chat misses its target in window weekend-day" },
    { "allocate --demand @/week.csv --config @/sluice.yaml --check", EXIT_DIFFERENT,
      "would change" },
    { "validate --config @/bad.yaml", EXIT_ERROR, "bad.yaml" },
    { "validate --config @/sluice.yaml", EXIT_DONE, "no schedules yet" },
};

static void calls_end_with_their_code_and_write_nothing(void **state)
{
    (void)state;
    put("bad.csv", "t,count\n2026-11-16T00:00:00Z,1\n2026-11-16T00:01:00Z,-4\n");
    put("bad.yaml", "time_zone: UTC\nclusters: [\n");

    owned(chars) char *dated = text_format(
        "%sholidays: {2026-12-25: sunday}\nevents: {launch: {from: 2026-11-30 08:00,"
        " to: 2026-11-30 10:30, multiplier: 2, queues: [chat]}}\n",
        config_text);

    put("dated.yaml", dated);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        struct text *output;
        int code = run(calls[i].line, &output);

        if (code != calls[i].code || !strstr(output->chars, calls[i].output))
            fail_msg("%s: %d and \"%s\", not %d and \"%s\"", calls[i].line, code, output->chars,
                     calls[i].code, calls[i].output);
        text_free(output);
        assert_false(has_schedules());
    }
}

static void allocate_writes_once_and_then_agrees_with_itself(void **state)
{
    static const char *const lines[] = {
        "allocate --demand @/week.csv --config @/sluice.yaml --seeds 2 --threads 1 -o json",
        "allocate --demand @/week.csv --config @/sluice.yaml --seeds 2 --threads 2 -o json",
    };
    struct text *output;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run(lines[i], &output), EXIT_DONE);

        owned(json) json_t *root = json_parse(output->chars, output->length, "output", NULL);

        assert_non_null(root);
        /* The forecast is one of them. */
        assert_int_equal(json_array_size(json_at(root, "files")), i == 0 ? 6 : 0);
        assert_int_equal(json_array_size(json_at(root, "windows")), 5);
        assert_true(json_bool_or(root, "is_feasible", false));

        const json_t *queue = json_array_get(
            json_at(json_array_get(json_at(root, "windows"), 1), "queues"), 0);

        assert_string_equal(json_text_or(queue, "queue", ""), "chat");
        assert_true(json_int_or(queue, "replicas_needed", 0) > 35);
        assert_non_null(json_object_get(queue, "wait_target_s"));
        text_free(output);
    }
    assert_int_equal(
        run("allocate --demand @/week.csv --config @/sluice.yaml --seeds 2 --check", &output),
        EXIT_DONE);
    text_free(output);
    assert_int_equal(run("validate --config @/sluice.yaml", &output), EXIT_DONE);
    assert_non_null(strstr(output->chars, "weekend-night.yaml: good"));
    text_free(output);
    put("schedules/weekend-night.yaml", "workloads: { task-chat: { prod-b: 4 } }\n");
    assert_int_equal(run("validate --config @/sluice.yaml", &output), EXIT_ERROR);
    assert_non_null(strstr(output->chars, "workloads.task-chat.prod-b: the workload does not run"));
    text_free(output);
    put("schedules/weekend-night.yaml",
        "compute: { m8: { here: { prod-a: { counts: [41] } } } }\n");
    assert_int_equal(run("validate --config @/sluice.yaml @/schedules/weekend-night.yaml", &output),
                     EXIT_ERROR);
    assert_non_null(strstr(output->chars, "41 nodes in zone z1, but reservation r1 has 40"));
    text_free(output);
}

/* The demand ends on Monday the 23rd.  A plan of all windows is for a week from then on, a plan of
   one for its next stretch. */
static void a_schedule_counts_on_no_capacity_that_ends(void **state)
{
    static const struct {
        const char *ends, *window;
        int exit_code;
    } rows[] = {
        { "2026-12-01T00:00:00Z", "", EXIT_DIFFERENT },
        { "2026-11-29T00:00:00Z", "", EXIT_INFEASIBLE },
        { "2026-11-23T20:00:01Z", " --window weekday-day", EXIT_DIFFERENT },
        { "2026-11-23T20:00:00Z", " --window weekday-day", EXIT_INFEASIBLE },
        { "2026-11-28T19:59:59Z", " --window weekend-day", EXIT_INFEASIBLE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *cut = strstr(config_text, "nodes: 40 }");
        owned(text) struct text *output = NULL;
        owned(chars) char *text = text_format("%.*snodes: 40, ends: '%s' }%s",
                                              (int)(cut - config_text), config_text, rows[i].ends,
                                              cut + strlen("nodes: 40 }"));
        owned(chars) char *line = text_format(
            "allocate --demand @/week.csv --config @/dated.yaml --seeds 2 --check%s",
            rows[i].window);

        put("dated.yaml", text);
        if (run(line, &output) != rows[i].exit_code)
            fail_msg("%s%s: %s", rows[i].ends, rows[i].window, output->chars);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_end_with_their_code_and_write_nothing),
        cmocka_unit_test(allocate_writes_once_and_then_agrees_with_itself),
        cmocka_unit_test(a_schedule_counts_on_no_capacity_that_ends),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
