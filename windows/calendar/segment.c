/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Walks a series from one change of window to the next, and from one unknown step to the next.
 */
#include "windows/calendar/segment.h"

void segments_clear(struct segment_list *segments)
{
    array_clear(&segments->list);
    array_clear(&segments->days);
}

size_t segments_day_count(const struct segment_list *segments)
{
    return segments->days.count > 0 ? segments->days.count : 1;
}

void segments_of_day(const struct segment_list *segments, size_t day, struct segment_list *out)
{
    size_t begin = day < segments->days.count ? segments->days.items[day] : 0;
    size_t end = day + 1 < segments->days.count ? segments->days.items[day + 1] : SIZE_MAX;

    for (size_t i = 0; i < segments->list.count; i++) {
        const struct segment *segment = &segments->list.items[i];
        size_t first = segment->first > begin ? segment->first : begin;
        size_t last = segment->first + segment->count < end ? segment->first + segment->count : end;

        if (first < last)
            *array_add(&out->list) = (struct segment){ first, last - first };
    }
}

/* The first step that does not begin before `wall`. */
static size_t step_from(const struct demand_series *series, struct wall_time wall)
{
    int64_t since = wall.ms - series->start.ms;

    if (since <= 0)
        return 0;

    int64_t step = (since + series->step_ms - 1) / series->step_ms;

    return step > (int64_t)series->count ? series->count : (size_t)step;
}

/* Adds the known runs of [first, end); one that continues the last segment lengthens it. */
static void add_known(const struct demand_series *series, size_t first, size_t end,
                      struct segment_list *out)
{
    for (size_t at = first; at < end; at++) {
        struct segment *last = out->list.count > 0 ? &out->list.items[out->list.count - 1] : NULL;

        if (!demand_is_known(series, at))
            continue;
        if (last && last->first + last->count == at)
            last->count++;
        else
            *array_add(&out->list) = (struct segment){ at, 1 };
    }
}

void segments_of_series(const struct demand_series *series, struct wall_span span,
                        struct segment_list *out)
{
    add_known(series, step_from(series, span.begin), step_from(series, span.end), out);
}

/* An occurrence begins with step `at`; one of more than a day begins again at every midnight. */
static void add_days(const struct demand_series *series, const struct time_zone *zone, size_t at,
                     size_t end, struct segment_list *out)
{
    bool is_cut = (int64_t)(end - at) * series->step_ms > DAY_MS + HOUR_MS;

    do {
        struct local_time local = time_zone_local(zone, demand_time(series, at));
        int64_t day = civil_day(local.date.year, local.date.month, local.date.day);

        *array_add(&out->days) = at;
        at = step_from(series, time_zone_wall(zone, civil_date_of_day(day + 1), 0));
    } while (is_cut && at < end);
}

/* The minutes of the week that an event covers. */
static void mark_minutes(const struct window_set *set, const struct window_event *event,
                         bool marks[WINDOW_MINUTES])
{
    struct wall_time end = { event->from.ms + WEEK_MS + DAY_MS };

    end = event->to.ms < end.ms ? event->to : end;
    for (struct wall_time at = event->from; at.ms < end.ms; at.ms += MINUTE_MS)
        marks[window_week_minute(set, at)] = true;
}

static void segments_of_event(const struct demand_series *series, const struct window_set *set,
                              const struct window_event *event, struct wall_span span,
                              struct segment_list *out)
{
    bool marks[WINDOW_MINUTES] = { false };
    size_t end = step_from(series, span.end);
    size_t first = end; /* of the stretch that `at` is in */

    mark_minutes(set, event, marks);
    for (size_t at = step_from(series, span.begin); at < end; at++) {
        struct wall_time begin = demand_time(series, at);
        bool is_in = marks[window_week_minute(set, begin)] && !window_at(set, begin)->event;

        if (is_in) {
            first = first < at ? first : at;
            add_known(series, at, at + 1, out);
        }
        if (first < end && (!is_in || at + 1 == end)) {
            add_days(series, set->zone, first, is_in ? end : at, out);
            first = end;
        }
    }
}

void segments_of_window(const struct demand_series *series, const struct window_set *set,
                        size_t window, struct wall_span span, struct segment_list *out)
{
    size_t end = step_from(series, span.end);
    size_t at = step_from(series, span.begin);

    if (set->items[window].event) {
        segments_of_event(series, set, set->items[window].event, span, out);
        return;
    }
    while (at < end) {
        struct wall_time begin = demand_time(series, at);
        struct wall_time change = window_next_change(set, begin);
        size_t next = change.ms == 0 ? end : step_from(series, change);

        next = next > end ? end : next;
        if (window_at(set, begin) == &set->items[window]) {
            add_days(series, set->zone, at, next, out);
            add_known(series, at, next, out);
        }
        at = next;
    }
}

struct wall_time segments_days_before(const struct time_zone *zone, struct wall_time end, int days)
{
    struct local_time local = time_zone_local(zone, end);
    int64_t day = civil_day(local.date.year, local.date.month, local.date.day) - days;

    return time_zone_wall(zone, civil_date_of_day(day), local.minute_of_day);
}
