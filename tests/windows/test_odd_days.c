/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Days that are proposed to the calendar, on weeks that were made: planted holidays are found, and
 * neither noise nor bursts, outages, growth or shifts of level are taken for one.
 */
#include "base/random.h"
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/calendar/calendar.h"
#include "windows/calendar/odd_days.h"

#include <math.h>
#include <string.h>

enum { SEEDS = 8 };

static const int64_t first_day = 20696; /* a Monday, 2026-08-31 */

struct plant {
    const char *name;
    int weeks;
    double day_noise; /* of a day's level, as logarithms, half of it kept to the next day */
    double hour_noise;
    double growth;      /* a week */
    int shift_day;      /* from which on there is 1.6 times as much; 0: never */
    double burst_share; /* of days with three hours of four times as much */
    int outage_day;     /* ten hours with next to nothing; 0: none */
    int launch_day;     /* 1.8 times as much; 0: none */
    int holidays[3];    /* like the Sundays; 0: none */
};

static double level_of(const struct plant *plant, int day, double noise)
{
    return 600 * exp(plant->day_noise * noise + plant->growth * day / 7) *
           (plant->shift_day > 0 && day >= plant->shift_day ? 1.6 : 1) *
           (plant->launch_day > 0 && day == plant->launch_day ? 1.8 : 1);
}

static double shape_of(const struct plant *plant, int day, int hour)
{
    bool is_free = day % 7 >= 5;

    for (size_t i = 0; i < COUNT_OF(plant->holidays); i++)
        is_free = is_free || (plant->holidays[i] > 0 && plant->holidays[i] == day);
    return is_free ? 0.5 + 0.25 * exp(-pow((hour - 16) / 5.0, 2))
                   : 1 + 1.2 * exp(-pow((hour - 14) / 4.5, 2));
}

static void add_queue(const struct plant *plant, const char *queue, uint64_t seed, struct text *csv)
{
    struct random random;
    double noise = 0;

    random_seed(&random, seed);
    for (int day = 0; day < plant->weeks * 7; day++) {
        int burst = random_between(&random, 0, 1) < plant->burst_share
                        ? (int)random_below(&random, 22)
                        : 24;

        noise = 0.5 * noise + sqrt(0.75) * random_normal(&random);
        for (int hour = 0; hour < 24; hour++) {
            double rate = level_of(plant, day, noise) * shape_of(plant, day, hour) *
                          exp(plant->hour_noise * random_normal(&random));
            char time[WALL_TEXT_SIZE];

            rate *= hour >= burst && hour < burst + 3 ? 4 : 1;
            if (plant->outage_day > 0 && day == plant->outage_day && hour >= 8 && hour < 18)
                rate = 1;
            text_add(csv, "%s,%s,%.0f\n",
                     wall_format(
                         (struct wall_time){ (first_day + day) * DAY_MS + hour * (int64_t)HOUR_MS },
                         time),
                     queue, fmax(0, rate + sqrt(rate) * random_normal(&random)));
        }
    }
}

static struct demand *demand_of(const struct plant *const *plants, size_t count, uint64_t seed)
{
    static const char *const names[] = { "a", "b", "c" };
    owned(text) struct text *csv = text_new(1 << 22);
    struct demand_options options = { 0 };

    text_add(csv, "t,queue,count\n");
    for (size_t i = 0; i < count; i++)
        add_queue(plants[i], names[i], seed * 10 + i, csv);
    return demand_parse(csv->chars, csv->length, "q.csv", &options, NULL);
}

static struct window_set *windows(const char *calendar)
{
    owned(yaml_document) struct yaml_document *document = yaml_parse(calendar, strlen(calendar),
                                                                     "c", NULL);
    struct window_set *set = window_set_read(NULL, time_zone_open("UTC", NULL), NULL);

    assert_int_equal(calendar_read(set, yaml_get(yaml_root(document), "holidays"),
                                   yaml_get(yaml_root(document), "events"), NULL),
                     0);
    return set;
}

