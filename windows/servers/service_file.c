/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing them.  A table's numbers are written with all the digits that matter: what is
 * read again is what was measured.
 */
#include "windows/servers/service_file.h"

#include "base/file.h"
#include "base/timestamp.h"
#include "windows/demand/csv.h"

#include <string.h>

enum { FILE_LIMIT = 64 << 20 };
enum column { QUEUE, MEAN, FROM, TO, COUNT, COLUMNS };

static const char *const column_names[COLUMNS] = { "queue", "mean_s", "from_s", "to_s", "count" };

/* What is read of a file so far, and where it began. */
struct reader {
    struct csv csv;
    ARRAY(struct service_part) parts;
    const char *queue; /* of the parts; NULL: none yet */
    double mean_s;
    int first_line;
};

static int read_number(const struct csv *csv, size_t column, const char *name, double *ret,
                       struct error *err)
{
    if (text_to_double(csv->fields[column], ret))
        return 0;
    return csv_error(csv, csv->line, err, "%s: expected a number, found \"%.80s\"", name,
                     csv->fields[column]);
}

/* Seconds as a number, or as a duration: 28.7, 28.7s, 250ms. */
static int read_seconds(const struct csv *csv, double *ret, struct error *err)
{
    int64_t ms;

    if (duration_parse(csv->fields[0], &ms, NULL) < 0)
        return read_number(csv, 0, "seconds", ret, err);
    *ret = (double)ms / SECOND_MS;
    return 0;
}

/* A program writes these files: one without its last line end was truncated, maybe inside a
   number. */
static int check_whole(const struct csv *csv, struct error *err)
{
    return csv->is_cut ? csv_error(csv, csv->line, err,
                                   "the last line has no line end: the file may have been cut")
                       : 0;
}

static struct service_shape *finish(struct reader *reader, const char *origin, struct error *err)
{
    struct error why = { 0 };
    struct service_shape *shape = service_shape_measured(reader->parts.items, reader->parts.count,
                                                         reader->mean_s, origin, &why);

    if (!shape)
        csv_error(&reader->csv, reader->first_line, err, "%s", why.text);
    array_clear(&reader->parts);
    return shape;
}

/* A row of seconds, or seconds and a count. */
static int read_time(struct reader *reader, struct error *err)
{
    const struct csv *csv = &reader->csv;
    struct service_part part = { .count = 1 };

    if (read_seconds(csv, &part.from_s, err) < 0 ||
        (csv->count > 1 && read_number(csv, 1, "count", &part.count, err) < 0))
        return -1;
    if (part.from_s < 0 || part.from_s > SERVICE_SECONDS_MAX)
        return csv_error(csv, csv->line, err, "seconds: %g is not between 0 and %d", part.from_s,
                         SERVICE_SECONDS_MAX);
    if (part.count < 0 || part.count > 1e12)
        return csv_error(csv, csv->line, err, "count: %g is not between 0 and 1e12", part.count);
    part.to_s = part.from_s;
    *array_add(&reader->parts) = part;
    return 0;
}

struct service_shape *service_file_read(const char *path, struct error *err)
{
    owned(text) struct text *bytes = file_read_unpacked(path, FILE_LIMIT, err);
    struct reader reader = { .first_line = 1 };
    double number;
    int more = 1;

    if (!bytes || csv_open(&reader.csv, bytes->chars, bytes->length, path, err) < 0)
        return NULL;
    if (reader.csv.columns > 2) {
        csv_error(&reader.csv, 1, err, "%zu columns: expected seconds, or seconds and count",
                  reader.csv.columns);
        return NULL;
    }
    if (!text_to_double(reader.csv.fields[0], &number)) /* names of columns */
        more = csv_next(&reader.csv, err);
    while (more == 1 && read_time(&reader, err) == 0)
        more = csv_next(&reader.csv, err);
    if (more == 0 && check_whole(&reader.csv, err) == 0)
        return finish(&reader, path, err);
    array_clear(&reader.parts);
    return NULL;
}

void service_table_free(struct service_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++) {
        mem_free(table->rows[i].queue);
        service_shape_free(table->rows[i].shape);
    }
    mem_free(table->rows);
    mem_free(table);
}

