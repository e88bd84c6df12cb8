/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demand_steps.h.
 */
#include "windows/demand/demand_steps.h"

#include "windows/demand/demand_queue.h"

#include <string.h>

/* Limit for the times of all queues together: 128 MB of bits. */
static const int64_t calendar_max = (int64_t)1 << 30;

enum { ERAS_MAX = 4 };

/* The times of a queue, each once; mem_free() them. */
static int64_t *times_of(const struct demand_queue *queue, size_t *ret_count)
{
    size_t most = queue->classes[DEMAND_HIGH].count + queue->classes[DEMAND_LOW].count;
    int64_t *times = mem_new_array(most, sizeof *times);
    struct queue_cursor cursor = queue_begin(queue);
    struct queue_row item;
    size_t count = 0;

    while (queue_next(&cursor, &item))
        if (count == 0 || times[count - 1] != item.row.ms)
            times[count++] = item.row.ms;
    *ret_count = count;
    return times;
}

/* The first row of the queue at that time. */
static struct packed_row row_at(const struct demand_queue *queue, int64_t ms)
{
    struct queue_cursor cursor = queue_begin(queue);
    struct queue_row item = { 0 };

    while (queue_next(&cursor, &item) && item.row.ms != ms)
        ;
    return item.row;
}

static int alone_error(const struct demand_queue *queue, const struct packed_row *row,
                       bool is_shared, struct error *err)
{
    if (queue->classes[DEMAND_HIGH].count > 1 || queue->classes[DEMAND_LOW].count > 1)
        return queue_error(queue, row, err,
                           "all its rows are of this one time; if another column tells them apart, "
                           "name it time, hour or queue");
    return queue_error(queue, row, err, "one time alone does not tell the step%s",
                       is_shared ? ""
                                 : "; where an export leaves out steps without arrivals, give "
                                   "--missing zero");
}

/* shortest_ms: between rows of any queue.  If it is much shorter than this queue's step, silence
   may explain the distances. */
static int refuse_wandering(const struct demand_queue *queue, int64_t shortest_ms,
                            struct error *err)
{
    char text[DURATION_TEXT_SIZE];
    struct packed_row row;
    size_t count;
    int64_t *times = times_of(queue, &count);
    int64_t first_ms;
    int64_t step = steps_wander(times, count, &first_ms);

    mem_free(times);
    if (step == 0 || shortest_ms <= step / 2)
        return 0;
    row = row_at(queue, first_ms);
    duration_format(step, text);
    return queue_error(queue, &row, err,
                       "the rows of this queue are about %s apart, and keep no grid: round their "
                       "times to %s",
                       text, text);
}

static int steps_error(const struct demand_rows *rows, size_t at,
                       const struct steps_problem *problem, const struct demand_steps *steps,
                       struct error *err)
{
    const struct demand_queue *queue = &rows->queues.items[at];
    struct packed_row row = row_at(queue, problem->ms + steps->phases_ms[at]);
    char step[DURATION_TEXT_SIZE];
    char other[DURATION_TEXT_SIZE];

    if ((problem->fault == STEPS_OFF || problem->fault == STEPS_UNEVEN) &&
        refuse_wandering(queue, INT64_MAX, err) < 0)
        return -1;
    duration_format(problem->step_ms, step);
    duration_format(problem->other_ms, other);
    switch (problem->fault) {
    case STEPS_ALONE:
        return alone_error(queue, &row, steps->is_shared, err);
    case STEPS_SHORT:
        return queue_error(queue, &row, err, "most rows are less than a second apart");
    case STEPS_LONG:
        return queue_error(queue, &row, err,
                           "most rows are %s apart: expected a day at most, and an hour or less "
                           "for a plan that follows the day",
                           step);
    case STEPS_UNEVEN:
        return queue_error(queue, &row, err,
                           "from here on rows are %s apart, elsewhere %s: the longer step has to "
                           "be a multiple of the shorter one",
                           step, other);
    case STEPS_FINE:
    case STEPS_OFF:
        break;
    }
    if (steps->is_shared)
        return queue_error(queue, &row, err,
                           "is not on the grid of %s that most rows keep: put it there; or if rows "
                           "from here on have a shorter step, sum them up to %s or give them alone",
                           step, step);
    return queue_error(queue, &row, err,
                       "is not on the grid of %s that most rows keep: put it there; or where an "
                       "export leaves out steps without arrivals, give --missing zero",
                       step);
}

