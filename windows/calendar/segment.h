/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Segments: unbroken stretches of known steps of a series, the units of a replay.  A window's
 * segments are its occurrences, broken again where steps are unknown.  A step belongs to the window
 * that is in force when it begins.
 *
 * An occurrence lasts from the moment when the window comes into force until another one does;
 * steps in it may be unknown.  So a night is one occurrence.  A stretch that is longer than a day
 * is several occurrences, from midnight to midnight.
 */
#pragma once

#include "base/array.h"
#include "windows/calendar/window.h"
#include "windows/demand/demand.h"

struct segment {
    size_t first; /* step */
    size_t count;
};

struct segment_list {
    ARRAY(struct segment) list;
    ARRAY(size_t) days; /* steps with which the occurrences begin; none: all is one */
};

struct wall_span { /* [begin, end) */
    struct wall_time begin;
    struct wall_time end;
};

/* The segments of all known steps that begin in the span. */
void segments_of_series(const struct demand_series *series, struct wall_span span,
                        struct segment_list *out);

/* The segments in which `window` (an index) is in force.  For an event: those at its hours of the
   week outside of events, so that it can be planned before it begins. */
void segments_of_window(const struct demand_series *series, const struct window_set *set,
                        size_t window, struct wall_span span, struct segment_list *out);

/* The number of days, at least 1. */
size_t segments_day_count(const struct segment_list *segments);

/* Appends the segments of one occurrence; a segment that reaches beyond it is cut. */
void segments_of_day(const struct segment_list *segments, size_t day, struct segment_list *out);

void segments_clear(struct segment_list *segments);

/* `days` calendar days before `end`, at the same time of day in that zone. */
struct wall_time segments_days_before(const struct time_zone *zone, struct wall_time end, int days);

static inline void owned_segments(struct segment_list *segments)
{
    segments_clear(segments);
}
