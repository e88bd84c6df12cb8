/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What overruns a bound for a minute is a burst that its percentile allows for; half an hour is
 * not.
 */
#include "windows/forecast/stale.h"

#include "windows/forecast/occurrences.h"

static const double overrun = 1.1;

enum { OVERRUN_MINUTES = 30, TEN_MINUTES = 10, AGE_HOURS = 48 };

/* Less than half of the last day is known. */
static bool is_unknown(const struct forecast_setup *setup)
{
    struct segment_list segments = { 0 };
    size_t known = 0;

    segments_of_series(setup->series, (struct wall_span){ { setup->end.ms - DAY_MS }, setup->end },
                       &segments);
    for (size_t i = 0; i < segments.list.count; i++)
        known += segments.list.items[i].count;
    segments_clear(&segments);
    return (int64_t)known * setup->series->step_ms * 2 < DAY_MS;
}

static int64_t arrivals_at(const struct demand_series *series, size_t step)
{
    return (int64_t)demand_at(series, DEMAND_HIGH, step) + demand_at(series, DEMAND_LOW, step);
}

static int64_t arrivals_in(const struct demand_series *series, struct segment segment)
{
    int64_t sum = 0;

    for (size_t at = 0; at < segment.count; at++)
        sum += arrivals_at(series, segment.first + at);
    return sum;
}

/* Of each half hour the least of its ten-minute needs, and of those the greatest; empty when no
   half hour is known. */
static struct segment sustained(const struct demand_series *series,
                                const struct segment_list *segments)
{
    int64_t ten_ms = TEN_MINUTES * (int64_t)MINUTE_MS;
    size_t ten = (size_t)((ten_ms + series->step_ms - 1) / series->step_ms);
    int64_t part_ms = (int64_t)ten * series->step_ms; /* more where a step is longer */
    size_t parts = (size_t)((OVERRUN_MINUTES * (int64_t)MINUTE_MS + part_ms - 1) / part_ms);
    struct segment best = { 0, 0 };
    int64_t most = -1;

    for (size_t i = 0; i < segments->list.count; i++) {
        const struct segment *segment = &segments->list.items[i];

        for (size_t at = 0; at + parts * ten <= segment->count; at++) {
            struct segment least = { segment->first + at, ten };

            for (size_t part = 1; part < parts; part++) {
                struct segment other = { segment->first + at + part * ten, ten };

                if (arrivals_in(series, other) < arrivals_in(series, least))
                    least = other;
            }
            if (arrivals_in(series, least) > most) {
                most = arrivals_in(series, least);
                best = least;
            }
        }
    }
    return best;
}

/* Whether the last day, for half an hour on end, needed over a tenth more than its bound.  The
   occurrence may still be under way. */
static bool is_overrun(const struct forecast_setup *setup, const struct forecast_occurrence *item,
                       size_t window)
{
    struct segment_list segments = { 0 };
    struct segment_list minutes = { 0 };
    struct wall_time from = { setup->end.ms - DAY_MS };
    double bound = item->bounds[item->method];
    double need = 0;

    from.ms = from.ms > item->begin.ms ? from.ms : item->begin.ms;
    segments_of_window(
        setup->series, setup->set, window,
        (struct wall_span){ from, item->end.ms < setup->end.ms ? item->end : setup->end },
        &segments);

    struct segment worst = sustained(setup->series, &segments);

    if (worst.count > 0 && bound > 0) {
        *array_add(&minutes.list) = worst;
        need = occurrences_need(setup, &minutes, setup->scale);
    }
    segments_clear(&segments);
    segments_clear(&minutes);
    return need > overrun * bound;
}

enum forecast_stale stale_find(const struct forecast_setup *setup, const struct forecast_cell *cell,
                               size_t window)
{
    if (setup->now.ms > setup->end.ms + AGE_HOURS * (int64_t)HOUR_MS)
        return FORECAST_OLD;
    if (is_unknown(setup))
        return FORECAST_NO_DATA;
    for (size_t i = cell->past.count; i-- > 0;) {
        if (cell->past.items[i].end.ms <= setup->end.ms - DAY_MS)
            break;
        if (is_overrun(setup, &cell->past.items[i], window))
            return FORECAST_OVERRUN;
    }
    return FORECAST_FRESH;
}
