/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A good sluice.yaml with keys changed, one by one, and what is then said of it.
 */
#pragma once

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "broker/config/config.h"
#include "tests/support/unit.h"

#include <string.h>

enum { FILE_SIZE_LIMIT = 1 << 20 };

/* One key set to a value (NULL: taken away); added below its parent when it is not there. */
struct edit {
    const char *path;
    const char *value;
};

static inline struct text *read_whole(const char *path)
{
    struct error err = { 0 };
    struct text *text = file_read(path, FILE_SIZE_LIMIT, &err);

    if (!text)
        fail_msg("%s", err.text);
    return text;
}

static inline void write_whole(const char *path, const void *bytes, size_t size)
{
    struct error err = { 0 };

    if (file_write(path, bytes, size, 0644, &err) < 0)
        fail_msg("%s", err.text);
}

/* Where the line after the one at `at` begins. */
static inline size_t next_line(const struct text *text, size_t at)
{
    const char *end = strchr(text->chars + at, '\n');

    return end ? (size_t)(end + 1 - text->chars) : text->length;
}

static inline size_t indentation(const struct text *text, size_t at)
{
    return strspn(text->chars + at, " ");
}

/* The line of one key among those from `at` on that are indented by `depth` * 2 or deeper. */
static inline bool find_key(const struct text *text, size_t *at, size_t depth, const char *key,
                            size_t length)
{
    for (size_t line = *at; line < text->length; line = next_line(text, line)) {
        const char *found = text->chars + line + depth * 2;

        if (text->chars[line] == '\n' || text->chars[line] == '#')
            continue;
        if (indentation(text, line) < depth * 2)
            return false;
        if (indentation(text, line) == depth * 2 && strncmp(found, key, length) == 0 &&
            found[length] == ':') {
            *at = line;
            return true;
        }
    }
    return false;
}

/* The good file is written in blocks of two spaces, which makes this possible without a parser. */
static inline struct text *edited(const struct text *good, const struct edit *edit)
{
    struct text *out = text_new(FILE_SIZE_LIMIT);
    const char *key = edit->path;
    size_t at = 0;
    size_t depth = 0;
    bool is_found = true;

    for (;; depth++) {
        size_t length = strcspn(key, ".");

        is_found = find_key(good, &at, depth, key, length);
        if (key[length] == '\0')
            break;
        assert_true(is_found);
        at = next_line(good, at);
        key += length + 1;
    }

    size_t rest = at;

    if (is_found)
        do
            rest = next_line(good, rest);
        while (rest < good->length && indentation(good, rest) > depth * 2);
    text_add_bytes(out, good->chars, at);
    if (edit->value)
        text_add(out, "%*s%s: %s\n", (int)depth * 2, "", key, edit->value);
    text_add(out, "%s", good->chars + rest);
    return out;
}

/* Reads the bytes as sluice.yaml in the current folder; what is said is added to `said`. */
static inline void expect_refusal(struct text *said, const char *name, const void *bytes,
                                  size_t size)
{
    struct error err = { 0 };

    write_whole("sluice.yaml", bytes, size);
    owned(config) struct config *config = config_read("sluice.yaml", &err);

    if (config)
        fail_msg("%s: was accepted", name);
    if (err.kind != ERROR_INVALID || !text_starts_with(err.text, "sluice.yaml"))
        fail_msg("%s: %s, %s", name, error_kind_name(err.kind), err.text);
    text_add(said, "%s\n    %s\n", name, err.text);
}

static inline void expect_edit_refused(struct text *said, const struct text *good,
                                       const struct edit *edits, size_t count)
{
    owned(text) struct text *name = text_new(1024);
    owned(text) struct text *file = text_new(FILE_SIZE_LIMIT);

    text_add(file, "%s", good->chars);
    for (size_t i = 0; i < count && edits[i].path; i++) {
        struct text *next = edited(file, &edits[i]);

        text_free(file);
        file = next;
        text_add(name, "%s%s %s%.60s", i ? ", " : "", edits[i].path, edits[i].value ? "= " : "gone",
                 edits[i].value ? edits[i].value : "");
    }
    expect_refusal(said, name->chars, file->chars, file->length);
}
