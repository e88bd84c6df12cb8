/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What if: the same plan as allocate makes when that is really so, told as differences, and nothing
 * in the folder changes by asking.
 */
#include "tests/cli/planned.h"

#define WITH " -c @/sluice.yaml -d @/week.csv --seeds 2 "

/* Names and contents of all files of the schedules' folder and the one above. */
static char *everything(const char *folder)
{
    struct text *all = text_new(1 << 20);
    static const char *const endings[] = { ".yaml", ".csv", "" };

    for (size_t i = 0; i < COUNT_OF(endings); i++)
        for (int below = 0; below < 2; below++) {
            owned(chars) char *path = text_format("%s%s", folder, below ? "/schedules" : "");
            struct file_list list = { 0 };

            if (file_list(path, endings[i], &list, NULL) < 0)
                continue;
            for (size_t at = 0; at < list.count; at++) {
                owned(chars) char *file = text_format("%s/%s", path, list.names[at]);
                owned(text) struct text *bytes = file_read(file, 1 << 20, NULL);

                text_add(all, "%s\n%s\n", list.names[at], bytes ? bytes->chars : "folder");
            }
            file_list_free(&list);
        }
    return text_take(all);
}

static json_t *answer_of(const char *folder, int code, const char *line)
{
    owned(chars) char *before = everything(folder);
    owned(said) struct said said = expect_code(folder, code, line);
    owned(chars) char *after = everything(folder);

    assert_string_equal(before, after);
    return planned_json(&said);
}

static size_t differences(const json_t *root)
{
    size_t count = 0;
    size_t i;
    const json_t *window;

    json_array_foreach(json_at(root, "windows"), i, window)
        count += json_array_size(json_at(window, "replicas")) +
                 json_array_size(json_at(window, "nodes"));
    return count;
}

/* When it has really happened, allocate says the same. */
static void what_is_supposed_is_planned_as_if_it_were_so(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    planned_run(folder, "allocate" WITH);
    owned(json) json_t *same = answer_of(folder, 0, "whatif -o json" WITH);
    owned(json) json_t *more = answer_of(folder, 0, "whatif --traffic 1.3 -o json" WITH);
    planned_run(folder, "allocate --scale-up 1.3" WITH);
    owned(json) json_t *then = answer_of(folder, 0, "whatif --traffic 1.3 -o json" WITH);

    (void)state;
    assert_int_equal(differences(same), 0);
    assert_true(differences(more) >= 6);
    assert_int_equal(differences(then), 0);
    assert_true(json_bool_or(more, "is_feasible", false));
}

static void a_lost_zone_leaves_its_pools_empty(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    planned_run(folder, "allocate" WITH);
    owned(json) json_t *root = answer_of(folder, 0, "whatif --lose-zone r1-a -o json" WITH);
    owned(json) json_t *both = answer_of(folder, 4, "whatif --lose-zone r1-b -o json" WITH);
    size_t i;
    const json_t *window;

    (void)state;
    json_array_foreach(json_at(root, "windows"), i, window) {
        const json_t *nodes = json_array_get(json_at(window, "nodes"), 0);

        assert_string_equal(json_text_or(nodes, "cluster", ""), "prod-a");
        assert_true(json_integer_value(json_array_get(json_at(nodes, "now"), 0)) > 0);
        assert_int_equal(json_integer_value(json_array_get(json_at(nodes, "then"), 0)), 0);
        assert_true(json_integer_value(json_array_get(json_at(nodes, "then"), 1)) > 0);
    }
    /* prod-b is in the other zone alone, and draw runs nowhere else */
    assert_non_null(strstr(json_text_or(both, "miss", ""), "queue draw misses its target"));
}

static void a_smaller_reservation_and_a_missing_workload(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    planned_run(folder, "allocate" WITH);
    owned(json) json_t *less = answer_of(
        folder, 4, "whatif --reservation west=-22 --reservation east=6 -o json" WITH);
    owned(json) json_t *more = answer_of(folder, 0, "whatif --reservation west=+4 -o json" WITH);
    owned(json) json_t *gone = answer_of(folder, 0, "whatif --without draw-4x -o json" WITH);
    owned(said) struct said table = expect_code(folder, 0, "whatif --without draw-4x" WITH);
    const json_t *window = json_array_get(json_at(gone, "windows"), 0);
    const json_t *replicas = json_array_get(json_at(window, "replicas"), 0);

    (void)state;
    assert_non_null(strstr(json_text_or(less, "miss", ""), " nodes are missing"));
    assert_true(json_bool_or(more, "is_feasible", false));
    assert_int_equal(json_array_size(json_at(window, "replicas")), 1);
    assert_string_equal(json_text_or(replicas, "workload", ""), "draw-4x");
    assert_true(json_is_null(json_object_get(replicas, "then")));
    assert_true(json_int_or(window, "nodes_then", 0) < json_int_or(window, "nodes_now", 0));
    assert_non_null(strstr(table.out->chars, "every target is met"));
}

static void without_schedules_there_is_no_now(void **state)
{
    owned(test_folder) char *folder = planned_folder();
    owned(json) json_t *root = answer_of(folder, 0, "whatif -o json --estimate --window day" WITH);
    const json_t *window = json_array_get(json_at(root, "windows"), 0);

    (void)state;
    assert_int_equal(json_array_size(json_at(root, "windows")), 1);
    assert_false(json_bool_or(window, "has_file", true));
    assert_true(json_bool_or(root, "is_estimate", false));
    assert_true(
        json_is_null(json_object_get(json_array_get(json_at(window, "replicas"), 0), "now")));
}

static const struct mistake mistakes[] = {
    { "whatif --lose-zone r1-c" WITH, 1, "no reservation is in a zone \"r1-c\"" },
    { "whatif --without talk-2x" WITH, 1, "there is no workload \"talk-2x\"" },
    { "whatif --reservation north=-1" WITH, 1, "there is no reservation \"north\"" },
    { "whatif --reservation west=-25" WITH, 1, "west has 24 nodes" },
    { "whatif --reservation west" WITH, 64, "write it like east=-32" },
    { "whatif --reservation west=few" WITH, 64, "write it like east=-32" },
    { "whatif --traffic many" WITH, 64, "--traffic" },
};

static void a_supposition_about_nothing_is_a_mistake(void **state)
{
    owned(test_folder) char *folder = planned_folder();

    (void)state;
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_supposed_is_planned_as_if_it_were_so),
        cmocka_unit_test(a_lost_zone_leaves_its_pools_empty),
        cmocka_unit_test(a_smaller_reservation_and_a_missing_workload),
        cmocka_unit_test(without_schedules_there_is_no_now),
        cmocka_unit_test(a_supposition_about_nothing_is_a_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
