/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From bytes to rows.  The file is read in blocks of whole lines; each is parsed by a thread of its
 * own while the next ones are read, and their rows are joined in the order of the file.
 */
#include "windows/demand_rows.h"

#include "base/map.h"
#include "base/text.h"
#include "windows/cells.h"
#include "windows/columns.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
    PART_BYTES = 4 << 20,
    THREAD_BYTES = 16 << 10, /* fewer do not pay for a thread */
    HEAD_BYTES = 64 << 10,   /* hold the header and a row; if not, so many do: */
    HEAD_BYTES_MAX = 64 << 20,
    THREADS_MAX = 16,
};

/* What one thread parses. */
struct part {
    struct demand_block block;
    struct csv csv;
    const struct columns *columns;
    ARRAY(struct demand_queue) queues;
    struct map *names; /* of queues: their index plus one, so that none is NULL */
    size_t queue;      /* of the last row: files repeat themselves */
    struct cell_clock clock;
    struct error err; /* with which it ended, if any */
    pthread_t thread;
    bool has_thread;
    bool keeps_local;
    bool has_local;
};

/* The file as far as it is joined. */
struct whole {
    struct demand_rows *rows;
    struct demand_feed *feed;
    struct map *names;
    struct csv head;
    struct columns columns;
    size_t part_bytes;
    bool keeps_local;
    int line; /* the last that a part was given */
};

static void clear_queues(struct demand_queue *queues, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mem_free(queues[i].name);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            packed_clear(&queues[i].classes[class]);
    }
}

void demand_rows_clear(struct demand_rows *rows)
{
    clear_queues(rows->queues.items, rows->queues.count);
    array_clear(&rows->queues);
}

/* A name is printed in tables and JSON: it has to be text. */
static int check_name(const struct csv *csv, int line, const char *name, struct error *err)
{
    owned(chars) char *mended = mem_copy_chars(name);

    text_mend(mended);
    if (!text_equal(mended, name))
        return csv_error(csv, line, err,
                         "queue: \"%.80s\" is not UTF-8 (? stands for what is not): save the file "
                         "as UTF-8",
                         mended);
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return csv_error(csv, line, err, "queue: the name holds a control character (%d)", *at);
    return name[0] ? 0 : csv_error(csv, line, err, "queue: is empty");
}

/* The index of a queue that may be new, or -1. */
static int queue_index(struct part *part, const char *name, struct error *err)
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
        if (check_name(&part->csv, part->csv.line, name, err) < 0)
            return -1;
        array_add(&part->queues)->name = mem_copy_chars(name);
        found = part->queues.count;
        map_set(part->names, name, (void *)found);
    }
    part->queue = found - 1;
    return (int)found - 1;
}

