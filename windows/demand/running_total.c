/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See running_total.h.
 */
#include "windows/demand/running_total.h"

#include "base/text.h"
#include "base/timestamp.h"
#include "windows/demand/demand_queue.h"

#include <string.h>

enum {
    GROWTHS_MIN = 50,       /* fewer may be chance, or a ramp of hours */
    GROWTHS_MIN_NAMED = 10, /* if the queue's name is a counter's */
    GROWTHS_A_DROP = 50,    /* a counter drops when a program starts again: more rarely than this */
    GROWTHS_A_RESET = 16, /* or each midnight, in rows of an hour: a day's demand rises for fewer */
    RESET_SHARE = 10,     /* then to a tenth at most */
    DROPS_FREE = 20,      /* of the rows read so far, before a queue is believed */
};

struct course {
    struct packed_row first;
    struct packed_row last;
    double least;
    double most;
    size_t distances;
    size_t growths;
    size_t drops;
    size_t resets; /* of these drops */
};

/* Prometheus's counters end in _total, and may have labels behind it. */
static bool is_counters_name(const char *name)
{
    size_t end = strcspn(name, "{");
    static const char total[] = "_total";

    return end > strlen(total) && strncmp(name + end - strlen(total), total, strlen(total)) == 0;
}

/* false: these rows are no counter's, whatever follows. */
static bool go_on(struct course *course, const struct packed_row *row)
{
    course->distances++;
    course->growths += row->value > course->last.value;
    course->drops += row->value < course->last.value;
    course->resets += row->value < course->last.value / RESET_SHARE;
    course->least = row->value < course->least ? row->value : course->least;
    course->most = row->value > course->most ? row->value : course->most;
    course->last = *row;
    return row->kind != PACKED_RATE &&
           course->drops <= course->growths / GROWTHS_A_RESET + DROPS_FREE;
}

/* A level that rises slowly and rarely may be that of clients that ask in turn. */
static bool is_total(const struct course *course, const char *name)
{
    bool is_named = is_counters_name(name);
    bool is_long = course->last.ms - course->first.ms >= DAY_MS;
    bool is_steep = 2 * course->growths >= course->distances || course->most >= 2 * course->least;

    if (course->drops * GROWTHS_A_DROP > course->growths &&
        (course->resets < course->drops || course->drops * GROWTHS_A_RESET > course->growths))
        return false;
    return is_named ? course->growths >= GROWTHS_MIN_NAMED
                    : is_long && is_steep && course->growths >= GROWTHS_MIN;
}

static int check_class(const struct demand_queue *queue, const struct packed *packed,
                       struct error *err)
{
    struct packed_cursor cursor = packed_begin(packed);
    struct course course = { 0 };
    struct packed_row row;

    if (!packed_next(&cursor, &course.first) || course.first.kind == PACKED_RATE)
        return 0;
    course.last = course.first;
    course.least = course.most = course.first.value;
    while (packed_next(&cursor, &row))
        if (!go_on(&course, &row))
            return 0;
    if (!is_total(&course, queue->name))
        return 0;
    return queue_error(queue, &course.first, err,
                       "from here on its counts grow %zu times and decrease %zu times: this is a "
                       "running total (a counter), and not the requests of each step; export "
                       "increase(), or the difference of each row from the one before it",
                       course.growths, course.drops);
}

int running_total_check(const struct demand_queue *queue, struct error *err)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        if (check_class(queue, &queue->classes[class], err) < 0)
            return -1;
    return 0;
}