static int find_own(const struct demand_rows *rows, struct demand_steps *steps, struct error *err)
{
    for (size_t i = 0; i < rows->queues.count; i++) {
        size_t count;
        int64_t *times = times_of(&rows->queues.items[i], &count);
        struct steps_problem problem = steps_find(times, count, false, &steps->own[i]);

        mem_free(times);
        if (problem.fault != STEPS_FINE)
            return steps_error(rows, i, &problem, steps, err);
    }
    return 0;
}

/* Old data in long steps and new data in short ones: rows that are there nearly always, and that
   change their step a few times in all.  Otherwise silence explains the distances as well. */
static void find_change(const int64_t *times, size_t count, struct steps *own)
{
    struct steps_problem problem = steps_find(times, count, false, own);

    if (problem.fault != STEPS_FINE || own->is_sparse || own->eras.count < 2 ||
        own->eras.count > ERAS_MAX)
        steps_clear(own);
}

/* Queues may have one step and different offsets; 0: no queue has two times. */
static int64_t find_phases(const struct demand_rows *rows, struct demand_steps *steps)
{
    struct steps_tallies tallies = { 0 };
    int64_t divisor;
    int64_t base;

    for (size_t i = 0; i < rows->queues.count; i++) {
        size_t count;
        int64_t *times = times_of(&rows->queues.items[i], &count);

        steps->phases_ms[i] = times[0];
        if (steps->is_shared)
            steps->coarse[i] = coarse_rows_find(times, count);
        if (steps->coarse[i].grid_ms > 0)
            find_change(times, count, &steps->own[i]);
        steps_count(times, count, &tallies);
        mem_free(times);
    }
    base = steps_base(&tallies, true, &divisor);
    for (size_t i = 0; i < rows->queues.count; i++)
        steps->phases_ms[i] = base > 0 ? steps->phases_ms[i] % base : 0;
    steps_tallies_clear(&tallies);
    return divisor;
}

/* A bit for each step of `unit_ms` in which any queue has a row. */
struct calendar {
    uint64_t *bits;
    int64_t first_ms;
    int64_t unit_ms;
    size_t count;
};

/* Sets up the calendar, from the first row to the last. */
static int set_calendar(const struct demand_rows *rows, const struct demand_steps *steps,
                        struct calendar *calendar, struct error *err)
{
    int64_t last_ms = INT64_MIN;

    calendar->first_ms = INT64_MAX;
    for (size_t i = 0; i < rows->queues.count; i++)
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            const struct packed *packed = &rows->queues.items[i].classes[class];
            struct packed_cursor cursor = packed_begin(packed);
            struct packed_row row;

            if (!packed_next(&cursor, &row))
                continue;
            if (row.ms - steps->phases_ms[i] < calendar->first_ms)
                calendar->first_ms = row.ms - steps->phases_ms[i];
            if (packed->last.ms - steps->phases_ms[i] > last_ms)
                last_ms = packed->last.ms - steps->phases_ms[i];
            row = (struct packed_row){ .ms = packed->last.ms, .line = packed->last.line };
            if ((last_ms - calendar->first_ms) / calendar->unit_ms >= calendar_max)
                return queue_error(&rows->queues.items[i], &row, err,
                                   "is too far from the first row of the file");
        }
    calendar->count = (size_t)((last_ms - calendar->first_ms) / calendar->unit_ms) + 1;
    return 0;
}