static int read_time(struct part *part, struct packed_row *row, struct error *err)
{
    const struct columns *columns = part->columns;
    const struct csv *csv = &part->csv;
    const char *text = csv->fields[columns->date];
    char joined[COLUMNS_TIME_CHARS];
    struct cell_time found;

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

static int read_count(const struct part *part, size_t column, struct packed_row *row,
                      struct error *err)
{
    const struct columns *columns = part->columns;
    const struct csv *csv = &part->csv;
    const char *text = csv->fields[column];
    const char *why;

    if (!cell_count(text, csv->delimiter, row, &why))
        return csv_error(csv, csv->line, err, "%.80s: expected %s, found \"%.80s\"",
                         columns->names[column], why, text);
    if (row->kind != PACKED_RATE && columns->needs_unit)
        return csv_error(csv, csv->line, err,
                         "%.80s: expected a rate with its unit, like 70/min, found \"%.80s\"",
                         columns->names[column], text);
    if (row->kind != PACKED_RATE && columns->rate_s > 0) {
        row->kind = PACKED_RATE;
        row->value /= columns->rate_s;
    }
    return 0;
}

/* A row that has a cell for each queue; where nothing is in it, it is no row of that queue. */
static int read_wide(struct part *part, struct packed_row *row, enum demand_class class,
                     struct error *err)
{
    const struct columns *columns = part->columns;
    size_t queue = 0;

    for (size_t i = 0; i < columns->name_count; i++) {
        if (!columns_is_queue(columns, i))
            continue;
        if (!cell_is_void(part->csv.fields[i])) {
            if (read_count(part, i, row, err) < 0)
                return -1;
            packed_add(&part->queues.items[queue].classes[class], row);
        }
        queue++;
    }
    return 0;
}

static int read_row(struct part *part, struct error *err)
{
    const struct columns *columns = part->columns;
    const struct csv *csv = &part->csv;
    enum demand_class class = DEMAND_LOW;
    struct packed_row row;
    int queue = 0;

    if (read_time(part, &row, err) < 0)
        return -1;
    if (columns->priority >= 0 && !cell_class(csv->fields[columns->priority], &class))
        return csv_error(csv, csv->line, err,
                         "priority: expected high or low (or 1 or 2), found \"%.80s\"",
                         csv->fields[columns->priority]);
    if (columns->count < 0)
        return read_wide(part, &row, class, err);
    if (read_count(part, (size_t)columns->count, &row, err) < 0)
        return -1;
    if (columns->queue >= 0)
        queue = queue_index(part, csv->fields[columns->queue], err);
    if (queue < 0)
        return -1;
    packed_add(&part->queues.items[queue].classes[class], &row);
    return 0;
}

/* To the end, or to the first mistake. */
static void *read_rows(void *argument)
{
    struct part *part = argument;

    while (csv_next(&part->csv, &part->err) == 1)
        if (read_row(part, &part->err) < 0)
            return NULL;
    return NULL;
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
    text_mend(name);
    return name;
}

/* The queues that no row names: those of columns, or the one that is the file's. */
static int name_queues(const struct whole *whole, struct part *part, struct error *err)
{
    const struct columns *columns = &whole->columns;

    if (columns->count >= 0 && columns->queue < 0)
        array_add(&part->queues)->name = name_of_source(whole->rows->source);
    for (size_t i = 0; i < columns->name_count; i++) {
        if (!columns_is_queue(columns, i))
            continue;
        if (check_name(&whole->head, whole->head.line, columns->names[i], err) < 0)
            return -1;
        array_add(&part->queues)->name = mem_copy_chars(columns->names[i]);
    }
    return 0;
}

static int lines_in(const struct demand_block *block)
{
    const char *at = block->bytes;
    const char *end = at + block->size;
    int lines = 0;

    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        lines++;
        at++;
    }
    return lines;
}

/* Takes the next lines and has them parsed; 0: there are none. */
static int begin_part(struct whole *whole, struct part *part, struct error *err)
{
    int more = demand_feed_take(whole->feed, whole->part_bytes, &part->block, err);

    if (more != 1)
        return more;
    part->csv = (struct csv){
        .source = whole->rows->source,
        .at = part->block.bytes,
        .end = part->block.bytes + part->block.size,
        .line = whole->line,
        .delimiter = whole->head.delimiter,
        .may_name = whole->columns.queue == 0,
        .columns = whole->head.columns,
    };
    part->columns = &whole->columns;
    part->names = map_new(NULL);
    part->keeps_local = whole->keeps_local;
    if (name_queues(whole, part, err) < 0)
        return -1;
    whole->line += lines_in(&part->block);
    part->has_thread = part->block.size >= THREAD_BYTES &&
                       pthread_create(&part->thread, NULL, read_rows, part) == 0;
    if (!part->has_thread)
        read_rows(part);
    return 1;
}

/* The queue of the whole that has the name of this one, which may be new. */
static struct demand_queue *whole_queue(const struct whole *whole, const struct demand_queue *queue,
                                        struct error *err)
{
    struct demand_rows *rows = whole->rows;
    uintptr_t found = (uintptr_t)map_get(whole->names, queue->name);
    int64_t line = INT64_MAX;

    if (found > 0)
        return &rows->queues.items[found - 1];
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        if (queue->classes[class].count > 0 && queue->classes[class].first_line < line)
            line = queue->classes[class].first_line;
    if (rows->queues.count == DEMAND_QUEUES_MAX) {
        error_set(err, ERROR_INVALID, "%s:%" PRId64 ": more than %d queues", rows->source, line,
                  DEMAND_QUEUES_MAX);
        return NULL;
    }
    array_add(&rows->queues)->name = mem_copy_chars(queue->name);
    map_set(whole->names, queue->name, (void *)rows->queues.count);
    return &rows->queues.items[rows->queues.count - 1];
}

/* Leaves the part as it was before it began, but for the memory of its block. */
static void reset_part(struct part *part)
{
    struct demand_block block = part->block;

    clear_queues(part->queues.items, part->queues.count);
    array_clear(&part->queues);
    map_free(part->names);
    *part = (struct part){ .block = block };
}

