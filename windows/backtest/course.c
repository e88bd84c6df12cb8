/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See course.h.
 */
#include "windows/backtest/course.h"

void course_clear(struct course *course)
{
    array_clear(&course->spans);
}

struct wall_time course_week(const struct course *course, size_t week)
{
    return (struct wall_time){ course->begin.ms + (int64_t)week * WEEK_MS };
}

static struct wall_time midnight_before(const struct window_set *set, struct wall_time wall)
{
    struct local_time local = time_zone_local(set->zone, wall);

    return time_zone_wall(set->zone, local.date, 0);
}

static void add_spans(struct course *course)
{
    const struct window_set *set = course->set;
    struct wall_time at = course->begin;

    while (at.ms < course->end.ms) {
        struct wall_time change = window_beneath_next_change(set, at);
        struct course_span *span = array_add(&course->spans);
        struct local_time local = time_zone_local(set->zone, at);

        if (change.ms == 0 || change.ms > at.ms + DAY_MS)
            change.ms = at.ms + DAY_MS;
        span->time.begin = at;
        span->time.end = change.ms < course->end.ms ? change : course->end;
        span->window = (size_t)(window_beneath(set, at) - set->items);
        span->week = (size_t)((at.ms - course->begin.ms) / WEEK_MS);
        span->day = civil_day(local.date.year, local.date.month, local.date.day);
        span->midnight = midnight_before(set, at);
        at = change;
    }
}

int course_init(struct course *course, const struct window_set *set, struct wall_time start,
                struct wall_time end, struct error *err)
{
    *course = (struct course){ .set = set, .end = midnight_before(set, end) };
    if (course->end.ms - start.ms < 2 * WEEK_MS)
        return error_set(err, ERROR_INVALID,
                         "the demand has less than two whole weeks: one to learn from and one to "
                         "judge are the least");
    course->weeks = (size_t)((course->end.ms - start.ms) / WEEK_MS);
    course->begin.ms = course->end.ms - (int64_t)course->weeks * WEEK_MS;
    course->slots = (course->weeks - 1) * COURSE_WEEK_SLOTS;
    add_spans(course);
    return 0;
}

static size_t slot_from(const struct course *course, struct wall_time wall)
{
    int64_t since = wall.ms - course_week(course, 1).ms;
    int64_t slot = since <= 0 ? 0 : (since + JUDGE_SLOT_MS - 1) / JUDGE_SLOT_MS;

    return slot > (int64_t)course->slots ? course->slots : (size_t)slot;
}

void course_slots_of(const struct course *course, const struct course_span *span, size_t *ret_first,
                     size_t *ret_end)
{
    *ret_first = slot_from(course, span->time.begin);
    *ret_end = slot_from(course, span->time.end);
}