static void mark_times(const struct demand_rows *rows, const struct demand_steps *steps,
                       struct calendar *calendar)
{
    calendar->bits = mem_new_array(calendar->count / 64 + 1, sizeof *calendar->bits);
    for (size_t i = 0; i < rows->queues.count; i++) {
        struct queue_cursor cursor = queue_begin(&rows->queues.items[i]);
        struct queue_row item;

        while (queue_next(&cursor, &item)) {
            int64_t since = item.row.ms - steps->phases_ms[i] - calendar->first_ms;
            size_t at = (size_t)(since / calendar->unit_ms);

            calendar->bits[at / 64] |= (uint64_t)1 << at % 64;
        }
    }
}

static int64_t *times_in(const struct calendar *calendar, size_t *ret_count)
{
    size_t words = calendar->count / 64 + 1;
    size_t count = 0;
    int64_t *times;

    for (size_t i = 0; i < words; i++)
        count += (size_t)__builtin_popcountll(calendar->bits[i]);
    times = mem_new_array(count, sizeof *times);
    *ret_count = count;
    count = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t left = calendar->bits[i]; left != 0; left &= left - 1)
            times[count++] = calendar->first_ms +
                             ((int64_t)i * 64 + __builtin_ctzll(left)) * calendar->unit_ms;
    return times;
}

/* The error in the common times of all queues, reported for the first queue that has a row then. */
static int shared_error(const struct demand_rows *rows, const struct demand_steps *steps,
                        const struct steps_problem *problem, struct error *err)
{
    size_t at = 0;

    while (at + 1 < rows->queues.count &&
           row_at(&rows->queues.items[at], problem->ms + steps->phases_ms[at]).ms !=
               problem->ms + steps->phases_ms[at])
        at++;
    return steps_error(rows, at, problem, steps, err);
}

/* Times that fit no grid of seconds: names the first queue that has no step of its own. */
static int not_whole_seconds(const struct demand_rows *rows, struct demand_steps *steps,
                             struct error *err)
{
    const struct demand_queue *queue = &rows->queues.items[0];
    struct queue_cursor cursor = queue_begin(queue);
    struct queue_row first = { 0 };

    memset(steps->phases_ms, 0, steps->count * sizeof *steps->phases_ms);
    for (size_t i = 0; i < steps->count; i++)
        steps_clear(&steps->own[i]);
    if (find_own(rows, steps, err) < 0)
        return -1;
    (void)queue_next(&cursor, &first);
    return queue_error(queue, &first.row, err,
                       "the times of this queue and of others keep no common step of a second or "
                       "more");
}

static int find_shared(const struct demand_rows *rows, struct demand_steps *steps,
                       struct error *err)
{
    struct calendar calendar = { .unit_ms = find_phases(rows, steps) };
    struct steps_problem problem;
    size_t count;
    int64_t *times;

    if (calendar.unit_ms > 0 && calendar.unit_ms < SECOND_MS)
        return not_whole_seconds(rows, steps, err);
    calendar.unit_ms = calendar.unit_ms > 0 ? calendar.unit_ms : SECOND_MS;
    if (set_calendar(rows, steps, &calendar, err) < 0)
        return -1;
    mark_times(rows, steps, &calendar);
    times = times_in(&calendar, &count);
    problem = steps_find(times, count, true, &steps->shared);
    mem_free(calendar.bits);
    mem_free(times);
    return problem.fault == STEPS_FINE ? 0 : shared_error(rows, steps, &problem, err);
}

static int64_t shortest_distance(const struct demand_rows *rows)
{
    int64_t shortest_ms = INT64_MAX;

    for (size_t i = 0; i < rows->queues.count; i++) {
        size_t count;
        int64_t *times = times_of(&rows->queues.items[i], &count);

        for (size_t at = 1; at < count; at++)
            if (times[at] - times[at - 1] < shortest_ms)
                shortest_ms = times[at] - times[at - 1];
        mem_free(times);
    }
    return shortest_ms;
}

/* The steps of all are the finest; a queue that goes its own way has the same grid. */
static int find_for_silence(const struct demand_rows *rows, struct demand_steps *steps,
                            struct error *err)
{
    int64_t shortest_ms = shortest_distance(rows);

