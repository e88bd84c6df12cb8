/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The level of the last days: what counts as one, and what is a quiet day or a shift.
 */
#include "tests/support/unit.h"
#include "windows/forecast_parts.h"
#include "windows/points.h"

#include <math.h>

enum { DAYS = 30, WINDOWS = 2, NEED = 100 };

/* Two windows a day, from midnight and from noon, UTC. */
static void make(struct forecast *forecast, struct forecast_cell cells[WINDOWS], int first,
                 const double last[4])
{
    *forecast = (struct forecast){ cells, WINDOWS };
    for (int window = 0; window < WINDOWS; window++)
        cells[window] = (struct forecast_cell){ 0 };
    for (int day = first; day < DAYS; day++)
        for (int window = 0; window < WINDOWS; window++) {
            int from_end = (DAYS - day) * WINDOWS - window; /* 4, 3, 2, 1: the last two days */
            double rest = from_end <= 4 ? last[4 - from_end] : 0.01 * (day % 2 ? 1 : -1);
            int64_t begin_ms = day * (int64_t)DAY_MS + window * 12 * (int64_t)HOUR_MS;

            *array_add(&cells[window].past) = (struct forecast_occurrence){
                .day = day,
                .begin = { begin_ms },
                .end = { begin_ms + 12 * (int64_t)HOUR_MS },
                .is_known = true,
                .need = NEED * exp(rest),
                .profile = NEED,
            };
        }
}

static void a_level_is_what_windows_agree_on(void **state)
{
    static const struct {
        const char *name;
        int first; /* day that is known */
        double last[4];
        bool is_late;
        unsigned without;
        double low; /* of the level */
        double high;
        bool is_shift;
    } rows[] = {
        { "nothing happens", 0, { 0 }, false, 0, -0.01, 0.01, false },
        { "a quiet day", 0, { 0, 0, -0.7, -0.7 }, false, 0, -0.01, 0, false },
        { "a quiet day, and no rule",
          0,
          { 0, 0, -0.7, -0.7 },
          false,
          FORECAST_LEVEL_SHIFT,
          -0.6,
          -0.2,
          false },
        { "the day after one", 0, { -0.7, -0.7, 0, 0 }, false, 0, -0.01, 0, false },
        { "two quiet days", 0, { -0.7, -0.7, -0.7, -0.7 }, false, 0, -0.7, -0.3, false },
        { "the only day, quiet", DAYS - 1, { 0, 0, -0.7, -0.7 }, false, 0, -1e-9, 1e-9, false },
        { "a busy day", 0, { 0, 0, 0.6, 0.6 }, false, 0, 0.2, 0.5, false },
        { "a busy day, seen at once", 0, { 0, 0, 0.6, 0.6 }, true, 0, 0.599, 0.601, true },
        { "one busy window, seen at once", 0, { 0, 0, 0, 0.6 }, true, 0, 0.2, 0.5, false },
        { "a busy day of few that are known",
          DAYS - 2,
          { 0, 0, 0.6, 0.6 },
          true,
          0,
          0.2,
          0.55,
          false },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct forecast forecast;
        struct forecast_cell cells[WINDOWS];
        struct points_origin origin = { DAYS, { DAYS * (int64_t)DAY_MS }, rows[row].is_late };
        struct points_level level;

        make(&forecast, cells, rows[row].first, rows[row].last);
        level = points_level(&forecast, &origin, rows[row].without);
        if (level.is_shift != rows[row].is_shift || level.value < rows[row].low ||
            level.value > rows[row].high)
            fail_msg("%s: %.3f, shift %d", rows[row].name, level.value, level.is_shift);
        for (int window = 0; window < WINDOWS; window++)
            array_clear(&cells[window].past);
    }
}

/* One window a day, the last two days busy: its noise is known once there were so many days. */
static void one_window_a_day_may_shift_too(void **state)
{
    static const struct {
        const char *name;
        int first;
        bool is_late;
        bool is_shift;
    } rows[] = { { "a month is known", 0, true, true },
                 { "so are as many days as noise takes", DAYS - 25, true, true },
                 { "a day too few", DAYS - 24, true, false },
                 { "a plan for days", 0, false, false } };
    static const double last[4] = { 0.6, 0.6, 0.6, 0.6 };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct forecast forecast;
        struct forecast_cell cells[WINDOWS];
        struct points_origin origin = { DAYS, { DAYS * (int64_t)DAY_MS }, rows[row].is_late };
        struct points_level level;

        make(&forecast, cells, rows[row].first, last);
        forecast.count = 1;
        level = points_level(&forecast, &origin, 0);
        if (level.is_shift != rows[row].is_shift)
            fail_msg("%s: %.3f, shift %d", rows[row].name, level.value, level.is_shift);
        for (int window = 0; window < WINDOWS; window++)
            array_clear(&cells[window].past);
    }
}

/* What noise was before says nothing of the level: days that are longer ago than two weeks. */
static void old_days_tell_of_noise_alone(void **state)
{
    struct forecast forecast;
    struct forecast_cell cells[WINDOWS];
    struct points_origin origin = { DAYS, { DAYS * (int64_t)DAY_MS }, true };
    static const double none[4] = { 0 };
    struct points_level all;
    struct points_level few;

    (void)state;
    make(&forecast, cells, 0, none);
    forecast.count = 1;
    all = points_level(&forecast, &origin, 0);
    for (size_t i = 0; i < cells[0].past.count; i++)
        cells[0].past.items[i].is_known = cells[0].past.items[i].day >= DAYS - 14;
    few = points_level(&forecast, &origin, 0);
    assert_true(fabs(all.value - few.value) <= 0);
    for (int window = 0; window < WINDOWS; window++)
        array_clear(&cells[window].past);
}

/* A shift stays; what else lay over the profiles fades. */
static void a_shift_does_not_fade(void **state)
{
    struct points_origin origin = { DAYS, { DAYS * (int64_t)DAY_MS }, true };
    struct points_level shift = { 0.6, true };
    struct points_level level = { 0.6, false };

    (void)state;
    assert_true(fabs(points_level_left(&shift, DAYS + 3, &origin) - 0.6) < 1e-12);
    assert_true(points_level_left(&level, DAYS + 3, &origin) <
                points_level_left(&level, DAYS, &origin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_is_what_windows_agree_on),
        cmocka_unit_test(one_window_a_day_may_shift_too),
        cmocka_unit_test(old_days_tell_of_noise_alone),
        cmocka_unit_test(a_shift_does_not_fade),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
