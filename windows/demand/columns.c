/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See columns.h.  Names are compared without regard to case, blanks and marks: "Queue Name" is
 * queue_name.
 */
#include "windows/demand/columns.h"

#include "base/text.h"
#include "windows/demand/cells.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { DATE_CHARS = 10 };

enum role { ROLE_NONE, ROLE_TIME, ROLE_QUEUE, ROLE_COUNT, ROLE_PRIORITY, ROLE_STATISTIC };

#define NEEDS_UNIT (-1.0)

static const struct name {
    const char *name;
    enum role role;
    double rate_s; /* of a count: requests in so many seconds; 0: in the step; NEEDS_UNIT */
} known_names[] = {
    { "time", ROLE_TIME, 0 },
    { "timestamp", ROLE_TIME, 0 },
    { "timestamps", ROLE_TIME, 0 },
    { "timestampms", ROLE_TIME, 0 },
    { "timeutc", ROLE_TIME, 0 },
    { "timestamputc", ROLE_TIME, 0 },
    { "date", ROLE_TIME, 0 },
    { "datetime", ROLE_TIME, 0 },
    { "dateutc", ROLE_TIME, 0 },
    { "datetimeutc", ROLE_TIME, 0 },
    { "when", ROLE_TIME, 0 },
    { "t", ROLE_TIME, 0 },
    { "ts", ROLE_TIME, 0 },
    { "epoch", ROLE_TIME, 0 },
    { "epochms", ROLE_TIME, 0 },
    { "unixtime", ROLE_TIME, 0 },
    { "day", ROLE_TIME, 0 },
    { "hour", ROLE_TIME, 0 },
    { "minute", ROLE_TIME, 0 },
    { "minuteutc", ROLE_TIME, 0 },
    { "minuteutciso", ROLE_TIME, 0 },
    { "queue", ROLE_QUEUE, 0 },
    { "queues", ROLE_QUEUE, 0 },
    { "queuename", ROLE_QUEUE, 0 },
    { "queueid", ROLE_QUEUE, 0 },
    { "count", ROLE_COUNT, 0 },
    { "counts", ROLE_COUNT, 0 },
    { "value", ROLE_COUNT, 0 },
    { "values", ROLE_COUNT, 0 },
    { "sum", ROLE_COUNT, 0 },
    { "total", ROLE_COUNT, 0 },
    { "requests", ROLE_COUNT, 0 },
    { "request", ROLE_COUNT, 0 },
    { "requestcount", ROLE_COUNT, 0 },
    { "numrequests", ROLE_COUNT, 0 },
    { "arrivals", ROLE_COUNT, 0 },
    { "messages", ROLE_COUNT, 0 },
    { "hits", ROLE_COUNT, 0 },
    { "calls", ROLE_COUNT, 0 },
    { "invocations", ROLE_COUNT, 0 },
    { "rate", ROLE_COUNT, NEEDS_UNIT },
    { "rps", ROLE_COUNT, 1 },
    { "qps", ROLE_COUNT, 1 },
    { "requests/s", ROLE_COUNT, 1 },
    { "req/s", ROLE_COUNT, 1 },
    { "requestspersecond", ROLE_COUNT, 1 },
    { "rpm", ROLE_COUNT, 60 },
    { "requests/min", ROLE_COUNT, 60 },
    { "req/min", ROLE_COUNT, 60 },
    { "requestsperminute", ROLE_COUNT, 60 },
    { "priority", ROLE_PRIORITY, 0 },
    { "prio", ROLE_PRIORITY, 0 },
    { "priorityclass", ROLE_PRIORITY, 0 },
};

/* Beside a sum, of which they say nothing. */
static const char *const statistic_names[] = { "samplecount", "average", "avg", "mean",  "minimum",
                                               "min",         "maximum", "max", "stddev" };

/* Beside tokens these names may describe one request: its total tokens, its messages, its name. */
static const char *const vague_names[] = { "value",   "values",   "sum",  "total",
                                           "request", "messages", "hits", "calls" };

static bool is_among(const char *plain, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(names[i], plain))
            return true;
    return false;
}

