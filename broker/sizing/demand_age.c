/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The age of the demand depends on the clock, so it is in no file that a plan writes.
 */
#include "broker/sizing/demand_age.h"

#include <stdio.h>

enum { ALLOWED_MINUTES = 10 };

/* The end of the last known step that has half an hour of known ones in the hour until its end: a
   single row after a long gap tells nothing of the last hours.  Without any, the series' start. */
static struct wall_time known_until(const struct demand_series *series)
{
    size_t hour = (size_t)((HOUR_MS + series->step_ms - 1) / series->step_ms);
    size_t from = series->count;
    size_t known = 0; /* of [from, end) */

    for (size_t end = series->count; end > 0; end--) {
        for (; from > 0 && from + hour > end; from--)
            known += demand_is_known(series, from - 1);
        if (demand_is_known(series, end - 1) && 2 * known >= end - from)
            return demand_time(series, end);
        known -= demand_is_known(series, end - 1);
    }
    return series->start;
}

static int64_t allowed_ms(int64_t step_ms)
{
    return step_ms + ALLOWED_MINUTES * (int64_t)MINUTE_MS;
}

static int check_queue(const struct allocate_queue *queue, const struct demand *demand,
                       struct wall_time now, struct error *err)
{
    struct wall_time until = known_until(queue->demand);
    int64_t allowed = allowed_ms(queue->demand->step_ms);
    bool is_alone = demand->end.ms >= now.ms - allowed; /* others go on */
    char until_text[WALL_TEXT_SIZE];
    char now_text[WALL_TEXT_SIZE];

    if (until.ms >= now.ms - allowed)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "--follow plans from the last hours, and the demand of queue %s is known "
                     "until %s only (now: %s): give newer demand%s",
                     queue->name, wall_format(until, until_text), wall_format(now, now_text),
                     is_alone ? ", or --missing zero if a step without a row means that nothing "
                                "arrived"
                              : "");
}

/* ERROR_INVALID if the demand ends after `now`. */
static int check_end(const struct demand *demand, struct wall_time now, struct error *err)
{
    const struct demand_series *last = &demand->series[0];
    char end_text[WALL_TEXT_SIZE];
    char now_text[WALL_TEXT_SIZE];

    for (size_t i = 1; i < demand->count; i++) {
        const struct demand_series *other = &demand->series[i];

        if (demand_time(other, other->count).ms > demand_time(last, last->count).ms)
            last = other;
    }
    if (demand->end.ms <= now.ms + allowed_ms(last->step_ms))
        return 0;
    return error_set(err, ERROR_INVALID,
                     "the demand of queue %s ends at %s, which is after now (%s): check the time "
                     "zone of its times",
                     last->queue, wall_format(demand->end, end_text), wall_format(now, now_text));
}

int demand_age_check(const struct demand *demand, const struct allocate_model *model,
                     struct wall_time now, struct error *err)
{
    for (size_t i = 0; i < model->queue_count; i++)
        if (check_queue(&model->queues[i], demand, now, err) < 0)
            return -1;
    return check_end(demand, now, err);
}

void demand_age_note(const struct demand *demand, struct wall_time now)
{
    struct error err = { 0 };

    if (check_end(demand, now, &err) < 0)
        fprintf(stderr, "note: %s\n", err.text);
}
