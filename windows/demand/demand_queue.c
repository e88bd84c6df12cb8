/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demand_queue.h.
 */
#include "windows/demand/demand_queue.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

struct queue_cursor queue_begin(const struct demand_queue *queue)
{
    struct queue_cursor cursor = { 0 };

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        cursor.cursors[class] = packed_begin(&queue->classes[class]);
        cursor.has[class] = packed_next(&cursor.cursors[class], &cursor.rows[class]);
    }
    return cursor;
}

bool queue_next(struct queue_cursor *cursor, struct queue_row *ret_row)
{
    bool is_low = !cursor->has[DEMAND_HIGH] ||
                  (cursor->has[DEMAND_LOW] &&
                   cursor->rows[DEMAND_LOW].ms < cursor->rows[DEMAND_HIGH].ms);
    enum demand_class class = is_low ? DEMAND_LOW : DEMAND_HIGH;

    if (!cursor->has[class])
        return false;
    ret_row->row = cursor->rows[class];
    ret_row->class = class;
    cursor->has[class] = packed_next(&cursor->cursors[class], &cursor->rows[class]);
    return true;
}

size_t queue_classes(const struct demand_queue *queue)
{
    size_t count = 0;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        count += queue->classes[class].count > 0;
    return count;
}

int queue_error(const struct demand_queue *queue, const struct packed_row *row, struct error *err,
                const char *format, ...)
{
    char sentence[ERROR_TEXT_SIZE];
    char time[WALL_TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    text_print_arguments(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return error_set(err, ERROR_INVALID, "%s:%" PRId64 ": queue %s, %s: %s", queue->source,
                     row->line, queue->name, wall_format((struct wall_time){ row->ms }, time),
                     sentence);
}

/* One class while it is filled: its sums, and the remainder of the last count. */
struct filling {
    const struct demand_series *series;
    int32_t *counts;
    double rest; /* begins with a half, so that a count alone is rounded to the nearest */
    int64_t last_ms;
    bool is_utc_assumed;
};

/* Spreads a row's count over the steps that it covers. */
static bool pour(const struct packed_row *row, int64_t cover_ms, struct filling *filling)
{
    const struct demand_series *series = filling->series;
    size_t first = (size_t)((row->ms - series->start.ms) / series->step_ms);
    size_t steps = (size_t)(cover_ms / series->step_ms);
    double total = row->value * (row->kind == PACKED_RATE ? (double)cover_ms / SECOND_MS : 1);

    for (size_t i = first; i < first + steps && i < series->count; i++) {
        double whole;

        filling->rest += total / (double)steps;
        whole = floor(filling->rest);
        if (whole > INT32_MAX)
            return false;
        filling->counts[i] = (int32_t)whole;
        filling->rest -= whole;
    }
    return true;
}

/* When the first row after this one's time comes, in whatever class; 0: there is none. */
static int64_t until_next(const struct queue_cursor *cursor, const struct packed_row *row)
{
    int64_t next = INT64_MAX;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        if (cursor->has[class] && cursor->rows[class].ms > row->ms && cursor->rows[class].ms < next)
            next = cursor->rows[class].ms;
    return next == INT64_MAX ? 0 : next - row->ms;
}

static int fill_row(const struct demand_queue *queue, const struct queue_row *item,
                    int64_t cover_ms, struct filling *filling, struct error *err)
{
    if (item->row.ms == filling->last_ms)
        return queue_error(queue, &item->row, err,
                           "stands twice in the file: leave one out; or if another column tells "
                           "these rows apart, name it time, hour or queue%s",
                           filling->is_utc_assumed
                               ? "; if the times are local and the clocks go back, give their zone "
                                 "(--time-zone)"
                               : "");
    filling->last_ms = item->row.ms;
    if (!pour(&item->row, cover_ms, filling))
        return queue_error(queue, &item->row, err, "the count is more than %d", INT32_MAX);
    return 0;
}

int queue_fill(const struct demand_queue *queue, const struct queue_grid *grid,
               struct demand_series *series, struct error *err)
{
    struct queue_cursor cursor = queue_begin(queue);
    struct filling fillings[DEMAND_CLASSES];
    struct queue_row item;
    size_t era = 0;

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        fillings[class] = (struct filling){ .series = series,
                                            .rest = 0.5,
                                            .last_ms = INT64_MIN,
                                            .is_utc_assumed = grid->is_utc_assumed };
        if (queue->classes[class].count == 0)
            continue;
        series->counts[class] = mem_new_array(series->count, sizeof *series->counts[class]);
        memset(series->counts[class], grid->missing_zero ? 0 : 0xff,
               series->count * sizeof *series->counts[class]);
        fillings[class].counts = series->counts[class];
    }
    while (queue_next(&cursor, &item)) {
        int64_t cover_ms = steps_cover(grid->steps, &era, item.row.ms - grid->phase_ms,
                                       until_next(&cursor, &item.row));

        if (fill_row(queue, &item, cover_ms, &fillings[item.class], err) < 0)
            return -1;
    }
    demand_spread_unknown(series);
    return 0;
}