static const struct name *name_of(const char *field)
{
    static const struct name statistic = { "", ROLE_STATISTIC, 0 };
    char plain[CSV_NAME_CHARS];

    if (!csv_plain_name(field, plain))
        return NULL;
    for (size_t i = 0; i < COUNT_OF(known_names); i++)
        if (text_equal(known_names[i].name, plain))
            return &known_names[i];
    return is_among(plain, statistic_names, COUNT_OF(statistic_names)) ? &statistic : NULL;
}

static enum role role_of(const struct columns *columns, int column)
{
    const struct name *name = name_of(columns->names[column]);

    return name ? name->role : ROLE_NONE;
}

static int column_of_role(const struct columns *columns, enum role role)
{
    for (int i = 0; i < (int)columns->name_count; i++)
        if (role_of(columns, i) == role)
            return i;
    return -1;
}

int columns_queue_of_tokens(const struct csv *header)
{
    for (int i = 0; i < (int)header->columns; i++) {
        const struct name *name = name_of(header->fields[i]);

        if (name && name->role == ROLE_QUEUE)
            return i;
    }
    return csv_column(header, "model");
}

/* A column "count" is the count, whatever others there are; of other names only one may be
   present. */
static int find_count(struct columns *columns, const struct csv *header, struct error *err)
{
    const struct name *name;

    columns->count = csv_column(header, "count");
    for (int i = 0; columns->count < 0 && i < (int)columns->name_count; i++) {
        if (role_of(columns, i) != ROLE_COUNT)
            continue;
        for (int other = i + 1; other < (int)columns->name_count; other++)
            if (role_of(columns, other) == ROLE_COUNT)
                return csv_error(header, header->line, err,
                                 "columns \"%.80s\" and \"%.80s\" may both be the number of "
                                 "requests: name the one that is it \"count\"",
                                 columns->names[i], columns->names[other]);
        columns->count = i;
    }
    name = columns->count >= 0 ? name_of(columns->names[columns->count]) : NULL;
    columns->needs_unit = name && name->rate_s == NEEDS_UNIT;
    columns->rate_s = name && name->rate_s > 0 ? name->rate_s : 0;
    return 0;
}

/* The columns of prompt and answer tokens: both or none.  Beside them a count column needs the name
   of a count, and a column `model` may be the queue. */
static int find_tokens(struct columns *columns, const struct csv *header, struct error *err)
{
    struct token_columns *tokens = &columns->tokens;
    char plain[CSV_NAME_CHARS];
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
    if (columns->count >= 0 && csv_plain_name(columns->names[columns->count], plain) &&
        is_among(plain, vague_names, COUNT_OF(vague_names)))
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
            bool is_named = role_of(columns, i) == ROLE_TIME;
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
    return role_of(columns, column) == ROLE_TIME &&
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
    const struct name *found = unit_of(name) > 0 ? name_of(start) : NULL;

    return found && found->role == ROLE_TIME;
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
            (role_of(columns, i) != ROLE_TIME && !is_time_without_unit(name)))
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
    int named = column_of_role(columns, ROLE_TIME);

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
           (int)column != columns->clock && (int)column != columns->priority;
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
        if (role_of(columns, (int)i) != ROLE_NONE)
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
            if (columns_is_queue(columns, other) &&
                text_equal(columns->names[i], columns->names[other]))
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
            role_of(columns, i) == ROLE_NONE &&
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
    *columns = (struct columns){ .date = -1, .clock = -1, .tokens = { -1, -1, 0 } };
    columns->names = mem_new_array(header->columns, sizeof *columns->names);
    for (size_t i = 0; i < header->columns; i++)
        columns->names[columns->name_count++] = mem_copy_chars(header->fields[i]);
    columns->queue = column_of_role(columns, ROLE_QUEUE);
    columns->priority = column_of_role(columns, ROLE_PRIORITY);
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
    if (check_total(columns, header, row, err) < 0)
        return -1;
    return check_wide(columns, header, row, err);
}

void columns_clear(struct columns *columns)
{
    for (size_t i = 0; i < columns->name_count; i++)
        mem_free(columns->names[i]);
    mem_free(columns->names);
    *columns = (struct columns){ 0 };
}
