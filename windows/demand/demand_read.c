/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From rows to series: on the grid of the queue's step, what is missing marked.
 */
#include "base/file_stream.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "windows/demand/demand.h"
#include "windows/demand/demand_queue.h"
#include "windows/demand/demand_steps.h"
#include "windows/demand/local_rows.h"
#include "windows/demand/running_total.h"

#include <stdlib.h>
#include <string.h>

/* Limits for one queue; and for all queues and priorities of a file, which is 400 MB: few rows can
   ask for any number of steps. */
enum {
    STEPS_MAX = 50 * 1000 * 1000,
    FILE_STEPS_MAX = 100 * 1000 * 1000,
    LOG_STEPS_MAX = 20 * 1000 * 1000, /* of a file; with more its steps are longer */
};

static const int64_t file_bytes_max = (int64_t)16 << 30;

/* Rows on their way to series. */
struct making {
    struct demand_rows rows;
    const struct demand_options *options;
    struct demand *demand;
    struct demand_steps steps;
    bool is_silence_zero; /* a step without a row had no arrivals */
    int64_t first_ms;     /* of all rows */
    int64_t end_ms;       /* when the last of them ends */
    size_t cells;         /* counts of all series */
};

void demand_free(struct demand *demand)
{
    if (!demand)
        return;
    for (size_t i = 0; i < demand->count; i++) {
        mem_free(demand->series[i].queue);
        if (demand->series[i].tokens)
            token_pairs_clear(demand->series[i].tokens);
        mem_free(demand->series[i].tokens);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            mem_free(demand->series[i].counts[class]);
    }
    mem_free(demand->series);
    mem_free(demand->left_out);
    mem_free(demand);
}

const struct demand_series *demand_find(const struct demand *demand, const char *queue)
{
    for (size_t i = 0; i < demand->count; i++)
        if (text_equal(demand->series[i].queue, queue))
            return &demand->series[i];
    return NULL;
}

const struct demand_series *demand_need(const struct demand *demand, const char *queue,
                                        struct error *err)
{
    enum { NAMED = 6 };
    const struct demand_series *found = demand_find(demand, queue);
    owned(text) struct text *names = text_new(TEXT_UNBOUNDED);

    if (found)
        return found;
    for (size_t i = 0; i < demand->count && i < NAMED; i++)
        text_add(names, "%s\"%.60s\"", i > 0 ? ", " : "", demand->series[i].queue);
    if (demand->count > NAMED)
        text_add(names, " and %zu more", demand->count - NAMED);
    error_set(err, ERROR_INVALID, "queue %.60s: the demand has no such queue; it has %s%s", queue,
              names->chars,
              demand->count > 1 || demand->facts.is_wide
                  ? ""
                  : " (a file without a column of queues is one queue, named after the file)");
    return NULL;
}

size_t demand_unknown(const struct demand_series *series)
{
    size_t unknown = 0;

    for (size_t i = 0; i < series->count; i++)
        unknown += !demand_is_known(series, i);
    return unknown;
}

void demand_spread_unknown(struct demand_series *series)
{
    int32_t *high = series->counts[DEMAND_HIGH];
    int32_t *low = series->counts[DEMAND_LOW];

    for (size_t i = 0; high && low && i < series->count; i++)
        if (high[i] < 0 || low[i] < 0) {
            series->half_known += high[i] >= 0 || low[i] >= 0;
            high[i] = low[i] = DEMAND_UNKNOWN;
        }
}

static int compare_queues(const void *left, const void *right)
{
    return strcmp(((const struct demand_queue *)left)->name,
                  ((const struct demand_queue *)right)->name);
}

/* Drops the queues whose cells hold nothing. */
static void drop_empty(struct demand_rows *rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->queues.count; i++) {
        if (queue_classes(&rows->queues.items[i]) == 0)
            mem_free(rows->queues.items[i].name);
        else
            rows->queues.items[kept++] = rows->queues.items[i];
    }
    rows->empty_queues = rows->queues.count - kept;
    rows->queues.count = kept;
}

