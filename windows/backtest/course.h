/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The course of a backtest: whole weeks counted back from the last local midnight of the demand.
 * Each begins with a local day, so that one in which clocks change has an hour more or less.  Week
 * 0 is only learned from; each later one is planned from what lies before it.
 * A span is an unbroken stretch of a window of the week (events do not count) that begins in one of
 * the weeks; the last one ends with the course.
 */
#pragma once

#include "base/array.h"
#include "windows/judge/judge.h"

struct course_span {
    struct wall_span time;
    size_t window;             /* index */
    size_t week;               /* in which it begins */
    int64_t day;               /* local day on which its occurrence of the window begins */
    struct wall_time midnight; /* the midnight with which that day begins */
};

struct course {
    const struct window_set *set;
    struct wall_time begin; /* of week 1, and of the first slot */
    struct wall_time end;
    int64_t end_day; /* local, the first that is not of the course */
    size_t weeks;
    size_t slots; /* of weeks 1 and later: those that are planned */
    ARRAY(struct course_span) spans;
};

struct course_weeks { /* [from, to) */
    size_t from;
    size_t to;
};

/* ERROR_INVALID when there are fewer than two whole weeks from `start` to `end`. */
int course_init(struct course *course, const struct window_set *set, struct wall_time start,
                struct wall_time end, struct error *err) __attribute__((warn_unused_result));
void course_clear(struct course *course);

/* Local midnight; `week` may be `weeks`, too. */
struct wall_time course_week(const struct course *course, size_t week);

/* The first slot of a week but 0; `slots` for `weeks`. */
size_t course_week_slot(const struct course *course, size_t week);

/* The first slot that does not begin before `wall`; `slots` where none is left. */
size_t course_slot_from(const struct course *course, struct wall_time wall);

static inline struct wall_time course_slot(const struct course *course, size_t slot)
{
    return (struct wall_time){ course->begin.ms + (int64_t)slot * JUDGE_SLOT_MS };
}

/* The slots that begin in a span: [ret_first, ret_end). */
void course_slots_of(const struct course *course, const struct course_span *span, size_t *ret_first,
                     size_t *ret_end);
