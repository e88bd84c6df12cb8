/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who may change what stands at a path: the file, the folders above it, the links on the way.
 */
#include "base/file.h"
#include "base/trust.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

/* FOLDER/a/b/file, a link FOLDER/link to a/b, and one of these changed. */
struct scene {
    char *folder;
    char *file;
    char *by_link;
};

static void scene_begin(struct scene *scene)
{
    scene->folder = test_folder_new();

    owned(chars) char *deep = text_format("%s/a/b", scene->folder);
    owned(chars) char *link = text_format("%s/link", scene->folder);

    assert_int_equal(file_make_folder(deep, 0755, NULL), 0);
    assert_int_equal(symlink("a/../a/b", link), 0);
    scene->file = test_folder_write(scene->folder, "a/b/file", "secret");
    scene->by_link = text_format("%s/link/file", scene->folder);
}

static void scene_end(struct scene *scene)
{
    mem_free(scene->file);
    mem_free(scene->by_link);
    test_folder_free(scene->folder);
}

static void each_place_on_the_way_counts(void **state)
{
    static const struct {
        const char *place; /* that gets another mode or owner */
        mode_t mode;       /* 0: another owner */
        enum trust direct, by_link;
    } rows[] = {
        { "a/b/file", 0600, TRUST_OURS, TRUST_OURS },
        { "a/b/file", 0664, TRUST_GROUP, TRUST_GROUP },
        { "a/b/file", 0666, TRUST_OTHERS, TRUST_OTHERS },
        { "a/b/file", 0, TRUST_OTHERS, TRUST_OTHERS },
        { "a/b", 0775, TRUST_GROUP, TRUST_GROUP },
        { "a/b", 0777, TRUST_OTHERS, TRUST_OTHERS },
        { "a/b", 01777, TRUST_OURS, TRUST_OURS },
        { "a", 0777, TRUST_OTHERS, TRUST_OTHERS },
        { "a", 0, TRUST_OTHERS, TRUST_OTHERS },
        { "link", 0, TRUST_OURS, TRUST_OTHERS },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        struct scene scene;

        if (rows[i].mode == 0 && geteuid() != 0)
            continue; /* only root gives a file away */
        scene_begin(&scene);
        owned(chars) char *place = text_format("%s/%s", scene.folder, rows[i].place);

        assert_int_equal(rows[i].mode ? chmod(place, rows[i].mode) : lchown(place, NOBODY, NOBODY),
                         0);
        if (trust_look(scene.file, &err) != rows[i].direct ||
            trust_look(scene.by_link, &err) != rows[i].by_link)
            fail_msg("%s, row %zu: %s", rows[i].place, i, err.text);

        owned(text) struct text *bytes = trust_read(scene.by_link, 100, &err);

        assert_true((bytes != NULL) == (rows[i].by_link != TRUST_OTHERS));
        assert_true((trust_program(scene.by_link, &err) == 0) == (rows[i].by_link == TRUST_OURS));
        if (bytes)
            assert_string_equal(bytes->chars, "secret");
        scene_end(&scene);
    }
}

static void the_place_is_named(void **state)
{
    struct error err = { 0 };
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    owned(chars) char *place = text_format("%s/a", scene.folder);
    owned(chars) char *want = text_format("%s: %s, on the way to it, may be changed by everybody "
                                          "(chmod o-w)",
                                          scene.by_link, place);

    assert_int_equal(chmod(place, 0777), 0);
    assert_null(trust_read(scene.by_link, 100, &err));
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_string_equal(err.text, want);
    scene_end(&scene);
}

static void what_is_not_there_is_said_as_ever(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *loop = text_format("%s/loop", folder);
    owned(chars) char *longest = mem_new(300);
    struct error err = { 0 };

    (void)state;
    memset(longest, 'x', 299);
    assert_int_equal(symlink("loop", loop), 0);
    assert_null(trust_read("/nonexistent/a", 5, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_string_equal(err.text, "/nonexistent/a: cannot open: No such file or directory");
    assert_null(trust_read(loop, 5, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_null(trust_read("", 5, &err));
    assert_null(trust_read("/", 5, &err));
    assert_null(trust_read(folder, 5, &err));
    assert_null(trust_read("/etc/passwd/x", 5, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_null(trust_read(longest, 5, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_place_on_the_way_counts),
        cmocka_unit_test(the_place_is_named),
        cmocka_unit_test(what_is_not_there_is_said_as_ever),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