/* Rows in the order of time show whether they add up. */
static int check_totals(const struct demand_rows *rows, struct error *err)
{
    for (size_t i = 0; i < rows->queues.count && !rows->is_log; i++)
        if (running_total_check(&rows->queues.items[i], err) < 0)
            return -1;
    return 0;
}

/* Queues by name, and the rows of each by time. */
static int sort_rows(struct making *making, struct error *err)
{
    struct demand_rows *rows = &making->rows;

    drop_empty(rows);
    if (rows->queues.count == 0)
        return error_set(err, ERROR_INVALID, "%s: no cell holds a count", rows->source);
    qsort(rows->queues.items, rows->queues.count, sizeof *rows->queues.items, compare_queues);
    for (size_t i = 0; i < rows->queues.count && making->options->zone; i++)
        demand_tokens_resolve(&rows->queues.items[i].tokens, making->options->zone);
    for (size_t i = 0; i < rows->queues.count; i++)
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            struct demand_queue *queue = &rows->queues.items[i];
            const struct local_rows whose = { rows->source, queue->name, rows->is_log };

            if (making->options->zone &&
                local_rows_resolve(&queue->classes[class], making->options->zone, &whose, err) < 0)
                return -1;
            packed_sort(&queue->classes[class]);
        }
    return 0;
}

/* The last row of a queue: the latest of its classes. */
static struct packed_row last_row(const struct demand_queue *queue)
{
    struct packed_row row = { .ms = INT64_MIN };

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        const struct packed *packed = &queue->classes[class];

        if (packed->count > 0 && packed->last.ms > row.ms)
            row = (struct packed_row){ .ms = packed->last.ms, .line = packed->last.line };
    }
    return row;
}

/* Sets the span of a series: from its first row to the end of its last. */
static int set_span(struct making *making, size_t at, struct error *err)
{
    const struct demand_queue *queue = &making->rows.queues.items[at];
    const struct steps *steps = demand_steps_of(&making->steps, at);
    struct demand_series *series = &making->demand->series[at];
    struct queue_cursor cursor = queue_begin(queue);
    struct packed_row last = last_row(queue);
    struct queue_row first;
    size_t era = 0;
    int64_t end_ms = last.ms + steps_cover(steps, &era, last.ms - making->steps.phases_ms[at], 0);

    if (!queue_next(&cursor, &first))
        return 0;
    series->step_ms = steps->step_ms;
    series->start.ms = first.row.ms;
    for (size_t i = 0; i < steps->eras.count; i++)
        if (steps->eras.items[i].step_ms > series->longest_ms)
            series->longest_ms = steps->eras.items[i].step_ms;
    series->apart = demand_steps_apart(&making->steps, at);
    if (steps->eras.count > 1)
        series->changed.ms = steps->eras.items[1].from_ms + making->steps.phases_ms[at];
    if ((end_ms - first.row.ms) / series->step_ms > STEPS_MAX)
        return queue_error(queue, &last, err, "is too far from the first row");
    series->count = (size_t)((end_ms - first.row.ms) / series->step_ms);
    making->first_ms = first.row.ms < making->first_ms ? first.row.ms : making->first_ms;
    making->end_ms = end_ms > making->end_ms ? end_ms : making->end_ms;
    return 0;
}

/* With missing_zero a queue without rows at one end of the file had no arrivals there. */
static int widen_span(struct making *making, size_t at, struct error *err)
{
    const struct demand_queue *queue = &making->rows.queues.items[at];
    struct demand_series *series = &making->demand->series[at];
    struct packed_row last = last_row(queue);
    int64_t end_ms = demand_time(series, series->count).ms;
    int64_t before = 0;
    int64_t after = 0;

    if (making->is_silence_zero) {
        before = (series->start.ms - making->first_ms) / series->step_ms;
        after = (making->end_ms - end_ms) / series->step_ms;
    }
    if ((int64_t)series->count + before + after > STEPS_MAX)
        return queue_error(queue, &last, err, "is too far from the file's other rows");
    series->start.ms -= before * series->step_ms;
    series->count += (size_t)(before + after);
    making->cells += series->count * queue_classes(queue);
    if (making->cells <= FILE_STEPS_MAX)
        return 0;
    return queue_error(queue, &last, err,
                       "with this queue the file has more than 100 million steps in all: split "
                       "it, shorten its span, or export longer steps");
}

