/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which window is in force, and when that changes.  The week's table holds minutes of the wall
 * clock; inside one local day with one offset from UTC a look into the table is enough, across a
 * change of the offset we walk minute by minute, which is rare and never wrong.  Days are walked
 * one by one, because a holiday may stand anywhere.
 */
#include "windows/calendar/window.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAMES_SIZE = ERROR_TEXT_SIZE / 2, /* of a list of names, in an error */
    MINUTES_A_DAY = 24 * 60,
    SAME_DAYS = 9, /* so long without a change, and past all holidays: there is none */
};

void window_set_free(struct window_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++) {
        struct window_event *event = set->items[i].event;

        for (size_t at = 0; event && at < event->queue_count; at++)
            mem_free(event->queues[at]);
        if (event)
            mem_free(event->queues);
        mem_free(event);
        mem_free(set->items[i].name);
    }
    for (size_t i = 0; i < set->holiday_count; i++)
        mem_free(set->holidays[i].name);
    mem_free(set->items);
    mem_free(set->holidays);
    time_zone_free(set->zone);
    mem_free(set);
}

int window_compare_holidays(const void *left, const void *right)
{
    const struct holiday *a = left;
    const struct holiday *b = right;

    return (a->day > b->day) - (a->day < b->day);
}

const struct holiday *window_holiday(const struct window_set *set, int64_t day)
{
    struct holiday key = { day, 0, NULL };

    return set->holiday_count > 0 ? bsearch(&key, set->holidays, set->holiday_count, sizeof key,
                                            window_compare_holidays)
                                  : NULL;
}

static int treated_minute(const struct window_set *set, const struct local_time *local)
{
    int weekday = local->weekday;

    if (set->holiday_count > 0) {
        const struct holiday *found = window_holiday(
            set, civil_day(local->date.year, local->date.month, local->date.day));

        weekday = found ? found->weekday : weekday;
    }
    return weekday * MINUTES_A_DAY + local->minute_of_day;
}

int window_week_minute(const struct window_set *set, struct wall_time wall)
{
    struct local_time local = time_zone_local(set->zone, wall);

    return treated_minute(set, &local);
}

static int index_beneath(const struct window_set *set, struct wall_time wall)
{
    return set->at_minute[window_week_minute(set, wall)];
}

/* The first event that ends after `wall`, or NULL. */
static const struct window *event_from(const struct window_set *set, struct wall_time wall)
{
    for (size_t i = set->weekly_count; i < set->count; i++)
        if (set->items[i].event->to.ms > wall.ms)
            return &set->items[i];
    return NULL;
}

const struct window *window_beneath(const struct window_set *set, struct wall_time wall)
{
    return &set->items[index_beneath(set, wall)];
}

const struct window *window_at(const struct window_set *set, struct wall_time wall)
{
    const struct window *next = event_from(set, wall);

    return next && next->event->from.ms <= wall.ms ? next : window_beneath(set, wall);
}

const struct window *window_find(const struct window_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (text_equal(set->items[i].name, name))
            return &set->items[i];
    return NULL;
}

int window_refuse(const struct window_set *set, const char *name, struct error *err)
{
    owned(text) struct text *names = text_new(NAMES_SIZE);

    for (size_t i = 0; i < set->count; i++)
        text_add(names, "%s%s", i > 0 ? ", " : "", set->items[i].name);
    return error_set(err, ERROR_INVALID, "there is no window \"%s\"; there are: %s%s", name,
                     names->chars, names->is_cut ? "..." : "");
}

double window_multiplier(const struct window *window, const char *queue)
{
    const struct window_event *event = window->event;

    if (!event)
        return 1;
    for (size_t i = 0; i < event->queue_count; i++)
        if (text_equal(event->queues[i], queue))
            return event->multiplier;
    return event->queue_count == 0 ? event->multiplier : 1;
}

/* The start of the wall clock's minute. */
static int64_t minute_start(const struct local_time *local, int64_t ms)
{
    int64_t in_second = ((ms % SECOND_MS) + SECOND_MS) % SECOND_MS;

    return ms - in_second - (int64_t)local->second * SECOND_MS;
}

/* Minutes from this one on (direction 1) or back (-1), itself included, that hold the same window
   on the same local day. */
