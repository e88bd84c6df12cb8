/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See columns.h.
 */
#include "windows/demand/columns.h"

#include "base/text.h"
#include "windows/demand/cells.h"
#include "windows/demand/column_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { DATE_CHARS = 10 };

static enum column_role role_of(const struct columns *columns, int column)
{
    return column_name_of(columns->names[column]).role;
}

static int column_of_role(const struct columns *columns, enum column_role role)
{
    for (int i = 0; i < (int)columns->name_count; i++)
        if (role_of(columns, i) == role)
            return i;
    return -1;
}

int columns_queue_of_tokens(const struct csv *header)
{
    for (int i = 0; i < (int)header->columns; i++)
        if (column_name_of(header->fields[i]).role == COLUMN_QUEUE)
            return i;
    return csv_column(header, "model");
}

/* A column "count" is the count, whatever others there are; of other names only one may be
   present. */
static int find_count(struct columns *columns, const struct csv *header, struct error *err)
{
    columns->count = csv_column(header, "count");
    for (int i = 0; columns->count < 0 && i < (int)columns->name_count; i++) {
        if (role_of(columns, i) != COLUMN_COUNT)
            continue;
        for (int other = i + 1; other < (int)columns->name_count; other++)
            if (role_of(columns, other) == COLUMN_COUNT)
                return csv_error(header, header->line, err,
                                 "columns \"%.80s\" and \"%.80s\" may both be the number of "
                                 "requests: name the one that is it \"count\"",
                                 columns->names[i], columns->names[other]);
        columns->count = i;
    }
    columns->needs_unit = columns->count >= 0 &&
                          column_name_of(columns->names[columns->count]).needs_unit;
    return 0;
}

/* The columns of prompt and answer tokens: both or none.  Beside them a count column needs the name
   of a count, and a column `model` may be the queue. */
static int find_tokens(struct columns *columns, const struct csv *header, struct error *err)
{
    struct token_columns *tokens = &columns->tokens;
    bool has_in;

    if (token_columns_find(tokens, header, err) < 0)
        return -1;
    has_in = tokens->in >= 0;
    if (has_in != (tokens->out >= 0) && columns->count < 0)
        return csv_error(header, header->line, err,
                         "\"%.80s\" holds the tokens of %s, and no column those of their %s: "
                         "expected %s beside it",
                         columns->names[has_in ? tokens->in : tokens->out],
                         has_in ? "prompts" : "answers", has_in ? "answers" : "prompts",
                         token_columns_other(tokens, header));
    if (!has_in || tokens->out < 0) {
        tokens->in = tokens->out = -1;
        return 0;
    }
    if (columns->count >= 0 && column_name_is_vague(columns->names[columns->count]))
        return csv_error(header, header->line, err,
                         "\"%.80s\" may be the number of requests, or say something of a request: "
                         "name it \"count\", or take it out",
                         columns->names[columns->count]);
    columns->is_log = columns->count < 0;
    columns->queue = columns_queue_of_tokens(header);
    return 0;
}

static bool is_taken(const struct columns *columns, int column)
{
    return column == columns->queue || column == columns->count || column == columns->priority ||
           column == columns->tokens.in || column == columns->tokens.out;
}

/* The first column whose first cell is a time: first by the column's name, then by a date, then by
   a number since 1970. */
static int find_date(const struct columns *columns, const struct csv *row)
{
    enum { BY_NAME, BY_DATE, BY_NUMBER, WAYS };
    struct cell_time found;

    for (int way = 0; way < WAYS; way++)
        for (int i = 0; i < (int)row->count; i++) {
            bool is_named = role_of(columns, i) == COLUMN_TIME;
            bool has_date = strchr(row->fields[i], '-') || strchr(row->fields[i], '/');

            if (!is_taken(columns, i) && cell_time(row->fields[i], &found) &&
                (way == BY_NUMBER || (way == BY_NAME ? is_named : has_date)))
                return i;
        }
    return -1;
}

bool columns_join(const char *date, const char *clock, char out[COLUMNS_TIME_CHARS])
{
    size_t digits = strspn(clock, "0123456789");

    if (digits == 0 || digits > 2)
        return false;
    return text_print(out, COLUMNS_TIME_CHARS, "%sT%s%s%s", date, digits == 1 ? "0" : "", clock,
                      clock[digits] == '\0' ? ":00" : "");
}

/* A number without a colon may be a day or a minute, unless the column's name means an hour. */
static bool may_be_clock(const struct columns *columns, int column, const char *cell)
{
    return role_of(columns, column) == COLUMN_TIME &&
           (strchr(cell, ':') || strcasecmp(columns->names[column], "hour") == 0);
}

/* If the date column has no time of day, another column may have it. */
static int find_clock(const struct columns *columns, const struct csv *row)
{
    const char *date = row->fields[columns->date];
    char joined[COLUMNS_TIME_CHARS];
    struct cell_time found;

    for (int i = 0; strlen(date) == DATE_CHARS && i < (int)row->count; i++)
        if (i != columns->date && !is_taken(columns, i) &&
            may_be_clock(columns, i, row->fields[i]) &&
            columns_join(date, row->fields[i], joined) && cell_time(joined, &found))
            return i;
    return -1;
}

