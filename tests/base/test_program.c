/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs beside the loop: what they print, and every way in which they can fail, within time.
 */
#include "base/file.h"
#include "base/text.h"
#include "base/world/program.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/stat.h>

struct run {
    struct loop *loop;
    char *output;
    struct error err;
    int done;
};

static void on_done(void *context, const char *output, const struct error *err)
{
    struct run *run = context;

    run->done++;
    run->output = mem_copy_chars(output);
    if (err)
        run->err = *err;
    loop_stop(run->loop);
}

static void each_end_is_told_once_and_in_time(void **state)
{
    static const struct {
        const char *script;
        const char *output; /* NULL: it fails */
        const char *fails;
    } rows[] = {
        { "echo hello", "hello\n", NULL },
        { "printf ''", "", NULL },
        { "cat; echo end of input", "end of input\n", NULL },
        { "echo $GIVEN $HOME", "yes\n", NULL },
        { "echo secret >&2; echo fine", "fine\n", NULL },
        { "for fd in 3 4 5 6 7 8 9; do { true <&$fd; } 2>/dev/null && echo open $fd; done; echo -",
          "-\n", NULL },
        { "echo before; sleep 60 & exit 0", "before\n", NULL }, /* a child holds the pipe */
        { "echo half; exit 3", NULL, "failed: run it by hand to see why" },
        { "kill -9 $$", NULL, "was killed" },
        { "exec sleep 60", NULL, "takes too long" },
        { "exec >&-; exec sleep 60", NULL, "takes too long" },
        { "while :; do echo too much of it; done", NULL, "prints too much" },
    };
    static const char *const environment[] = { "GIVEN=yes", "PATH=/usr/bin:/bin", NULL };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(loop) struct loop *loop = loop_libevent_new(&err);
        struct run run = { .loop = loop };
        const char *arguments[] = { "/bin/sh", "-c", rows[i].script, NULL };
        bool is_late = rows[i].fails && text_equal(rows[i].fails, "takes too long");
        struct program_request request = { arguments, environment, is_late ? 1500 : MINUTE_MS,
                                           1000 };
        int64_t began_ms = loop_now(loop);

        program_start(loop, &request, on_done, &run);
        assert_int_equal(run.done, 0);
        loop_run_until(loop, began_ms + 2 * MINUTE_MS);
        assert_int_equal(run.done, 1);
        if (rows[i].output
                ? !text_equal(run.output, rows[i].output)
                : run.err.kind != ERROR_TRANSIENT || !strstr(run.err.text, rows[i].fails))
            fail_msg("%s: \"%s\" %s", rows[i].script, run.output ?: "(none)", run.err.text);
        mem_free(run.output);
    }
}

static void what_cannot_be_started_is_told_later(void **state)
{
    static const char *const paths[] = { "/nonexistent/plugin", "/etc/passwd", "/" };
    static const char *const environment[] = { NULL };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct error err = { 0 };
        owned(loop) struct loop *loop = loop_libevent_new(&err);
        struct run run = { .loop = loop };
        const char *arguments[] = { paths[i], NULL };
        struct program_request request = { arguments, environment, 1000, 1000 };

        program_start(loop, &request, on_done, &run);
        assert_int_equal(run.done, 0);
        loop_run_until(loop, loop_now(loop) + 2 * MINUTE_MS);
        assert_int_equal(run.done, 1);
        assert_int_equal(run.err.kind, ERROR_INVALID);
        assert_non_null(strstr(run.err.text, paths[i]));
    }
}

/* Who may write it, or a folder above it, would have us run his own. */
static void what_others_may_change_is_not_run(void **state)
{
    static const char script[] = "#!/bin/sh\necho ran\n";
    static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    static const struct {
        mode_t file, folder;
        const char *says; /* NULL: it runs */
    } rows[] = {
        { 0700, 0700, NULL },
        { 0755, 0755, NULL },
        { 0777, 0755, "may be changed by everybody" },
        { 0775, 0755, "may be changed by its group" },
        { 0755, 0777, "on the way to it, may be changed by everybody" },
        { 0755, 0775, "on the way to it, may be changed by its group" },
        { 0755, 01777, NULL }, /* there each removes his own only */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *path = text_format("%s/plugin", folder);
        owned(loop) struct loop *loop = loop_libevent_new(&err);
        struct run run = { .loop = loop };
        const char *arguments[] = { path, NULL };
        struct program_request request = { arguments, environment, MINUTE_MS, 1000 };

        assert_int_equal(file_write(path, script, strlen(script), rows[i].file, &err), 0);
        assert_int_equal(chmod(folder, rows[i].folder), 0);
        program_start(loop, &request, on_done, &run);
        loop_run_until(loop, loop_now(loop) + 2 * MINUTE_MS);
        assert_int_equal(run.done, 1);
        if (!rows[i].says)
            assert_string_equal(run.output, "ran\n");
        else if (run.output || run.err.kind != ERROR_INVALID || !strstr(run.err.text, rows[i].says))
            fail_msg("row %zu: \"%s\" %s", i, run.output ?: "(none)", run.err.text);
        mem_free(run.output);
    }
}

static void virtual_time_runs_nothing(void **state)
{
    static const char *const arguments[] = { "/bin/true", NULL };
    static const char *const environment[] = { NULL };
    owned(loop) struct loop *loop = loop_virtual_new((struct wall_time){ 0 });
    struct program_request request = { arguments, environment, 1000, 1000 };
    struct run run = { .loop = loop };

    (void)state;
    program_start(loop, &request, on_done, &run);
    loop_run(loop);
    assert_int_equal(run.done, 1);
    assert_int_equal(run.err.kind, ERROR_INVALID);
}

static void what_is_cancelled_is_not_told(void **state)
{
    static const char *const arguments[] = { "/bin/sh", "-c", "sleep 60", NULL };
    static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    struct error err = { 0 };
    owned(loop) struct loop *loop = loop_libevent_new(&err);
    struct program_request request = { arguments, environment, MINUTE_MS, 1000 };
    struct run run = { .loop = loop };

    (void)state;
    program_cancel(program_start(loop, &request, on_done, &run));
    program_cancel(NULL);
    loop_run_until(loop, loop_now(loop) + 100);
    assert_int_equal(run.done, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_is_told_once_and_in_time),
        cmocka_unit_test(what_cannot_be_started_is_told_later),
        cmocka_unit_test(what_others_may_change_is_not_run),
        cmocka_unit_test(virtual_time_runs_nothing),
        cmocka_unit_test(what_is_cancelled_is_not_told),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
