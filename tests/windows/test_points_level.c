/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The level of the last days: what counts as one, and what is a quiet day or a shift.
 */
#include "tests/support/unit.h"
#include "windows/forecast/forecast_parts.h"
#include "windows/forecast/points.h"

#include <math.h>

enum { DAYS = 30, WEEK_DAYS = 7, WINDOWS = 2, DAY_HOURS = 24, NEED = 100 };

/* Two windows a day, from midnight and from noon, UTC. */
static void make(struct forecast *forecast, struct forecast_cell cells[WINDOWS], int first,
                 double expected, const double last[4])
{
    *forecast = (struct forecast){ .cells = cells, .count = WINDOWS };
    for (int window = 0; window < WINDOWS; window++)
        cells[window] = (struct forecast_cell){ 0 };
    for (int day = first; day < DAYS; day++)
        for (int window = 0; window < WINDOWS; window++) {
            int from_end = (DAYS - day) * WINDOWS - window; /* 4, 3, 2, 1: the last two days */
            double profile = from_end <= 4 ? expected : NEED;
            double rest = from_end <= 4 ? last[4 - from_end] : 0.01 * (day % 2 ? 1 : -1);
            int64_t begin_ms = day * (int64_t)DAY_MS + window * 12 * (int64_t)HOUR_MS;

            *array_add(&cells[window].past) = (struct forecast_occurrence){
                .day = day,
                .begin = { begin_ms },
                .end = { begin_ms + 12 * (int64_t)HOUR_MS },
                .is_known = true,
                .need = profile * exp(rest),
                .profile = profile,
            };
        }
}

