/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Public holidays by country against the dates of some years, as their governments published them,
 * and rules that say nothing.
 */
#include "base/text.h"
#include "base/timestamp.h"
#include "tests/support/unit.h"
#include "windows/calendar/calendar.h"
#include "windows/calendar/holidays.h"

#include <string.h>

static const struct {
    const char *country;
    int year;
    const char *dates;
} years[] = {
    { "US", 1995, "01-01 01-02 01-16 02-20 05-29 07-04 09-04 10-09 11-10 11-11 11-23 12-25" },
    { "US", 2020, "01-01 01-20 02-17 05-25 07-03 07-04 09-07 10-12 11-11 11-26 12-25" },
    { "US", 2021,
      "01-01 01-18 02-15 05-31 06-18 06-19 07-04 07-05 09-06 10-11 11-11 11-25 12-24 "
      "12-25 12-31" },
    { "US", 2026, "01-01 01-19 02-16 05-25 06-19 07-03 07-04 09-07 10-12 11-11 11-26 12-25" },
    { "GB", 2020, "01-01 04-10 04-13 05-08 05-25 08-31 12-25 12-26 12-28" },
    { "GB", 2021, "01-01 04-02 04-05 05-03 05-31 08-30 12-25 12-26 12-27 12-28" },
    { "GB", 2022, "01-01 01-03 04-15 04-18 05-02 06-02 06-03 08-29 09-19 12-25 12-26 12-27" },
    { "DE", 2017, "01-01 04-14 04-17 05-01 05-25 06-05 10-03 10-31 12-25 12-26" },
    { "DE", 2024, "01-01 03-29 04-01 05-01 05-09 05-20 10-03 12-25 12-26" },
    { "FR", 2024, "01-01 04-01 05-01 05-08 05-09 05-20 07-14 08-15 11-01 11-11 12-25" },
    { "NL", 2013, "01-01 04-01 04-30 05-09 05-20 12-25 12-26" },
    { "NL", 2025, "01-01 04-21 04-26 05-05 05-29 06-09 12-25 12-26" },
};

static void each_country_has_the_days_that_it_had(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(years); row++) {
        owned(holidays) struct public_holidays days = { 0 };
        owned(text) struct text *found = text_new(1024);
        struct error err = { 0 };

        if (holidays_of_country(years[row].country, &days, &err) < 0)
            fail_msg("%s", err.text);
        for (size_t i = 0; i < days.list.count; i++) {
            struct civil_date date = civil_date_of_day(days.list.items[i].day);

            if (date.year == years[row].year)
                text_add(found, "%s%02d-%02d", found->chars[0] ? " " : "", date.month, date.day);
            assert_true(i == 0 || days.list.items[i].day > days.list.items[i - 1].day);
            assert_true(strlen(days.list.items[i].name) > 3);
        }
        if (strcmp(found->chars, years[row].dates) != 0)
            fail_msg("%s %d: %s\nwanted  %s", years[row].country, years[row].year, found->chars,
                     years[row].dates);
    }
}

static void easter_is_when_it_was(void **state)
{
    static const char *const dates[] = { "1995-04-16", "2000-04-23", "2008-03-23", "2011-04-24",
                                         "2019-04-21", "2024-03-31", "2025-04-20", "2038-04-25" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(dates); i++) {
        owned(holidays) struct public_holidays days = { 0 };
        owned(chars) char *midnight = text_format("%s 00:00", dates[i]);
        struct wall_time wall;
        int year;

        assert_int_equal(wall_parse(midnight, true, &wall, NULL), 0);
        year = civil_date_of_day(wall.ms / DAY_MS).year;
        assert_int_equal(
            holidays_read(
                &(struct holiday_file){ "e", (const unsigned char *)"easter+0 Easter\n", 16 },
                (struct holiday_years){ year, year }, &days, NULL),
            0);
        assert_int_equal(days.list.count, 1);
        assert_int_equal(days.list.items[0].day, wall.ms / DAY_MS);
    }
}

static void every_file_can_be_read(void **state)
{
    size_t count = 0;

    (void)state;
    for (const struct holiday_file *file = holiday_files; file->country; file++, count++) {
        owned(holidays) struct public_holidays days = { 0 };
        struct error err = { 0 };

        if (holidays_of_country(file->country, &days, &err) < 0)
            fail_msg("%s", err.text);
        assert_true(days.list.count > 7 * (HOLIDAYS_LAST_YEAR - HOLIDAYS_FIRST_YEAR));
    }
    assert_true(count >= 5);
}

