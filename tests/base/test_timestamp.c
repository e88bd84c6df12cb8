/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Dates, RFC 3339 and durations.
 */
#include "base/memory.h"
#include "base/timestamp.h"
#include "tests/support/unit.h"

#include <time.h>

static void dates_agree_with_the_c_library(void **state)
{
    (void)state;
    for (int64_t day = -800000; day < 3000000; day += 7) {
        struct civil_date date = civil_date_of_day(day);
        time_t second = day * 86400;
        struct tm tm;

        gmtime_r(&second, &tm);
        assert_int_equal(date.year, tm.tm_year + 1900);
        assert_int_equal(date.month, tm.tm_mon + 1);
        assert_int_equal(date.day, tm.tm_mday);
        assert_int_equal((civil_weekday(day) + 1) % 7, tm.tm_wday);
        assert_int_equal(civil_day(date.year, date.month, date.day), day);
    }
}

static const struct {
    const char *chars;
    bool allow_naive;
    const char *want; /* as wall_format() prints it; NULL: refused */
} walls[] = {
    { "2026-11-17T12:12:05Z", false, "2026-11-17T12:12:05Z" },
    { "2026-11-17 12:12:05z", false, "2026-11-17T12:12:05Z" },
    { "2026-11-17T12:12Z", false, "2026-11-17T12:12:00Z" },
    { "2026-11-17T12:12:05.25Z", false, "2026-11-17T12:12:05.250Z" },
    { "2026-11-17T12:12:05.123456789+01:00", false, "2026-11-17T11:12:05.123Z" },
    { "2026-01-01T00:30:00+0100", false, "2025-12-31T23:30:00Z" },
    { "2026-12-31T23:30:00-05:30", false, "2027-01-01T05:00:00Z" },
    { "2024-02-29T00:00:00Z", false, "2024-02-29T00:00:00Z" },
    { "2016-12-31T23:59:60Z", false, "2017-01-01T00:00:00Z" },
    { "1969-12-31T23:59:59.5Z", false, "1969-12-31T23:59:59.500Z" },
    { "2026-11-17T12:12:05", true, "2026-11-17T12:12:05Z" },
    { "2026-11-17T12:12:05", false, NULL },
    { "2026-02-29T00:00:00Z", false, NULL },
    { "2026-13-01T00:00:00Z", false, NULL },
    { "2026-00-01T00:00:00Z", false, NULL },
    { "2026-01-00T00:00:00Z", false, NULL },
    { "2026-01-01T24:00:00Z", false, NULL },
    { "2026-01-01T00:60:00Z", false, NULL },
    { "2026-01-01T00:00:61Z", false, NULL },
    { "2026-01-01T00:00:00.Z", false, NULL },
    { "2026-01-01T00:00:00+24:00", false, NULL },
    { "2026-01-01T00:00:00+01", false, NULL },
    { "2026-01-01T00:00:00Zx", false, NULL },
    { "2026-01-01", true, NULL },
    { "26-01-01T00:00:00Z", false, NULL },
    { "", true, NULL },
};

static void reads_rfc_3339(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(walls); i++) {
        struct wall_time wall = { 42 };
        struct error err = { 0 };
        char text[WALL_TEXT_SIZE];

        print_message("    %s\n", walls[i].chars);
        assert_int_equal(wall_parse(walls[i].chars, walls[i].allow_naive, &wall, &err),
                         walls[i].want ? 0 : -1);
        if (walls[i].want) {
            assert_string_equal(wall_format(wall, text), walls[i].want);
            continue;
        }
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_int_equal(wall.ms, 42);
    }
}

static void never_is_a_dash(void **state)
{
    char text[WALL_TEXT_SIZE];

    (void)state;
    assert_string_equal(wall_format((struct wall_time){ 0 }, text), "-");
}

static const struct {
    const char *chars;
    int64_t ms; /* -1: refused */
} durations[] = {
    { "28.7s", 28700 },
    { "0.0s", 0 },
    { "1m2.5s", 62500 },
    { "0.0004s", -1 },
    { "1.s", -1 },
    { ".5s", -1 },
    { "1.5m30s", -1 },
    { "28,7s", -1 },
    { "9223372036854775.9s", -1 },
    { "250ms", 250 },
    { "20s", 20000 },
    { "5m", 300000 },
    { "1h30m", 5400000 },
    { "2d", WEEK_MS / 7 * 2 },
    { "0s", 0 },
    { "1d2h3m4s5ms", 93784005 },
    { "", -1 },
    { "5", -1 },
    { "5x", -1 },
    { "m", -1 },
    { "-5m", -1 },
    { "5m1h", -1 },
    { "5m5m", -1 },
    { "1.5h", -1 },
    { "5 m", -1 },
    { "5M", -1 },
    { "99999999999999999999s", -1 },
    { "9999999999999999d", -1 },
    { "1h30", -1 },
};