static void a_level_is_what_windows_agree_on(void **state)
{
    static const struct {
        const char *name;
        int first; /* day that is known */
        double last[4];
        unsigned without;
        double low; /* of the level */
        double high;
    } rows[] = {
        { "nothing happens", 0, { 0 }, 0, -0.01, 0.01 },
        { "a quiet day", 0, { 0, 0, -0.7, -0.7 }, 0, -0.01, 0 },
        { "a quiet day, and no rule", 0, { 0, 0, -0.7, -0.7 }, FORECAST_LEVEL_SHIFT, -0.6, -0.2 },
        { "the day after one", 0, { -0.7, -0.7, 0, 0 }, 0, -0.01, 0 },
        { "two quiet days", 0, { -0.7, -0.7, -0.7, -0.7 }, 0, -0.7, -0.3 },
        { "the only day, quiet", DAYS - 1, { 0, 0, -0.7, -0.7 }, 0, -1e-9, 1e-9 },
        { "a busy day", 0, { 0, 0, 0.6, 0.6 }, 0, 0.2, 0.5 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct forecast forecast;
        struct forecast_cell cells[WINDOWS];
        struct points_origin origin = { DAYS, { DAYS * (int64_t)DAY_MS }, false };
        struct points_level level;

        make(&forecast, cells, rows[row].first, NEED, rows[row].last);
        level = points_level(&forecast, &origin, WEEK_DAYS, rows[row].without);
        if (level.is_shift || level.value < rows[row].low || level.value > rows[row].high)
            fail_msg("%s: %.3f, shift %d", rows[row].name, level.value, level.is_shift);
        for (int window = 0; window < WINDOWS; window++)
            array_clear(&cells[window].past);
    }
}

/* Two days of 0.6 each over what was expected.  A shift counts whole; what is none fades. */
static void two_busy_days_are_a_shift_for_a_week(void **state)
{
    static const double last[] = { 0.5, 0.7, 0.6, 0.6 };
    static const struct {
        const char *name;
        int first;       /* day that is known */
        int later;       /* days, of which nothing is known, until the plan */
        double expected; /* of the two days */
        int planned;     /* days */
        unsigned without;
        bool is_shift;
    } rows[] = {
        { "two of a month", 0, 0, NEED, WEEK_DAYS, 0, true },
        { "two of seven days", DAYS - 7, 0, NEED, WEEK_DAYS, 0, true },
        { "two of six", DAYS - 6, 0, NEED, WEEK_DAYS, 0, false },
        { "a third is expected", 0, 0, NEED / 3., WEEK_DAYS, 0, true },
        { "hardly anything is", 0, 0, NEED / 12., WEEK_DAYS, 0, false },
        { "a day is unknown since", 0, 1, NEED, WEEK_DAYS, 0, false },
        { "a plan for one day", 0, 0, NEED, 1, 0, false },
        { "no such rule", 0, 0, NEED, WEEK_DAYS, FORECAST_LEVEL_SHIFT, false },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct forecast forecast;
        struct forecast_cell cells[WINDOWS];
        int64_t day = DAYS + rows[row].later;
        struct points_origin origin = { day, { day * (int64_t)DAY_MS }, false };
        struct points_level level;

        make(&forecast, cells, rows[row].first, rows[row].expected, last);
        level = points_level(&forecast, &origin, rows[row].planned, rows[row].without);
        if (level.is_shift != rows[row].is_shift ||
            (level.is_shift ? fabs(level.value - 0.6) > 1e-9
                            : level.value < 0.2 || level.value > 0.55))
            fail_msg("%s: %.3f, shift %d", rows[row].name, level.value, level.is_shift);
        for (int window = 0; window < WINDOWS; window++)
            array_clear(&cells[window].past);
    }
}

/* Hours lie a little over what is expected for half a day, then a little under it; the last six as
   they are told. */
static void make_hours(struct forecast_cell cells[DAY_HOURS], const double last[6], double expected,
                       int known)
{
    for (int hour = 0; hour < DAYS * DAY_HOURS; hour++) {
        int from_end = DAYS * DAY_HOURS - hour;
        double profile = from_end <= 6 ? expected : NEED;
        double rest = from_end <= 6 ? last[6 - from_end] : 0.01 * (hour / 12 % 2 ? 1 : -1);

        *array_add(&cells[hour % DAY_HOURS].past) = (struct forecast_occurrence){
            .day = hour / DAY_HOURS,
            .begin = { hour * (int64_t)HOUR_MS },
            .end = { (hour + 1) * (int64_t)HOUR_MS },
            .is_known = from_end <= known,
            .need = profile * exp(rest),
            .profile = profile,
        };
    }
}

/* A plan that is made at the end of the last of them. */
static void hours_tell_a_shift_from_an_outage(void **state)
{
    static const struct {
        const char *name;
        double last[6];
        double expected;
        int known;
        double low; /* of the level */
        double high;
        bool is_shift;
    } rows[] = {
        { "nothing happens", { 0 }, NEED, 720, -0.01, 0.01, false },
        { "two busy hours", { 0, 0, 0, 0, 0.6, 0.6 }, NEED, 720, 0.599, 0.601, true },
        { "one busy hour", { 0, 0, 0, 0, 0, 0.6 }, NEED, 720, 0.05, 0.3, false },
        { "two of three days that are known",
          { 0, 0, 0, 0, 0.6, 0.6 },
          NEED,
          72,
          0.599,
          0.601,
          true },
        { "an hour too few", { 0, 0, 0, 0, 0.6, 0.6 }, NEED, 71, 0.3, 0.58, false },
        { "a quiet morning", { -0.4, -0.4, -0.4, -0.4, -0.4, -0.4 }, NEED, 720, -0.4, -0.2, false },
        { "an outage", { -2, -2, -2, -2, -2, -2 }, NEED, 720, -0.01, 0.01, false },
        { "one that is over", { -2, -2, -2, -2, 0, 0 }, NEED, 720, -0.01, 0.01, false },
        { "hours in which little is expected",
          { 0, 0, 0, 0, 0, 0.6 },
          NEED / 20.,
          720,
          0,
          0.03,
          false },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct forecast_cell cells[DAY_HOURS] = { 0 };
        struct forecast hours = { .cells = cells, .count = DAY_HOURS };
        struct forecast forecast = { .hours = &hours };
        struct points_origin origin = { DAYS - 1, { DAYS * (int64_t)DAY_MS }, true };
        struct points_level level;

        make_hours(cells, rows[row].last, rows[row].expected, rows[row].known);
        level = points_level(&forecast, &origin, 1, 0);
        if (level.is_shift != rows[row].is_shift || level.value < rows[row].low ||
            level.value > rows[row].high)
            fail_msg("%s: %.3f, shift %d", rows[row].name, level.value, level.is_shift);
        for (int hour = 0; hour < DAY_HOURS; hour++)
            array_clear(&cells[hour].past);
    }
}

/* A shift stays; what else lay over the profiles fades. */
static void a_shift_does_not_fade(void **state)
{
    struct points_origin origin = { DAYS, { DAYS * (int64_t)DAY_MS }, true };
    struct points_level shift = { 0.6, 0.9, true, false };
    struct points_level level = { 0.6, 0.9, false, false };

    (void)state;
    assert_true(fabs(points_level_left(&shift, DAYS + 3, &origin) - 0.6) < 1e-12);
    assert_true(points_level_left(&level, DAYS + 3, &origin) <
                points_level_left(&level, DAYS, &origin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_is_what_windows_agree_on),
        cmocka_unit_test(two_busy_days_are_a_shift_for_a_week),
        cmocka_unit_test(hours_tell_a_shift_from_an_outage),
        cmocka_unit_test(a_shift_does_not_fade),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