/* Waits until it is parsed, and adds its rows to the whole where `err` holds no error yet. */
static int end_part(struct whole *whole, struct part *part, bool is_wanted, struct error *err)
{
    int result = 0;

    if (part->has_thread)
        pthread_join(part->thread, NULL);
    for (size_t i = 0; is_wanted && result == 0 && i < part->queues.count; i++) {
        struct demand_queue *queue = whole_queue(whole, &part->queues.items[i], err);

        for (int class = 0; queue && class < DEMAND_CLASSES; class ++)
            packed_append(&queue->classes[class], &part->queues.items[i].classes[class]);
        result = queue ? 0 : -1;
    }
    if (is_wanted && result == 0 && part->err.kind != ERROR_NONE) {
        *err = part->err;
        result = -1;
    }
    whole->rows->has_local = whole->rows->has_local || part->has_local;
    whole->rows->is_cut = part->csv.is_cut;
    reset_part(part);
    return result;
}

static size_t thread_count(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    if (processors < 1)
        return 1;
    return processors < THREADS_MAX ? (size_t)processors : THREADS_MAX;
}

/* What follows the header: of mistakes the first in the file counts, and one of reading it only
   where what was read before has none. */
static int read_parts(struct whole *whole, struct error *err)
{
    struct part *parts = mem_new_array(THREADS_MAX + 1, sizeof *parts);
    struct error reason = { 0 };
    size_t slots = thread_count() + 1;
    size_t begun = 0;
    size_t ended = 0;
    int more = 1;
    int result = 0;

    while (more == 1 || ended < begun) {
        if (more == 1 && result == 0 && begun - ended < slots) {
            more = begin_part(whole, &parts[begun % slots], &reason);
            if (more == 1)
                begun++;
            else
                reset_part(&parts[begun % slots]);
            continue;
        }
        more = result < 0 && more == 1 ? 0 : more;
        if (ended < begun && end_part(whole, &parts[ended++ % slots], result == 0, err) < 0)
            result = -1;
    }
    for (size_t i = 0; i < slots; i++)
        demand_block_clear(&parts[i].block);
    mem_free(parts);
    if (result == 0 && more < 0) {
        *err = reason;
        result = -1;
    }
    return result;
}

/* The header and the first row, of a copy: these lines are parsed again with the others. */
static int read_head(struct whole *whole, struct error *err)
{
    size_t size = HEAD_BYTES;

    for (;; size *= 2) {
        owned(chars) char *bytes = NULL;
        struct csv *row = NULL;
        int more = 1;
        int result;

        if (demand_feed_fill(whole->feed, size, err) < 0)
            return -1;
        bytes = mem_new(whole->feed->rest.size + 1);
        memcpy(bytes, whole->feed->rest.bytes, whole->feed->rest.size);
        result = csv_open(&whole->head, bytes, whole->feed->rest.size, whole->rows->source, err);
        if (result == 0) {
            row = mem_new(sizeof *row);
            *row = whole->head;
            more = result = csv_next(row, err);
        }
        if (!whole->feed->is_end && size < HEAD_BYTES_MAX &&
            (result < 0 || more == 0 || row->is_cut)) {
            mem_free(row);
            continue;
        }
        if (more == 0)
            result = error_set(err, ERROR_INVALID, "%s: has a header and no rows",
                               whole->rows->source);
        if (result == 1)
            result = columns_find(&whole->columns, &whole->head, row, err);
        mem_free(row);
        demand_feed_drop(whole->feed, (size_t)(whole->head.at - bytes));
        return result;
    }
}

int demand_rows_read(struct demand_rows *rows, struct demand_feed *feed, bool keeps_local,
                     size_t part_bytes, struct error *err)
{
    owned(map) struct map *names = map_new(NULL);
    struct whole *whole = mem_new(sizeof *whole);
    int result;

    *whole = (struct whole){
        .rows = rows,
        .feed = feed,
        .names = names,
        .part_bytes = part_bytes > 0 ? part_bytes : PART_BYTES,
        .keeps_local = keeps_local,
    };
    rows->source = feed->source;
    result = read_head(whole, err);
    if (result == 0) {
        whole->line = whole->head.line;
        rows->has_priority = whole->columns.priority >= 0;
        rows->is_wide = whole->columns.count < 0;
        result = read_parts(whole, err);
    }
    columns_clear(&whole->columns);
    mem_free(whole);
    return result;
}