static void reads_durations(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(durations); i++) {
        int64_t ms = -1;

        print_message("    %s\n", durations[i].chars);
        assert_int_equal(duration_parse(durations[i].chars, &ms, NULL),
                         durations[i].ms < 0 ? -1 : 0);
        assert_int_equal(ms, durations[i].ms);
    }
}

static void reads_and_prints_parts_of_milliseconds(void **state)
{
    static const struct {
        const char *chars;
        double seconds; /* negative: refused */
        const char *printed;
    } rows[] = {
        { "250us", 250e-6, "250us" },
        { "20ms", 20e-3, "20ms" },
        { "0.5ms", 0.5e-3, "500us" },
        { "1.5s", 1.5, "1.5s" },
        { "20.25ms", 20.25e-3, "20.25ms" },
        { "0s", 0, "0s" },
        { "0.1us", 1e-7, "0.1us" },
        { "2m", 120, "120s" },
        { "1m2.5s", 62.5, "62.5s" },
        { "5", -1, NULL },
        { "", -1, NULL },
        { "us", -1, NULL },
        { ".5ms", -1, NULL },
        { "1.ms", -1, NULL },
        { "-1ms", -1, NULL },
        { "1.2.3ms", -1, NULL },
        { "1 ms", -1, NULL },
        { "1ns", -1, NULL },
        { "1e3ms", -1, NULL },
        { "0x1us", -1, NULL },
        { "99999999999999999999999999999999999us", -1, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[DURATION_TEXT_SIZE];
        double seconds = -1;

        print_message("    %s\n", rows[i].chars);
        assert_int_equal(seconds_parse(rows[i].chars, &seconds, NULL),
                         rows[i].seconds < 0 ? -1 : 0);
        assert_true(seconds == rows[i].seconds);
        if (rows[i].printed)
            assert_string_equal(seconds_format(seconds, text), rows[i].printed);
    }
}

static const struct {
    int64_t ms;
    const char *want;
} printed[] = {
    { 0, "0s" },
    { 1, "1ms" },
    { 999, "999ms" },
    { 1500, "1s500ms" },
    { 125000, "2m5s" },
    { 32 * MINUTE_MS, "32m" },
    { 78 * MINUTE_MS, "1h18m" },
    { HOUR_MS + 30 * SECOND_MS, "1h" },
    { 76 * (int64_t)HOUR_MS, "3d4h" },
    { -125000, "-2m5s" },
    { INT64_MIN, "-106751991167d7h" },
};

static void prints_the_two_largest_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(printed); i++) {
        char text[DURATION_TEXT_SIZE];

        assert_string_equal(duration_format(printed[i].ms, text), printed[i].want);
    }
}

#define MIDNIGHT_MS 1794787200000 /* 2026-11-16T00:00:00Z, a Monday */

static void a_date_is_read_or_not_at_all(void **state)
{
    static const struct {
        const char *text;
        int64_t s; /* since midnight; -1: no date */
    } rows[] = {
        { "Mon, 16 Nov 2026 00:00:00 GMT", 0 },
        { "Mon, 16 Nov 2026 07:08:09 GMT", 7 * 3600 + 8 * 60 + 9 },
        { "Tue, 01 Dec 2026 00:00:00 GMT", 15 * 86400 },
        { "Mon, 16 Nov 2026 24:00:00 GMT", -1 },
        { "Mon, 16 Nov 2026 00:60:00 GMT", -1 },
        { "Mon, 16 ovD 2026 00:00:00 GMT", -1 },
        { "Mon, 16 Nov 2026 00:00:00", -1 },
        { "Mon, 16 Nov 2026 00:00:00 GMT+1", -1 },
        { "Mon, 16 Nov 2026 00:00:00 EST", -1 },
        { "Mon, -1 Nov 2026 00:00:00 GMT", -1 },
        { "2026-11-16T00:00:00Z", -1 },
        { "", -1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct wall_time wall = { -7 };
        bool is_date = wall_parse_http(rows[i].text, &wall);

        if (is_date != (rows[i].s >= 0) || (is_date && wall.ms != MIDNIGHT_MS + rows[i].s * 1000))
            fail_msg("%s: %lld", rows[i].text, (long long)wall.ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_agree_with_the_c_library),
        cmocka_unit_test(reads_rfc_3339),
        cmocka_unit_test(a_date_is_read_or_not_at_all),
        cmocka_unit_test(never_is_a_dash),
        cmocka_unit_test(reads_durations),
        cmocka_unit_test(reads_and_prints_parts_of_milliseconds),
        cmocka_unit_test(prints_the_two_largest_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
