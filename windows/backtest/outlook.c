/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A forecast until the end of the course has predicted each past day from what was before its plan,
 * so one is enough for all weeks, and what its days needed is the same for all shares.
 */
#include "windows/backtest/outlook.h"

#include "windows/backtest/field.h"
#include "windows/forecast/forecast_share.h"
#include "windows/forecast/occurrences.h"
#include "windows/forecast/shares.h"

#include <math.h>
#include <string.h>

enum { WEEK_DAYS = 7 };

static const double levels[OUTLOOK_LEVEL_COUNT] = OUTLOOK_LEVELS;

static int horizon_of(enum outlook_kind kind)
{
    return kind == OUTLOOK_WEEKLY ? WEEK_DAYS : 1;
}

void outlook_init(struct outlook *outlook, const struct field *field, enum outlook_kind kind)
{
    size_t spans = field->course->spans.count;

    *outlook = (struct outlook){
        .kind = kind,
        .chosen = outlook_chosen(kind, field->misses),
        .bounds = mem_new_array(SHARES * spans, sizeof *outlook->bounds),
        .wanted = mem_new_array(OUTLOOK_LEVEL_COUNT * spans, sizeof *outlook->wanted),
        .numbers = mem_new_array(spans, sizeof *outlook->numbers),
    };
    outlook->shared = kind == OUTLOOK_FOLLOW
                          ? mem_new_array(SHARES * spans, sizeof *outlook->shared)
                          : outlook->bounds;
}

void outlook_clear(struct outlook *outlook)
{
    if (outlook->shared != outlook->bounds)
        mem_free(outlook->shared);
    mem_free(outlook->bounds);
    mem_free(outlook->wanted);
    mem_free(outlook->numbers);
}

size_t outlook_level(double misses)
{
    size_t level = 0;

    while (level + 1 < OUTLOOK_LEVEL_COUNT && levels[level] > misses + 1e-9)
        level++;
    return level;
}

size_t outlook_chosen(enum outlook_kind kind, double misses)
{
    return outlook_level(forecast_share_of(1 - misses, horizon_of(kind)));
}

static double wanted_at(const struct outlook *outlook, const struct field *field, size_t level,
                        size_t span)
{
    return outlook->wanted[level * field->course->spans.count + span];
}

/* The bounds of a window's day as they stood when its plan was made; NULL: there are none. */
static const double *shares_of(const struct forecast *forecast, const struct course_span *span)
{
    const struct forecast_cell *cell = &forecast->cells[span->window];

    for (size_t i = cell->past.count; i-- > 0;)
        if (cell->past.items[i].day == span->day)
            return cell->past.items[i].shares;
    return NULL;
}

static void foretell(const struct course *course, struct forecast *forecast,
                     const struct forecast_setup *setup, double *bounds)
{
    forecast_predict(forecast, setup);
    for (size_t i = 0; i < course->spans.count; i++) {
        const double *shares = shares_of(forecast, &course->spans.items[i]);

        if (shares)
            memcpy(&bounds[i * SHARES], shares, SHARES * sizeof *shares);
    }
}

void outlook_foretell(struct outlook *outlook, const struct field *field)
{
    struct forecast_setup setup = field_forecast_setup(field);
    owned(forecast) struct forecast *forecast = forecast_past(&setup);

    setup.horizon_days = horizon_of(outlook->kind);
    setup.lead_ms = outlook->kind == OUTLOOK_FOLLOW ? field->follow_ms : 0;
    foretell(field->course, forecast, &setup, outlook->bounds);
    if (outlook->shared == outlook->bounds)
        return;
    setup.is_shared = true;
    setup.day = field->course->end_day;
    foretell(field->course, forecast, &setup, outlook->shared);
}

/* The arrivals are scaled so that they need the bound. */
static struct field_how how_for(const struct field *field, const struct segment_list *segments,
                                double bound)
{
    struct forecast_setup setup = field_forecast_setup(field);

    return (struct field_how){ .seeds = field->seeds,
                               .scale = occurrences_scale_for(&setup, segments, bound) };
}

/* Plans a week as `sluice allocate --forecast --attainment P --slo each-day` does. */
static int search_week(struct outlook *outlook, const struct field *field, size_t week, size_t span,
                       struct error *err)
{
    const struct course_span *spans = field->course->spans.items;
    owned(segments) struct segment_list segments = { 0 };
    struct field_how how;

    for (size_t before = span; before-- > 0 && spans[before].week == week;)
        if (spans[before].window == spans[span].window) {
            outlook->numbers[span] = outlook->numbers[before];
            return 0;
        }
    field_past(field, spans[span].window, course_week(field->course, week), &segments);
    how = how_for(field, &segments, wanted_at(outlook, field, outlook->chosen, span));
    how.is_each_day = true;
    return field_search(field, &segments, &how, &outlook->numbers[span], err);
}

struct wall_time outlook_made(enum outlook_kind kind, const struct field *field,
                              const struct course_span *span)
{
    if (kind == OUTLOOK_WEEKLY)
        return course_week(field->course, span->week);
    if (kind == OUTLOOK_NIGHTLY)
        return span->midnight;
    return (struct wall_time){ span->time.begin.ms - field->follow_ms };
}

/* The plan of a span knows the data of earlier days that were over by then. */
static struct wall_time known_until(const struct outlook *outlook, const struct field *field,
                                    const struct course_span *span)
{
    struct wall_time made = outlook_made(outlook->kind, field, span);

    return made.ms < span->midnight.ms ? made : span->midnight;
}

/* Plans a day from the same window a week earlier, or else from the days before. */
static int search_day(struct outlook *outlook, const struct field *field, size_t at,
                      struct error *err)
{
    const struct course_span *span = &field->course->spans.items[at];
    owned(segments) struct segment_list segments = { 0 };
    struct field_how how;

    segments_of_series(
        field->queue->series,
        (struct wall_span){ { span->time.begin.ms - WEEK_MS }, { span->time.end.ms - WEEK_MS } },
        &segments);
    if (segments.list.count == 0)
        field_past(field, span->window, known_until(outlook, field, span), &segments);
    how = how_for(field, &segments, wanted_at(outlook, field, outlook->chosen, at));
    return field_search(field, &segments, &how, &outlook->numbers[at], err);
}

int outlook_search(struct outlook *outlook, const struct field *field, size_t week,
                   struct error *err)
{
    const struct course *course = field->course;

    for (size_t i = 0; i < course->spans.count; i++) {
        if (course->spans.items[i].week != week)
            continue;
        if ((outlook->kind == OUTLOOK_WEEKLY ? search_week(outlook, field, week, i, err)
                                             : search_day(outlook, field, i, err)) < 0)
            return -1;
    }
    return 0;
}

/* A number stands for all needs above the next lower one: the middle of them is scaled. */
int outlook_number(const struct outlook *outlook, const struct field *field, size_t level,
                   size_t span)
{
    double asked = wanted_at(outlook, field, outlook->chosen, span);
    int number = outlook->numbers[span];

    if (!(asked > 0))
        return number;
    return (int)ceil((number - 0.5) * wanted_at(outlook, field, level, span) / asked);
}
