/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which window is in force, and when that changes.  The week's table holds minutes of the wall
 * clock; between two moments with the same offset from UTC a look into the table is enough, across
 * a change of the offset we walk minute by minute, which is rare and never wrong.
 */
#include "windows/window.h"

#include "base/text.h"

#include <string.h>

void window_set_free(struct window_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        mem_free(set->items[i].name);
    mem_free(set->items);
    time_zone_free(set->zone);
    mem_free(set);
}

static int week_minute(const struct local_time *local)
{
    return local->weekday * 24 * 60 + local->minute_of_day;
}

static int index_at(const struct window_set *set, struct wall_time wall)
{
    struct local_time local = time_zone_local(set->zone, wall);

    return set->at_minute[week_minute(&local)];
}

const struct window *window_at(const struct window_set *set, struct wall_time wall)
{
    return &set->items[index_at(set, wall)];
}

const struct window *window_find(const struct window_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (text_equal(set->items[i].name, name))
            return &set->items[i];
    return NULL;
}

/* Minutes of the table from `minute` on (forward) or before it that hold the same window. */
static int run_length(const struct window_set *set, int minute, int direction)
{
    int length = 0;
    int at = minute;

    do {
        at = (at + direction + WINDOW_MINUTES) % WINDOW_MINUTES;
        length++;
    } while (length <= WINDOW_MINUTES && set->at_minute[at] == set->at_minute[minute]);
    return length;
}

/* The start of the wall clock's minute. */
static int64_t minute_start(const struct local_time *local, int64_t ms)
{
    int64_t in_second = ((ms % SECOND_MS) + SECOND_MS) % SECOND_MS;

    return ms - in_second - (int64_t)local->second * SECOND_MS;
}

struct wall_time window_next_change(const struct window_set *set, struct wall_time wall)
{
    struct local_time local = time_zone_local(set->zone, wall);
    int minute = week_minute(&local);
    int length = run_length(set, minute, 1);

    if (length > WINDOW_MINUTES)
        return (struct wall_time){ 0 };

    int64_t start = minute_start(&local, wall.ms);
    struct wall_time end = { start + (int64_t)length * MINUTE_MS };

    if (time_zone_local(set->zone, end).offset_s == local.offset_s)
        return end;

    struct wall_time next = { start + MINUTE_MS };

    while (index_at(set, next) == set->at_minute[minute])
        next.ms += MINUTE_MS;
    return next;
}

struct wall_time window_began(const struct window_set *set, struct wall_time wall)
{
    struct local_time local = time_zone_local(set->zone, wall);
    int minute = week_minute(&local);
    int length = run_length(set, minute, -1);

    if (length > WINDOW_MINUTES)
        return (struct wall_time){ 0 };

    int64_t start = minute_start(&local, wall.ms);
    struct wall_time began = { start - (int64_t)(length - 1) * MINUTE_MS };
    struct wall_time before = { began.ms - MINUTE_MS };

    if (time_zone_local(set->zone, before).offset_s == local.offset_s)
        return began;
    began.ms = start;
    for (before.ms = start - MINUTE_MS; index_at(set, before) == set->at_minute[minute];
         before.ms -= MINUTE_MS)
        began = before;
    return began;
}
