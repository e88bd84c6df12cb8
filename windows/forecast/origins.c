/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See origins.h.
 */
#include "windows/forecast/origins.h"

#include "base/text.h"
#include "windows/forecast/occurrences.h"

enum { WEEK_DAYS = 7 };

int origins_horizon(const struct forecast_setup *setup)
{
    return setup->horizon_days > 0 ? setup->horizon_days : WEEK_DAYS;
}

struct wall_time origins_next_begin(const struct window_set *set, struct wall_time begin)
{
    struct wall_time change = window_beneath_next_change(set, begin);

    return change.ms == 0 || change.ms > begin.ms + DAY_MS ? (struct wall_time){ begin.ms + DAY_MS }
                                                           : change;
}

struct wall_time origins_begin(const struct window_set *set, struct wall_time wall)
{
    struct wall_time begin = window_began(set, wall);

    if (begin.ms == 0) /* one window for ever */
        begin = occurrences_midnight(set, occurrences_day(set, wall));
    while (begin.ms < wall.ms)
        begin = origins_next_begin(set, begin);
    return begin;
}

struct wall_time origins_under_way(const struct window_set *set, const char *name,
                                   struct wall_time wall)
{
    const struct window *window = window_at(set, wall);
    struct wall_time began = window_began(set, wall);
    struct wall_time at;

    if (window->event || !text_equal(window->name, name))
        return (struct wall_time){ 0 };
    if (began.ms == 0) /* one window for ever */
        began = occurrences_midnight(set, occurrences_day(set, wall));
    for (at = origins_next_begin(set, began); at.ms <= wall.ms; at = origins_next_begin(set, at))
        began = at;
    at = origins_begin(set, occurrences_midnight(set, occurrences_day(set, began)));
    while (at.ms < began.ms && window_beneath(set, at) != window)
        at = origins_next_begin(set, at);
    return at.ms < began.ms ? at : began;
}

/* When the misses of a day are shared out: with the first of its windows that is planned, as long
   as that is not after its midnight. */
static struct points_origin origin_of_day(const struct forecast_setup *setup, int64_t day)
{
    struct points_origin origin = { day, occurrences_midnight(setup->set, day), false };
    int64_t first_ms = origins_begin(setup->set, origin.at).ms - setup->lead_ms;

    origin.at.ms = first_ms < origin.at.ms ? first_ms : origin.at.ms;
    return origin;
}

struct wall_time origins_first(const struct forecast_setup *setup, struct wall_time begin)
{
    return (struct wall_time){ begin.ms - setup->lead_ms };
}

/* When a window's own plan is made, or looked at again. */
static struct wall_time late_origin(const struct forecast_setup *setup,
                                    const struct forecast_occurrence *item)
{
    if (setup->again_ms > 0 && item->begin.ms + setup->again_ms < item->end.ms)
        return (struct wall_time){ item->begin.ms + setup->again_ms };
    return origins_first(setup, item->begin);
}

/* When the plan for an occurrence is made.  Plans are made every horizon, counted back from
   `end`; the last one that is not after the occurrence's day plans it. */
struct points_origin origins_of(const struct forecast_setup *setup,
                                const struct forecast_occurrence *item, int64_t end)
{
    int horizon = origins_horizon(setup);
    struct points_origin origin = { .day = item->day, .is_late = true };

    if (setup->lead_ms > 0 && setup->is_shared)
        return origin_of_day(setup, item->day);
    if (setup->lead_ms > 0) {
        origin.at = late_origin(setup, item);
        return origin;
    }
    origin.is_late = false;
    origin.day = end - (end - item->day + horizon - 1) / horizon * horizon;
    origin.at = occurrences_midnight(setup->set, origin.day);
    return origin;
}

struct points_origin origins_now(const struct forecast_setup *setup)
{
    int64_t last = occurrences_day(setup->set, (struct wall_time){ setup->end.ms - 1 });
    struct points_origin origin = { .day = last + 1 };

    if (setup->lead_ms > 0 && setup->is_shared) {
        origin = origin_of_day(setup, setup->day);
        origin.at.ms = setup->end.ms < origin.at.ms ? setup->end.ms : origin.at.ms;
        return origin;
    }
    if (setup->lead_ms > 0) {
        struct wall_time begin = { setup->end.ms - setup->again_ms };

        return (struct points_origin){ occurrences_day(setup->set, begin), setup->end, true };
    }
    origin.at = occurrences_midnight(setup->set, origin.day);
    return origin;
}

/* A plan of single windows does not plan the rest of the occurrence under way, unless it is looked
   at again. */
struct wall_time origins_from(const struct forecast_setup *setup)
{
    if (setup->lead_ms == 0)
        return setup->end;
    if (setup->again_ms > 0 && !setup->is_shared)
        return (struct wall_time){ setup->end.ms - setup->again_ms };
    return origins_begin(setup->set, setup->is_shared ? occurrences_midnight(setup->set, setup->day)
                                                      : setup->end);
}

struct wall_time origins_until(const struct forecast_setup *setup)
{
    if (setup->lead_ms == 0)
        return (struct wall_time){ setup->end.ms + origins_horizon(setup) * DAY_MS };
    return setup->is_shared ? occurrences_midnight(setup->set, setup->day + 1) : setup->end;
}