/* All spans are known and within the limit before the first gets memory. */
static int set_spans(struct making *making, struct error *err)
{
    size_t count = making->rows.queues.count;
    struct demand *demand = making->demand;

    making->first_ms = INT64_MAX;
    making->end_ms = INT64_MIN;
    demand->series = mem_new_array(count, sizeof *demand->series);
    for (size_t i = 0; i < count; i++) {
        demand->series[i].queue = mem_copy_chars(making->rows.queues.items[i].name);
        demand->series[i].is_single = !making->rows.has_priority;
        demand->count++;
        if (set_span(making, i, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (widen_span(making, i, err) < 0)
            return -1;
    return 0;
}

/* A rate gives the number of requests behind its row's lengths only when its step is known. */
static int count_rates(const struct making *making, size_t at, struct error *err)
{
    const struct demand_series *series = &making->demand->series[at];
    struct demand_tokens *tokens = &making->rows.queues.items[at].tokens;
    char step[DURATION_TEXT_SIZE];
    char longest[DURATION_TEXT_SIZE];

    if (!tokens->has_rates)
        return 0;
    if (tokens->has_counts)
        return error_set(err, ERROR_INVALID,
                         "%s: queue %s: some rows with tokens tell a rate, and others a count: "
                         "write counts",
                         making->rows.source, series->queue);
    if (series->longest_ms > series->step_ms)
        return error_set(err, ERROR_INVALID,
                         "%s: queue %s: its rows tell rates and tokens, and their step changes (%s "
                         "to %s): write counts",
                         making->rows.source, series->queue, duration_format(series->step_ms, step),
                         duration_format(series->longest_ms, longest));
    demand_tokens_over(tokens, (double)series->step_ms / SECOND_MS);
    return 0;
}

static int take_tokens(struct making *making, size_t at, struct error *err)
{
    struct demand_tokens *tokens = &making->rows.queues.items[at].tokens;

    if (!making->rows.has_tokens)
        return 0;
    if (count_rates(making, at, err) < 0)
        return -1;
    making->demand->series[at].tokens = mem_new(sizeof tokens->pairs);
    *making->demand->series[at].tokens = tokens->pairs;
    tokens->pairs = (struct token_pairs){ 0 };
    return 0;
}

/* A queue of which nothing is known, although it has rows, is no demand. */
static int check_known(const struct making *making, const struct demand_series *series,
                       struct error *err)
{
    if (series->half_known == 0 || demand_unknown(series) < series->count)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "%s: queue %s: no step is known, because each has rows of one priority alone, "
                     "and what lacks a row is unknown. If the export leaves out priorities without "
                     "arrivals, give --missing zero",
                     making->rows.source, series->queue);
}

/* No other zone was given. */
static bool is_utc(const struct time_zone *zone)
{
    return !zone || text_equal(time_zone_name(zone), "UTC");
}

/* The rows of a queue go as its series comes. */
static int fill_series(struct making *making, struct error *err)
{
    struct demand *demand = making->demand;
    bool is_utc_assumed = demand->facts.has_local && is_utc(making->options->zone);

    for (size_t i = 0; i < demand->count; i++) {
        struct demand_series *series = &demand->series[i];
        struct wall_time end = demand_time(series, series->count);
        const struct queue_grid grid = { demand_steps_of(&making->steps, i),
                                         making->steps.phases_ms[i], making->is_silence_zero,
                                         is_utc_assumed };

        if (queue_fill(&making->rows.queues.items[i], &grid, series, err) < 0 ||
            check_known(making, series, err) < 0 || take_tokens(making, i, err) < 0)
            return -1;
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            packed_clear(&making->rows.queues.items[i].classes[class]);
        if (end.ms > demand->end.ms)
            demand->end = end;
    }
    return 0;
}

/* Bursts shorter than a step are averaged out: a long log keeps steps as fine as its size
   allows. */
static int64_t log_step(const struct demand_rows *rows)
{
    static const int64_t steps_ms[] = { DEMAND_LOG_STEP_MS, 10 * SECOND_MS };
    int64_t first_ms = INT64_MAX;
    int64_t last_ms = INT64_MIN;

    for (size_t i = 0; i < rows->queues.count; i++) {
        struct queue_cursor cursor = queue_begin(&rows->queues.items[i]);
        struct queue_row first;
        struct packed_row last = last_row(&rows->queues.items[i]);

        if (queue_next(&cursor, &first) && first.row.ms < first_ms)
            first_ms = first.row.ms;
        last_ms = last.ms > last_ms ? last.ms : last_ms;
    }
    for (size_t i = 0; i < COUNT_OF(steps_ms); i++)
        if ((last_ms - first_ms) / steps_ms[i] <= LOG_STEPS_MAX / (int64_t)rows->queues.count)
            return steps_ms[i];
    return MINUTE_MS;
}

/* Finds the steps of all queues; in a log the rows of a step become one. */
static int find_steps(struct making *making, struct error *err)
{
    struct demand_rows *rows = &making->rows;
    int64_t step_ms;

    if (!rows->is_log)
        return demand_steps_find(rows, making->options->missing_zero, &making->steps, err);
    step_ms = log_step(rows);
    for (size_t i = 0; i < rows->queues.count; i++)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            packed_merge(&rows->queues.items[i].classes[class], step_ms);
    demand_steps_of_log(rows->queues.count, step_ms, &making->steps);
    return 0;
}

static int make_series(struct making *making, struct demand_feed *feed, struct error *err)
{
    const struct demand_options *options = making->options;
    struct demand_rows *rows = &making->rows;

    rows->begin = options->begin;
    if (demand_rows_read(rows, feed, options->zone != NULL, 0, err) < 0)
        return -1;
    if (rows->has_offset && rows->has_local && is_utc(options->zone))
        return error_set(err, ERROR_INVALID,
                         "%s: the times have no offset, and the name of their column tells one "
                         "(UTC+1): give their time zone (--time-zone, or time_zone of the "
                         "configuration), or write the offset behind each time",
                         rows->source);
    making->demand->facts = (struct demand_facts){
        .is_wide = rows->is_wide,
        .has_local = rows->has_local,
        .is_cut = rows->is_cut,
        .is_log = rows->is_log,
        .has_means = rows->has_tokens && !rows->is_log,
        .has_unit_rates = rows->has_unit_rates,
        .void_cells = rows->void_cells,
        .has_fractions = rows->counts[1] > rows->counts[0],
        .left_out = rows->left_out_count,
    };
    making->demand->left_out = steal(&rows->left_out);
    making->is_silence_zero = options->missing_zero || rows->is_log;
    if (sort_rows(making, err) < 0 || check_totals(rows, err) < 0 || find_steps(making, err) < 0 ||
        set_spans(making, err) < 0 || fill_series(making, err) < 0)
        return -1;
    making->demand->facts.empty_queues = rows->empty_queues;
    return options->gaps
               ? demand_gaps_read(making->demand, options->gaps, options->zone, rows->source, err)
               : 0;
}

static struct demand *make_demand(struct demand_feed *feed, const struct demand_options *options,
                                  struct error *err)
{
    owned(demand) struct demand *demand = mem_new(sizeof *demand);
    struct making making = { .options = options, .demand = demand };
    int result = make_series(&making, feed, err);

    demand_steps_clear(&making.steps);
    demand_rows_clear(&making.rows);
    demand_block_clear(&feed->rest);
    return result < 0 ? NULL : steal(&demand);
}

struct demand *demand_parse(const char *bytes, size_t size, const char *source,
                            const struct demand_options *options, struct error *err)
{
    struct demand_feed feed = { .source = source, .bytes = bytes, .size = size };

    return make_demand(&feed, options, err);
}

struct demand *demand_read(const char *path, const struct demand_options *options,
                           struct error *err)
{
    owned(file_stream) struct file_stream *stream = file_stream_open(path, file_bytes_max, err);
    struct demand_feed feed = { .source = path, .stream = stream };

    return stream ? make_demand(&feed, options, err) : NULL;
}
