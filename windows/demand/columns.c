/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See columns.h.
 */
#include "windows/demand/columns.h"

#include "base/text.h"
#include "windows/demand/cells.h"
#include "windows/demand/time_columns.h"

#include <string.h>
#include <strings.h>

static enum column_role role_of(const struct columns *columns, int column)
{
    return column_name_of(columns->names[column]).role;
}

int columns_of_role(const struct columns *columns, enum column_role role)
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

/* Spreadsheets and libraries number the rows of a table: this column's first cells do so, too. */
static bool is_index(const struct columns *columns, size_t column, const struct csv *row,
                     const struct csv *second)
{
    static const char *const names[] = { "", "index", "unnamed0", "row", "rownumber" };
    char plain[CSV_NAME_CHARS];
    bool is_named = false;

    for (size_t i = 0; csv_plain_name(columns->names[column], plain) && i < COUNT_OF(names); i++)
        is_named = is_named || text_equal(names[i], plain);
    return is_named && second &&
           ((text_equal(row->fields[column], "0") && text_equal(second->fields[column], "1")) ||
            (text_equal(row->fields[column], "1") && text_equal(second->fields[column], "2")));
}

/* Splunk's fields about a row begin with _: _span is a step's length. */
static void find_left_out(struct columns *columns, const struct csv *row, const struct csv *second)
{
    for (size_t i = 0; i < columns->name_count; i++)
        columns->is_left_out[i] = (int)i != columns->date && (int)i != columns->clock &&
                                  !columns_is_taken(columns, (int)i) &&
                                  (columns->names[i][0] == '_' ||
                                   is_index(columns, i, row, second));
}

bool columns_is_queue(const struct columns *columns, size_t column)
{
    return columns->count < 0 && !columns->is_log && (int)column != columns->date &&
           (int)column != columns->clock && (int)column != columns->priority &&
           (int)column != columns->unit && !columns->is_left_out[column];
}

bool columns_is_read(const struct columns *columns, size_t column)
{
    int at = (int)column;

    return at == columns->date || at == columns->clock || at == columns->unit ||
           columns_is_taken(columns, at) || columns_is_queue(columns, column);
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
    int unit = columns->is_log ? -1 : columns_of_role(columns, COLUMN_UNIT);
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
                             "one like (req/s), /min or per hour, or another name",
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

/* "09:00". */
static bool is_clock(const char *name)
{
    char joined[COLUMNS_TIME_CHARS];
    struct cell_time found;

    return strchr(name, ':') && columns_join("2026-11-17", name, joined) &&
           cell_time(joined, &found);
}

/* "9". */
static bool is_number(const char *name)
{
    size_t digits = strspn(name, "0123456789");

    return (digits == 1 || digits == 2) && name[digits] == '\0';
}

/* A sheet with a row for each day, and a column for each of its hours. */
static int check_hours(const struct columns *columns, const struct csv *header,
                       const struct csv *row, struct error *err)
{
    enum { HOURS_A_DAY = 24, DATE_CHARS = 10 };
    size_t queues = 0;
    size_t clocks = 0;
    size_t numbers = 0;

    for (size_t i = 0; i < columns->name_count; i++) {
        queues += columns_is_queue(columns, i);
        clocks += columns_is_queue(columns, i) && is_clock(columns->names[i]);
        numbers += columns_is_queue(columns, i) && is_number(columns->names[i]);
    }
    if (strlen(row->fields[columns->date]) != DATE_CHARS || columns->clock >= 0 ||
        ((queues < 2 || clocks != queues) && (queues != HOURS_A_DAY || numbers != queues)))
        return 0;
    return csv_error(header, header->line, err,
                     "the columns are hours of a day, not queues: expected a row for each hour, "
                     "with its time and its count");
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
    if (columns->queue < 0 && check_hours(columns, header, row, err) < 0)
        return -1;
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

static bool holds_count(const struct csv *row, int column)
{
    struct packed_row cell;
    const char *why;

    return cell_count(row->fields[column], row->delimiter, &cell, &why);
}

/* A column "total" may be one queue's count, or the sum of the queues beside it. */
static int check_total(const struct columns *columns, const struct csv *header,
                       const struct csv *row, const struct csv *second, struct error *err)
{
    if (columns->count < 0 || columns->queue >= 0 ||
        strcasecmp(columns->names[columns->count], "count") == 0)
        return 0;
    for (int i = 0; i < (int)columns->name_count; i++)
        if (i != columns->date && i != columns->clock && !columns_is_taken(columns, i) &&
            role_of(columns, i) == COLUMN_OTHER && !columns->is_left_out[i] &&
            (holds_count(row, i) ||
             (cell_is_void(row->fields[i]) && second && holds_count(second, i))))
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

/* Two columns of one name, where one is expected. */
static int check_twice(const struct columns *columns, const struct csv *header, int column,
                       struct error *err)
{
    for (int i = 0; column >= 0 && i < (int)columns->name_count; i++)
        if (i != column && strcasecmp(columns->names[i], columns->names[column]) == 0)
            return csv_error(header, header->line, err, "two columns are named \"%.80s\"",
                             columns->names[i]);
    return 0;
}

int columns_find(struct columns *columns, const struct csv *header, const struct csv *row,
                 const struct csv *second, struct error *err)
{
    *columns = (struct columns){ .date = -1, .clock = -1, .unit = -1, .tokens = { -1, -1, 0 } };
    columns->names = mem_new_array(header->columns, sizeof *columns->names);
    columns->rates_s = mem_new_array(header->columns, sizeof *columns->rates_s);
    columns->is_left_out = mem_new_array(header->columns, sizeof *columns->is_left_out);
    for (size_t i = 0; i < header->columns; i++)
        columns->names[columns->name_count++] = mem_copy_chars(header->fields[i]);
    columns->queue = columns_of_role(columns, COLUMN_QUEUE);
    columns->priority = columns_of_role(columns, COLUMN_PRIORITY);
    if (check_header(columns, header, err) < 0 || find_count(columns, header, err) < 0 ||
        find_tokens(columns, header, err) < 0 ||
        check_twice(columns, header, columns->count, err) < 0 ||
        check_twice(columns, header, columns->queue, err) < 0 ||
        check_twice(columns, header, columns->priority, err) < 0)
        return -1;
    if (columns->count < 0 && columns->queue >= 0 && !columns->is_log)
        return check_wide(columns, header, row, err);
    if (time_columns_find(columns, header, row, err) < 0)
        return -1;
    find_left_out(columns, row, second);
    if (find_units(columns, header, row, err) < 0 ||
        check_total(columns, header, row, second, err) < 0)
        return -1;
    return check_wide(columns, header, row, err);
}

void columns_clear(struct columns *columns)
{
    for (size_t i = 0; i < columns->name_count; i++)
        mem_free(columns->names[i]);
    mem_free(columns->names);
    mem_free(columns->rates_s);
    mem_free(columns->is_left_out);
    *columns = (struct columns){ 0 };
}
