/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demand_part.h.
 */
#include "windows/demand/demand_part.h"

#include "base/text.h"
#include "windows/demand/column_unit.h"

#include <math.h>
#include <string.h>

/* A name is printed in tables and JSON: it has to be text. */
int demand_part_check_name(const struct csv *csv, int line, const char *name, struct error *err)
{
    owned(chars) char *mended = mem_copy_chars(name);

    text_mend(mended);
    if (!text_equal(mended, name))
        return csv_error(csv, line, err,
                         "queue: \"%.80s\" is not UTF-8 (? stands for what is not): save the file "
                         "as UTF-8",
                         mended);
    for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
        bool is_high = at[0] == 0xc2 && at[1] < 0xa0; /* U+0080 to U+009F */

        if (*at < ' ' || *at == 0x7f || is_high)
            return csv_error(csv, line, err, "queue: the name holds a control character (%d)",
                             is_high ? at[1] : *at);
    }
    return name[0] ? 0 : csv_error(csv, line, err, "queue: is empty");
}

/* The index of a queue that may be new, or -1. */
static int queue_index(struct demand_part *part, const char *name, struct error *err)
{
    uintptr_t found;

    /* the queue of the last row, or the one that the file named after it */
    for (size_t turn = 0; turn < 2 && part->queues.count > 0; turn++) {
        size_t at = part->queue + turn < part->queues.count ? part->queue + turn : 0;

        if (strcmp(part->queues.items[at].name, name) == 0) {
            part->queue = at;
            return (int)at;
        }
    }
    found = (uintptr_t)map_get(part->names, name);
    if (found == 0) {
        if (demand_part_check_name(&part->csv, part->csv.line, name, err) < 0)
            return -1;
        array_add(&part->queues)->name = mem_copy_chars(name);
        found = part->queues.count;
        map_set(part->names, name, (void *)found);
    }
    part->queue = found - 1;
    return (int)found - 1;
}

/* Times of logs may count from the file's beginning: a century of it at most. */
static int read_elapsed(const struct demand_part *part, struct packed_row *row, struct error *err)
{
    static const double century_ms = 36525.0 * DAY_MS;
    const struct columns *columns = part->columns;
    const struct csv *csv = &part->csv;
    const char *text = csv->fields[columns->date];
    double number;

    if (!cell_number(text, &number) || number * (double)columns->elapsed_ms > century_ms)
        return csv_error(csv, csv->line, err,
                         "%.80s: expected a number of %s since the file's beginning, found "
                         "\"%.80s\"",
                         columns->names[columns->date],
                         columns->elapsed_ms == SECOND_MS ? "seconds" : "milliseconds", text);
    *row = (struct packed_row){
        .ms = part->begin.ms + (int64_t)floor(number * (double)columns->elapsed_ms),
        .line = csv->line,
    };
    return 0;
}

static int read_time(struct demand_part *part, struct packed_row *row, struct error *err)
{
    const struct columns *columns = part->columns;
    const struct csv *csv = &part->csv;
    const char *text = csv->fields[columns->date];
    char joined[COLUMNS_TIME_CHARS];
    struct cell_time found;

    if (columns->elapsed_ms > 0)
        return read_elapsed(part, row, err);
    if (columns->clock >= 0)
        text = columns_join(text, csv->fields[columns->clock], joined) ? joined : "";
    if (!cell_time_like(&part->clock, text, &found))
        return csv_error(csv, csv->line, err, "%.80s: expected a time like %s, found \"%.80s\"",
                         columns->names[columns->date], CELL_TIME_FORMS,
                         *text ? text
                               : csv->fields[columns->clock >= 0 ? columns->clock : columns->date]);
    row->ms = found.ms;
    row->line = csv->line;
    row->is_local = found.is_local && part->keeps_local && !columns->is_utc;
    part->has_local = part->has_local || (found.is_local && !columns->is_utc);
    return 0;
}

/* Rows in a file mostly have one unit. */
static int read_unit(struct demand_part *part, struct error *err)
{
    const struct csv *csv = &part->csv;
    const char *text = csv->fields[part->columns->unit];

    if (text_equal(part->unit_text, text))
        return 0;
    if (!column_unit_read(text, &part->unit_s))
        return csv_error(csv, csv->line, err,
                         "%.80s: expected Count, None or a rate of requests like Count/Second, "
                         "found \"%.80s\"",
                         part->columns->names[part->columns->unit], text);
    if (!text_copy(part->unit_text, sizeof part->unit_text, text))
        part->unit_text[0] = '\n', part->unit_text[1] = '\0'; /* like no cell */
    return 0;
}

static void note_point(struct demand_part *part, size_t column, const char *text)
{
    struct demand_points *points = &part->points;
    enum cell_point point = cell_point(text, part->csv.delimiter);

    points->has_decimal |= point == CELL_POINT_DECIMAL || point == CELL_POINT_NEEDLESS;
    points->has_whole |= point == CELL_POINT_NONE && *text != '0';
    if (point != CELL_POINT_DOUBTFUL || points->line > 0)
        return;
    points->line = part->csv.line;
    points->column = column;
    (void)text_copy(points->text, sizeof points->text, text);
}

/* Returns 1; 0: the cell says that nothing is known, which is no row of its queue. */
static int read_count(struct demand_part *part, size_t column, struct packed_row *row,
                      struct error *err)
{
    const struct columns *columns = part->columns;
    const struct csv *csv = &part->csv;
    const char *text = csv->fields[column];
    double rate_s = columns->rates_s[column] + part->unit_s; /* one of them */
    const char *why;

