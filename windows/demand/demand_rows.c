/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From bytes to rows.  The file is read in blocks of whole lines; each is parsed by a thread of its
 * own while the next ones are read, and their rows are joined in the order of the file.
 */
#include "windows/demand/demand_rows.h"

#include "base/map.h"
#include "base/text.h"
#include "windows/demand/demand_part.h"

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

/* The file as far as it is joined. */
struct whole {
    struct demand_rows *rows;
    struct demand_feed *feed;
    struct map *names;
    struct csv head;
    struct columns columns;
    struct demand_points points;
    size_t part_bytes;
    struct wall_time begin; /* of times that count from there */
    bool keeps_local;
    int line; /* the last that a part was given */
};

static void clear_queues(struct demand_queue *queues, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mem_free(queues[i].name);
        token_pairs_clear(&queues[i].tokens.pairs);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            packed_clear(&queues[i].classes[class]);
    }
}

void demand_rows_clear(struct demand_rows *rows)
{
    clear_queues(rows->queues.items, rows->queues.count);
    array_clear(&rows->queues);
    mem_free(rows->left_out);
}

char *demand_name_of_source(const char *source)
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
static int name_queues(const struct whole *whole, struct demand_part *part, struct error *err)
{
    const struct columns *columns = &whole->columns;

    if ((columns->count >= 0 || columns->is_log) && columns->queue < 0)
        array_add(&part->queues)->name = demand_name_of_source(whole->rows->source);
    for (size_t i = 0; i < columns->name_count; i++) {
        if (!columns_is_queue(columns, i))
            continue;
        array_add(&part->queues)->name = columns_queue_name(columns, i);
        if (demand_part_check_name(&whole->head, whole->head.line, columns->names[i], err) < 0)
            return -1;
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
static int begin_part(struct whole *whole, struct demand_part *part, struct error *err)
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
    part->begin = whole->begin;
    part->keeps_local = whole->keeps_local;
    if (name_queues(whole, part, err) < 0)
        return -1;
    whole->line += lines_in(&part->block);
    part->has_thread = part->block.size >= THREAD_BYTES &&
                       pthread_create(&part->thread, NULL, demand_part_read, part) == 0;
    if (!part->has_thread)
        demand_part_read(part);
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
    *array_add(&rows->queues) = (struct demand_queue){ .name = mem_copy_chars(queue->name),
                                                       .source = rows->source };
    map_set(whole->names, queue->name, (void *)rows->queues.count);
    return &rows->queues.items[rows->queues.count - 1];
}

/* Leaves the part as it was before it began, except the memory of its block. */
static void reset_part(struct demand_part *part)
{
    struct demand_block block = part->block;

    clear_queues(part->queues.items, part->queues.count);
    array_clear(&part->queues);
    map_free(part->names);
    *part = (struct demand_part){ .block = block };
}

/* The first doubtful number of the file, and whether any shows what it means. */
static void add_points(struct demand_points *points, const struct demand_points *part)
{
    bool has_decimal = points->has_decimal || part->has_decimal;
    bool has_whole = points->has_whole || part->has_whole;

    if (points->line == 0)
        *points = *part;
    points->has_decimal = has_decimal;
    points->has_whole = has_whole;
}

/* Programs write as many decimals in each row.  With tabs a spreadsheet may have written all. */
static int check_points(const struct whole *whole, struct error *err)
{
    const struct demand_points *points = &whole->points;
    char delimiter = whole->head.delimiter;

    if (points->line == 0 || points->has_decimal || (delimiter != '\t' && !points->has_whole))
        return 0;
    return csv_error(&whole->head, points->line, err,
                     "%.80s: expected 1234 or %s, as nothing in this file shows whether a "
                     "%s sets thousands apart, found \"%s\"",
                     whole->columns.names[points->column], delimiter == ';' ? "1,2340" : "1.2340",
                     delimiter == ';' ? "comma" : "point", points->text);
}

/* Waits until it is parsed, and adds its rows to the whole where `err` holds no error yet. */
static int end_part(struct whole *whole, struct demand_part *part, bool is_wanted,
                    struct error *err)
{
    int result = 0;

    if (part->has_thread)
        pthread_join(part->thread, NULL);
    for (size_t i = 0; is_wanted && result == 0 && i < part->queues.count; i++) {
        struct demand_queue *queue = whole_queue(whole, &part->queues.items[i], err);

        for (int class = 0; queue && class < DEMAND_CLASSES; class ++)
            packed_append(&queue->classes[class], &part->queues.items[i].classes[class]);
        if (queue)
            demand_tokens_append(&queue->tokens, &part->queues.items[i].tokens);
        result = queue ? 0 : -1;
    }
    if (is_wanted && result == 0 && part->err.kind != ERROR_NONE) {
        *err = part->err;
        result = -1;
    }
    whole->rows->has_local = whole->rows->has_local || part->has_local;
    whole->rows->is_cut = part->csv.is_cut;
    add_points(&whole->points, &part->points);
    whole->rows->void_cells += part->void_cells;
    for (int kind = 0; kind < 2; kind++)
        whole->rows->counts[kind] += part->counts[kind];
    whole->rows->has_unit_rates = whole->rows->has_unit_rates || part->has_unit_rates;
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

/* Reads the rows after the header.  Of several mistakes the first in the file is reported; a read
   error only if no mistake comes before it. */
static int read_parts(struct whole *whole, struct error *err)
{
    struct demand_part *parts = mem_new_array(THREADS_MAX + 1, sizeof *parts);
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

/* Whether the file's times are relative and a beginning is given, or are dates and none is
 * given.
 */
static int check_begin(struct whole *whole, const struct csv *row, struct error *err)
{
    const struct columns *columns = &whole->columns;
    const char *begin = whole->rows->begin;
    const char *name = columns->date >= 0 ? columns->names[columns->date] : "";

    if (columns->elapsed_ms > 0 && !begin)
        return csv_error(row, row->line, err,
                         "%.80s: \"%.80s\" counts from the file's beginning: expected --begin, the "
                         "time at which it began, like 2026-11-17T12:00:00Z",
                         name, row->fields[columns->date]);
    if (columns->elapsed_ms == 0 && begin)
        return csv_error(
            row, row->line, err,
            "--begin is the beginning of times that count from it, and \"%.80s\" holds "
            "\"%.80s\"",
            name, row->fields[columns->date]);
    if (begin && wall_parse(begin, false, &whole->begin, err) < 0) {
        struct error reason = *err;

        return csv_error(row, row->line, err, "--begin: %s", reason.text);
    }
    return 0;
}

/* The columns, and which of them say nothing that is read. */
static int find_columns(struct whole *whole, const struct csv *row, const struct csv *second,
                        struct error *err)
{
    struct columns *columns = &whole->columns;
    struct demand_rows *rows = whole->rows;

    if (columns_find(columns, &whole->head, row, second, err) < 0)
        return -1;
    rows->is_wide = columns->count < 0 && !columns->is_log;
    rows->has_offset = columns->has_offset;
    for (size_t i = 0; i < columns->name_count; i++) {
        if (columns_is_read(columns, i))
            continue;
        if (!rows->left_out)
            rows->left_out = mem_copy_chars(columns->names[i]);
        rows->left_out_count++;
    }
    return check_begin(whole, row, err);
}

/* The header and the first row, of a copy: these lines are parsed again with the others. */
static int read_head(struct whole *whole, struct error *err)
{
    size_t size = HEAD_BYTES;

    for (;; size *= 2) {
        owned(chars) char *bytes = NULL;
        struct csv *row = NULL;
        struct csv *second = NULL;
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
        if (result == 1) {
            second = mem_new(sizeof *second);
            *second = *row;
            result = find_columns(whole, row, csv_next(second, NULL) == 1 ? second : NULL, err);
        }
        mem_free(second);
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
        rows->is_log = whole->columns.is_log;
        rows->has_tokens = columns_has_tokens(&whole->columns);
        result = read_parts(whole, err) < 0 ? -1 : check_points(whole, err);
    }
    columns_clear(&whole->columns);
    mem_free(whole);
    return result;
}
