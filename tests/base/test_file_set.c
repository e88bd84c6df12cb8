/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * All or none, and what a crash leaves is seen.
 */
#include "base/file.h"
#include "base/file_set.h"
#include "base/text.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

static void expect(const char *path, const char *want)
{
    owned(text) struct text *found = file_read(path, 100, NULL);

    assert_int_equal(found != NULL, want != NULL);
    if (want)
        assert_string_equal(found->chars, want);
}

static void nothing_changes_before_all_are_there(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *one = test_folder_write(folder, "one", "old");
    owned(chars) char *two = text_format("%s/two", folder);
    owned(chars) char *none = text_format("%s/none/three", folder);
    struct file_set set = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(file_set_add(&set, one, "new", 3, NULL), 0);
    assert_int_equal(file_set_add(&set, two, "new", 3, NULL), 0);
    expect(one, "old");
    expect(two, NULL);
    assert_int_equal(file_set_add(&set, none, "new", 3, &err), -1);
    file_set_clear(&set);
    expect(one, "old");
    expect(two, NULL);
    assert_false(file_set_is_cut_short(one, false));

    assert_int_equal(file_set_add(&set, one, "new", 3, NULL), 0);
    assert_int_equal(file_set_add(&set, two, "2", 1, NULL), 0);
    assert_int_equal(file_set_place(&set, NULL), 0);
    expect(one, "new");
    expect(two, "2");
    assert_false(file_set_is_cut_short(one, false) || file_set_is_cut_short(two, false));
}

/* A folder in the way of the second stands for a crash after the first. */
static void what_is_cut_short_is_an_error_and_known(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *one = test_folder_write(folder, "one", "old");
    owned(chars) char *two = text_format("%s/two", folder);
    owned(chars) char *left = test_folder_write(folder, "left.new", "half");
    owned(chars) char *place = text_format("%s/left", folder);
    struct file_set set = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(file_make_folder(two, 0777, NULL), 0);
    assert_int_equal(file_set_add(&set, one, "new", 3, NULL), 0);
    assert_int_equal(file_set_add(&set, two, "new", 3, NULL), 0);
    assert_int_equal(file_set_place(&set, &err), -1);
    assert_non_null(strstr(err.text, two));
    assert_false(file_set_is_cut_short(two, false));

    assert_true(file_set_is_cut_short(place, false));
    assert_true(file_set_is_cut_short(place, true));
    assert_false(file_exists(left));
    assert_false(file_set_is_cut_short(place, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_before_all_are_there),
        cmocka_unit_test(what_is_cut_short_is_an_error_and_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
