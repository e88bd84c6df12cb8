/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The splitter below writes terminators into the bytes it reads, so that a row costs no memory.
 */
#include "windows/demand/csv.h"

#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

static const char delimiters[] = ",;\t";

int csv_error(const struct csv *csv, int line, struct error *err, const char *format, ...)
{
    char sentence[ERROR_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    text_print_arguments(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return error_set(err, ERROR_INVALID, "%s:%d: %s", csv->source, line, sentence);
}

/* Removes the quotes of a field and returns the text after it; NULL when they never close. */
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

static bool is_blank(const struct csv *csv, char byte)
{
    return byte == ' ' || (byte == '\t' && csv->delimiter != '\t');
}

static char *skip_blanks(const struct csv *csv, char *at)
{
    while (is_blank(csv, *at))
        at++;
    return at;
}

/* Trims the field's end; `stop` is its delimiter or the end. */
static void end_field(const struct csv *csv, char *field, char *stop)
{
    while (stop > field && is_blank(csv, stop[-1]))
        stop--;
    *stop = '\0';
}

/* The line from `at` to `end`, where it is terminated. */
static int split(struct csv *csv, char *at, char *end, struct error *err)
{
    csv->count = 0;
    for (;;) {
        char *next;

        if (csv->count == CSV_FIELDS_MAX)
            return csv_error(csv, csv->line, err, "more than %d fields", CSV_FIELDS_MAX);
        at = skip_blanks(csv, at);
        csv->fields[csv->count++] = at;
        if (*at == '"') {
            next = unquote(at);
            if (!next)
                return csv_error(csv, csv->line, err, "a quote is never closed");
            next = skip_blanks(csv, next);
            if (*next != csv->delimiter && *next != '\0')
                return csv_error(csv, csv->line, err, "a %s is expected after a closing quote",
                                 csv->delimiter == ',' ? "comma" : "delimiter");
            if (next == end)
                return 0;
        } else {
            next = memchr(at, csv->delimiter, (size_t)(end - at));
            end_field(csv, at, next ? next : end);
            if (!next)
                return 0;
        }
        at = next + 1;
    }
}

/* The next line that is not blank, terminated; NULL at the end. */
static int take_line(struct csv *csv, char **ret_line, char **ret_end, struct error *err)
{
    *ret_line = NULL;
    while (csv->at < csv->end) {
        char *start = csv->at;
        char *stop = memchr(start, '\n', (size_t)(csv->end - start));

        csv->line++;
        csv->is_cut = !stop;
        stop = stop ? stop : csv->end;
        if (memchr(start, '\0', (size_t)(stop - start)))
            return csv_error(csv, csv->line, err, "holds a zero byte: this is no text in UTF-8");
        csv->at = stop < csv->end ? stop + 1 : csv->end;
        if (stop > start && stop[-1] == '\r')
            stop--;
        *stop = '\0';
        if (start[strspn(start, " \t")] == '\0')
            continue;
        *ret_line = start;
        *ret_end = stop;
        return 0;
    }
    return 0;
}

/* "sep=;" before the header, as spreadsheets write it: the header shows the same. */
static void skip_separator(struct csv *csv)
{
    char *stop = memchr(csv->at, '\n', (size_t)(csv->end - csv->at));
    size_t length = stop ? (size_t)(stop - csv->at) : 0;

    if (length > 0 && stop[-1] == '\r')
        length--;
    if (length != 5 || strncasecmp(csv->at, "sep=", 4) != 0)
        return;
    csv->at = stop + 1;
    csv->line++;
}

/* Delimiters outside quotes. */
static size_t count_delimiters(const char *line, char delimiter)
{
    bool is_quoted = false;
    size_t count = 0;

    for (; *line; line++) {
        is_quoted = is_quoted != (*line == '"');
        count += !is_quoted && *line == delimiter;
    }
    return count;
}

/* The line after the header, without changing it: NULL where there is none. */
static char *peek_line(const struct csv *csv)
{
    char *at = csv->at;

    while (at < csv->end) {
        char *stop = memchr(at, '\n', (size_t)(csv->end - at));
        size_t length = (size_t)((stop ? stop : csv->end) - at);

        if (length > 0 && *at != '#' && *at != '\r')
            return text_format("%.*s", (int)(length < INT32_MAX ? length : INT32_MAX), at);
        at += length + 1;
    }
    return NULL;
}

/* The delimiter in the header; if it has several, the one that the next row has as often. */
static int find_delimiter(struct csv *csv, const char *header, struct error *err)
{
    owned(chars) char *next = NULL;
    size_t fits = 0;
    size_t there = 0;

    csv->delimiter = ',';
    for (size_t i = 0; delimiters[i]; i++)
        if (count_delimiters(header, delimiters[i]) > 0) {
            csv->delimiter = delimiters[i];
            there++;
        }
    if (there == 0 && strchr(header, '|'))
        return csv_error(csv, csv->line, err,
                         "has | between its columns: expected commas, semicolons or tabs, as of "
                         "psql --csv");
    if (there <= 1)
        return 0;
    next = peek_line(csv);
    for (size_t i = 0; next && delimiters[i]; i++) {
        size_t count = count_delimiters(header, delimiters[i]);

        if (count > 0 && count == count_delimiters(next, delimiters[i])) {
            csv->delimiter = delimiters[i];
            fits++;
        }
    }
    if (fits == 1)
        return 0;
    return csv_error(csv, csv->line, err,
                     "has more than one of comma, semicolon and tab: expected one of them between "
                     "all columns, and names that hold another in quotes");
}

/* Files that are no text, by their first bytes. */
static const struct {
    const char *bytes;
    size_t size;
    const char *what;
} other_files[] = {
    { "\xff\xfe", 2, "is UTF-16, as some spreadsheets write: save it as UTF-8" },
    { "\xfe\xff", 2, "is UTF-16, as some spreadsheets write: save it as UTF-8" },
    { "PK\003\004", 4, "is a zip archive or a spreadsheet: save the table as CSV" },
    { "\xfd"
      "7zXZ",
      5, "is packed by xz: unpack it, or pack it by gzip" },
    { "BZh", 3, "is packed by bzip2: unpack it, or pack it by gzip" },
    { "\x28\xb5\x2f\xfd", 4, "is packed by zstd: unpack it, or pack it by gzip" },
};

static int check_text(const struct csv *csv, const char *bytes, size_t size, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(other_files); i++)
        if (size >= other_files[i].size &&
            memcmp(bytes, other_files[i].bytes, other_files[i].size) == 0)
            return csv_error(csv, 1, err, "%s", other_files[i].what);
    return 0;
}

int csv_open(struct csv *csv, char *bytes, size_t size, const char *source, struct error *err)
{
    char *line;
    char *end;

    *csv = (struct csv){ .source = source, .at = bytes, .end = bytes + size };
    bytes[size] = '\0';
    if (check_text(csv, bytes, size, err) < 0)
        return -1;
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        csv->at += 3;
    skip_separator(csv);
    do
        if (take_line(csv, &line, &end, err) < 0)
            return -1;
    while (line && *line == '#');
    if (!line)
        return error_set(err, ERROR_INVALID, "%s: is empty", source);
    if (*line == '{' || (*line == '[' && strspn(line + 1, " {[\r") == strlen(line + 1)) ||
        text_starts_with(line, "[{"))
        return csv_error(csv, csv->line, err,
                         "is JSON: expected a table, with the names of its columns in the first "
                         "line");
    if (strchr(line, '\r'))
        return csv_error(csv, csv->line, err,
                         "has lines that end with CR alone: save it with LF or with CR and LF");
    if (find_delimiter(csv, line, err) < 0 || split(csv, line, end, err) < 0)
        return -1;
    csv->columns = csv->count;
    return 0;
}

int csv_next(struct csv *csv, struct error *err)
{
    char *line;
    char *end;

    for (;;) {
        if (take_line(csv, &line, &end, err) < 0)
            return -1;
        if (!line)
            return 0;
        if (*line != '#')
            break;
        if (csv->may_name && count_delimiters(line, csv->delimiter) + 1 == csv->columns)
            return csv_error(
                csv, csv->line, err,
                "begins with # and has as many fields as a row: put a name that begins "
                "with # in quotes, or take the comment out");
    }
    if (split(csv, line, end, err) < 0)
        return -1;
    if (csv->count != csv->columns)
        return csv_error(csv, csv->line, err, "%zu fields, but the header has %zu", csv->count,
                         csv->columns);
    return 1;
}

bool csv_plain_name(const char *field, char plain[CSV_NAME_CHARS])
{
    size_t length = 0;

    for (; *field && length + 1 < CSV_NAME_CHARS; field++)
        if (isalnum((unsigned char)*field) || *field == '/')
            plain[length++] = (char)tolower((unsigned char)*field);
    plain[length] = '\0';
    return *field == '\0';
}

int csv_column(const struct csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->columns; i++)
        if (strcasecmp(csv->fields[i], name) == 0)
            return (int)i;
    return -1;
}