static struct service_row *find_row(const struct service_table *table, const char *queue)
{
    for (size_t i = 0; table && i < table->count; i++)
        if (text_equal(table->rows[i].queue, queue))
            return &table->rows[i];
    return NULL;
}

const struct service_shape *service_table_find(const struct service_table *table, const char *queue)
{
    const struct service_row *row = find_row(table, queue);

    return row ? row->shape : NULL;
}

struct service_shape *service_table_take(struct service_table *table, const char *queue)
{
    struct service_row *row = find_row(table, queue);

    return row ? steal(&row->shape) : NULL;
}

static int end_queue(struct reader *reader, struct service_table *table, struct error *err)
{
    if (!reader->queue)
        return 0;
    if (service_table_find(table, reader->queue))
        return csv_error(&reader->csv, reader->first_line, err, "queue %s stands in two places",
                         reader->queue);

    struct service_shape *shape = finish(reader, reader->csv.source, err);

    if (!shape)
        return -1;
    table->rows = mem_resize(table->rows, table->count + 1, sizeof *table->rows);
    table->rows[table->count++] = (struct service_row){ mem_copy_chars(reader->queue), shape };
    return 0;
}

static int read_row(struct reader *reader, struct service_table *table, struct error *err)
{
    const struct csv *csv = &reader->csv;
    struct service_part part;
    double mean_s;

    if (read_number(csv, MEAN, column_names[MEAN], &mean_s, err) < 0 ||
        read_number(csv, FROM, column_names[FROM], &part.from_s, err) < 0 ||
        read_number(csv, TO, column_names[TO], &part.to_s, err) < 0 ||
        read_number(csv, COUNT, column_names[COUNT], &part.count, err) < 0)
        return -1;
    if (!text_equal(reader->queue, csv->fields[QUEUE])) {
        if (end_queue(reader, table, err) < 0)
            return -1;
        reader->queue = csv->fields[QUEUE];
        reader->mean_s = mean_s;
        reader->first_line = csv->line;
    }
    if (mean_s <= 0 || mean_s != reader->mean_s)
        return csv_error(csv, csv->line, err, "mean_s: %g, and %g before", mean_s, reader->mean_s);
    *array_add(&reader->parts) = part;
    return 0;
}

static int read_rows(struct reader *reader, struct service_table *table, struct error *err)
{
    int more;

    for (int i = 0; i < COLUMNS; i++)
        if (reader->csv.columns != COLUMNS || csv_column(&reader->csv, column_names[i]) != i)
            return csv_error(&reader->csv, 1, err,
                             "expected the columns queue, mean_s, from_s, to_s, count");
    while ((more = csv_next(&reader->csv, err)) == 1)
        if (read_row(reader, table, err) < 0)
            return -1;
    if (more < 0 || check_whole(&reader->csv, err) < 0)
        return -1;
    return end_queue(reader, table, err);
}

struct service_table *service_table_read(const char *path, struct error *err)
{
    owned(text) struct text *bytes = file_read_unpacked(path, FILE_LIMIT, err);
    owned(service_table) struct service_table *table = mem_new(sizeof *table);
    struct reader reader = { 0 };

    if (!bytes || csv_open(&reader.csv, bytes->chars, bytes->length, path, err) < 0)
        return NULL;
    if (read_rows(&reader, table, err) == 0)
        return steal(&table);
    array_clear(&reader.parts);
    return NULL;
}

void service_table_begin(struct text *out)
{
    for (int i = 0; i < COLUMNS; i++)
        text_add(out, "%s%s", column_names[i], i + 1 < COLUMNS ? "," : "\n");
}

void service_table_add(struct text *out, const char *queue, const struct service_shape *shape)
{
    for (size_t i = 0; i < shape->count; i++)
        text_add(out, "%s,%.17g,%.15g,%.15g,%.15g\n", queue, shape->mean_s, shape->parts[i].from_s,
                 shape->parts[i].to_s, shape->parts[i].count);
}

char *demand_table_path(const char *demand, const char *what)
{
    static const char *const endings[] = { ".gz", ".csv" };
    size_t length = strlen(demand);

    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        size_t size = strlen(endings[i]);

        if (length > size && strncmp(demand + length - size, endings[i], size) == 0)
            length -= size;
    }
    return text_format("%.*s.%s.csv", (int)length, demand, what);
}

char *service_table_path(const char *demand)
{
    return demand_table_path(demand, "service");
}
