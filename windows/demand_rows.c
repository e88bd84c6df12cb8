/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From bytes to rows: which column is which, and what each cell says.
 */
#include "windows/demand_rows.h"

#include "base/map.h"
#include "base/text.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum {
    DAY_CHARS = 11,       /* "2026-11-17T" */
    CLOCK_CHARS = 9,      /* "12:12:00Z" */
    CELL_CHARS = 32,      /* more than any cell that is read quickly, with what ends it */
    PART_BYTES = 4 << 20, /* fewer do not pay for a thread */
    PARTS_MAX = 16,
};

struct columns {
    int time;
    int queue;
    int count;
    int priority;
};

/* Files repeat themselves from row to row: what the last row said is looked at first. */
struct last_row {
    char day[DAY_CHARS]; /* of its time; empty: not known */
    int64_t day_ms;      /* when that began in UTC */
    size_t queue;
};

/* One thread's. */
struct reader {
    struct csv csv;
    const struct columns *columns;
    struct demand_rows rows;
    struct map *names; /* of rows.queues */
    struct last_row last;
    struct error err; /* where it ended, if any */
};

void demand_rows_clear(struct demand_rows *rows)
{
    for (size_t i = 0; i < rows->queues.count; i++)
        mem_free(rows->queues.items[i]);
    array_clear(&rows->queues);
    array_clear(&rows->rows);
}

static int column_named(const struct csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->columns; i++)
        if (text_equal(csv->fields[i], name))
            return (int)i;
    return -1;
}

/* The first cell of the first row that reads as a time says which column holds them. */
static int find_time(const struct csv *csv, const struct columns *columns)
{
    struct wall_time wall;

    for (int i = 0; i < (int)csv->columns; i++)
        if (i != columns->queue && i != columns->count && i != columns->priority &&
            wall_parse(csv->fields[i], true, &wall, NULL) == 0)
            return i;
    return -1;
}

/* Two digits below a limit, or -1. */
static int two_digits(const char *at, int limit)
{
    int value = at[0] >= '0' && at[0] <= '9' && at[1] >= '0' && at[1] <= '9'
                    ? 10 * (at[0] - '0') + at[1] - '0'
                    : -1;

    return value < limit ? value : -1;
}

/* Milliseconds of "12:12:00Z", whatever follows; -1: it is something else. */
static int64_t clock_ms(const char *at)
{
    int hour = two_digits(at, 24);
    int minute = hour >= 0 && at[2] == ':' ? two_digits(at + 3, 60) : -1;
    int second = minute >= 0 && at[5] == ':' ? two_digits(at + 6, 60) : -1;

    if (second < 0 || at[8] != 'Z')
        return -1;
    return hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS;
}

/* The same of a whole cell with a day before it. */
static int64_t clock_of(const char *text)
{
    return strlen(text) == DAY_CHARS + CLOCK_CHARS ? clock_ms(text + DAY_CHARS) : -1;
}

static int read_time(const struct csv *csv, const char *text, struct last_row *last,
                     int64_t *ret_ms, struct error *err)
{
    bool is_same_day = strncmp(text, last->day, DAY_CHARS) == 0;
    int64_t clock = is_same_day ? clock_of(text) : -1;
    struct wall_time wall;
    struct error reason = { 0 };

    if (clock >= 0) {
        *ret_ms = last->day_ms + clock;
        return 0;
    }
    if (wall_parse(text, true, &wall, &reason) < 0)
        return csv_error(csv, csv->line, err, "%s", reason.text);
    *ret_ms = wall.ms;
    if ((clock = clock_of(text)) >= 0) {
        memcpy(last->day, text, DAY_CHARS);
        last->day_ms = wall.ms - clock;
    }
    return 0;
}

/* Whole numbers; "12.0", as some exports write them, is one. */
static int read_count(const struct csv *csv, const char *text, int32_t *ret, struct error *err)
{
    long long whole;
    double number;
    int32_t quick = 0;
    size_t digits = 0;

    for (; digits < 9 && text[digits] >= '0' && text[digits] <= '9'; digits++)
        quick = 10 * quick + text[digits] - '0';
    if (digits > 0 && text[digits] == '\0') {
        *ret = quick;
        return 0;
    }
    if (!text_to_int(text, INT64_MIN, INT64_MAX, &whole)) {
        if (!text_to_double(text, &number) || number != floor(number) || fabs(number) > 1e15)
            return csv_error(csv, csv->line, err, "count: expected a whole number, found \"%.80s\"",
                             text);
        whole = (long long)number;
    }
    if (whole < 0)
        return csv_error(csv, csv->line, err, "count: %lld is negative", whole);
    if (whole > INT32_MAX)
        return csv_error(csv, csv->line, err, "count: %lld is more than %d", whole, INT32_MAX);
    *ret = (int32_t)whole;
    return 0;
}

static int read_class(const struct csv *csv, const char *text, enum demand_class *ret,
                      struct error *err)
{
    if (text_equal(text, "high"))
        *ret = DEMAND_HIGH;
    else if (text_equal(text, "low"))
        *ret = DEMAND_LOW;
    else
        return csv_error(csv, csv->line, err, "priority: expected high or low, found \"%.80s\"",
                         text);
    return 0;
}

