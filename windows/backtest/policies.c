/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * All but the reactive one plan a number for each window, which stands for a week or for a day.
 */
#include "windows/backtest/policies.h"

#include "windows/forecast.h"

#include <math.h>

enum {
    IN_STABLE_SLOTS = 3, /* what a scaler waits before it shrinks: 15 min */
    WEEK_DAYS = 7,
};

static const double tolerance = 0.1; /* of a scaler: smaller changes are left */

static int plan_static(const struct field *field, double level, int *servers, struct error *err);
static int plan_proportional(const struct field *field, double level, int *servers,
                             struct error *err);
static int plan_square_root(const struct field *field, double level, int *servers,
                            struct error *err);
static int plan_reactive(const struct field *field, double level, int *servers, struct error *err);
static int plan_deckard(const struct field *field, double level, int *servers, struct error *err);
static int plan_weekly(const struct field *field, double level, int *servers, struct error *err);
static int plan_daily(const struct field *field, double level, int *servers, struct error *err);
static int plan_oracle_windows(const struct field *field, double level, int *servers,
                               struct error *err);

/* clang-format off */
const struct policy policies[] = {
    { "static-peak", "all week as many as the neediest window of all past weeks needed",
      "factor", { 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25 }, 8, 5,
      .is_planned = true, .plan = plan_static },
    { "proportional", "a window's mean load of last week at a fixed utilisation",
      "utilisation", { 1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.25, 0.1 }, 12, 4,
      .is_tuned = true, .is_planned = true, .plan = plan_proportional },
    { "square-root", "that load and beta times its root",
      "beta", { 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 6, 8, 12, 24 }, 12, 3,
      .is_tuned = true, .is_planned = true, .plan = plan_square_root },
    { "reactive", "the load of the last five minutes at a target utilisation, late by the lead time",
      "utilisation", { 1, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1 }, 12, 4,
      .is_tuned = true, .plan = plan_reactive },
    { "deckard", "what each window needed last week, the worst of 8 seeds",
      "factor", { 0.8, 0.9, 1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2, 4 }, 11, 2,
      .is_planned = true, .plan = plan_deckard },
    { "sluice", "a week's windows for the bound of the forecast, exactly searched",
      "misses", { 0.5, 0.3, 0.2, 0.1, 0.05, 0.02 }, 6, 3,
      .is_tuned = true, .is_planned = true, .plan = plan_weekly },
    { "sluice-daily", "the same for each next day alone, planned every night",
      "misses", { 0.5, 0.3, 0.2, 0.1, 0.05, 0.02 }, 6, 3,
      .is_tuned = true, .is_planned = true, .plan = plan_daily },
    { "windowed-oracle", "what each window will need",
      NULL, { 1 }, 1, 0,
      .is_oracle = true, .is_planned = true, .plan = plan_oracle_windows },
    { 0 },
};
/* clang-format on */

size_t policies_count(void)
{
    return COUNT_OF(policies) - 1;
}

size_t policies_oracle(void)
{
    return COUNT_OF(policies) - 2;
}

static void fill(const struct course *course, const struct course_span *span, int number,
                 int *servers)
{
    size_t first;
    size_t end;

    course_slots_of(course, span, &first, &end);
    for (size_t slot = first; slot < end; slot++)
        servers[slot] = number > 1 ? number : 1;
}

/* Every span of a week gets its window's number. */
static void fill_week(const struct course *course, size_t week, const int *numbers, int *servers)
{
    for (size_t i = 0; i < course->spans.count; i++)
        if (course->spans.items[i].week == week)
            fill(course, &course->spans.items[i], numbers[course->spans.items[i].window], servers);
}

/* Windows begin in the week before, too: the first hours of week 1 may be of one. */
static void fill_begin(const struct course *course, int *servers)
{
    size_t first = 0;

    while (first < course->slots && servers[first] == 0)
        first++;
    for (size_t slot = 0; slot < first; slot++)
        servers[slot] = servers[first < course->slots ? first : slot];
}

