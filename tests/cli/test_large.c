/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas larger than a node on the command line: allocate, explain and whatif plan them in whole
 * groups of nodes, and a backtest counts all of their nodes.
 */
#include "tests/cli/planned.h"

#define WITH " -c @/sluice.yaml -d @/week.csv --seeds 2 "

enum { LARGE_GPUS = 16, NODE_GPUS = 8, POOLS = 2 };

/* Of the folder's three workloads the last takes two nodes a replica. */
static char *large_folder(void)
{
    static const char was[] = "draw-4x: {queue: draw, gpus: 4, clusters: {prod-b: {}}}";
    char *folder = planned_folder();
    const char *at = strstr(planned_config, was);

    assert_non_null(at);
    owned(chars) char *config = text_format(
        "%.*sdraw-16x: {queue: draw, gpus: 16, kind: leaderworkerset, clusters: {prod-a: {}}}%s",
        (int)(at - planned_config), planned_config, at + strlen(was));

    planned_put(folder, "sluice.yaml", config);
    return folder;
}

static json_t *said_json(const char *folder, const char *line)
{
    owned(said) struct said said = expect_code(folder, 0, line);

    return planned_json(&said);
}

/* In each window: whole groups in each zone, enough of them for all replicas. */
static void schedules_have_whole_groups(void **state)
{
    owned(test_folder) char *folder = large_folder();
    owned(json) json_t *root = said_json(folder, "explain window day -o json" WITH);
    const json_t *rows = json_at(json_array_get(json_at(root, "windows"), 0), "clusters");
    const json_t *first = json_array_get(rows, 0);
    int64_t packed = json_int_or(first, "nodes_packed", -1);
    int64_t rest = json_int_or(first, "nodes_rest", -1);

    (void)state;
    assert_string_equal(json_text_or(first, "cluster", ""), "prod-a");
    assert_true(packed * NODE_GPUS >= json_int_or(first, "gpus", 0));
    assert_int_equal((packed + json_int_or(first, "nodes_repack", -1) + rest) % 2, 0);
    assert_int_equal(json_int_or(json_array_get(rows, 1), "nodes_rest", -1), 0);
    planned_run(folder, "allocate" WITH);
    owned(text) struct text *file = said_file(folder, "schedules/day.yaml");
    const char *counts = strstr(file->chars, "prod-a:\n");
    int nodes[POOLS];

    counts = counts ? strstr(counts, "counts: [") : NULL;
    assert_non_null(counts);
    assert_int_equal(sscanf(counts, "counts: [%d, %d]", &nodes[0], &nodes[1]), POOLS);
    if (nodes[0] % 2 != 0 || nodes[1] % 2 != 0)
        fail_msg("%d and %d nodes", nodes[0], nodes[1]);
    assert_int_equal(nodes[0] + nodes[1], json_int_or(first, "nodes", -1));
}

static void explain_says_which_nodes_only_fill_a_group(void **state)
{
    owned(test_folder) char *folder = large_folder();
    bool is_said = false;

    (void)state;
    for (int repack = 0; repack < 2; repack++) {
        owned(chars) char *bytes = text_format("repack_nodes: %d\n", repack);
        owned(text) struct text *config = said_file(folder, "sluice.yaml");
        owned(chars) char *whole = text_format("%s%s", bytes, config->chars);

        planned_put(folder, "other.yaml", whole);
        owned(said) struct said said = expect_code(
            folder, 0, "explain window day -c @/other.yaml -d @/week.csv --seeds 2");

        is_said = is_said || strstr(said.out->chars, ", 1 to fill a group of 2, ");
        assert_null(strstr(said.out->chars, "to fill a group of 1"));
    }
    assert_true(is_said);
}

static void what_if_plans_them_too(void **state)
{
    owned(test_folder) char *folder = large_folder();
    owned(json) json_t *root = NULL;

    (void)state;
    planned_run(folder, "allocate" WITH);
    root = said_json(folder, "whatif --traffic 1.5 -o json" WITH);
    assert_true(json_bool_or(root, "is_feasible", false));
}

static void a_backtest_takes_gpus_of_whole_nodes(void **state)
{
    static const struct {
        const char *gpus;
        bool is_refused;
    } rows[] = {
        { "4", false }, { "16", false }, { "3", false }, { "12", true }, { "2048", true }
    };
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *line = text_format(
            "backtest --demand @/week.csv --service 30s --queue draw --wait-target 60s --learn 1 "
            "--gpus %s",
            rows[i].gpus);
        owned(said) struct said said = say(folder, folder, line);
        bool is_refused = strstr(said.err->chars, "--gpus");

        /* One week is all to learn from: what is accepted says so. */
        assert_int_not_equal(said.code, 0);
        if (is_refused != rows[i].is_refused || (!is_refused && !strstr(said.err->chars, "weeks")))
            fail_msg("%s: %s", rows[i].gpus, said.err->chars);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_have_whole_groups),
        cmocka_unit_test(explain_says_which_nodes_only_fill_a_group),
        cmocka_unit_test(what_if_plans_them_too),
        cmocka_unit_test(a_backtest_takes_gpus_of_whole_nodes),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
