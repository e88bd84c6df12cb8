/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The options of allocate: what each changes, and that nothing else does.
 */
#include "tests/cli/planned.h"

#include <math.h>

#define ALLOCATE "allocate -c @/sluice.yaml -d @/week.csv --seeds 2 "

/* The number of a queue in a window of the answer. */
static double figure(const json_t *root, const char *window, const char *queue, const char *key)
{
    size_t i;
    size_t at;
    const json_t *row;
    const json_t *item;

    json_array_foreach(json_at(root, "windows"), i, row)
        if (text_equal(json_text_or(row, "window", ""), window))
            json_array_foreach(json_at(row, "queues"), at, item)
                if (text_equal(json_text_or(item, "queue", ""), queue))
                    return json_number_value(json_object_get(item, key));
    fail_msg("no queue %s in window %s", queue, window);
    return 0;
}

static json_t *answer_of(const char *folder, int code, const char *line)
{
    owned(said) struct said said = expect_code(folder, code, line);

    return planned_json(&said);
}

static void expect_same(const char *folder, const char *left, const char *right)
{
    owned(text) struct text *one = said_file(folder, left);
    owned(text) struct text *other = said_file(folder, right);

    assert_string_equal(one->chars, other->chars);
}

static void one_window_has_the_bytes_it_has_among_all(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    planned_run(folder, ALLOCATE "--out @/all");
    owned(said) struct said one = expect_code(folder, 0, ALLOCATE "--out @/one --window night");
    owned(chars) char *other = text_format("%s/one/day.yaml", folder);

    (void)state;
    expect_same(folder, "all/night.yaml", "one/night.yaml");
    assert_false(file_exists(other));
    assert_null(strstr(one.out->chars, "day "));
}

static void a_rate_changes_its_queue_alone_and_stands_in_the_header(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(json) json_t *before = answer_of(folder, 0, ALLOCATE "-o json --out @/before");
    owned(json) json_t *after = answer_of(folder, 0,
                                          ALLOCATE "-o json --out @/after --rate speech-1x=40/m");
    owned(json)
        json_t *same = answer_of(folder, 0, ALLOCATE "-o json --out @/same --rate speech=40/m");
    owned(text) struct text *file = said_file(folder, "after/day.yaml");
    static const char *const windows[] = { "day", "night" };
    static const char *const others[] = { "chat", "draw" };
    double requests = 0;

    (void)state;
    assert_true(json_equal(json_at(after, "windows"), json_at(same, "windows")));
    for (size_t i = 0; i < 2; i++) {
        for (size_t at = 0; at < 2; at++)
            assert_true(figure(before, windows[i], others[at], "replicas_needed") ==
                        figure(after, windows[i], others[at], "replicas_needed"));
        assert_true(figure(before, windows[i], "speech", "replicas_needed") <
                    figure(after, windows[i], "speech", "replicas_needed"));
        requests += figure(after, windows[i], "speech", "requests_low");
    }
    assert_true(fabs(requests / (7 * 24 * 60 * 40.0) - 1) < 0.001);
    assert_non_null(strstr(file->chars, ", rate speech-1x=0.666666666667/s\n"));
}

static void saturation_spends_what_is_reserved(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(json) json_t *root = answer_of(folder, 0, ALLOCATE "-o json --saturate");
    size_t i;
    const json_t *window;

    (void)state;
    json_array_foreach(json_at(root, "windows"), i, window) {
        const json_t *nodes = json_at(window, "nodes");
        int64_t sums[2] = { 0 };

        for (size_t at = 0; at < json_array_size(nodes); at++)
            for (size_t zone = 0; zone < 2; zone++)
                sums[zone] += json_integer_value(
                    json_array_get(json_at(json_array_get(nodes, at), "counts"), zone));
        assert_int_equal(sums[0], 20); /* 4 are research's own */
        assert_int_equal(sums[1], 24);
    }
}

static void an_estimate_says_so(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(json) json_t *exact = answer_of(folder, 0, ALLOCATE "-o json --out @/exact");
    owned(json) json_t *quick = answer_of(folder, 0, ALLOCATE "-o json --out @/quick --estimate");
    owned(said) struct said table = expect_code(folder, 0, ALLOCATE "--out @/quick --estimate");
    owned(text) struct text *file = said_file(folder, "quick/day.yaml");

    (void)state;
    assert_true(json_bool_or(quick, "is_estimate", false));
    assert_false(json_bool_or(exact, "is_estimate", true));
    assert_non_null(strstr(file->chars, "# ESTIMATE: closed form only"));
    assert_non_null(strstr(table.out->chars, "ESTIMATE"));
    assert_true(fabs(figure(quick, "day", "chat", "replicas_needed") -
                     figure(exact, "day", "chat", "replicas_needed")) < 4);
}

static void losses_are_planned_for_by_option_and_by_configuration(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(json) json_t *lean = answer_of(folder, 0, ALLOCATE "-o json");
    owned(json) json_t *node = answer_of(folder, 0, ALLOCATE "-o json --lose node");
    owned(chars) char *config = text_format("%sheadroom: {node: true}\n", planned_config);
    planned_put(folder, "sluice.yaml", config);
    owned(json) json_t *configured = answer_of(folder, 0, ALLOCATE "-o json");
    owned(text) struct text *file = said_file(folder, "schedules/day.yaml");

    (void)state;
    assert_true(json_equal(json_at(node, "windows"), json_at(configured, "windows")));
    assert_true(json_is_null(json_object_get(
        json_array_get(json_at(json_array_get(json_at(lean, "windows"), 0), "queues"), 0),
        "replicas_lost")));
    assert_true(figure(node, "night", "draw", "replicas_lost") == 2);
    assert_true(figure(node, "night", "draw", "replicas_granted") - 2 >=
                figure(node, "night", "draw", "replicas_degraded"));
    assert_true(figure(node, "night", "speech", "replicas_granted") >
                figure(lean, "night", "speech", "replicas_granted"));
    assert_null(strstr(file->chars, "lose node"));
}

