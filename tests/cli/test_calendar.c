/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The calendar as people meet it: public holidays by country, and days that the demand shows.
 */
#include "base/timestamp.h"
#include "tests/cli/planned.h"
#include "windows/calendar/calendar.h"

#include <string.h>

/* Six weeks of hours in New York, where 26 November (Thanksgiving) is like a Sunday. */
static void write_weeks(const char *folder)
{
    owned(text) struct text *csv = text_new(1 << 20);
    int64_t monday = civil_day(2026, 11, 2);

    text_add(csv, "t,queue,count\n");
    for (int day = 0; day < 42; day++)
        for (int hour = 0; hour < 24; hour++) {
            bool is_free = day % 7 >= 5 || day == 24;
            int level = is_free ? 300 : hour >= 8 && hour < 18 ? 1200 : 400;
            char time[WALL_TEXT_SIZE];

            text_add(csv, "%s,chat,%d\n",
                     wall_format((struct wall_time){ (monday + day) * DAY_MS +
                                                     (hour + 5) * (int64_t)HOUR_MS },
                                 time),
                     level + (day * 31 + hour * 17) % 29);
        }
    planned_put(folder, "weeks.csv", csv->chars);
}

static void write_config(const char *folder, const char *holidays)
{
    owned(chars) char *config = text_format("%s%s", planned_config, holidays);

    planned_put(folder, "sluice.yaml", config);
}

static void a_day_off_is_proposed_with_the_line_to_paste(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_weeks(folder);
    owned(said) struct said windows = expect_code(
        folder, EXIT_DONE,
        "windows --zone America/New_York --suggest --demand @/weeks.csv --count 3");
    owned(said) struct said forecast = expect_code(
        folder, EXIT_DONE,
        "forecast --demand @/weeks.csv --service 20s --time-zone America/New_York");
    owned(said) struct said json = expect_code(
        folder, EXIT_DONE,
        "windows --zone America/New_York --suggest --demand @/weeks.csv --count 3 -o json");
    owned(json) json_t *root = planned_json(&json);
    const json_t *day = json_array_get(json_at(root, "days"), 0);

    assert_non_null(strstr(windows.out->chars,
                           "holidays:\n  2026-11-26: sunday   # was a Thursday; "
                           "Thanksgiving Day in US\n"));
    assert_non_null(strstr(forecast.out->chars, "Thursday 2026-11-26 behaved like a Sunday in your "
                                                "data (Thanksgiving Day in US): add it\n"
                                                "    holidays: {2026-11-26: sunday}\n"));
    assert_int_equal(json_array_size(json_at(root, "days")), 1);
    assert_string_equal(json_text_or(day, "like", ""), "sunday");
    assert_string_equal(json_text_or(day, "yaml", ""), "2026-11-26: sunday");
    assert_string_equal(json_text_or(json_array_get(json_at(day, "public"), 0), "country", ""),
                        "US");
}

/* What was proposed, once it is in the calendar, is proposed no more. */
static void a_country_in_the_calendar_leaves_nothing_to_propose(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_weeks(folder);
    write_config(folder, "holidays: {country: US}\n");
    owned(said) struct said windows = expect_code(
        folder, EXIT_DONE,
        "windows --config @/sluice.yaml --suggest --demand @/weeks.csv --count 3");
    owned(said) struct said year = expect_code(folder, EXIT_DONE,
                                               "windows --config @/sluice.yaml --check-year 2026");
    owned(said) struct said plain = expect_code(folder, EXIT_DONE,
                                                "windows --config @/sluice.yaml");

    assert_null(strstr(windows.out->chars, "holidays:"));
    assert_non_null(
        strstr(year.out->chars, "2026-11-26 has the windows of a sunday (Thanksgiving Day)\n"));
    assert_null(strstr(year.out->chars, "2027-"));
    assert_null(strstr(plain.out->chars, "2026-11-26"));
    assert_non_null(strstr(plain.out->chars, "--check-year YEAR shows those of one"));
}

static void an_unknown_country_is_named_with_the_known_ones(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_config(folder, "holidays: {country: XX}\n");
    owned(said) struct said said = expect_code(folder, EXIT_ERROR,
                                               "windows --config @/sluice.yaml");

    assert_non_null(strstr(said.err->chars, "holidays.country: there are no holidays of \"XX\"; "
                                            "known countries: DE, FR, GB, NL, US"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_off_is_proposed_with_the_line_to_paste),
        cmocka_unit_test(a_country_in_the_calendar_leaves_nothing_to_propose),
        cmocka_unit_test(an_unknown_country_is_named_with_the_known_ones),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