static int plan_static(const struct field *field, double level, int *servers, struct error *err)
{
    const struct course *course = field->course;
    int most = 1;

    (void)err;
    for (size_t i = 0, week = 0; i < course->spans.count; i++) {
        const struct course_span *span = &course->spans.items[i];

        for (; week < span->week; week++)
            for (size_t at = 0; at < i; at++)
                most = field->needs[at] > most ? field->needs[at] : most;
        fill(course, span, (int)ceil(level * most), servers);
    }
    return 0;
}

/* The number of each window from its load in the week before. */
static int plan_by_load(const struct field *field, double level,
                        double (*number)(double load, double level), int *servers)
{
    const struct course *course = field->course;
    size_t windows = course->set->weekly_count;
    int *numbers = mem_new_array(windows, sizeof *numbers);

    for (size_t week = 1; week < course->weeks; week++) {
        for (size_t window = 0; window < windows; window++) {
            owned(segments) struct segment_list segments = { 0 };

            field_past(field, window, course_week(course, week), &segments);
            numbers[window] = (int)ceil(number(field_load(field, &segments), level));
        }
        fill_week(course, week, numbers, servers);
    }
    mem_free(numbers);
    fill_begin(course, servers);
    return 0;
}

static double at_utilisation(double load, double level)
{
    return load / level;
}

static double with_root(double load, double level)
{
    return load + level * sqrt(load);
}

static int plan_proportional(const struct field *field, double level, int *servers,
                             struct error *err)
{
    (void)err;
    return plan_by_load(field, level, at_utilisation, servers);
}

static int plan_square_root(const struct field *field, double level, int *servers,
                            struct error *err)
{
    (void)err;
    return plan_by_load(field, level, with_root, servers);
}

/* What a scaler asks for in each slot, having seen the one before. */
static void ask_in_turn(const struct field *field, double level, int *asked)
{
    const struct course *course = field->course;
    int recent[IN_STABLE_SLOTS] = { 1, 1, 1 };
    int now = 0;

    for (size_t slot = 0; slot < course->slots; slot++) {
        struct wall_time before = { course_slot(course, slot).ms - JUDGE_SLOT_MS };
        double load = field_slot_load(field, before);
        int most = 1;

        recent[slot % IN_STABLE_SLOTS] = load < 0 ? now : (int)ceil(load / level);
        for (int i = 0; i < IN_STABLE_SLOTS; i++)
            most = recent[i] > most ? recent[i] : most;
        if (recent[slot % IN_STABLE_SLOTS] > now * (1 + tolerance))
            now = recent[slot % IN_STABLE_SLOTS];
        else if (most < now * (1 - tolerance))
            now = most;
        asked[slot] = now > 1 ? now : 1;
    }
}

/* More are there once they have been asked for during the whole lead time; fewer at once. */
static int plan_reactive(const struct field *field, double level, int *servers, struct error *err)
{
    const struct course *course = field->course;
    size_t late = (size_t)((field->up_ms + JUDGE_SLOT_MS - 1) / JUDGE_SLOT_MS);
    int *asked = mem_new_array(course->slots, sizeof *asked);

    (void)err;
    ask_in_turn(field, level, asked);
    for (size_t slot = 0; slot < course->slots; slot++) {
        servers[slot] = asked[slot];
        for (size_t ago = 1; ago <= late && ago <= slot; ago++)
            servers[slot] = asked[slot - ago] < servers[slot] ? asked[slot - ago] : servers[slot];
    }
    mem_free(asked);
    return 0;
}

static int plan_deckard(const struct field *field, double level, int *servers, struct error *err)
{
    const struct course *course = field->course;
    size_t windows = course->set->weekly_count;
    int *numbers = mem_new_array(windows, sizeof *numbers);

    (void)err;
    for (size_t week = 1; week < course->weeks; week++) {
        for (size_t window = 0; window < windows; window++)
            numbers[window] = (int)ceil(level * field->last_week[week * windows + window]);
        fill_week(course, week, numbers, servers);
    }
    mem_free(numbers);
    fill_begin(course, servers);
    return 0;
}