static void a_reservation_too_small_is_said_with_the_best_plan(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(said) struct said zone = expect_code(folder, 4, ALLOCATE "--lose zone");
    owned(said) struct said more = expect_code(folder, 4, ALLOCATE "--scale-up 9");
    owned(chars) char *schedules = text_format("%s/schedules", folder);

    (void)state;
    assert_non_null(strstr(zone.err->chars, "queue draw would not survive a loss in window "));
    assert_non_null(strstr(zone.err->chars, "it stands in one zone; nothing was written"));
    assert_non_null(strstr(more.err->chars, "misses its target in window "));
    assert_non_null(strstr(more.err->chars, " nodes are missing; nothing was written"));
    assert_non_null(strstr(more.out->chars, "REPLICAS"));
    assert_non_null(strstr(more.out->chars, " nodes of m8 in r1 for prod-a"));
    assert_false(file_exists(schedules));
}

static const struct mistake mistakes[] = {
    { ALLOCATE "--rate chat", 64, "write it like chat=1.2/s" },
    { ALLOCATE "--rate chat=3", 64, "write it like chat=1.2/s" },
    { ALLOCATE "--rate chat=3/minutes", 64, "write it like chat=1.2/s" },
    { ALLOCATE "--rate chat=3/s --rate chat=4/s", 64, "chat is given twice" },
    { ALLOCATE "--rate talk=3/s", 1, "no queue or workload \"talk\"" },
    { ALLOCATE "--window noon", 1, "no window \"noon\"" },
    { ALLOCATE "--lose rack", 64, "node" },
    { ALLOCATE "--slo daily", 64, "is none of pooled|each-day" },
    { "allocate -c @/sluice.yaml -d @/plain.csv", 1,
      "has no such queue; it has \"plain\" (a file without a column of queues is one queue, " },
    { "allocate -c @/sluice.yaml -d @/wide.csv", 1,
      "queue chat: the demand has no such queue; it has \"mail\", \"talk\"" },
};

static void an_option_that_means_nothing_is_a_mistake(void **state)
{
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    planned_put(folder, "plain.csv",
                "time,count\n2026-11-16T00:00:00Z,5\n2026-11-16T00:05:00Z,6\n");
    planned_put(folder, "wide.csv",
                "time,mail,talk\n2026-11-16T00:00:00Z,5,2\n2026-11-16T00:05:00Z,6,1\n");
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
}

/* The burst of Tuesday is late by itself: all days in one hide it, the answer does not. */
static void a_bad_day_is_shown_and_each_day_needs_more_for_it(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(json) json_t *pooled = answer_of(folder, 0, ALLOCATE "-o json --out @/p --percentile 90");
    owned(json) json_t *each = answer_of(
        folder, 0, ALLOCATE "-o json --out @/e --percentile 90 --slo each-day");
    owned(said) struct said said = expect_code(folder, 2, ALLOCATE "--check --percentile 90");
    owned(said) struct said quiet = expect_code(folder, 2,
                                                ALLOCATE "--check --percentile 90 --slo each-day");
    owned(text) struct text *file = said_file(folder, "e/day.yaml");

    (void)state;
    assert_true(figure(pooled, "day", "chat", "wait_s") <= 20);
    assert_true(figure(pooled, "day", "chat", "worst_day_wait_s") > 20);
    assert_true(figure(each, "day", "chat", "worst_day_wait_s") <= 20);
    assert_true(figure(each, "day", "chat", "worst_day_wait_s") ==
                figure(each, "day", "chat", "wait_s"));
    assert_true(figure(each, "day", "chat", "replicas_needed") >
                figure(pooled, "day", "chat", "replicas_needed"));
    assert_non_null(
        strstr(said.out->chars, "queue chat: on 2026-11-17 alone 90 of 100 wait up to"));
    assert_null(strstr(quiet.out->chars, "alone"));
    assert_non_null(strstr(file->chars, "slo each-day"));
}

/* What a crash among the last renames leaves: the next run says so and writes what is missing. */
static void a_run_that_was_cut_short_is_known_and_made_good(void **state)
{
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    planned_run(folder, ALLOCATE "--out @/s");
    planned_run(folder, ALLOCATE "--out @/whole --scale-up 1.1");
    planned_put(folder, "s/night.yaml.new", "of the plan that was cut short");

    owned(said) struct said said = expect_code(folder, 0, ALLOCATE "--out @/s --scale-up 1.1");
    owned(chars) char *left = text_format("%s/s/night.yaml.new", folder);

    assert_non_null(strstr(said.err->chars, "cut short"));
    assert_non_null(strstr(said.err->chars, "night.yaml was not written"));
    assert_false(file_exists(left));
    expect_same(folder, "whole/night.yaml", "s/night.yaml");
    expect_same(folder, "whole/day.yaml", "s/day.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_window_has_the_bytes_it_has_among_all),
        cmocka_unit_test(a_rate_changes_its_queue_alone_and_stands_in_the_header),
        cmocka_unit_test(saturation_spends_what_is_reserved),
        cmocka_unit_test(an_estimate_says_so),
        cmocka_unit_test(losses_are_planned_for_by_option_and_by_configuration),
        cmocka_unit_test(a_reservation_too_small_is_said_with_the_best_plan),
        cmocka_unit_test(an_option_that_means_nothing_is_a_mistake),
        cmocka_unit_test(a_bad_day_is_shown_and_each_day_needs_more_for_it),
        cmocka_unit_test(a_run_that_was_cut_short_is_known_and_made_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
