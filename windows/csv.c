/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The splitter below writes terminators into the bytes it reads, so that a row costs no memory.
 */
#include "windows/csv.h"

#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

int csv_error(const struct csv *csv, int line, struct error *err, const char *format, ...)
{
    char sentence[ERROR_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    text_print_arguments(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return error_set(err, ERROR_INVALID, "%s:%d: %s", csv->source, line, sentence);
}

/* A field in quotes: takes them away and returns what follows; NULL when they never close. */
static char *unquote(char *at)
{
    char *out = at;

    for (at++; *at; at++) {
        if (*at != '"') {
            *out++ = *at;
        } else if (at[1] == '"') {
            *out++ = '"';
            at++;
        } else {
            *out = '\0';
            return at + 1;
        }
    }
    return NULL;
}

static int split(struct csv *csv, char *at, struct error *err)
{
    csv->count = 0;
    for (;;) {
        if (csv->count == CSV_FIELDS_MAX)
            return csv_error(csv, csv->line, err, "more than %d fields", CSV_FIELDS_MAX);
        csv->fields[csv->count++] = at;

        char *next = *at == '"' ? unquote(at) : at + strcspn(at, ",");

        if (!next)
            return csv_error(csv, csv->line, err, "a quote is never closed");
        if (*next == '\0')
            return 0;
        if (*next != ',')
            return csv_error(csv, csv->line, err, "a comma is expected after a closing quote");
        *next = '\0';
        at = next + 1;
    }
}

/* The next line that is not blank, terminated; NULL at the end. */
static int take_line(struct csv *csv, char **ret_line, struct error *err)
{
    *ret_line = NULL;
    while (csv->at < csv->end) {
        char *start = csv->at;
        char *stop = memchr(start, '\n', (size_t)(csv->end - start));

        csv->line++;
        if (!stop)
            return csv_error(csv, csv->line, err,
                             "the last line has no line end: the file may have been cut");
        if (memchr(start, '\0', (size_t)(stop - start)))
            return csv_error(csv, csv->line, err, "holds a zero byte: this is no text");
        csv->at = stop + 1;
        *stop = '\0';
        if (stop > start && stop[-1] == '\r')
            stop[-1] = '\0';
        if (start[strspn(start, " \t")] == '\0')
            continue;
        *ret_line = start;
        return 0;
    }
    return 0;
}

int csv_open(struct csv *csv, char *bytes, size_t size, const char *source, struct error *err)
{
    char *line;

    *csv = (struct csv){ .source = source, .at = bytes, .end = bytes + size };
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        csv->at += 3;
    if (take_line(csv, &line, err) < 0)
        return -1;
    if (!line)
        return error_set(err, ERROR_INVALID, "%s: is empty", source);
    if (split(csv, line, err) < 0)
        return -1;
    csv->columns = csv->count;
    for (size_t i = 0; i < csv->count; i++)
        for (char *at = csv->fields[i]; *at; at++)
            *at = (char)tolower((unsigned char)*at);
    return 0;
}

int csv_next(struct csv *csv, struct error *err)
{
    char *line;

    if (take_line(csv, &line, err) < 0)
        return -1;
    if (!line)
        return 0;
    if (split(csv, line, err) < 0)
        return -1;
    if (csv->count != csv->columns)
        return csv_error(csv, csv->line, err, "%zu fields, but the header has %zu", csv->count,
                         csv->columns);
    return 1;
}

static int lines_between(const char *at, const char *end)
{
    int lines = 0;

    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        lines++;
        at++;
    }
    return lines;
}

size_t csv_split(const struct csv *csv, size_t count, struct csv *ret_parts)
{
    size_t share = (size_t)(csv->end - csv->at) / count;
    struct csv rest = *csv;
    size_t parts = 0;

    while (rest.at < csv->end) {
        char *stop = parts + 1 < count && share < (size_t)(csv->end - rest.at)
                         ? memchr(rest.at + share, '\n', (size_t)(csv->end - rest.at) - share)
                         : NULL;

        rest.end = stop ? stop + 1 : csv->end;
        ret_parts[parts++] = rest;
        if (stop)
            rest.line += lines_between(rest.at, rest.end);
        rest.at = rest.end;
    }
    return parts;
}