static int run_length(const struct window_set *set, const struct local_time *local, int direction)
{
    int minute = treated_minute(set, local);
    int left = direction > 0 ? MINUTES_A_DAY - local->minute_of_day : local->minute_of_day + 1;
    int length = 1;

    while (length < left && set->at_minute[minute + direction * length] == set->at_minute[minute])
        length++;
    return length;
}

/* From the start of a minute to that of the first one in that direction with another window; 0:
   never. */
static struct wall_time walk(const struct window_set *set, struct wall_time at, int direction,
                             struct wall_time last)
{
    int index = index_beneath(set, at);

    if (set->weekly_count == 1) /* no holiday changes anything */
        return (struct wall_time){ 0 };
    while ((last.ms - at.ms) * direction >= 0) {
        struct local_time local = time_zone_local(set->zone, at);
        int64_t length = run_length(set, &local, direction);
        struct wall_time next = { at.ms + direction * length * MINUTE_MS };

        if (time_zone_local(set->zone, next).offset_s != local.offset_s) {
            next.ms = at.ms + direction * MINUTE_MS;
            for (; length > 1 && index_beneath(set, next) == index; length--)
                next.ms += direction * MINUTE_MS;
        }
        if (index_beneath(set, next) != index)
            return next;
        at = next;
    }
    return (struct wall_time){ 0 };
}

static struct wall_time holiday_time(const struct holiday *holiday)
{
    return (struct wall_time){ holiday->day * DAY_MS };
}

/* Of the week and its holidays alone. */
struct wall_time window_beneath_next_change(const struct window_set *set, struct wall_time wall)
{
    struct local_time local = time_zone_local(set->zone, wall);
    struct wall_time last = wall;

    if (set->holiday_count > 0) {
        struct wall_time holiday = holiday_time(&set->holidays[set->holiday_count - 1]);

        last.ms = holiday.ms > last.ms ? holiday.ms : last.ms;
    }
    last.ms += SAME_DAYS * (int64_t)DAY_MS;
    return walk(set, (struct wall_time){ minute_start(&local, wall.ms) }, 1, last);
}

static struct wall_time beneath_began(const struct window_set *set, struct wall_time wall)
{
    struct local_time local = time_zone_local(set->zone, wall);
    struct wall_time first = wall;
    struct wall_time before;

    if (set->holiday_count > 0) {
        struct wall_time holiday = holiday_time(&set->holidays[0]);

        first.ms = holiday.ms < first.ms ? holiday.ms : first.ms;
    }
    first.ms -= SAME_DAYS * (int64_t)DAY_MS;
    before = walk(set, (struct wall_time){ minute_start(&local, wall.ms) }, -1, first);
    return (struct wall_time){ before.ms == 0 ? 0 : before.ms + MINUTE_MS };
}

struct wall_time window_next_change(const struct window_set *set, struct wall_time wall)
{
    const struct window *next = event_from(set, wall);

    if (next && next->event->from.ms <= wall.ms)
        return next->event->to;

    struct wall_time change = window_beneath_next_change(set, wall);

    return next && (change.ms == 0 || next->event->from.ms < change.ms) ? next->event->from
                                                                        : change;
}

struct wall_time window_used_until(const struct window_set *set, struct wall_time from,
                                   const char *name)
{
    const struct window *window = name ? window_find(set, name) : NULL;
    struct wall_time until = { from.ms + 7 * DAY_MS };
    int64_t last_ms = until.ms;

    if (window && window->event)
        return window->event->to;
    for (struct wall_time at = from; window && at.ms > 0 && at.ms < last_ms;
         at = window_next_change(set, at)) {
        if (window_at(set, at) != window)
            continue;
        struct wall_time end = window_next_change(set, at);

        until = end.ms > 0 ? end : until;
        if (at.ms + DAY_MS < last_ms)
            last_ms = at.ms + DAY_MS;
    }
    return until;
}

struct wall_time window_began(const struct window_set *set, struct wall_time wall)
{
    const struct window *next = event_from(set, wall);
    size_t after = next ? (size_t)(next - set->items) : set->count;

    if (next && next->event->from.ms <= wall.ms)
        return next->event->from;

    struct wall_time began = beneath_began(set, wall);

    if (after > set->weekly_count && set->items[after - 1].event->to.ms > began.ms)
        return set->items[after - 1].event->to;
    return began;
}