/* The unit in ms that a column's name ends with: 1 for "time_ms", 1000 for "Time (s)"; 0: none. */
static int64_t unit_of(const char *name)
{
    static const struct {
        const char *ending;
        int64_t ms;
    } units[] = {
        { "_ms", 1 },
        { " ms", 1 },
        { "(ms)", 1 },
        { "_s", SECOND_MS },
        { " s", SECOND_MS },
        { "(s)", SECOND_MS },
        { "_seconds", SECOND_MS },
        { " seconds", SECOND_MS },
        { "(seconds)", SECOND_MS },
    };
    size_t length = strlen(name);

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t ending = strlen(units[i].ending);

        if (length > ending && strcasecmp(name + length - ending, units[i].ending) == 0)
            return units[i].ms;
    }
    return 0;
}

static bool is_time_without_unit(const char *name)
{
    size_t end = strcspn(name, "_ (");
    owned(chars) char *start = text_format("%.*s", (int)(end < INT32_MAX ? end : 0), name);

    return unit_of(name) > 0 && column_name_of(start).role == COLUMN_TIME;
}

/* Times of logs may count from the file's beginning.  Their unit is at the end of the column's name
   (time_ms); otherwise it is that of the public trace with these columns (token_columns.h). */
static int find_elapsed(struct columns *columns, const struct csv *header, const struct csv *row,
                        struct error *err)
{
    double first;

    for (int i = 0; columns_has_tokens(columns) && i < (int)row->count; i++) {
        const char *name = columns->names[i];

        if (is_taken(columns, i) || !cell_number(row->fields[i], &first) ||
            (role_of(columns, i) != COLUMN_TIME && !is_time_without_unit(name)))
            continue;
        columns->date = i;
        columns->elapsed_ms = unit_of(name) > 0 ? unit_of(name) : columns->tokens.elapsed_ms;
        if (columns->elapsed_ms > 0)
            return 0;
        return csv_error(header, header->line, err,
                         "\"%.80s\" counts from the file's beginning (\"%.80s\"), and nothing "
                         "says in what: name it time_s or time_ms",
                         name, row->fields[i]);
    }
    return 0;
}

static int no_times(const struct columns *columns, const struct csv *row, struct error *err)
{
    int named = column_of_role(columns, COLUMN_TIME);

    if (named < 0)
        return csv_error(row, row->line, err, "no column holds times: expected one like %s",
                         CELL_TIME_FORMS);
    return csv_error(row, row->line, err,
                     "no column holds times: \"%.80s\" holds \"%.80s\", expected one like %s",
                     columns->names[named], row->fields[named], CELL_TIME_FORMS);
}

bool columns_is_queue(const struct columns *columns, size_t column)
{
    return columns->count < 0 && !columns->is_log && (int)column != columns->date &&
           (int)column != columns->clock && (int)column != columns->priority &&
           (int)column != columns->unit;
}

char *columns_queue_name(const struct columns *columns, size_t column)
{
    struct column_unit unit = column_unit_find(columns->names[column]);

    return text_format("%.*s", (int)(unit.length > 0 ? unit.length : INT32_MAX),
                       columns->names[column]);
}

/* Units behind the names of counts; or a column of them, which then says it for each row. */
static int find_units(struct columns *columns, const struct csv *header, const struct csv *row,
                      struct error *err)
{
    int unit = columns->is_log ? -1 : column_of_role(columns, COLUMN_UNIT);
    double number;

    if (unit >= 0 && !cell_number(row->fields[unit], &number))
        columns->unit = unit;
    for (size_t i = 0; i < columns->name_count; i++) {
        struct column_unit found = column_unit_find(columns->names[i]);

        if ((int)i != columns->count && !columns_is_queue(columns, i))
            continue;
        if (found.is_unknown)
            return csv_error(header, header->line, err,
                             "\"%.80s\" ends in a unit that is none of requests by time: expected "
                             "one like (req/s), /min or per hour",
                             columns->names[i]);
        if (found.seconds > 0 && columns->unit >= 0)
            return csv_error(header, header->line, err,
                             "\"%.80s\" and \"%.80s\" both tell the unit: take one out",
                             columns->names[i], columns->names[columns->unit]);
        columns->rates_s[i] = found.seconds;
    }
    return 0;
}

static int no_count(const struct columns *columns, const struct csv *header, struct error *err)
{
    owned(text) struct text *found = text_new(ERROR_TEXT_SIZE / 4);

    for (size_t i = 0; i < columns->name_count; i++)
        text_add(found, "%s%s", i > 0 ? ", " : "", columns->names[i]);
    return csv_error(header, header->line, err,
                     "the header names no column \"count\" (or value, sum, total, requests, ...): "
                     "found %s",
                     found->chars);
}

