/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whole files: limits, kinds of failure, replacement, gzip, locks.
 */
#include "base/file.h"
#include "base/memory.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static void reads_up_to_the_limit(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "a", "12345");
    struct error err = { 0 };
    owned(text) struct text *content = file_read(path, 5, &err);

    (void)state;
    assert_string_equal(content->chars, "12345");
    assert_null(file_read(path, 4, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_null(file_read_unpacked(path, 4, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_null(file_read(folder, 5, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_null(file_read("/nonexistent/a", 5, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_string_equal(err.text, "/nonexistent/a: cannot open: No such file or directory");
}

static void a_digest_is_that_of_all_bytes(void **state)
{
    enum { SIZE = 200000 }; /* more than is read at once */
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *bytes = mem_new(SIZE + 1);
    struct error err = { 0 };
    char want[SHA256_TEXT_SIZE];
    char found[SHA256_TEXT_SIZE];

    (void)state;
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (char)('a' + i % 23);

    owned(chars) char *path = test_folder_write(folder, "a", bytes);

    crypto_sha256_text(bytes, SIZE, want);
    assert_int_equal(file_sha256(path, found, &err), 0);
    assert_string_equal(found, want);
    assert_int_equal(file_sha256("/nonexistent/a", found, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void writing_replaces_and_leaves_nothing_behind(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = test_folder_write(folder, "a", "old and longer");
    struct file_list list;
    struct stat status;
    owned(text) struct text *content = NULL;

    (void)state;
    assert_int_equal(file_write(path, "new\0x", 5, 0600, NULL), 0);
    content = file_read(path, 100, NULL);
    assert_int_equal(content->length, 5);
    assert_memory_equal(content->chars, "new\0x", 5);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(file_list(folder, "", &list, NULL), 0);
    assert_int_equal(list.count, 1);
    file_list_free(&list);
}

static void a_failed_write_leaves_nothing_behind(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/sub", folder);
    owned(chars) char *below = text_format("%s/sub/none/x", folder);
    struct file_list list;
    struct error err;

    (void)state;
    assert_int_equal(file_make_folder(path, 0755, NULL), 0);
    assert_int_equal(file_write(path, "x", 1, 0600, &err), -1); /* a folder stands there */
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(file_write(below, "x", 1, 0600, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_int_equal(file_list(folder, "", &list, NULL), 0);
    assert_int_equal(list.count, 1);
    file_list_free(&list);
}

static void makes_folders_with_their_parents(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *deep = text_format("%s/a/b//c/", folder);
    owned(chars) char *file = test_folder_write(folder, "f", "");
    owned(chars) char *below_file = text_format("%s/x", file);

    (void)state;
    assert_int_equal(file_make_folder(deep, 0755, NULL), 0);
    assert_int_equal(file_make_folder(deep, 0755, NULL), 0);
    assert_true(file_exists(deep));
    assert_int_equal(file_make_folder(file, 0755, NULL), -1);
    assert_int_equal(file_make_folder(below_file, 0755, NULL), -1);
}

static void lists_sorted_by_ending(void **state)
{
    static const char *const names[] = { "b.yaml", "a.yaml", "B.yaml", "c.txt", ".h.yaml", "yaml" };
    owned(test_folder) char *folder = test_folder_new();
    struct file_list list;
    struct error err;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        mem_free(test_folder_write(folder, names[i], ""));
    assert_int_equal(file_list(folder, ".yaml", &list, NULL), 0);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.names[0], "B.yaml");
    assert_string_equal(list.names[1], "a.yaml");
    assert_string_equal(list.names[2], "b.yaml");
    file_list_free(&list);
    assert_int_equal(file_list("/nonexistent", "", &list, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void unpacks_gzip_by_its_first_bytes(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/a", folder);
    owned(chars) char *plain = test_folder_write(folder, "plain", "hello\n");
    owned(text) struct text *content = NULL, *packed = NULL, *same = NULL;
    gzFile stream = gzopen(path, "wb");
    struct error err;

    (void)state;
    for (int i = 0; i < 50000; i++)
        gzputs(stream, "hello\n");
    gzclose(stream);
    content = file_read_unpacked(path, 300000, &err);
    assert_int_equal(content->length, 300000);
    assert_null(file_read_unpacked(path, 299999, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    same = file_read_unpacked(plain, 100, &err);
    assert_string_equal(same->chars, "hello\n");
    packed = file_read(path, 300000, &err);
    assert_int_equal(file_write(path, packed->chars, packed->length - 20, 0600, NULL), 0);
    assert_null(file_read_unpacked(path, 300000, &err));
    assert_int_equal(err.kind, ERROR_CORRUPT);
    packed->chars[packed->length / 2] ^= 0x55;
    assert_int_equal(file_write(path, packed->chars, packed->length, 0600, NULL), 0);
    assert_null(file_read_unpacked(path, 300000, &err));
    assert_int_equal(err.kind, ERROR_CORRUPT);
}

/* What is appended to a packed file is packed, too, or refused. */
static void what_follows_gzip_data_is_not_lost(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/a.gz", folder);
    owned(text) struct text *both = text_new(1000);
    owned(text) struct text *one = file_pack("one,", 4);
    owned(text) struct text *two = file_pack("two", 3);
    struct error err;

    (void)state;
    text_add_bytes(both, one->chars, one->length);
    text_add_bytes(both, two->chars, two->length);
    assert_int_equal(file_write(path, both->chars, both->length, 0600, NULL), 0);

    owned(text) struct text *content = file_read_unpacked(path, 100, NULL);

    assert_string_equal(content->chars, "one,two");
    for (size_t cut = 1; cut < two->length; cut++) {
        assert_int_equal(file_write(path, both->chars, both->length - cut, 0600, NULL), 0);
        assert_null(file_read_unpacked(path, 100, &err));
        assert_int_equal(err.kind, ERROR_CORRUPT);
    }
    text_add_bytes(both, "\0\0\0", 3);
    assert_int_equal(file_write(path, both->chars, both->length, 0600, NULL), 0);

    owned(text) struct text *padded = file_read_unpacked(path, 100, NULL);

    assert_string_equal(padded->chars, "one,two");
    text_add(both, "three\n");
    assert_int_equal(file_write(path, both->chars, both->length, 0600, NULL), 0);
    assert_null(file_read_unpacked(path, 100, &err));
    assert_int_equal(err.kind, ERROR_CORRUPT);
    assert_non_null(strstr(err.text, "gzip data, and then bytes that are not packed"));
}

static void packs_what_it_unpacks_and_always_the_same(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/a.gz", folder);
    owned(text) struct text *plain = text_new(TEXT_UNBOUNDED);

    (void)state;
    for (int i = 0; i < 50000; i++)
        text_add(plain, "%d\n", i * 7919);
    for (size_t size = 0; size <= plain->length; size += plain->length) {
        owned(text) struct text *packed = file_pack(plain->chars, size);
        owned(text) struct text *again = file_pack(plain->chars, size);

        assert_int_equal(packed->length, again->length);
        assert_memory_equal(packed->chars, again->chars, packed->length);
        assert_int_equal(file_write(path, packed->chars, packed->length, 0600, NULL), 0);

        owned(text) struct text *unpacked = file_read_unpacked(path, plain->length, NULL);

        assert_int_equal(unpacked->length, size);
        assert_memory_equal(unpacked->chars, plain->chars, size);
    }
}

static const struct {
    const char *beside, *path, *want;
} besides[] = {
    { "/etc/sluice/a.yaml", "b.yaml", "/etc/sluice/b.yaml" },
    { "/etc/a.yaml", "/x/b", "/x/b" },
    { "a.yaml", "b.yaml", "b.yaml" },
    { "dir/a.yaml", "sub/b", "dir/sub/b" },
    { "/a", "b", "/b" },
};

static void finds_the_path_beside(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(besides); i++) {
        owned(chars) char *path = file_beside(besides[i].beside, besides[i].path);

        assert_string_equal(path, besides[i].want);
    }
}

static void a_lock_is_held_until_closed(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/lock", folder);
    struct error err;
    int fd = file_lock(path, &err);
    int again;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(file_lock(path, &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    close(fd);
    again = file_lock(path, &err);
    assert_true(again >= 0);
    close(again);
}

/* What it names would be opened, or made, with our rights. */
static void a_lock_is_no_link(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/lock", folder);
    owned(chars) char *target = text_format("%s/elsewhere", folder);
    struct error err = { 0 };

    (void)state;
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(file_lock(path, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_false(file_exists(target));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_up_to_the_limit),
        cmocka_unit_test(writing_replaces_and_leaves_nothing_behind),
        cmocka_unit_test(a_failed_write_leaves_nothing_behind),
        cmocka_unit_test(makes_folders_with_their_parents),
        cmocka_unit_test(lists_sorted_by_ending),
        cmocka_unit_test(unpacks_gzip_by_its_first_bytes),
        cmocka_unit_test(what_follows_gzip_data_is_not_lost),
        cmocka_unit_test(packs_what_it_unpacks_and_always_the_same),
        cmocka_unit_test(finds_the_path_beside),
        cmocka_unit_test(a_lock_is_held_until_closed),
        cmocka_unit_test(a_lock_is_no_link),
        cmocka_unit_test(a_digest_is_that_of_all_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