    for (size_t i = 0; i < rows->queues.count; i++)
        if (refuse_wandering(&rows->queues.items[i], shortest_ms, err) < 0)
            return -1;
    if (find_shared(rows, steps, err) < 0)
        return -1;
    for (size_t i = 0; i < steps->count; i++) {
        steps->follows[i] = steps->own[i].eras.count == 0 ||
                            steps->own[i].step_ms != steps->shared.step_ms;
        steps->phases_ms[i] = steps->follows[i] ? steps->phases_ms[i] : 0;
    }
    return 0;
}

/* How long a row at that time counts if it has the shared steps. */
static int64_t shared_step(const struct demand_steps *steps, size_t queue, int64_t ms)
{
    size_t era = 0;

    return steps_cover(&steps->shared, &era, ms - steps->phases_ms[queue], 0);
}

struct demand_apart demand_steps_apart(const struct demand_steps *steps, size_t queue)
{
    const struct coarse_rows *coarse = &steps->coarse[queue];
    int64_t middle_ms = coarse->from_ms + (coarse->until_ms - coarse->from_ms) / 2;

    if (!steps->is_shared || !steps->follows[queue])
        return (struct demand_apart){ 0 };
    if (coarse->divisor_ms > shared_step(steps, queue, coarse->last_ms))
        return (struct demand_apart){
            coarse->divisor_ms, { coarse->first_ms }, { coarse->last_ms }, true
        };
    if (coarse->grid_ms > shared_step(steps, queue, middle_ms))
        return (struct demand_apart){
            coarse->grid_ms, { coarse->from_ms }, { coarse->until_ms }, false
        };
    return (struct demand_apart){ 0 };
}

/* Sparse rows do not show when their step changed; the rows of all queues do, if any. */
static void follow_shared(const struct demand_rows *rows, struct demand_steps *steps)
{
    bool is_wanted = false;

    for (size_t i = 0; i < steps->count; i++)
        is_wanted = is_wanted || steps->own[i].is_sparse;
    is_wanted = is_wanted && steps->count > 1 && find_shared(rows, steps, NULL) == 0;
    for (size_t i = 0; i < steps->count; i++) {
        steps->follows[i] = is_wanted && steps->own[i].is_sparse && steps->shared.eras.count > 1 &&
                            steps->own[i].step_ms == steps->shared.step_ms;
        steps->phases_ms[i] = steps->follows[i] ? steps->phases_ms[i] : 0;
    }
}

static void steps_init(struct demand_steps *steps, size_t count, bool is_shared)
{
    *steps = (struct demand_steps){ .count = count, .is_shared = is_shared };
    steps->own = mem_new_array(steps->count, sizeof *steps->own);
    steps->phases_ms = mem_new_array(steps->count, sizeof *steps->phases_ms);
    steps->coarse = mem_new_array(steps->count, sizeof *steps->coarse);
    steps->follows = mem_new_array(steps->count, sizeof *steps->follows);
    for (size_t i = 0; i < count; i++)
        steps->follows[i] = is_shared;
}

void demand_steps_of_log(size_t queues, int64_t step_ms, struct demand_steps *steps)
{
    steps_init(steps, queues, true);
    *array_add(&steps->shared.eras) = (struct steps_era){ INT64_MIN, step_ms };
    steps->shared.step_ms = step_ms;
}

int demand_steps_find(const struct demand_rows *rows, bool missing_zero, struct demand_steps *steps,
                      struct error *err)
{
    steps_init(steps, rows->queues.count, missing_zero);
    if (missing_zero)
        return find_for_silence(rows, steps, err);
    if (find_own(rows, steps, err) < 0)
        return -1;
    follow_shared(rows, steps);
    return 0;
}

void demand_steps_clear(struct demand_steps *steps)
{
    for (size_t i = 0; steps->own && i < steps->count; i++)
        steps_clear(&steps->own[i]);
    steps_clear(&steps->shared);
    mem_free(steps->own);
    mem_free(steps->phases_ms);
    mem_free(steps->follows);
    mem_free(steps->coarse);
    *steps = (struct demand_steps){ 0 };
}