static bool is_one_queue(const struct columns *columns, size_t left, size_t right)
{
    owned(chars) char *name = columns_queue_name(columns, left);
    owned(chars) char *other = columns_queue_name(columns, right);

    return text_equal(name, other);
}

/* In a file without a column of counts, each remaining column must hold the counts of one queue. */
static int check_wide(const struct columns *columns, const struct csv *header,
                      const struct csv *row, struct error *err)
{
    struct packed_row cell;
    const char *why;
    size_t queues = 0;

    if (columns->count >= 0 || columns->is_log)
        return 0;
    for (size_t i = 0; columns->queue < 0 && i < columns->name_count; i++) {
        if (!columns_is_queue(columns, i))
            continue;
        if (role_of(columns, (int)i) != COLUMN_OTHER)
            return csv_error(header, header->line, err,
                             "\"%.80s\" is named like a time or a statistic, and the others like "
                             "queues: rename it, or take it out",
                             columns->names[i]);
        queues++;
        if (!cell_is_void(row->fields[i]) &&
            !cell_count(row->fields[i], row->delimiter, &cell, &why))
            return csv_error(header, header->line, err,
                             "the header names no column \"count\" (or value, sum, total, "
                             "requests, ...), and \"%.80s\" holds \"%.80s\": expected numbers in "
                             "it, if each column is a queue",
                             columns->names[i], row->fields[i]);
        for (size_t other = 0; other < i; other++)
            if (columns_is_queue(columns, other) && is_one_queue(columns, i, other))
                return csv_error(header, header->line, err, "two columns are named \"%.80s\"",
                                 columns->names[i]);
    }
    return queues > 0 ? 0 : no_count(columns, header, err);
}

/* A column "total" may be one queue's count, or the sum of the queues beside it. */
static int check_total(const struct columns *columns, const struct csv *header,
                       const struct csv *row, struct error *err)
{
    struct packed_row cell;
    const char *why;

    if (columns->count < 0 || columns->queue >= 0 ||
        strcasecmp(columns->names[columns->count], "count") == 0)
        return 0;
    for (int i = 0; i < (int)columns->name_count; i++)
        if (i != columns->date && i != columns->clock && !is_taken(columns, i) &&
            role_of(columns, i) == COLUMN_OTHER &&
            cell_count(row->fields[i], row->delimiter, &cell, &why))
            return csv_error(header, header->line, err,
                             "\"%.80s\" may be the number of requests, or belong to \"%.80s\" "
                             "beside it: name the one that is it \"count\", or take it out if each "
                             "column is a queue",
                             columns->names[columns->count], columns->names[i]);
    return 0;
}

/* A file without a header would lose its first row, and have arbitrary column names. */
static int check_header(const struct columns *columns, const struct csv *header, struct error *err)
{
    struct cell_time found;

    for (size_t i = 0; i < columns->name_count; i++)
        if (cell_time(columns->names[i], &found))
            return csv_error(header, header->line, err,
                             "is a row of values (\"%.80s\"): expected names of columns first, "
                             "like time,queue,count",
                             columns->names[i]);
    return 0;
}

static bool says_utc(const char *name)
{
    for (; *name; name++)
        if (tolower((unsigned char)name[0]) == 'u' && tolower((unsigned char)name[1]) == 't' &&
            tolower((unsigned char)name[2]) == 'c')
            return true;
    return false;
}

int columns_find(struct columns *columns, const struct csv *header, const struct csv *row,
                 struct error *err)
{
    *columns = (struct columns){ .date = -1, .clock = -1, .unit = -1, .tokens = { -1, -1, 0 } };
    columns->names = mem_new_array(header->columns, sizeof *columns->names);
    columns->rates_s = mem_new_array(header->columns, sizeof *columns->rates_s);
    for (size_t i = 0; i < header->columns; i++)
        columns->names[columns->name_count++] = mem_copy_chars(header->fields[i]);
    columns->queue = column_of_role(columns, COLUMN_QUEUE);
    columns->priority = column_of_role(columns, COLUMN_PRIORITY);
    if (check_header(columns, header, err) < 0 || find_count(columns, header, err) < 0 ||
        find_tokens(columns, header, err) < 0)
        return -1;
    if (columns->count < 0 && columns->queue >= 0 && !columns->is_log)
        return check_wide(columns, header, row, err);
    columns->date = find_date(columns, row);
    if (columns->date < 0 && find_elapsed(columns, header, row, err) < 0)
        return -1;
    if (columns->date < 0)
        return no_times(columns, row, err);
    columns->clock = find_clock(columns, row);
    columns->is_utc = says_utc(columns->names[columns->date]);
    if (find_units(columns, header, row, err) < 0 || check_total(columns, header, row, err) < 0)
        return -1;
    return check_wide(columns, header, row, err);
}

void columns_clear(struct columns *columns)
{
    for (size_t i = 0; i < columns->name_count; i++)
        mem_free(columns->names[i]);
    mem_free(columns->names);
    mem_free(columns->rates_s);
    *columns = (struct columns){ 0 };
}
