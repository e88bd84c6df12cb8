/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plan shared among machines is the plan of one: the same bytes from shards in any order and more
 * than once; and what does not belong together is refused by name.
 */
#include "tests/cli/planned.h"

#define WITH " -c @/sluice.yaml -d @/week.csv --seeds 2 "

static void compute(const char *folder, const char *out, int shard, int shards)
{
    owned(chars) char *line = text_format("allocate --shard %d/%d -o json --out @/%s" WITH, shard,
                                          shards, out);
    planned_run(folder, line);
}

static void expect_refusal(const char *folder, const char *line, const char *first,
                           const char *second)
{
    owned(said) struct said said = expect_code(folder, 1, line);

    if (!strstr(said.err->chars, first) || !strstr(said.err->chars, second))
        fail_msg("%s: lacks \"%s\" or \"%s\":\n%s", line, first, second, said.err->chars);
}

static void copy(const char *folder, const char *from, const char *to)
{
    owned(text) struct text *bytes = said_file(folder, from);
    planned_put(folder, to, bytes->chars);
}

/* The file with the first `from` in it turned into `to`. */
static void copy_changed(const char *folder, const char *path, const char *from, const char *to,
                         const char *target)
{
    owned(text) struct text *bytes = said_file(folder, path);
    char *at = strstr(bytes->chars, from);

    assert_non_null(at);

    owned(chars) char *changed = text_format("%.*s%s%s", (int)(at - bytes->chars), bytes->chars, to,
                                             at + strlen(from));
    planned_put(folder, target, changed);
}

static void expect_same_files(const char *folder)
{
    static const char *const names[] = { "day.yaml", "night.yaml" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *left = text_format("one/%s", names[i]);
        owned(chars) char *right = text_format("joined/%s", names[i]);
        owned(text) struct text *one = said_file(folder, left);
        owned(text) struct text *joined = said_file(folder, right);

        assert_string_equal(one->chars, joined->chars);
    }
}

static void eight_shards_in_any_order_and_one_twice_are_one_run(void **state)
{
    static const int order[] = { 5, 2, 8, 3, 1, 7, 3, 4, 6 };
    owned(test_folder) char *folder = planned_folder();
    owned(said) struct said one = expect_code(folder, 0, "allocate --out @/one -o json" WITH);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(order); i++)
        compute(folder, "shards", order[i], 8);
    copy(folder, "shards/shard-2-of-8.json", "shards/shard-2-again.json"); /* from elsewhere */

    owned(said) struct said joined = expect_code(
        folder, 0, "allocate --merge @/shards --threads 1 --out @/joined -o json" WITH);
    owned(json) json_t *left = planned_json(&one);
    owned(json) json_t *right = planned_json(&joined);

    expect_same_files(folder);
    assert_true(json_equal(json_at(left, "windows"), json_at(right, "windows")));
}

/* Saturation and losses follow the searches: they see what one run sees. */
static void what_follows_the_searches_is_the_same_too(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    planned_run(folder, "allocate --lose node --saturate --rate chat=20/m --out @/one" WITH);
    planned_run(folder,
                "allocate --shard 2/2 --lose node --saturate --rate chat=20/m --out @/s" WITH);
    planned_run(folder,
                "allocate --shard 1/2 --lose node --saturate --rate chat=20/m --out @/s" WITH);
    planned_run(folder,
                "allocate --merge @/s --lose node --saturate --rate chat=20/m --out @/joined" WITH);

    (void)state;
    expect_same_files(folder);
}

static void a_missing_shard_is_named(void **state)
{
    static const char merge[] = "allocate --merge @/shards --out @/joined" WITH;
    owned(test_folder) char *folder = planned_folder();
    owned(chars) char *written = text_format("%s/joined", folder);
    owned(chars) char *shards = text_format("%s/shards", folder);
    struct error err = { 0 };

    (void)state;
    assert_int_equal(file_make_folder(shards, 0755, &err), 0);
    expect_refusal(folder, merge, "no shard is there", "shards");
    compute(folder, "shards", 1, 4);
    compute(folder, "shards", 4, 4);
    expect_refusal(folder, merge, "of 4 shards 2, 3 are missing", "--shard");
    compute(folder, "shards", 2, 4);
    expect_refusal(folder, merge, "of 4 shards 3 is missing", "--shard");
    assert_false(file_exists(written));
}

static void two_answers_for_one_shard_are_refused(void **state)
{
    static const char merge[] = "allocate --merge @/shards --out @/joined" WITH;
    owned(test_folder) char *folder = planned_folder();
    owned(chars) char *written = text_format("%s/joined", folder);

    (void)state;
    compute(folder, "shards", 1, 2);
    compute(folder, "shards", 2, 2);
    copy_changed(folder, "shards/shard-2-of-2.json", "\"replicas\": ", "\"replicas\": 1",
                 "shards/other.json");
    expect_refusal(folder, merge, "shard 2 of 2: ", "have different answers for queue ");
    copy(folder, "shards/other.json", "shards/shard-2-of-2.json");
    expect_refusal(folder, "allocate --shard 2/2 --out @/shards" WITH, "another answer",
                   "shard-2-of-2.json");
    assert_false(file_exists(written));
}

static void shards_of_other_input_are_refused(void **state)
{
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    compute(folder, "shards", 1, 1);
    expect_refusal(folder, "allocate --merge @/shards --scale-up 2" WITH, "is of other input",
                   "scale-up 2");
    expect_refusal(folder, "allocate --merge @/shards --window day" WITH, "is of other input",
                   "window day");
    copy_changed(folder, "shards/shard-1-of-1.json", "\"window\": \"night\"",
                 "\"window\": \"noon\"", "shards/shard-1-of-1.json");
    expect_refusal(folder, "allocate --merge @/shards" WITH, "in window noon", "shard 1 of 1");
    copy_changed(folder, "shards/shard-1-of-1.json", "\"wait_low_s\": ", "\"wait_low_s\": -",
                 "shards/shard-1-of-1.json");
    expect_refusal(folder, "allocate --merge @/shards" WITH, "wait_low_s", "shard-1-of-1.json");
    compute(folder, "more", 1, 2);
    compute(folder, "more", 1, 3);
    expect_refusal(folder, "allocate --merge @/more" WITH, "is one of 3 shards", "others are of 2");
}

static const struct {
    const char *line;
    const char *says;
} mistakes[] = {
    { "allocate --shard 0/8 --out @/s" WITH, "write it like 3/8" },
    { "allocate --shard 9/8 --out @/s" WITH, "write it like 3/8" },
    { "allocate --shard 3 --out @/s" WITH, "write it like 3/8" },
    { "allocate --shard 3/8" WITH, "--shard needs --out" },
    { "allocate --shard 3/8 --out @/s --merge @/s" WITH, "--shard needs --out" },
};

static void a_part_that_is_none_is_a_mistake(void **state)
{
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        owned(said) struct said said = expect_code(folder, 64, mistakes[i].line);

        if (!strstr(said.err->chars, mistakes[i].says))
            fail_msg("%s: lacks \"%s\":\n%s", mistakes[i].line, mistakes[i].says, said.err->chars);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_shards_in_any_order_and_one_twice_are_one_run),
        cmocka_unit_test(what_follows_the_searches_is_the_same_too),
        cmocka_unit_test(a_missing_shard_is_named),
        cmocka_unit_test(two_answers_for_one_shard_are_refused),
        cmocka_unit_test(shards_of_other_input_are_refused),
        cmocka_unit_test(a_part_that_is_none_is_a_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