static void a_line_that_says_nothing_is_named(void **state)
{
    static const struct {
        const char *lines;
        const char *error;
    } rows[] = {
        { "# fine\n\n12-25\n", "x:3: expected the holiday's name" },
        { "13-01 Never\n", "x:1: expected a date" },
        { "02-30 Never\n", "found \"02-30\"" },
        { "2026-02-29 Never\n", "expected a date" },
        { "12-25..christmas Days\n", "expected a date" },
        { "11-thu-5 Fifth\n", "expected a date" },
        { "11-day-1 Day\n", "expected a date" },
        { "easter39 Ascension\n", "expected a date" },
        { "easter+9999 Far\n", "expected a date" },
        { "12-25 years=later Day\n", "expected years like" },
        { "12-25 years=2000-1990 Day\n", "expected years like" },
        { "12-25 observed=never Day\n", "observed=next" },
        { "12-25 colour=red Day\n", "found \"colour=red\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(holidays) struct public_holidays days = { 0 };
        struct error err = { 0 };

        assert_int_equal(
            holidays_read(&(struct holiday_file){ "x", (const unsigned char *)rows[i].lines,
                                                  strlen(rows[i].lines) },
                          (struct holiday_years){ 2020, 2021 }, &days, &err),
            -1);
        if (!strstr(err.text, rows[i].error))
            fail_msg("%s: %s", rows[i].lines, err.text);
    }
}

static void a_range_may_pass_the_end_of_the_year(void **state)
{
    static const char lines[] = "12-30..01-02 years=2020 Between the years\r\n02-29 Leap day\n";
    owned(holidays) struct public_holidays days = { 0 };

    (void)state;
    assert_int_equal(
        holidays_read(&(struct holiday_file){ "x", (const unsigned char *)lines, strlen(lines) },
                      (struct holiday_years){ 2019, 2022 }, &days, NULL),
        0);
    assert_int_equal(days.list.count, 5);
    assert_int_equal(days.list.items[0].day, civil_day(2020, 2, 29));
    assert_int_equal(days.list.items[4].day, civil_day(2021, 1, 2));
    assert_string_equal(holidays_name(&days, civil_day(2020, 12, 31)), "Between the years");
    assert_null(holidays_name(&days, civil_day(2021, 1, 3)));
}

static struct window_set *set_of(const char *yaml, struct error *err)
{
    owned(yaml_document) struct yaml_document *document = yaml_parse(yaml, strlen(yaml), "c.yaml",
                                                                     err);
    owned(window_set) struct window_set *set = window_set_read(NULL, time_zone_open("UTC", NULL),
                                                               err);

    assert_non_null(document);
    return calendar_read(set, yaml_get(yaml_root(document), "holidays"), NULL, err) < 0
               ? NULL
               : steal(&set);
}

static void a_configuration_names_countries_and_a_date_wins(void **state)
{
    struct error err = { 0 };
    owned(window_set) struct window_set *set = set_of(
        "holidays: {country: [US, DE], as: saturday, 2026-12-25: sunday, 2026-10-12: monday}\n",
        &err);
    static const struct {
        int month, day, weekday; /* -1: no holiday */
    } rows[] = { { 7, 3, 5 }, { 5, 14, 5 }, { 12, 25, 6 }, { 10, 12, 0 }, { 7, 14, -1 } };

    (void)state;
    if (!set)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct holiday *found = window_holiday(set,
                                                     civil_day(2026, rows[i].month, rows[i].day));

        assert_int_equal(found ? found->weekday : -1, rows[i].weekday);
    }
    for (size_t i = 1; i < set->holiday_count; i++)
        assert_true(set->holidays[i].day > set->holidays[i - 1].day);
}

static void a_configuration_that_means_nothing_is_refused(void **state)
{
    static const struct {
        const char *yaml;
        const char *error;
    } rows[] = {
        { "holidays: {country: XX}\n",
          "c.yaml:1: holidays.country: there are no holidays of \"XX\"; "
          "known countries: DE, FR, GB, NL, US" },
        { "holidays: {as: sunday}\n", "requires country" },
        { "holidays: {country: US, as: holiday}\n", "expected the day whose windows it has" },
        { "holidays: {country: {US: 1}}\n", "holidays.country: expected a text" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(window_set) struct window_set *set = set_of(rows[i].yaml, &err);

        assert_null(set);
        if (!strstr(err.text, rows[i].error))
            fail_msg("%s: %s", rows[i].yaml, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_country_has_the_days_that_it_had),
        cmocka_unit_test(easter_is_when_it_was),
        cmocka_unit_test(every_file_can_be_read),
        cmocka_unit_test(a_line_that_says_nothing_is_named),
        cmocka_unit_test(a_range_may_pass_the_end_of_the_year),
        cmocka_unit_test(a_configuration_names_countries_and_a_date_wins),
        cmocka_unit_test(a_configuration_that_means_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
