/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From rows to series: sorted, put on the grid of the queue's step, what is missing marked.
 */
#include "windows/demand.h"

#include "base/file.h"
#include "base/text.h"
#include "windows/demand_rows.h"

#include <stdlib.h>
#include <string.h>

/* Of one queue; and of all queues and priorities of a file, which is 400 MB: few rows can ask for
   any number of steps. */
enum { STEPS_MAX = 50 * 1000 * 1000, FILE_STEPS_MAX = 100 * 1000 * 1000 };
static const int64_t step_max_ms = HOUR_MS;

/* Of one queue's rows, sorted. */
struct run {
    const struct demand_row *rows;
    size_t count;
    const char *queue;
};

void demand_free(struct demand *demand)
{
    if (!demand)
        return;
    for (size_t i = 0; i < demand->count; i++) {
        mem_free(demand->series[i].queue);
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            mem_free(demand->series[i].counts[class]);
    }
    mem_free(demand->series);
    mem_free(demand);
}

const struct demand_series *demand_find(const struct demand *demand, const char *queue)
{
    for (size_t i = 0; i < demand->count; i++)
        if (text_equal(demand->series[i].queue, queue))
            return &demand->series[i];
    return NULL;
}

static int row_error(const struct demand_rows *rows, const struct demand_row *row,
                     struct error *err, const char *sentence)
{
    char time[WALL_TEXT_SIZE];

    return error_set(err, ERROR_INVALID, "%s:%d: queue %s, %s: %s", rows->source, row->line,
                     rows->queues.items[row->queue],
                     wall_format((struct wall_time){ row->ms }, time), sentence);
}

