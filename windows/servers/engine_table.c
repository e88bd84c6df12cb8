/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing it.  What is read again is what was measured.
 */
#include "windows/servers/engine_table.h"

#include "base/file.h"
#include "windows/demand/csv.h"
#include "windows/servers/engine_lengths.h"
#include "windows/servers/service_file.h"

#include <stddef.h>

enum { FILE_LIMIT = 1 << 20 };

/* The numbers of a row, in the order of the columns after `queue`. */
static const struct {
    const char *name;
    size_t offset;
    double min, max;
} columns[] = {
    { "iteration_s", offsetof(struct engine_measure, iteration_s), 0, 10 },
    { "iteration_per_request_s", offsetof(struct engine_measure, per_request_s), 0, 1 },
    { "prefill_per_token_s", offsetof(struct engine_measure, prefill_s), 0, 1 },
    { "tokens_in", offsetof(struct engine_measure, tokens_in), 0, TOKENS_MAX },
    { "tokens_out", offsetof(struct engine_measure, tokens_out), 1, TOKENS_MAX },
    { "tokens_cv", offsetof(struct engine_measure, tokens_cv), 0, 10 },
};

static double *number_at(struct engine_measure *measure, size_t column)
{
    return (double *)(void *)((char *)measure + columns[column].offset);
}

void engine_table_free(struct engine_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++)
        mem_free(table->rows[i].queue);
    mem_free(table->rows);
    mem_free(table);
}

static const struct engine_measure *find(const struct engine_table *table, const char *queue)
{
    for (size_t i = 0; i < table->count; i++)
        if (text_equal(table->rows[i].queue, queue))
            return &table->rows[i].measure;
    return NULL;
}

const struct engine_measure *engine_table_find(const struct engine_table *table, const char *queue)
{
    return table ? find(table, queue) : NULL;
}

static int read_row(const struct csv *csv, struct engine_table *table, struct error *err)
{
    struct engine_measure measure = { 0 };

    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        const char *field = csv->fields[i + 1];
        double *number = number_at(&measure, i);

        if (!text_to_double(field, number) ||
            !(*number >= columns[i].min && *number <= columns[i].max))
            return csv_error(csv, csv->line, err,
                             "%s: expected a number from %g to %g, found \"%.80s\"",
                             columns[i].name, columns[i].min, columns[i].max, field);
    }
    if (!(measure.iteration_s + measure.per_request_s > 0))
        return csv_error(csv, csv->line, err, "an iteration takes no time");
    if (find(table, csv->fields[0]))
        return csv_error(csv, csv->line, err, "queue %s stands in two places", csv->fields[0]);
    table->rows = mem_resize(table->rows, table->count + 1, sizeof *table->rows);
    table->rows[table->count++] = (struct engine_row){ mem_copy_chars(csv->fields[0]), measure };
    return 0;
}

static int read_rows(struct csv *csv, struct engine_table *table, struct error *err)
{
    bool is_right = csv->columns == COUNT_OF(columns) + 1 && csv_column(csv, "queue") == 0;
    int more;

    for (size_t i = 0; i < COUNT_OF(columns) && is_right; i++)
        is_right = csv_column(csv, columns[i].name) == (int)i + 1;
    if (!is_right)
        return csv_error(csv, 1, err,
                         "expected the columns queue, iteration_s, iteration_per_request_s, "
                         "prefill_per_token_s, tokens_in, tokens_out, tokens_cv");
    while ((more = csv_next(csv, err)) == 1)
        if (read_row(csv, table, err) < 0)
            return -1;
    if (more == 0 && csv->is_cut)
        return csv_error(csv, csv->line, err,
                         "the last line has no line end: the file may have been cut");
    return more;
}

struct engine_table *engine_table_read(const char *path, struct error *err)
{
    owned(text) struct text *bytes = file_read_unpacked(path, FILE_LIMIT, err);
    owned(engine_table) struct engine_table *table = mem_new(sizeof *table);
    struct csv csv;

    if (!bytes || csv_open(&csv, bytes->chars, bytes->length, path, err) < 0 ||
        read_rows(&csv, table, err) < 0)
        return NULL;
    return steal(&table);
}

void engine_table_begin(struct text *out)
{
    text_add(out, "queue");
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        text_add(out, ",%s", columns[i].name);
    text_add(out, "\n");
}

void engine_table_add(struct text *out, const char *queue, const struct engine_measure *measure)
{
    struct engine_measure copy = *measure;

    text_add(out, "%s", queue);
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        text_add(out, ",%.17g", *number_at(&copy, i));
    text_add(out, "\n");
}

char *engine_table_path(const char *demand)
{
    return demand_table_path(demand, "engine");
}