/* Indexes are stored plus one, so that none is NULL. */
static int queue_index(const struct csv *csv, struct demand_rows *rows, struct map *names,
                       const char *name, struct last_row *last, struct error *err)
{
    uintptr_t found;

    /* the queue of the last row, or the one that the file named after it */
    for (size_t turn = 0; turn < 2 && rows->queues.count > 0; turn++) {
        size_t at = (last->queue + turn) % rows->queues.count;

        if (text_equal(rows->queues.items[at], name)) {
            last->queue = at;
            return (int)at;
        }
    }
    found = (uintptr_t)map_get(names, name);
    if (found) {
        last->queue = found - 1;
        return (int)found - 1;
    }
    if (name[0] == '\0')
        return csv_error(csv, csv->line, err, "queue: is empty");
    if (rows->queues.count == DEMAND_QUEUES_MAX)
        return csv_error(csv, csv->line, err, "more than %d queues", DEMAND_QUEUES_MAX);
    *array_add(&rows->queues) = mem_copy_chars(name);
    map_set(names, name, (void *)(uintptr_t)rows->queues.count);
    return (int)rows->queues.count - 1;
}

static void add_row(struct demand_rows *rows, const struct demand_row *row)
{
    if (rows->rows.count == 0 || row->ms < rows->first_ms)
        rows->first_ms = row->ms;
    if (rows->rows.count == 0 || row->ms > rows->last_ms)
        rows->last_ms = row->ms;
    *array_add(&rows->rows) = *row;
}

static int read_row(struct reader *reader, struct error *err)
{
    const struct csv *csv = &reader->csv;
    const struct columns *columns = reader->columns;
    struct demand_row row = { .line = csv->line, .class = DEMAND_LOW };

    if (read_time(csv, csv->fields[columns->time], &reader->last, &row.ms, err) < 0 ||
        read_count(csv, csv->fields[columns->count], &row.count, err) < 0)
        return -1;
    if (columns->priority >= 0 &&
        read_class(csv, csv->fields[columns->priority], &row.class, err) < 0)
        return -1;
    if (columns->queue >= 0) {
        int queue = queue_index(csv, &reader->rows, reader->names, csv->fields[columns->queue],
                                &reader->last, err);

        if (queue < 0)
            return -1;
        row.queue = (uint32_t)queue;
    }
    add_row(&reader->rows, &row);
    return 0;
}

/* "traces/arrivals.csv.gz" is "arrivals". */
static char *name_of_source(const char *source)
{
    const char *slash = strrchr(source, '/');
    char *name = mem_copy_chars(slash ? slash + 1 : source);

    for (int i = 0; i < 2; i++) {
        char *dot = strrchr(name, '.');

        if (dot && dot > name && (text_equal(dot, ".csv") || text_equal(dot, ".gz")))
            *dot = '\0';
    }
    return name;
}

/* Past the end of a cell, or NULL where it goes on. */
static const char *past_end(const char *at, bool is_last)
{
    if (is_last)
        at += *at == '\r';
    return *at == (is_last ? '\n' : ',') ? at + 1 : NULL;
}

/* Past the name of the queue of the last row, or of the one that the file named after it. */
static const char *quick_queue(struct reader *reader, const char *at)
{
    const struct demand_rows *rows = &reader->rows;

    for (size_t turn = 0; turn < 2 && rows->queues.count > 0; turn++) {
        size_t queue = (reader->last.queue + turn) % rows->queues.count;
        const char *name = rows->queues.items[queue];
        size_t length = strcspn(name, ",\"\r"); /* with one of these it stands in quotes */

        if (name[length] == '\0' && length + CELL_CHARS < (size_t)(reader->csv.end - at) &&
            memcmp(at, name, length) == 0 && strchr(",\r\n", at[length])) {
            reader->last.queue = queue;
            return at + length;
        }
    }
    return NULL;
}

/* Past what a cell says, where it says what such cells mostly do. */
static const char *quick_cell(struct reader *reader, int column, const char *at,
                              struct demand_row *row)
{
    const struct columns *columns = reader->columns;
    const char *begin = at;

    if (reader->csv.end - at < CELL_CHARS)
        return NULL;
    if (column == columns->time) {
        int64_t clock = memcmp(at, reader->last.day, DAY_CHARS) == 0 ? clock_ms(at + DAY_CHARS)
                                                                     : -1;

        row->ms = reader->last.day_ms + clock;
        return clock < 0 ? NULL : at + DAY_CHARS + CLOCK_CHARS;
    }
    if (column == columns->count) {
        for (; at < begin + 9 && *at >= '0' && *at <= '9'; at++)
            row->count = 10 * row->count + *at - '0';
        return at > begin ? at : NULL;
    }
    if (column == columns->queue) {
        at = quick_queue(reader, at);
        row->queue = (uint32_t)reader->last.queue;
        return at;
    }
    if (column != columns->priority)
        return NULL;
    row->class = *at == 'h' ? DEMAND_HIGH : DEMAND_LOW;
    if (memcmp(at, "high", 4) == 0)
        return at + 4;
    return memcmp(at, "low", 3) == 0 ? at + 3 : NULL;
}

