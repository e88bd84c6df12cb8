/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The schedule's file: its exact shape, that it reads back, and what is refused.
 */
#include "tests/support/unit.h"
#include "windows/allocation/schedule.h"

#include <string.h>

static const char file[] = "# planned\n"
                           "#\n"
                           "# twice\n"
                           "workloads:\n"
                           "  task-worker-2x-h100-model-a:\n"
                           "    prod-a: 48\n"
                           "    prod-b: 36\n"
                           "  \"yes: no\":\n"
                           "    prod-a: 0\n"
                           "compute:\n"
                           "  a3-megagpu-8g:\n"
                           "    us-region-1:\n"
                           "      prod-a:\n"
                           "        counts: [80, 64, 0]\n"
                           "      prod-b:\n"
                           "        counts: [1, 2, 3]\n"
                           "    us-region-2:\n"
                           "      prod-a:\n"
                           "        counts: [5]\n"
                           "  b4:\n"
                           "    us-region-2:\n"
                           "      prod-a:\n"
                           "        counts: [6]\n";

static void names_are_sorted_however_they_were_set(void **state)
{
    owned(schedule) struct schedule *schedule = schedule_new();
    owned(text) struct text *text = text_new(1 << 16);

    (void)state;
    schedule_set_nodes(schedule, (struct schedule_path){ "b4", "us-region-2", "prod-a" },
                       (int[]){ 6 }, 1);
    schedule_set_nodes(schedule, (struct schedule_path){ "a3-megagpu-8g", "us-region-1", "prod-b" },
                       (int[]){ 1, 2, 3 }, 3);
    schedule_set_nodes(schedule, (struct schedule_path){ "a3-megagpu-8g", "us-region-2", "prod-a" },
                       (int[]){ 5 }, 1);
    schedule_set_nodes(schedule, (struct schedule_path){ "a3-megagpu-8g", "us-region-1", "prod-a" },
                       (int[]){ 1, 1 }, 2);
    schedule_set_nodes(schedule, (struct schedule_path){ "a3-megagpu-8g", "us-region-1", "prod-a" },
                       (int[]){ 80, 64, 0 }, 3);
    schedule_set_replicas(schedule, "yes: no", "prod-a", 0);
    schedule_set_replicas(schedule, "task-worker-2x-h100-model-a", "prod-b", 35);
    schedule_set_replicas(schedule, "task-worker-2x-h100-model-a", "prod-a", 48);
    schedule_set_replicas(schedule, "task-worker-2x-h100-model-a", "prod-b", 36);
    schedule_print(schedule, "planned\n\ntwice", text);
    assert_string_equal(text->chars, file);
}

static void what_is_printed_reads_back(void **state)
{
    struct error err = { 0 };
    owned(schedule) struct schedule *schedule = schedule_parse(file, strlen(file), "peak.yaml",
                                                               &err);
    owned(text) struct text *text = text_new(1 << 16);

    (void)state;
    if (!schedule)
        fail_msg("%s", err.text);
    schedule_print(schedule, "planned\n\ntwice\n", text);
    assert_string_equal(text->chars, file);
    assert_int_equal(schedule_replicas_of(schedule, "task-worker-2x-h100-model-a", "prod-b"), 36);
    assert_int_equal(schedule_replicas_of(schedule, "task-worker-2x-h100-model-a", "prod-c"), -1);
    assert_int_equal(schedule_nodes_of(schedule, "a3-megagpu-8g", "us-region-1", "prod-a", 1), 64);
    assert_int_equal(schedule_nodes_of(schedule, "a3-megagpu-8g", "us-region-1", "prod-a", 3), -1);
    assert_int_equal(schedule_nodes_of(schedule, "b4", "us-region-1", "prod-a", 0), -1);
}

static void one_number_is_one_line(void **state)
{
    owned(schedule) struct schedule *schedule = schedule_parse(file, strlen(file), "x", NULL);
    owned(text) struct text *text = text_new(1 << 16);
    int different = 0;

    (void)state;
    schedule_set_replicas(schedule, "task-worker-2x-h100-model-a", "prod-b", 37);
    schedule_print(schedule, "planned\n\ntwice", text);
    assert_int_equal(text->length, strlen(file));
    for (size_t i = 0; i < text->length; i++)
        different += text->chars[i] != file[i];
    assert_int_equal(different, 1);
}

static void an_empty_schedule_is_two_empty_mappings(void **state)
{
    owned(schedule) struct schedule *empty = schedule_new();
    owned(text) struct text *text = text_new(1 << 16);

    (void)state;
    schedule_print(empty, NULL, text);
    assert_string_equal(text->chars, "workloads: {}\ncompute: {}\n");

    owned(schedule) struct schedule *again = schedule_parse(text->chars, text->length, "e", NULL);

    assert_non_null(again);
    assert_int_equal(again->replicas_count + again->nodes_count, 0);
}

static const struct {
    const char *text;
    const char *want;
} mistakes[] = {
    { "", "p.yaml:" },
    { "workload: {}\n", "p.yaml:1: workload: unknown key" },
    { "workloads: {}\ncompute: []\n", "p.yaml:2: compute" },
    { "workloads:\n  a: 4\n", "p.yaml:2: workloads.a" },
    { "workloads:\n  a: { p: -4 }\n", "p.yaml:2: workloads.a.p" },
    { "workloads:\n  a: { p: 1.5 }\n", "p.yaml:2: workloads.a.p" },
    { "workloads:\n  a: { p: many }\n", "p.yaml:2: workloads.a.p" },
    { "workloads:\n  a: { p: '4' }\n", "p.yaml:2: workloads.a.p" },
    { "workloads:\n  a: { p: 1, p: 2 }\n", "p.yaml:2" },
    { "compute:\n  m:\n    r:\n      p: [1]\n", "p.yaml:4: compute.m.r.p" },
    { "compute:\n  m:\n    r:\n      p: { counts: 4 }\n", "p.yaml:4: compute.m.r.p.counts" },
    { "compute:\n  m:\n    r:\n      p: { counts: [] }\n", "p.yaml:4: compute.m.r.p.counts" },
    { "compute:\n  m:\n    r:\n      p: { counts: [1, -1] }\n",
      "p.yaml:4: compute.m.r.p.counts[1]" },
    { "compute:\n  m:\n    r:\n      p: { counts: [1], zones: [a] }\n", "p.yaml:4: compute.m.r.p" },
    { "compute:\n  m:\n    r:\n      p: { counts: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] }\n",
      "p.yaml:4: compute.m.r.p.counts: expected 1 to 16 numbers" },
};

static void a_mistake_is_answered_with_file_line_and_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct error err = { 0 };
        owned(schedule) struct schedule *schedule = schedule_parse(
            mistakes[i].text, strlen(mistakes[i].text), "p.yaml", &err);

        if (schedule || strncmp(err.text, mistakes[i].want, strlen(mistakes[i].want)) != 0)
            fail_msg("%s: \"%s\" is not \"%s\"", mistakes[i].text, err.text, mistakes[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_sorted_however_they_were_set),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(one_number_is_one_line),
        cmocka_unit_test(an_empty_schedule_is_two_empty_mappings),
        cmocka_unit_test(a_mistake_is_answered_with_file_line_and_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