static int compare_rows(const void *left, const void *right, void *queues)
{
    const struct demand_row *a = left;
    const struct demand_row *b = right;

    if (a->queue != b->queue)
        return strcmp(((char **)queues)[a->queue], ((char **)queues)[b->queue]);
    if (a->ms != b->ms)
        return a->ms < b->ms ? -1 : 1;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static bool is_sorted(const struct demand_rows *rows, const struct demand_row *items, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (compare_rows(&items[i - 1], &items[i], rows->queues.items) > 0)
            return false;
    return true;
}

static int compare_names(const void *left, const void *right, void *names)
{
    return strcmp(((char **)names)[*(const uint32_t *)left],
                  ((char **)names)[*(const uint32_t *)right]);
}

/* Puts the rows of each queue together, by name, in the order in which they were. */
static void gather_queues(struct demand_rows *rows)
{
    size_t queues = rows->queues.count;
    size_t *ends = mem_new_array(queues, sizeof *ends);
    uint32_t *order = mem_new_array(queues, sizeof *order);
    struct demand_row *gathered = mem_new_array(rows->rows.count, sizeof *gathered);
    size_t begin = 0;

    for (size_t i = 0; i < rows->rows.count; i++)
        ends[rows->rows.items[i].queue]++;
    for (size_t i = 0; i < queues; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, queues, sizeof *order, compare_names, rows->queues.items);
    for (size_t i = 0; i < queues; i++) {
        size_t count = ends[order[i]];

        ends[order[i]] = begin;
        begin += count;
    }
    for (size_t i = 0; i < rows->rows.count; i++)
        gathered[ends[rows->rows.items[i].queue]++] = rows->rows.items[i];
    memcpy(rows->rows.items, gathered, rows->rows.count * sizeof *gathered);
    mem_free(gathered);
    mem_free(order);
    mem_free(ends);
}

/* Files come sorted by queue or by time, and seldom otherwise. */
static void sort_rows(struct demand_rows *rows)
{
    if (is_sorted(rows, rows->rows.items, rows->rows.count))
        return;
    gather_queues(rows);
    for (size_t first = 0, end; first < rows->rows.count; first = end) {
        struct demand_row *run = &rows->rows.items[first];

        for (end = first + 1; end < rows->rows.count && rows->rows.items[end].queue == run->queue;)
            end++;
        if (!is_sorted(rows, run, end - first))
            qsort_r(run, end - first, sizeof *run, compare_rows, rows->queues.items);
    }
}

static int compare_int64(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return a < b ? -1 : a > b;
}

/* The distance that more than half of the neighbours in time keep; 0: none is so common. */
static int64_t majority_step(const struct demand_row *rows, size_t count)
{
    int64_t step = 0;
    size_t votes = 0;
    size_t all = 0;
    size_t have = 0;

    for (size_t i = 1; i < count; i++) {
        int64_t here = rows[i].ms - rows[i - 1].ms;

        if (rows[i].queue != rows[i - 1].queue || here == 0)
            continue;
        all++;
        if (votes == 0)
            step = here;
        votes = here == step ? votes + 1 : votes - 1;
    }
    for (size_t i = 1; i < count; i++)
        have += rows[i].queue == rows[i - 1].queue && rows[i].ms - rows[i - 1].ms == step;
    return 2 * have > all ? step : 0;
}

/* The distance that most neighbours in time keep, the shortest of equals; 0: no neighbours. */
static int64_t common_step(const struct demand_row *rows, size_t count)
{
    ARRAY(int64_t) steps = { 0 };
    size_t best = 0;
    int64_t step = majority_step(rows, count);

    if (step > 0)
        return step;
    for (size_t i = 1; i < count; i++)
        if (rows[i].queue == rows[i - 1].queue && rows[i].ms != rows[i - 1].ms)
            *array_add(&steps) = rows[i].ms - rows[i - 1].ms;
    if (steps.count > 0)
        qsort(steps.items, steps.count, sizeof *steps.items, compare_int64);
    for (size_t i = 0; i < steps.count;) {
        size_t first = i;

        while (i < steps.count && steps.items[i] == steps.items[first])
            i++;
        if (i - first > best) {
            best = i - first;
            step = steps.items[first];
        }
    }
    array_clear(&steps);
    return step;
}

static int check_step(const struct demand_rows *rows, const struct run *run, int64_t step_ms,
                      struct error *err)
{
    if (step_ms == 0)
        return row_error(rows, run->rows, err, "one time alone does not tell the step");
    if (step_ms < SECOND_MS || step_ms > step_max_ms)
        return row_error(rows, run->rows, err,
                         "most rows are less than a second or more than an hour apart");
    for (size_t i = 0; i < run->count; i++) {
        const struct demand_row *row = &run->rows[i];

        if ((row->ms - run->rows[0].ms) % step_ms != 0)
            return row_error(rows, row, err, "is not on the grid that most rows keep");
        if (i > 0 && row->ms == row[-1].ms && row->class == row[-1].class)
            return row_error(rows, row, err, "stands twice in the file");
    }
    return 0;
}

/* A step that one class of the queue lacks is unknown in all. */
static void spread_unknown(struct demand_series *series)
{
    int32_t *high = series->counts[DEMAND_HIGH];
    int32_t *low = series->counts[DEMAND_LOW];

    for (size_t i = 0; high && low && i < series->count; i++)
        if (high[i] < 0 || low[i] < 0)
            high[i] = low[i] = DEMAND_UNKNOWN;
}

static void fill_series(struct demand_series *series, const struct run *run, bool missing_zero)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct demand_row *row = &run->rows[i];
        int32_t **counts = &series->counts[row->class];

        if (!*counts) {
            *counts = mem_new_array(series->count, sizeof **counts);
            memset(*counts, missing_zero ? 0 : 0xff, series->count * sizeof **counts);
        }
        (*counts)[(row->ms - series->start.ms) / series->step_ms] = row->count;
    }
    spread_unknown(series);
}

/* With missing_zero a queue that is silent at an end of the file was silent, not absent. */
static int set_span(struct demand_series *series, const struct demand_rows *rows,
                    const struct run *run, bool missing_zero, struct error *err)
{
    const struct demand_row *end = &run->rows[run->count - 1];
    int64_t first = run->rows[0].ms;
    int64_t last = end->ms;

    if (missing_zero) {
        first -= (first - rows->first_ms) / series->step_ms * series->step_ms;
        last += (rows->last_ms - last) / series->step_ms * series->step_ms;
    }
    if ((last - first) / series->step_ms >= STEPS_MAX)
        return row_error(rows, end, err, "is too far from the first row");
    series->start.ms = first;
    series->count = (size_t)((last - first) / series->step_ms) + 1;
    return 0;
}

