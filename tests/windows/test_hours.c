/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the hours of a queue say: what they needed, whether that is known, and what was expected of
 * them when their day began.
 */
#include "base/memory.h"
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/forecast/forecast.h"
#include "windows/forecast/hours.h"
#include "windows/servers/engine_lengths.h"

#include <math.h>

enum { DAYS = 21, STEPS_A_DAY = 288, COUNT = 200, UNKNOWN_HOUR = 3, IDLE_HOUR = 5, SHORT_HOUR = 7 };

static const double load = COUNT * 30. / 300 / 2; /* of services of 30 s, at half of the arrivals */

/* Each step of five minutes the same, from midnight UTC of 12 October 2026; twice as many on the
   last day.  Of one hour nothing is known, of one a step is missing, and one is idle. */
static struct demand *demand_of(void)
{
    owned(text) struct text *csv = text_new(1 << 20);
    const struct demand_options options = { 0 };

    text_add(csv, "t,count\n");
    for (int step = 0; step < DAYS * STEPS_A_DAY; step++) {
        int hour = step % STEPS_A_DAY / 12;
        char time[WALL_TEXT_SIZE];

        if (hour == UNKNOWN_HOUR || (hour == SHORT_HOUR && step % 12 == 0))
            continue;
        text_add(csv, "%s,%d\n",
                 wall_format((struct wall_time){ civil_day(2026, 10, 12) * DAY_MS +
                                                 step * (5 * (int64_t)MINUTE_MS) },
                             time),
                 hour == IDLE_HOUR                ? 0
                 : step / STEPS_A_DAY == DAYS - 1 ? 2 * COUNT
                                                  : COUNT);
    }
    return demand_parse(csv->chars, csv->length, "q.csv", &options, NULL);
}

static void assert_near(double found, double expected)
{
    assert_true(fabs(found - expected) <= 1e-6);
}

static struct forecast *hours_of(const struct demand *demand, const struct window_set *set)
{
    const struct forecast_setup setup = {
        .series = &demand->series[0], .set = set, .service_s = 30, .scale = 0.5, .end = demand->end
    };

    return hours_new(&setup);
}

/* Replicas that serve sixteen at once: the load in replicas, and two roots of the load in places.
 */
static void an_hour_of_engines_needs_replicas(void **state)
{
    owned(demand) struct demand *demand = demand_of();
    owned(window_set) struct window_set *set = window_set_read(NULL, time_zone_open("UTC", NULL),
                                                               NULL);
    const struct engine_law law = { .slots = 16, .iteration_s = 0.1, .per_request_s = 0.005 };
    struct engine *engine = engine_new_by_law(&law, &(struct engine_tokens){ 0, 2000, 1, 0 });
    const struct forecast_setup setup = { .series = &demand->series[0],
                                          .set = set,
                                          .service_s = 2000 * 0.105,
                                          .engine = engine,
                                          .scale = 0.5,
                                          .end = demand->end };
    owned(forecast) struct forecast *hours = hours_new(&setup);
    double replicas = COUNT / 300. / 2 * 2000 * (0.1 + 16 * 0.005) / 16;

    (void)state;
    assert_near(hours->cells[9].past.items[0].need, replicas + 2 * sqrt(replicas / 16));
    mem_free(engine);
}

static const struct forecast_occurrence *last_of(const struct forecast *hours, int hour)
{
    const struct forecast_cell *cell = &hours->cells[hour];

    return &cell->past.items[cell->past.count - 1];
}

static void an_hour_needs_its_load_and_two_of_its_roots(void **state)
{
    owned(demand) struct demand *demand = demand_of();
    owned(window_set) struct window_set *set = window_set_read(NULL, time_zone_open("UTC", NULL),
                                                               NULL);
    owned(forecast) struct forecast *hours = hours_of(demand, set);
    double usual = load + 2 * sqrt(load);

    (void)state;
    assert_int_equal(hours->count, 24);
    for (int hour = 0; hour < 24; hour++) {
        const struct forecast_cell *cell = &hours->cells[hour];
        bool is_known = hour != UNKNOWN_HOUR && hour != IDLE_HOUR;

        assert_int_equal(cell->past.count, DAYS);
        for (size_t i = 0; i < cell->past.count; i++) {
            const struct forecast_occurrence *item = &cell->past.items[i];

            assert_int_equal(item->end.ms - item->begin.ms, HOUR_MS);
            assert_int_equal(item->is_known, is_known);
            if (is_known && i + 1 < DAYS)
                assert_near(item->need, usual);
        }
    }
    assert_near(last_of(hours, 9)->need, 2 * load + 2 * sqrt(2 * load));
}

/* Nothing of its own day, however busy that is. */
static void an_hour_is_expected_to_be_as_on_the_days_before(void **state)
{
    owned(demand) struct demand *demand = demand_of();
    owned(window_set) struct window_set *set = window_set_read(NULL, time_zone_open("UTC", NULL),
                                                               NULL);
    owned(forecast) struct forecast *hours = hours_of(demand, set);

    (void)state;
    assert_near(hours->cells[9].past.items[0].profile, 0);
    assert_near(last_of(hours, 9)->profile, load + 2 * sqrt(load));
    assert_near(last_of(hours, UNKNOWN_HOUR)->profile, 0);
}

/* The day on which the clocks go back has 25 hours, of which two bear one number; where a zone is
   half an hour off, the first and the last hour are half ones. */
static void hours_are_those_of_the_clock_on_the_wall(void **state)
{
    static const struct {
        const char *zone;
        int hour;
        size_t count; /* of its occurrences */
        int64_t first_ms;
    } rows[] = {
        { "Europe/Berlin", 2, DAYS + 1, HOUR_MS },
        { "Europe/Berlin", 3, DAYS, HOUR_MS },
        { "Asia/Kolkata", 5, DAYS + 1, HOUR_MS / 2 },
        { "Asia/Kolkata", 6, DAYS, HOUR_MS },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        owned(demand) struct demand *demand = demand_of();
        owned(window_set) struct window_set *set = window_set_read(
            NULL, time_zone_open(rows[row].zone, NULL), NULL);
        owned(forecast) struct forecast *hours = hours_of(demand, set);
        const struct forecast_cell *cell = &hours->cells[rows[row].hour];

        assert_int_equal(cell->past.count, rows[row].count);
        assert_int_equal(cell->past.items[0].end.ms - cell->past.items[0].begin.ms,
                         rows[row].first_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hour_needs_its_load_and_two_of_its_roots),
        cmocka_unit_test(an_hour_of_engines_needs_replicas),
        cmocka_unit_test(an_hour_is_expected_to_be_as_on_the_days_before),
        cmocka_unit_test(hours_are_those_of_the_clock_on_the_wall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