static struct forecast *forecast_until(const struct field *field, double misses,
                                       struct wall_time end)
{
    struct forecast_setup setup = { .series = field->queue->series,
                                    .set = field->course->set,
                                    .service_s = field->queue->service_s,
                                    .service_cv = field->queue->service_cv,
                                    .scale = field->queue->scale,
                                    .misses = misses,
                                    .target = field->queue->target,
                                    .end = end };

    return forecast_new(&setup);
}

/* As `sluice allocate --forecast` plans a week. */
static int plan_week(const struct field *field, double misses, size_t week, int *numbers,
                     struct error *err)
{
    struct wall_time origin = course_week(field->course, week);
    owned(forecast) struct forecast *forecast = forecast_until(field, misses, origin);

    for (size_t window = 0; window < forecast->count; window++) {
        owned(segments) struct segment_list segments = { 0 };

        field_past(field, window, origin, &segments);
        if (field_search(field, &segments, forecast->cells[window].scale, field->seeds,
                         &numbers[window], err) < 0)
            return -1;
    }
    return 0;
}

static int plan_weekly(const struct field *field, double level, int *servers, struct error *err)
{
    const struct course *course = field->course;
    int *numbers = mem_new_array(course->set->weekly_count, sizeof *numbers);
    int result = 0;

    for (size_t week = 1; week < course->weeks && result == 0; week++) {
        result = plan_week(field, level, week, numbers, err);
        if (result == 0)
            fill_week(course, week, numbers, servers);
    }
    mem_free(numbers);
    fill_begin(course, servers);
    return result;
}

/* The bound of a window's day as it stood when the day began: a forecast that ends a week later
   predicts that day from what was before it. */
static double bound_of(const struct forecast *forecast, const struct course_span *span)
{
    const struct forecast_cell *cell = &forecast->cells[span->window];

    for (size_t i = cell->past.count; i-- > 0;)
        if (cell->past.items[i].day == span->day)
            return cell->past.items[i].bounds[cell->past.items[i].method];
    return 0;
}

/* The same window of the same day a week earlier, or else of the days before `midnight`. */
static void segments_alike(const struct field *field, const struct course_span *span,
                           struct segment_list *out)
{
    segments_of_series(field->queue->series, (struct wall_time){ span->time.begin.ms - WEEK_MS },
                       (struct wall_time){ span->time.end.ms - WEEK_MS }, out);
    if (out->list.count == 0)
        field_past(field, span->window, span->midnight, out);
}

static int plan_span(const struct field *field, const struct forecast *forecast,
                     const struct course_span *span, int *servers, struct error *err)
{
    owned(segments) struct segment_list segments = { 0 };
    double bound = bound_of(forecast, span);
    int number;

    segments_alike(field, span, &segments);
    if (field_search(field, &segments, field_scale_for(field, &segments, bound), field->seeds,
                     &number, err) < 0)
        return -1;
    fill(field->course, span, number, servers);
    return 0;
}

static int plan_daily(const struct field *field, double level, int *servers, struct error *err)
{
    const struct course *course = field->course;

    for (int64_t turn = 0; turn < WEEK_DAYS; turn++) {
        struct wall_time end = { course->end.ms + turn * DAY_MS };
        struct local_time local = time_zone_local(course->set->zone, end);
        int64_t last = civil_day(local.date.year, local.date.month, local.date.day);
        owned(forecast) struct forecast *forecast = forecast_until(field, level, end);

        for (size_t i = 0; i < course->spans.count; i++) {
            const struct course_span *span = &course->spans.items[i];

            if (span->week > 0 && (last - span->day) % WEEK_DAYS == 0 &&
                plan_span(field, forecast, span, servers, err) < 0)
                return -1;
        }
    }
    fill_begin(course, servers);
    return 0;
}

static int plan_oracle_windows(const struct field *field, double level, int *servers,
                               struct error *err)
{
    (void)level;
    (void)err;
    for (size_t i = 0; i < field->course->spans.count; i++)
        fill(field->course, &field->course->spans.items[i], field->needs[i], servers);
    return 0;
}
