/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See course.h.
 */
#include "windows/backtest/course.h"

#include "windows/forecast/occurrences.h"

enum { WEEK_DAYS = 7 };

void course_clear(struct course *course)
{
    array_clear(&course->spans);
}

struct wall_time course_week(const struct course *course, size_t week)
{
    int64_t days = (int64_t)(course->weeks - week) * WEEK_DAYS;

    return occurrences_midnight(course->set, course->end_day - days);
}

/* The origins of a weekly forecast lie whole weeks of days before the end, too. */
static size_t week_of(const struct course *course, int64_t day)
{
    return course->weeks - (size_t)((course->end_day - day + WEEK_DAYS - 1) / WEEK_DAYS);
}

static void add_spans(struct course *course)
{
    const struct window_set *set = course->set;
    struct wall_time at = course_week(course, 0);

    while (at.ms < course->end.ms) {
        struct wall_time change = window_beneath_next_change(set, at);
        struct course_span *span = array_add(&course->spans);

        if (change.ms == 0 || change.ms > at.ms + DAY_MS)
            change.ms = at.ms + DAY_MS;
        span->time.begin = at;
        span->time.end = change.ms < course->end.ms ? change : course->end;
        span->window = (size_t)(window_beneath(set, at) - set->items);
        span->day = occurrences_day(set, at);
        span->week = week_of(course, span->day);
        span->midnight = occurrences_midnight(set, span->day);
        at = change;
    }
}

int course_init(struct course *course, const struct window_set *set, struct wall_time start,
                struct wall_time end, struct error *err)
{
    int64_t day = occurrences_day(set, start);

    *course = (struct course){ .set = set, .end_day = occurrences_day(set, end) };
    course->end = occurrences_midnight(set, course->end_day);
    if (occurrences_midnight(set, day).ms < start.ms)
        day++;
    if (course->end_day - day < 2 * WEEK_DAYS)
        return error_set(err, ERROR_INVALID,
                         "the demand has less than two whole weeks: one to learn from and one to "
                         "judge are the least");
    course->weeks = (size_t)((course->end_day - day) / WEEK_DAYS);
    course->begin = course_week(course, 1);
    course->slots = (size_t)((course->end.ms - course->begin.ms) / JUDGE_SLOT_MS);
    add_spans(course);
    return 0;
}

size_t course_slot_from(const struct course *course, struct wall_time wall)
{
    int64_t since = wall.ms - course->begin.ms;
    int64_t slot = since <= 0 ? 0 : (since + JUDGE_SLOT_MS - 1) / JUDGE_SLOT_MS;

    return slot > (int64_t)course->slots ? course->slots : (size_t)slot;
}

size_t course_week_slot(const struct course *course, size_t week)
{
    return course_slot_from(course, course_week(course, week));
}

void course_slots_of(const struct course *course, const struct course_span *span, size_t *ret_first,
                     size_t *ret_end)
{
    *ret_first = course_slot_from(course, span->time.begin);
    *ret_end = course_slot_from(course, span->time.end);
}
