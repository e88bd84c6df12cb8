/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each number has its reason: one replica less misses the target, and a schedule that a person has
 * cut by one is told so, by the name of its queue.
 */
#include "tests/cli/planned.h"

#include <stdlib.h>

#define WITH " -c @/sluice.yaml -d @/week.csv --seeds 2 "

static const json_t *row_of(const json_t *root, size_t window, const char *queue)
{
    const json_t *rows = json_at(json_array_get(json_at(root, "windows"), window), "queues");

    for (size_t i = 0; i < json_array_size(rows); i++)
        if (text_equal(json_text_or(json_array_get(rows, i), "queue", ""), queue))
            return json_array_get(rows, i);
    fail_msg("no queue %s", queue);
    return NULL;
}

static double number(const json_t *row, const char *key)
{
    assert_true(json_is_number(json_object_get(row, key)));
    return json_number_value(json_object_get(row, key));
}

static void one_replica_less_misses_and_the_burst_binds(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(said) struct said said = expect_code(folder, 0, "explain workload chat-2x -o json" WITH);
    owned(json) json_t *root = planned_json(&said);
    const json_t *row = row_of(root, 0, "chat");
    const json_t *waits = json_at(row, "waits");

    (void)state;
    assert_int_equal(json_array_size(json_at(root, "windows")), 2);
    assert_int_equal(
        json_array_size(json_at(json_array_get(json_at(root, "windows"), 0), "queues")), 1);
    assert_int_equal(json_array_size(waits), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *wait = json_array_get(waits, i);

        assert_true(number(wait, "replicas") == number(row, "replicas_for_target") - 1 + (double)i);
        assert_true((number(wait, "wait_s") <= 20) == (i > 0));
        assert_true(json_bool_or(wait, "is_met", i == 0) == (i > 0));
    }
    assert_string_equal(json_text_or(row, "binding_local", ""), "Tue 2026-11-17 09:00 EST");
    assert_string_equal(json_text_or(row, "peak_at", ""), "2026-11-17T14:00:00Z");
    assert_true(number(row, "binding_wait_s") > 20);
    assert_true(json_is_null(json_object_get(row, "replicas_in_file")));
    assert_string_equal(json_text_or(row, "slo", ""), "pooled");
}

static void the_day_that_binds_is_named(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(said) struct said said = expect_code(
        folder, 0, "explain workload chat-2x --window day --slo each-day -o json" WITH);
    owned(json) json_t *root = planned_json(&said);
    const json_t *row = row_of(root, 0, "chat");

    (void)state;
    assert_string_equal(json_text_or(row, "slo", ""), "each-day");
    assert_string_equal(json_text_or(row, "binding_day_local", ""), "Tue 2026-11-17 08:00 EST");
    assert_true(number(row, "binding_day_wait_s") > 20);
    assert_true(number(row, "binding_day_wait_s") ==
                number(json_array_get(json_at(row, "waits"), 0), "wait_s"));
    assert_string_equal(json_text_or(row, "binding_local", ""), "Tue 2026-11-17 09:00 EST");
}

static void a_replica_taken_from_the_file_makes_the_queue_miss(void **state)
{
    static const char line[] = "    prod-a: ";
    owned(test_folder) char *folder = planned_folder();
    planned_run(folder, "allocate" WITH);
    owned(text) struct text *file = said_file(folder, "schedules/day.yaml");
    char *chat = strstr(file->chars, "  chat-2x:\n");
    char *count = chat ? strstr(chat, line) : NULL;
    char *end = NULL;

    (void)state;
    assert_non_null(count);
    count += strlen(line);

    long replicas = strtol(count, &end, 10);
    owned(chars) char *edited = text_format("%.*s%ld%s", (int)(count - file->chars), file->chars,
                                            replicas - 1, end);
    planned_put(folder, "schedules/day.yaml", edited);
    owned(said) struct said said = expect_code(folder, 0, "explain window day -o json" WITH);
    owned(said) struct said table = expect_code(folder, 0, "explain workload chat-2x" WITH);
    owned(json) json_t *root = planned_json(&said);
    const json_t *chat_row = row_of(root, 0, "chat");

    assert_true(number(chat_row, "replicas_in_file") ==
                number(chat_row, "replicas_for_target") - 1);
    assert_true(number(chat_row, "wait_in_file_s") > 20);
    assert_true(number(row_of(root, 0, "speech"), "wait_in_file_s") <= 5);
    assert_true(number(row_of(root, 0, "draw"), "wait_in_file_s") <= 60);
    assert_non_null(strstr(table.out->chars, "day, queue chat: "));
    assert_non_null(strstr(table.out->chars, "misses the target\n"));
    assert_null(strstr(table.out->chars, "queue draw"));
}

static void nodes_add_up_to_what_the_schedule_has(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(said) struct said said = expect_code(folder, 0,
                                               "explain window night --lose node -o json" WITH);
    owned(json) json_t *root = planned_json(&said);
    const json_t *window = json_array_get(json_at(root, "windows"), 0);
    const json_t *clusters = json_at(window, "clusters");

    (void)state;
    assert_string_equal(json_text_or(window, "window", ""), "night");
    assert_int_equal(json_array_size(clusters), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(clusters, i);

        assert_int_equal(json_int_or(row, "nodes_packed", 0),
                         (json_int_or(row, "gpus", 0) + 7) / 8);
        assert_int_equal(json_int_or(row, "nodes", 0), json_int_or(row, "nodes_packed", 0) + 1);
    }

    const json_t *draw = row_of(root, 0, "draw");

    assert_true(number(draw, "replicas_lost") == 2);
    assert_true(number(draw, "replicas_granted") >=
                number(draw, "replicas_degraded") + number(draw, "replicas_lost"));
}

static const struct mistake mistakes[] = {
    { "explain" WITH, 64, "argument" },
    { "explain queue chat" WITH, 64, "expected workload or window, found \"queue\"" },
    { "explain workload chat" WITH, 1, "there is no workload \"chat\"" },
    { "explain window noon" WITH, 1, "no window \"noon\"" },
    { "explain window day --window day" WITH, 64, "--window requires workload NAME" },
    { "explain window day -c @/sluice.yaml", 64, "--demand is required" },
};

static void a_question_about_nothing_is_a_mistake(void **state)
{
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_replica_less_misses_and_the_burst_binds),
        cmocka_unit_test(the_day_that_binds_is_named),
        cmocka_unit_test(a_replica_taken_from_the_file_makes_the_queue_miss),
        cmocka_unit_test(nodes_add_up_to_what_the_schedule_has),
        cmocka_unit_test(a_question_about_nothing_is_a_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
