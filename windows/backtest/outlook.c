/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A forecast until the end of the course has predicted each past day from what was before its plan,
 * so one is enough for all weeks, and what its days needed is the same for all shares.
 */
#include "windows/backtest/outlook.h"

#include "windows/backtest/field.h"
#include "windows/forecast/forecast_parts.h"
#include "windows/forecast/forecast_share.h"
#include "windows/forecast/occurrences.h"
#include "windows/forecast/shares.h"

#include <math.h>
#include <string.h>

enum { WEEK_DAYS = 7, MODEL_WEEKS = 8 };

static const double reached = 0.999; /* of a bound, by arrivals that are scaled to it */

static const double levels[OUTLOOK_LEVEL_COUNT] = OUTLOOK_LEVELS;

static int horizon_of(enum outlook_kind kind)
{
    return kind == OUTLOOK_WEEKLY ? WEEK_DAYS : 1;
}

/* Makes room for the looks of each span: an hour after its beginning, two hours, until its end. */
static void add_looks(struct outlook *outlook, const struct course *course)
{
    size_t spans = course->spans.count;
    size_t count = 0;

    outlook->looks = mem_new_array(spans + 1, sizeof *outlook->looks);
    outlook->shares = mem_new_array(OUTLOOK_LEVEL_COUNT * spans, sizeof *outlook->shares);
    for (size_t i = 0; i < spans; i++) {
        const struct wall_span *time = &course->spans.items[i].time;

        outlook->looks[i] = count;
        count += (size_t)((time->end.ms - time->begin.ms - 1) / HOUR_MS);
    }
    outlook->looks[spans] = count;
    outlook->again = mem_new_array(SHARES * (count + 1), sizeof *outlook->again);
}

void outlook_init(struct outlook *outlook, const struct field *field, enum outlook_kind kind)
{
    size_t spans = field->course->spans.count;

    *outlook = (struct outlook){
        .kind = kind,
        .chosen = outlook_chosen(kind, field->misses),
        .bounds = mem_new_array(SHARES * spans, sizeof *outlook->bounds),
        .alike = mem_new_array(spans, sizeof *outlook->alike),
        .wanted = mem_new_array(OUTLOOK_LEVEL_COUNT * spans, sizeof *outlook->wanted),
        .numbers = mem_new_array(spans, sizeof *outlook->numbers),
    };
    if (kind == OUTLOOK_FOLLOW && !(field->without & FORECAST_AGAIN))
        add_looks(outlook, field->course);
    outlook->shared = kind == OUTLOOK_FOLLOW
                          ? mem_new_array(SHARES * spans, sizeof *outlook->shared)
                          : outlook->bounds;
}

