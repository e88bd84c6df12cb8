/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One command as a person gives it, in this process: its exit code and what it said.  What it says
 * as JSON must fit its published schema.
 */
#pragma once

#include "base/file.h"
#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/commands.h"
#include "tests/cli/schema.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAID_WORDS = 32, SAID_LIMIT = 4 << 20 };

struct said {
    int code;
    struct text *out;
    struct text *err;
};

static inline void owned_said(struct said *said)
{
    text_free(said->out);
    text_free(said->err);
}

static inline int open_output(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    return fd;
}

static inline struct text *take_output(const char *path)
{
    struct text *text = file_read(path, SAID_LIMIT, NULL);

    assert_non_null(text);
    unlink(path);
    return text;
}

/* Standard output and error of the call go to files in `scratch`. */
static inline struct said say_words(const char *scratch, int count, char **words)
{
    owned(chars) char *out_path = text_format("%s/said.out", scratch);
    owned(chars) char *err_path = text_format("%s/said.err", scratch);
    int files[2] = { open_output(out_path), open_output(err_path) };
    int keeps[2] = { dup(1), dup(2) };
    struct said said;

    fflush(NULL);
    dup2(files[0], 1);
    dup2(files[1], 2);
    said.code = command_main(&sluice_commands, sluice_common_options, count, words);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(keeps[i], i + 1);
        close(keeps[i]);
        close(files[i]);
    }
    said.out = take_output(out_path);
    said.err = take_output(err_path);
    schema_fits_said(words, count, said.out);
    return said;
}

/* The line is split at blanks; "@" stands for the folder. */
static inline struct said say(const char *folder, const char *scratch, const char *line)
{
    owned(text) struct text *chars = text_new(4096);
    char *words[SAID_WORDS + 1] = { (char *)(uintptr_t) "sluice" };
    int count = 1;

    for (const char *at = line; *at; at++)
        text_add_bytes(chars, *at == '@' ? folder : at, *at == '@' ? strlen(folder) : 1);
    for (char *at = chars->chars; *at;) {
        char *end = at + strcspn(at, " ");

        assert_true(count < SAID_WORDS);
        words[count++] = at;
        at = *end ? end + 1 : end;
        *end = '\0';
    }
    return say_words(scratch, count, words);
}

/* As say(), and fails the test when the exit code is another one. */
static inline struct said expect_code(const char *folder, int code, const char *line)
{
    struct said said = say(folder, folder, line);

    if (said.code != code)
        fail_msg("sluice %s: exit code %d, not %d\n%s%s", line, said.code, code, said.out->chars,
                 said.err->chars);
    return said;
}

/* A file of the folder, which has to be there. */
static inline struct text *said_file(const char *folder, const char *name)
{
    owned(chars) char *path = text_format("%s/%s", folder, name);
    struct error err = { 0 };
    struct text *text = file_read(path, 1 << 20, &err);

    if (!text)
        fail_msg("%s", err.text);
    return text;
}

/* What is refused with this exit code, in words of which these are some. */
struct mistake {
    const char *line;
    int code;
    const char *says;
};

static inline void expect_mistakes(const char *folder, const struct mistake *mistakes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        owned(said) struct said said = expect_code(folder, mistakes[i].code, mistakes[i].line);

        if (!strstr(said.err->chars, mistakes[i].says))
            fail_msg("sluice %s: lacks \"%s\":\n%s", mistakes[i].line, mistakes[i].says,
                     said.err->chars);
        if (said.out->length > 0)
            fail_msg("sluice %s: prints\n%s", mistakes[i].line, said.out->chars);
    }
}