/* Adds a row that looks like the one before it; false, and nothing has happened, for any other. */
static bool quick_row(struct reader *reader)
{
    struct csv *csv = &reader->csv;
    struct demand_row row = { .line = csv->line + 1, .class = DEMAND_LOW };
    const char *at = csv->at;

    for (size_t i = 0; at && i < csv->columns; i++) {
        at = quick_cell(reader, (int)i, at, &row);
        at = at ? past_end(at, i + 1 == csv->columns) : NULL;
    }
    if (!at)
        return false;
    csv->at += at - csv->at;
    csv->line++;
    add_row(&reader->rows, &row);
    return true;
}

/* To the end, or to the first mistake. */
static void *read_rows(void *argument)
{
    struct reader *reader = argument;

    for (;;) {
        if (quick_row(reader))
            continue;
        if (csv_next(&reader->csv, &reader->err) != 1 || read_row(reader, &reader->err) < 0)
            return NULL;
    }
}

/* The queues of a part get the numbers that they have in the whole. */
static int join_queues(struct reader *whole, const struct reader *part, uint32_t *numbers,
                       struct error *err)
{
    size_t row = 0; /* their first rows follow each other as they do */

    for (size_t i = 0; i < part->rows.queues.count; i++) {
        const char *name = part->rows.queues.items[i];
        int queue;

        while (part->rows.rows.items[row].queue != i)
            row++;
        whole->csv.line = part->rows.rows.items[row].line;
        queue = queue_index(&whole->csv, &whole->rows, whole->names, name, &whole->last, err);
        if (queue < 0)
            return -1;
        numbers[i] = (uint32_t)queue;
    }
    return 0;
}

static int join_part(struct reader *whole, struct reader *part, struct error *err)
{
    size_t count = part->rows.rows.count;
    uint32_t *numbers = mem_new_array(part->rows.queues.count, sizeof *numbers);
    int result = join_queues(whole, part, numbers, err);

    if (result == 0 && part->err.kind != ERROR_NONE) {
        *err = part->err;
        result = -1;
    }
    for (size_t i = 0; result == 0 && i < count; i++) {
        struct demand_row row = part->rows.rows.items[i];

        row.queue = whole->columns->queue >= 0 ? numbers[row.queue] : 0;
        add_row(&whole->rows, &row);
    }
    mem_free(numbers);
    return result;
}

/* What follows, in parts side by side: their rows in the order of the file, and of mistakes the
   first. */
static int read_parts(struct reader *whole, size_t part_bytes, struct error *err)
{
    struct csv parts[PARTS_MAX];
    struct reader readers[PARTS_MAX] = { 0 };
    pthread_t threads[PARTS_MAX];
    bool runs[PARTS_MAX];
    size_t wanted = (size_t)(whole->csv.end - whole->csv.at) / part_bytes + 1;
    size_t count = csv_split(&whole->csv, wanted < PARTS_MAX ? wanted : PARTS_MAX, parts);
    int result = 0;

    for (size_t i = 0; i < count; i++) {
        readers[i].csv = parts[i];
        readers[i].columns = whole->columns;
        readers[i].names = map_new(NULL);
        runs[i] = i + 1 < count && pthread_create(&threads[i], NULL, read_rows, &readers[i]) == 0;
        if (!runs[i])
            read_rows(&readers[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (runs[i])
            pthread_join(threads[i], NULL);
        if (result == 0)
            result = join_part(whole, &readers[i], err);
        map_free(readers[i].names);
        demand_rows_clear(&readers[i].rows);
    }
    return result;
}

int demand_rows_read(struct demand_rows *rows, char *bytes, size_t size, const char *source,
                     size_t part_bytes, struct error *err)
{
    owned(map) struct map *names = map_new(NULL);
    struct reader reader = { .names = names };
    struct csv *csv = &reader.csv;
    int more;

    rows->source = source;
    if (csv_open(csv, bytes, size, source, err) < 0)
        return -1;

    struct columns columns = { -1, column_named(csv, "queue"), column_named(csv, "count"),
                               column_named(csv, "priority") };

    if (columns.count < 0)
        return csv_error(csv, csv->line, err, "the header names no column \"count\"");
    more = csv_next(csv, err);
    if (more < 0)
        return -1;
    if (more == 0)
        return error_set(err, ERROR_INVALID, "%s: has a header and no rows", source);
    columns.time = find_time(csv, &columns);
    if (columns.time < 0)
        return csv_error(csv, csv->line, err,
                         "no column holds times like "
                         "2026-11-17T12:12:00Z");
    reader.columns = &columns;
    reader.rows = *rows;
    reader.rows.has_priority = columns.priority >= 0;
    if (columns.queue < 0)
        *array_add(&reader.rows.queues) = name_of_source(source);

    int result = read_row(&reader, err);

    if (result == 0)
        result = read_parts(&reader, part_bytes > 0 ? part_bytes : PART_BYTES, err);
    *rows = reader.rows;
    return result;
}
