/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From bytes to rows: which column is which, and what each cell says.
 */
#include "windows/demand_rows.h"

#include "base/map.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

enum { DAY_CHARS = 11 }; /* "2026-11-17T" */

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

/* Milliseconds of "12:12:00Z"; -1: it is something else. */
static int64_t clock_ms(const char *at)
{
    int hour = two_digits(at, 24);
    int minute = hour >= 0 && at[2] == ':' ? two_digits(at + 3, 60) : -1;
    int second = minute >= 0 && at[5] == ':' ? two_digits(at + 6, 60) : -1;

    if (second < 0 || at[8] != 'Z' || at[9] != '\0')
        return -1;
    return hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS;
}

static int read_time(const struct csv *csv, const char *text, struct last_row *last,
                     int64_t *ret_ms, struct error *err)
{
    bool is_same_day = strncmp(text, last->day, DAY_CHARS) == 0;
    int64_t clock = is_same_day ? clock_ms(text + DAY_CHARS) : -1;
    struct wall_time wall;
    struct error reason = { 0 };

    if (clock >= 0) {
        *ret_ms = last->day_ms + clock;
        return 0;
    }
    if (wall_parse(text, true, &wall, &reason) < 0)
        return csv_error(csv, csv->line, err, "%s", reason.text);
    *ret_ms = wall.ms;
    if (strlen(text) > DAY_CHARS && (clock = clock_ms(text + DAY_CHARS)) >= 0) {
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

static int read_row(const struct csv *csv, const struct columns *columns, struct map *names,
                    struct demand_rows *rows, struct last_row *last, struct error *err)
{
    struct demand_row row = { .line = csv->line, .class = DEMAND_LOW };

    if (read_time(csv, csv->fields[columns->time], last, &row.ms, err) < 0 ||
        read_count(csv, csv->fields[columns->count], &row.count, err) < 0)
        return -1;
    if (columns->priority >= 0 &&
        read_class(csv, csv->fields[columns->priority], &row.class, err) < 0)
        return -1;
    if (columns->queue >= 0) {
        int queue = queue_index(csv, rows, names, csv->fields[columns->queue], last, err);

        if (queue < 0)
            return -1;
        row.queue = (uint32_t)queue;
    }
    if (rows->rows.count == 0 || row.ms < rows->first_ms)
        rows->first_ms = row.ms;
    if (rows->rows.count == 0 || row.ms > rows->last_ms)
        rows->last_ms = row.ms;
    *array_add(&rows->rows) = row;
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

int demand_rows_read(struct demand_rows *rows, char *bytes, size_t size, const char *source,
                     struct error *err)
{
    owned(map) struct map *names = map_new(NULL);
    struct last_row last = { 0 };
    struct csv csv;
    int more;

    rows->source = source;
    if (csv_open(&csv, bytes, size, source, err) < 0)
        return -1;

    struct columns columns = { -1, column_named(&csv, "queue"), column_named(&csv, "count"),
                               column_named(&csv, "priority") };

    if (columns.count < 0)
        return csv_error(&csv, csv.line, err, "the header names no column \"count\"");
    rows->has_priority = columns.priority >= 0;
    if (columns.queue < 0)
        *array_add(&rows->queues) = name_of_source(source);
    while ((more = csv_next(&csv, err)) == 1) {
        if (columns.time < 0 && (columns.time = find_time(&csv, &columns)) < 0)
            return csv_error(&csv, csv.line, err,
                             "no column holds times like "
                             "2026-11-17T12:12:00Z");
        if (read_row(&csv, &columns, names, rows, &last, err) < 0)
            return -1;
    }
    if (more < 0)
        return -1;
    if (rows->rows.count == 0)
        return error_set(err, ERROR_INVALID, "%s: has a header and no rows", source);
    return 0;
}
