/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice wait for replicas that are engines: the figures of the closed form as people and programs
 * get them, and the options that do not make a question.
 */
#include "tests/cli/said.h"
#include "tests/support/folder.h"
#include "tests/support/golden.h"

#include <math.h>

#define R1 "wait --slots 16 --iteration 10ms --iteration-per-request 0.5ms --tokens-out 200 "
#define PROMPTS "--prefill-per-token 20us --tokens-in 1000 "

static void the_answer_is_the_expected_text(void **state)
{
    static const char *const lines[] = {
        R1 "--rate 4/s",
        R1 "--rate 28/min --high 8/min --replicas 2 --router random",
        R1 PROMPTS "--rate 32/s --replicas 10",
        R1 PROMPTS "--rate 6/s --replicas 4 --kv-tokens 8800 --router round-robin",
        R1 "--rate 9/s --servers 2 --router central",
        "wait --slots 64 --service 6s --rate 9/s",
        "wait --slots 64 --service 6s --rate 20/s --replicas 2 --percentile 99",
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(text) struct text *all = text_new(1 << 16);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        owned(said) struct said said = expect_code(folder, 0, lines[i]);

        text_add(all, "$ sluice %s\n%s\n", lines[i], said.out->chars);
    }
    golden_check("golden/cli/wait.txt", all->chars);
}

static void expect_number(const json_t *root, const char *key, double want)
{
    double have = json_number_value(json_object_get(root, key));

    if (!(fabs(have - want) <= 1e-9 * fabs(want)))
        fail_msg("%s: %.12g, expected %.12g", key, have, want);
}

static void json_has_every_figure(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(said) struct said said = expect_code(folder, 0, R1 "--rate 4/s -o json");
    owned(json) json_t *root = json_parse(said.out->chars, said.out->length, "wait", NULL);
    const json_t *engine = json_object_get(root, "engine");
    const json_t *class = json_array_get(json_object_get(root, "classes"), 0);

    (void)state;
    expect_number(root, "servers", 1);
    expect_number(root, "utilisation", 0.9);
    expect_number(root, "wait_probability", 0.5146803192528812);
    expect_number(root, "service_s", 0.01707109973395593 * 200);
    expect_number(root, "load_erlangs", 0.8535549866977966 * 16);
    expect_number(class, "wait_mean_s", 1.158030718318983);
    expect_number(class, "wait_p98_s", 7.307580813877212);
    expect_number(engine, "slots", 16);
    expect_number(engine, "capacity_per_s", 40 / 9.0);
    expect_number(engine, "running_mean", 0.8535549866977966 * 16);
    expect_number(engine, "occupancy", 0.8535549866977966);
    expect_number(engine, "token_mean_s", 0.01707109973395593);
    expect_number(engine, "floor_s", 0.018);
    assert_string_equal(json_string_value(json_object_get(engine, "router")), "least-outstanding");
    assert_true(json_is_false(json_object_get(engine, "is_kv_limited")));
}

/* Without a steady state, and without iterations, what cannot be told is null. */
static void what_is_not_known_is_null(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(said) struct said said = expect_code(folder, 0, R1 "--rate 5/s -o json");
    owned(said) struct said brief = expect_code(folder, 0,
                                                "wait --slots 64 --service 6s --rate 9/s -o json");
    owned(json) json_t *full = json_parse(said.out->chars, said.out->length, "wait", NULL);
    owned(json) json_t *root = json_parse(brief.out->chars, brief.out->length, "wait", NULL);
    const json_t *engine = json_object_get(root, "engine");

    (void)state;
    assert_true(json_is_false(json_object_get(full, "is_stable")));
    assert_true(
        json_is_null(json_object_get(json_object_get(full, "engine"), "first_token_mean_s")));
    assert_true(json_is_null(json_object_get(engine, "token_mean_s")));
    assert_true(json_is_null(json_object_get(engine, "first_token_mean_s")));
    assert_true(json_is_null(json_object_get(engine, "floor_s")));
}

static void what_is_no_question_is_refused(void **state)
{
    static const struct {
        const char *line;
        const char *want;
    } rows[] = {
        { "wait --slots 16 --rate 4/s",
          "--slots needs --iteration and --tokens-out, or --service" },
        { "wait --slots 16 --iteration 10ms --rate 4/s", "--iteration needs --tokens-out" },
        { "wait --slots 16 --tokens-out 20 --rate 4/s --service 2s",
          "--tokens-out and --service: give one of them" },
        { "wait --iteration 10ms --tokens-out 20 --rate 4/s", "--iteration needs --slots" },
        { "wait --router random --service 2s --servers 3 --rate 4/s", "--router needs --slots" },
        { R1 "--prefill-per-token 20us --rate 4/s", "--prefill-per-token needs --tokens-in" },
        { R1 "--kv-tokens 1000 --rate 4/s", "--kv-tokens needs --tokens-in" },
        { R1 "--router fastest --rate 4/s", "--router" },
        { R1 "--servers 2 --replicas 2 --rate 4/s", "--servers and --replicas: give one of them" },
        { R1 "--high 5/s --rate 4/s", "--high is a part of --rate" },
        { R1, "--rate" },
        { "wait --slots 4097 --service 1s --rate 4/s", "--slots" },
        { "wait --slots 4 --iteration 10 --tokens-out 20 --rate 4/s",
          "--iteration: \"10\" is not a duration" },
        { "wait --slots 4 --iteration 11s --tokens-out 20 --rate 4/s",
          "--iteration: expected 0s to 10s" },
        { "wait --slots 4 --iteration 0s --tokens-out 20 --rate 4/s",
          "--iteration or --iteration-per-request must be over 0s" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(said) struct said said = expect_code(folder, EXIT_USAGE, rows[i].line);

        if (!strstr(said.err->chars, rows[i].want))
            fail_msg("sluice %s: %s", rows[i].line, said.err->chars);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_the_expected_text),
        cmocka_unit_test(json_has_every_figure),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(what_is_no_question_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