    if (!cell_count(text, csv->delimiter, row, &why) && cell_is_void(text)) {
        part->void_cells++;
        return 0;
    }
    if (!cell_count(text, csv->delimiter, row, &why))
        return csv_error(csv, csv->line, err, "%.80s: expected %s, found \"%.80s\"",
                         columns->names[column], why, text);
    if (csv->delimiter == '\t' || (row->kind != PACKED_RATE && rate_s == 0))
        note_point(part, column, text);
    if (row->kind != PACKED_RATE && columns->needs_unit && rate_s == 0)
        return csv_error(csv, csv->line, err,
                         "%.80s: expected a rate with its unit, like 70/min, found \"%.80s\"",
                         columns->names[column], text);
    if (row->kind != PACKED_RATE && rate_s > 0) {
        row->kind = PACKED_RATE;
        row->value /= rate_s;
        part->has_unit_rates = true;
    }
    if (row->kind != PACKED_RATE)
        part->counts[row->kind == PACKED_REAL]++;
    return 1;
}

/* A row with a cell for each queue. */
static int read_wide(struct demand_part *part, struct packed_row *row, enum demand_class class,
                     struct error *err)
{
    const struct columns *columns = part->columns;
    size_t queue = 0;
    int found;

    for (size_t i = 0; i < columns->name_count; i++) {
        if (!columns_is_queue(columns, i))
            continue;
        found = read_count(part, i, row, err);
        if (found < 0)
            return -1;
        if (found > 0)
            packed_add(&part->queues.items[queue].classes[class], row);
        queue++;
    }
    return 0;
}

/* Reads what the row tells of the lengths of its requests. */
static int read_tokens(struct demand_part *part, struct demand_tokens *tokens,
                       const struct packed_row *row, struct error *err)
{
    const struct columns *columns = part->columns;
    struct token_pair pair;
    float count = columns->is_log ? 1 : (float)row->value;
    int found;

    if (!(count > 0))
        return 0;
    found = token_columns_read(&columns->tokens, &part->csv, !columns->is_log, &pair, err);
    pair.count = count;
    if (found > 0)
        demand_tokens_add(tokens, &pair, row, !columns->is_log && row->kind == PACKED_RATE);
    tokens->pairs.unanswered += found == 0;
    return found < 0 ? -1 : 0;
}

static void end_step(struct packed *packed, struct packed_row *step)
{
    if (step->value > 0)
        packed_add(packed, step);
    step->value = 0;
}

/* One request more in its step, which ends with the first row of another one. */
static void count_request(struct demand_part *part, size_t queue, enum demand_class class,
                          const struct packed_row *row)
{
    int64_t since_ms = (row->ms % DEMAND_LOG_STEP_MS + DEMAND_LOG_STEP_MS) % DEMAND_LOG_STEP_MS;
    struct packed_row *step;

    while (part->countings.count <= queue)
        (void)array_add(&part->countings);
    step = &part->countings.items[queue].classes[class];
    if (step->value == 0 || step->ms != row->ms - since_ms || step->is_local != row->is_local) {
        end_step(&part->queues.items[queue].classes[class], step);
        *step = *row;
        step->ms -= since_ms;
        step->kind = PACKED_COUNT;
        step->value = 0;
    }
    step->value++;
}

static void end_steps(struct demand_part *part)
{
    for (size_t i = 0; i < part->countings.count; i++)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            end_step(&part->queues.items[i].classes[class],
                     &part->countings.items[i].classes[class]);
    array_clear(&part->countings);
}

/* Reads the cells of a row that is of one queue. */
static int read_cells(struct demand_part *part, struct packed_row *row, enum demand_class class,
                      struct error *err)
{
    const struct columns *columns = part->columns;
    int found = columns->count < 0 ? 1 : read_count(part, (size_t)columns->count, row, err);
    int queue = 0;

    if (found < 0)
        return -1;
    if (columns->queue >= 0)
        queue = queue_index(part, part->csv.fields[columns->queue], err);
    if (queue < 0)
        return -1;
    if (found == 0)
        return 0;
    if (columns_has_tokens(columns) &&
        read_tokens(part, &part->queues.items[queue].tokens, row, err) < 0)
        return -1;
    if (columns->is_log)
        count_request(part, (size_t)queue, class, row);
    else
        packed_add(&part->queues.items[queue].classes[class], row);
    return 0;
}

static int read_row(struct demand_part *part, struct error *err)
{
    const struct columns *columns = part->columns;
    const struct csv *csv = &part->csv;
    enum demand_class class = DEMAND_LOW;
    struct packed_row row;

    if (read_time(part, &row, err) < 0)
        return -1;
    if (columns->priority >= 0 && !cell_class(csv->fields[columns->priority], &class))
        return csv_error(csv, csv->line, err,
                         "priority: expected high or low (or 1 or 2), found \"%.80s\"",
                         csv->fields[columns->priority]);
    if (columns->unit >= 0 && read_unit(part, err) < 0)
        return -1;
    return columns->count < 0 && !columns->is_log ? read_wide(part, &row, class, err)
                                                  : read_cells(part, &row, class, err);
}

void *demand_part_read(void *argument)
{
    struct demand_part *part = argument;

    while (csv_next(&part->csv, &part->err) == 1)
        if (read_row(part, &part->err) < 0)
            break;
    end_steps(part);
    return NULL;
}