void outlook_clear(struct outlook *outlook)
{
    if (outlook->shared != outlook->bounds)
        mem_free(outlook->shared);
    mem_free(outlook->bounds);
    mem_free(outlook->alike);
    mem_free(outlook->looks);
    mem_free(outlook->again);
    mem_free(outlook->shares);
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

/* A window's day as it stood when its plan was made; NULL: there is none. */
static const struct forecast_occurrence *day_of(const struct forecast *forecast,
                                                const struct course_span *span)
{
    const struct forecast_cell *cell = &forecast->cells[span->window];

    for (size_t i = cell->past.count; i-- > 0;)
        if (cell->past.items[i].day == span->day)
            return &cell->past.items[i];
    return NULL;
}

static void foretell(struct outlook *outlook, const struct course *course,
                     struct forecast *forecast, const struct forecast_setup *setup, double *bounds)
{
    forecast_predict(forecast, setup);
    for (size_t i = 0; i < course->spans.count; i++) {
        const struct forecast_occurrence *day = day_of(forecast, &course->spans.items[i]);

        outlook->alike[i] = day ? day->alike : 1;
        if (day)
            memcpy(&bounds[i * SHARES], day->shares, sizeof day->shares);
    }
}

/* Sets the bounds of the look `look` of each span that has so many. */
static void foretell_again(struct outlook *outlook, const struct course *course,
                           const struct forecast *forecast, size_t look)
{
    for (size_t i = 0; i < course->spans.count; i++) {
        const struct course_span *span = &course->spans.items[i];
        const struct forecast_occurrence *day = look < outlook_looks(outlook, i)
                                                    ? day_of(forecast, span)
                                                    : NULL;

        if (day)
            memcpy(&outlook->again[(outlook->looks[i] + look) * SHARES], day->shares,
                   sizeof day->shares);
    }
}

static void look_again(struct outlook *outlook, const struct course *course,
                       struct forecast *forecast, const struct forecast_setup *setup)
{
    struct forecast_setup again = *setup;
    size_t most = 0;

    for (size_t i = 0; outlook->looks && i < course->spans.count; i++)
        most = outlook_looks(outlook, i) > most ? outlook_looks(outlook, i) : most;
    for (size_t look = 0; look < most; look++) {
        again.again_ms = (int64_t)(look + 1) * HOUR_MS;
        forecast_predict(forecast, &again);
        foretell_again(outlook, course, forecast, look);
    }
}

void outlook_foretell(struct outlook *outlook, const struct field *field)
{
    struct forecast_setup setup = field_forecast_setup(field);
    owned(forecast) struct forecast *forecast = forecast_past(&setup);

    setup.horizon_days = horizon_of(outlook->kind);
    setup.lead_ms = outlook->kind == OUTLOOK_FOLLOW ? field->follow_ms : 0;
    foretell(outlook, field->course, forecast, &setup, outlook->bounds);
    if (outlook->shared == outlook->bounds)
        return;
    look_again(outlook, field->course, forecast, &setup);
    setup.is_shared = true;
    setup.day = field->course->end_day;
    foretell(outlook, field->course, forecast, &setup, outlook->shared);
}

/* A week's number is searched on the arrivals of the window in the seven days before that week;
   weeks further back stand in for them. */
static void list_week(const struct field *field, const struct course_span *span, int64_t ago,
                      struct segment_list *out)
{
    int64_t end_ms = course_week(field->course, span->week).ms - (ago - 1) * WEEK_MS;

    segments_of_window(field->queue->series, field->course->set, span->window,
                       (struct wall_span){ { end_ms - WEEK_MS }, { end_ms } }, out);
}

/* A day's number is searched on the same hours of weeks before. */
static void list_day(const struct field *field, const struct course_span *span, int64_t ago,
                     struct segment_list *out)
{
    segments_of_series(field->queue->series,
                       (struct wall_span){ { span->time.begin.ms - ago * WEEK_MS },
                                           { span->time.end.ms - ago * WEEK_MS } },
                       out);
}

/* Scales these arrivals so that they need the bound; false: they cannot. */
static bool scale_to(const struct field *field, const struct segment_list *segments, double bound,
                     double *ret_scale)
{
    struct forecast_setup setup = field_forecast_setup(field);

    *ret_scale = occurrences_scale_for(&setup, segments, bound);
    return segments->list.count > 0 &&
           occurrences_need(&setup, segments, *ret_scale * setup.scale) >= reached * bound;
}

/* Selects the newest arrivals that can be scaled to the bound: hours of an outage are no model of
   the week after it.  false: there are none within eight weeks. */
static bool find_model(const struct outlook *outlook, const struct field *field, size_t span,
                       struct segment_list *out, double *ret_scale)
{
    const struct course_span *at = &field->course->spans.items[span];
    double bound = wanted_at(outlook, field, outlook->chosen, span);

    for (int64_t ago = 1; bound > 0 && ago <= MODEL_WEEKS; ago++) {
        out->list.count = 0;
        (outlook->kind == OUTLOOK_WEEKLY ? list_week : list_day)(field, at, ago, out);
        if (scale_to(field, out, bound, ret_scale))
            return true;
    }
    return false;
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

/* Plans a span as `sluice allocate --forecast --attainment P --slo each-day` does.  The last resort
   are all days of the window before the plan, and then the bound itself. */
static int search_span(struct outlook *outlook, const struct field *field, size_t at,
                       struct error *err)
{
    const struct course_span *span = &field->course->spans.items[at];
    double bound = wanted_at(outlook, field, outlook->chosen, at);
    owned(segments) struct segment_list segments = { 0 };
    struct field_how how = { field->seeds, outlook->kind == OUTLOOK_WEEKLY, 1 };

    if (!find_model(outlook, field, at, &segments, &how.scale)) {
        segments.list.count = 0;
        field_past(field, span->window, known_until(outlook, field, span), &segments);
        if (bound > 0 && !scale_to(field, &segments, bound, &how.scale)) {
            outlook->numbers[at] = (int)ceil(bound);
            return 0;
        }
    }
    return field_search(field, &segments, &how, &outlook->numbers[at], err);
}

/* All days of a window in a week have one number. */
static bool has_number(const struct course *course, const struct outlook *outlook, size_t span,
                       int *ret_number)
{
    const struct course_span *spans = course->spans.items;

    for (size_t before = span;
         outlook->kind == OUTLOOK_WEEKLY && before-- > 0 && spans[before].week == spans[span].week;)
        if (spans[before].window == spans[span].window) {
            *ret_number = outlook->numbers[before];
            return true;
        }
    return false;
}

int outlook_search(struct outlook *outlook, const struct field *field, size_t week,
                   struct error *err)
{
    const struct course *course = field->course;

    for (size_t i = 0; i < course->spans.count; i++)
        if (course->spans.items[i].week == week &&
            !has_number(course, outlook, i, &outlook->numbers[i]) &&
            search_span(outlook, field, i, err) < 0)
            return -1;
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

size_t outlook_looks(const struct outlook *outlook, size_t span)
{
    return outlook->looks ? outlook->looks[span + 1] - outlook->looks[span] : 0;
}

struct wall_time outlook_look_made(const struct course_span *span, size_t look)
{
    return (struct wall_time){ span->time.begin.ms + (int64_t)(look + 1) * HOUR_MS };
}

size_t outlook_look_slot(const struct field *field, const struct course_span *span, size_t look)
{
    struct wall_time made = outlook_look_made(span, look);

    return course_slot_from(field->course, (struct wall_time){ made.ms + field->up_ms });
}

int outlook_number_again(const struct outlook *outlook, const struct field *field, size_t level,
                         size_t span, size_t look)
{
    size_t share = outlook->shares[level * field->course->spans.count + span];
    double first = outlook->bounds[span * SHARES + share];
    double now = outlook->again[(outlook->looks[span] + look) * SHARES + share];
    int number = outlook_number(outlook, field, level, span);

    return first > 0 && now > 0 ? (int)ceil((number - 0.5) * now / first) : number;
}