static void planted_days_are_found_and_hardly_any_other(void **state)
{
    static const struct plant plants[] = {
        { "calm", 8, 0.03, 0.05, 0, 0, 0, 0, 0, { 10, 24, 39 } },
        { "noise", 8, 0.1, 0.1, 0, 0, 0, 0, 0, { 10, 24, 39 } },
        { "four weeks", 4, 0.05, 0.08, 0, 0, 0, 0, 0, { 9, 17, 0 } },
        { "growth", 8, 0.08, 0.08, 0.08, 0, 0, 0, 0, { 10, 24, 39 } },
        { "bursts", 8, 0.08, 0.1, 0, 0, 0.2, 0, 0, { 10, 24, 39 } },
        { "an outage", 8, 0.08, 0.1, 0, 0, 0, 31, 0, { 10, 24, 39 } },
        { "half a year", 26, 0.1, 0.1, 0, 0, 0, 0, 0, { 10, 24, 150 } },
        { "no holidays, half a year", 26, 0.1, 0.1, 0, 0, 0.1, 31, 0, { 0 } },
        { "no holidays, wild", 26, 0.5, 0.6, 0, 0, 0.1, 31, 0, { 0 } },
        { "no holidays, a shift", 8, 0.05, 0.08, 0, 30, 0, 0, 0, { 0 } },
        { "no holidays, uncertain days", 26, 0.3, 0.2, 0, 0, 0, 0, 0, { 0 } },
    };
    owned(window_set) struct window_set *set = windows("events: {}\n");
    int wrong = 0;

    (void)state;
    for (size_t row = 0; row < COUNT_OF(plants); row++) {
        const struct plant *plant = &plants[row];
        int found = 0;
        int planted = 0;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            owned(demand) struct demand *demand = demand_of(&plant, 1, seed);
            owned(odd_days) struct odd_days days = { 0 };

            odd_days_find(demand, set, &days);
            for (size_t i = 0; i < days.list.count; i++) {
                const struct odd_day *day = &days.list.items[i];
                bool is_planted = false;

                for (size_t at = 0; at < COUNT_OF(plant->holidays); at++)
                    is_planted = is_planted ||
                                 (plant->holidays[at] > 0 &&
                                  day->day == first_day + plant->holidays[at] && day->as >= 5);
                found += is_planted;
                wrong += !is_planted;
            }
        }
        for (size_t at = 0; at < COUNT_OF(plant->holidays); at++)
            planted += SEEDS * (plant->holidays[at] > 0);
        if (found * 3 < planted * 2)
            fail_msg("%s: %d of %d found", plant->name, found, planted);
    }
    if (wrong > 3) /* of over seven thousand days */
        fail_msg("%d days are proposed that nobody planted", wrong);
}

static void a_day_with_a_multiple_is_an_event(void **state)
{
    static const struct plant plant = { "launch", 8, 0.03, 0.05, 0, 0, 0, 0, 22, { 0 } };
    const struct plant *const plants[] = { &plant };
    owned(window_set) struct window_set *set = windows("events: {}\n");
    owned(demand) struct demand *demand = demand_of(plants, 1, 1);
    owned(odd_days) struct odd_days days = { 0 };

    (void)state;
    odd_days_find(demand, set, &days);
    assert_int_equal(days.list.count, 1);
    assert_int_equal(days.list.items[0].day, first_day + 22);
    assert_int_equal(days.list.items[0].weekday, 1);
    assert_int_equal(days.list.items[0].as, -1);
    assert_true(fabs(days.list.items[0].factor - 1.8) < 0.15);
}

/* The calendar has the day already, or an event covers it. */
static void what_the_calendar_has_is_not_proposed(void **state)
{
    static const struct plant plant = { "calm", 8, 0.03, 0.05, 0, 0, 0, 0, 0, { 24, 0, 0 } };
    const struct plant *const plants[] = { &plant };
    static const char *const calendars[] = {
        "holidays: {2026-09-24: sunday}\n", "holidays: {2026-09-24: thursday}\n",
        "events: {e: {from: 2026-09-24 00:00, to: 2026-09-25 00:00, multiplier: 0.5}}\n"
    };
    owned(demand) struct demand *demand = demand_of(plants, 1, 1);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(calendars); i++) {
        owned(window_set) struct window_set *set = windows(calendars[i]);
        owned(odd_days) struct odd_days days = { 0 };

        odd_days_find(demand, set, &days);
        assert_int_equal(days.list.count, 0);
    }
}

/* One of three queues says little; two say it for all. */
static void half_of_the_arrivals_have_to_agree(void **state)
{
    static const struct plant with = { "with", 8, 0.03, 0.05, 0, 0, 0, 0, 0, { 24, 0, 0 } };
    static const struct plant without = { "without", 8, 0.03, 0.05, 0, 0, 0, 0, 0, { 0 } };
    const struct plant *const one[] = { &with, &without, &without };
    const struct plant *const two[] = { &with, &with, &without };
    owned(window_set) struct window_set *set = windows("events: {}\n");
    owned(demand) struct demand *alone = demand_of(one, 3, 1);
    owned(demand) struct demand *most = demand_of(two, 3, 1);
    owned(odd_days) struct odd_days none = { 0 };
    owned(odd_days) struct odd_days days = { 0 };

    (void)state;
    odd_days_find(alone, set, &none);
    odd_days_find(most, set, &days);
    assert_int_equal(none.list.count, 0);
    assert_int_equal(days.list.count, 1);
    assert_true(days.list.items[0].share > 0.6 && days.list.items[0].share < 0.7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_days_are_found_and_hardly_any_other),
        cmocka_unit_test(a_day_with_a_multiple_is_an_event),
        cmocka_unit_test(what_the_calendar_has_is_not_proposed),
        cmocka_unit_test(half_of_the_arrivals_have_to_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
