/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Errors as values: the sentence is written into the caller's struct, cut with a visible mark.
 */
#include "base/error.h"

#include "base/text.h"
#include "base/timestamp.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static const char *const kind_names[ERROR_KIND_COUNT] = {
    [ERROR_NONE] = "none",
    [ERROR_TRANSIENT] = "transient",
    [ERROR_THROTTLED] = "throttled",
    [ERROR_NO_CAPACITY] = "no_capacity",
    [ERROR_UNKNOWN_OUTCOME] = "unknown_outcome",
    [ERROR_NOT_FOUND] = "not_found",
    [ERROR_CONFLICT] = "conflict",
    [ERROR_DENIED] = "denied",
    [ERROR_INVALID] = "invalid",
    [ERROR_CORRUPT] = "corrupt",
    [ERROR_BUG] = "bug",
};

/* Ends a text that was cut with '+'. */
static size_t mark_cut(char out[ERROR_TEXT_SIZE])
{
    size_t at = text_cut(out, ERROR_TEXT_SIZE - 2);

    memset(out + at, '+', ERROR_TEXT_SIZE - 1 - at);
    out[ERROR_TEXT_SIZE - 1] = '\0';
    return ERROR_TEXT_SIZE - 1;
}

/* Formats at out[at], and marks the end when `out` was too small.  Returns the new length. */
static size_t add_formatted(char out[ERROR_TEXT_SIZE], size_t at, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static size_t add_formatted(char out[ERROR_TEXT_SIZE], size_t at, const char *format, va_list args)
{
    return text_print_arguments(out + at, ERROR_TEXT_SIZE - at, format, args) ? strlen(out)
                                                                              : mark_cut(out);
}

static size_t add_chars(char out[ERROR_TEXT_SIZE], size_t at, const char *chars)
{
    return text_copy(out + at, ERROR_TEXT_SIZE - at, chars) ? at + strlen(chars) : mark_cut(out);
}

/* A new error: nothing of a former one stays. */
static void begin(struct error *err, enum error_kind kind, char text[ERROR_TEXT_SIZE])
{
    text_mend(text);
    err->kind = kind;
    err->cause = NULL;
    err->retry_after_ms = 0;
    err->leaf = 0;
    text_copy(err->text, sizeof err->text, text);
}

int error_set(struct error *err, enum error_kind kind, const char *format, ...)
{
    int kept = errno;
    char text[ERROR_TEXT_SIZE]; /* the arguments may point into err->text */
    va_list args;

    if (err == NULL)
        return -1;
    va_start(args, format);
    add_formatted(text, 0, format, args);
    va_end(args);
    begin(err, kind, text);
    errno = kept;
    return -1;
}

int error_errno(struct error *err, enum error_kind kind, const char *format, ...)
{
    int kept = errno;
    char text[ERROR_TEXT_SIZE];
    char buffer[128];
    size_t length;
    va_list args;

    if (err == NULL)
        return -1;
    va_start(args, format);
    length = add_formatted(text, 0, format, args);
    va_end(args);
    length = add_chars(text, length, ": ");
    add_chars(text, length, strerror_r(kept, buffer, sizeof buffer));
    begin(err, kind, text);
    errno = kept;
    return -1;
}

int error_context(struct error *err, const char *format, ...)
{
    int kept = errno;
    char text[ERROR_TEXT_SIZE];
    size_t length;
    va_list args;

    if (err == NULL)
        return -1;
    va_start(args, format);
    length = add_formatted(text, 0, format, args);
    va_end(args);
    length = add_chars(text, length, ": ");
    err->leaf += (int)length;
    if (err->leaf > ERROR_TEXT_SIZE - 1)
        err->leaf = ERROR_TEXT_SIZE - 1;
    add_chars(text, length, err->text);
    text_mend(text);
    text_copy(err->text, sizeof err->text, text);
    errno = kept;
    return -1;
}

int error_because(struct error *err, const struct error_cause *cause)
{
    if (err)
        err->cause = cause;
    return -1;
}

const char *error_leaf(const struct error *err)
{
    return err->text + err->leaf;
}

void error_wait(struct error *err, int64_t asked_ms)
{
    char asked[DURATION_TEXT_SIZE], most[DURATION_TEXT_SIZE];

    if (err == NULL || asked_ms <= 0)
        return;
    err->retry_after_ms = asked_ms;
    if (asked_ms <= ERROR_WAIT_MOST_MS)
        return;
    err->retry_after_ms = ERROR_WAIT_MOST_MS;
    error_context(err, "the server asked to wait %s, and sluice waits at most %s",
                  duration_format(asked_ms, asked), duration_format(ERROR_WAIT_MOST_MS, most));
}

const char *error_kind_name(enum error_kind kind)
{
    if ((unsigned)kind >= ERROR_KIND_COUNT)
        return "bug";
    return kind_names[kind];
}

enum error_kind error_kind_of_name(const char *name)
{
    for (unsigned kind = 0; kind < ERROR_KIND_COUNT; kind++)
        if (text_equal(kind_names[kind], name))
            return (enum error_kind)kind;
    return ERROR_BUG;
}
