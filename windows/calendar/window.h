/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows: named, recurring stretches of the week in one time zone.  Every minute belongs to
 * exactly one.  A window may be carved out of another (`within`), which then covers the rest; two
 * windows that overlap without that are an error.
 *
 * A window begins on each of its days at `from` and ends at `to`, on the next day when `to` is not
 * later than `from`: the night that begins on Friday at 20:00 ends on Saturday at 08:00 and is a
 * weekday night.  Times are those of the clock on the wall: 08:30 stays 08:30 when daylight saving
 * begins; that night has an hour less.
 *
 * The calendar (windows/calendar/calendar.h) adds what stands outside the week.  A holiday has
 * another day's windows from its midnight to the next: the night before it ends at midnight, and so
 * does its own night.  After that the usual windows are in force.  An event is a dated window that
 * covers whatever it overlaps and ends by itself.
 */
#pragma once

#include "base/error.h"
#include "base/input/yaml.h"
#include "base/time_zone.h"

#include <stdbool.h>
#include <stddef.h>

enum { WINDOW_MINUTES = 7 * 24 * 60 };

/* What makes a window a dated one. */
struct window_event {
    struct wall_time from;
    struct wall_time to;
    double multiplier;  /* of the arrivals at these hours of the week */
    char **queues;      /* whose arrivals are multiplied */
    size_t queue_count; /* 0: all queues */
};

struct holiday {
    int64_t day; /* as civil_day() counts */
    int weekday; /* whose windows it has: 0 Monday .. 6 Sunday */
    char *name;  /* of a country's public holiday; NULL: the configuration has the date */
};

struct window {
    char *name;
    unsigned days;              /* bit 0 Monday .. bit 6 Sunday: the days on which it begins */
    int from_minute;            /* of the day, 0..1439 */
    int to_minute;              /* 1..1440; <= from_minute: on the next day */
    int within;                 /* index of the window it is carved out of; -1: none */
    int depth;                  /* 0, or one more than that of `within` */
    struct window_event *event; /* NULL: of the week; otherwise the five fields above are unused */
};

struct window_set {
    struct time_zone *zone;
    struct window *items; /* the week's, then the events in the order of time */
    size_t count;
    size_t weekly_count;
    struct holiday *holidays; /* in the order of time */
    size_t holiday_count;
    unsigned char
        at_minute[WINDOW_MINUTES]; /* index by minute of the local week from Monday 00:00 */
};

/* From the `windows:` mapping; NULL gives the default five (weekday-day 08:00-20:00, weekday-peak
   08:30-12:30 within it, weekday-night, weekend-day 08:00-20:00, weekend-night).  Takes the zone on
   success.  Errors (gap, overlap, cycle, unknown `within`, a carve-out that leaves its parent, more
   than 64 windows) name file, line and window. */
struct window_set *window_set_read(const struct yaml_node *windows, struct time_zone *zone,
                                   struct error *err) __attribute__((warn_unused_result));
void window_set_free(struct window_set *set);

/* The window in force.  Never NULL. */
const struct window *window_at(const struct window_set *set, struct wall_time wall);

/* The window of that name, or NULL. */
const struct window *window_find(const struct window_set *set, const char *name);

/* Sets ERROR_INVALID: "there is no window \"x\"; there are: day, night", and returns -1. */
int window_refuse(const struct window_set *set, const char *name, struct error *err);

/* The first moment after `wall` at which another window is in force; never (0) when one window
   covers all. */
struct wall_time window_next_change(const struct window_set *set, struct wall_time wall);

/* The end of the time that a schedule of the window is for, if it is used from `from` on: of an
   event; else of the window on the first day that has it (a window within it may cut it in parts).
   NULL, or a window that no day of the week from then on has: a week, which has each window. */
struct wall_time window_used_until(const struct window_set *set, struct wall_time from,
                                   const char *name);

/* The last moment at or before `wall` at which the window in force began. */
struct wall_time window_began(const struct window_set *set, struct wall_time wall);

/* The same as if there were no events: the window of the week that an event covers. */
const struct window *window_beneath(const struct window_set *set, struct wall_time wall);
struct wall_time window_beneath_next_change(const struct window_set *set, struct wall_time wall);

/* The minute of the week of this moment: by the clock, and on a holiday that of the day whose
   windows it has. */
int window_week_minute(const struct window_set *set, struct wall_time wall);

/* The calendar's entry for a day (as civil_day() counts), or NULL. */
const struct holiday *window_holiday(const struct window_set *set, int64_t day);

/* The order of holidays in a set: by day, for qsort() and bsearch(). */
int window_compare_holidays(const void *left, const void *right);

/* The factor for a queue's arrivals in this window; 1 except in events. */
double window_multiplier(const struct window *window, const char *queue);

/* An event that has ended: it needs no schedule any more. */
static inline bool window_is_over(const struct window *window, struct wall_time now)
{
    return window->event && window->event->to.ms <= now.ms;
}

/* 0 Monday .. 6 Sunday by three letters or more of the name in any case; -1: no day. */
int window_day_named(const char *chars, size_t length);

static inline void owned_window_set(struct window_set **set)
{
    window_set_free(*set);
}