/* How many arrays of counts the queue will have: one per priority that its rows name. */
static size_t classes_of(const struct run *run)
{
    bool is_there[DEMAND_CLASSES] = { false };
    size_t count = 0;

    for (size_t i = 0; i < run->count; i++) {
        count += !is_there[run->rows[i].class];
        is_there[run->rows[i].class] = true;
    }
    return count;
}

/* Before its memory is asked for; *steps: of the file so far. */
static int count_steps(const struct demand_series *series, const struct demand_rows *rows,
                       const struct run *run, size_t *steps, struct error *err)
{
    *steps += series->count * classes_of(run);
    if (*steps <= FILE_STEPS_MAX)
        return 0;
    return row_error(rows, &run->rows[run->count - 1], err,
                     "with this queue the file has more than 100 million steps in all: split it, "
                     "shorten its span, or export longer steps");
}

/* The queue's rows, from `first` on. */
static struct run run_at(const struct demand_rows *rows, size_t first)
{
    struct run run = { &rows->rows.items[first], 0,
                       rows->queues.items[rows->rows.items[first].queue] };

    while (first + run.count < rows->rows.count && run.rows[run.count].queue == run.rows->queue)
        run.count++;
    return run;
}

/* All spans are known, and found bearable, before the first is given memory. */
static int set_spans(struct demand *demand, const struct demand_rows *rows, bool missing_zero,
                     struct error *err)
{
    int64_t shared = missing_zero ? common_step(rows->rows.items, rows->rows.count) : 0;
    size_t steps = 0;

    for (size_t at = 0; at < rows->rows.count;) {
        struct run run = run_at(rows, at);
        int64_t step_ms = missing_zero ? shared : common_step(run.rows, run.count);
        struct demand_series *series = &demand->series[demand->count];

        if (check_step(rows, &run, step_ms, err) < 0)
            return -1;
        demand->count++;
        series->queue = mem_copy_chars(run.queue);
        series->step_ms = step_ms;
        series->is_single = !rows->has_priority;
        if (set_span(series, rows, &run, missing_zero, err) < 0 ||
            count_steps(series, rows, &run, &steps, err) < 0)
            return -1;
        at += run.count;
    }
    return 0;
}

static int make_series(struct demand *demand, const struct demand_rows *rows, bool missing_zero,
                       struct error *err)
{
    size_t at = 0;

    demand->series = mem_new_array(rows->queues.count, sizeof *demand->series);
    if (set_spans(demand, rows, missing_zero, err) < 0)
        return -1;
    for (size_t i = 0; i < demand->count; i++) {
        struct run run = run_at(rows, at);
        struct demand_series *series = &demand->series[i];
        struct wall_time end = demand_time(series, series->count);

        fill_series(series, &run, missing_zero);
        if (end.ms > demand->end.ms)
            demand->end = end;
        at += run.count;
    }
    return 0;
}

struct demand *demand_parse(char *bytes, size_t size, const char *source,
                            const struct demand_options *options, struct error *err)
{
    owned(demand) struct demand *demand = mem_new(sizeof *demand);
    owned(demand_rows) struct demand_rows rows = { 0 };

    if (demand_rows_read(&rows, bytes, size, source, 0, err) < 0)
        return NULL;
    sort_rows(&rows);
    if (make_series(demand, &rows, options->missing_zero, err) < 0)
        return NULL;
    if (options->gaps && demand_gaps_read(demand, options->gaps, source, err) < 0)
        return NULL;
    return steal(&demand);
}

struct demand *demand_read(const char *path, const struct demand_options *options,
                           struct error *err)
{
    owned(text) struct text *bytes = file_read_unpacked(path, DEMAND_BYTES_MAX, err);

    if (!bytes)
        return NULL;
    return demand_parse(bytes->chars, bytes->length, path, options, err);
}
