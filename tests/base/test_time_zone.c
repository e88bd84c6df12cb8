/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Time zones against the C library: every zone that the system knows, 2000 to 2040.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "tests/support/unit.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char folder[] = "/usr/share/zoneinfo/";

enum { STEP_S = 86400 };

static int zones, changes;

static struct wall_time at_second(int64_t second)
{
    return (struct wall_time){ second * SECOND_MS };
}

/* What the C library says about the zone that was set by tzset(). */
static struct tm library_time(int64_t second)
{
    time_t now = second;
    struct tm tm;

    require(localtime_r(&now, &tm));
    return tm;
}

static bool is_same_clock(const struct tm *left, const struct tm *right)
{
    return left->tm_gmtoff == right->tm_gmtoff && strcmp(left->tm_zone, right->tm_zone) == 0;
}

static void compare(const struct time_zone *zone, int64_t second, const struct tm *want)
{
    struct local_time got = time_zone_local(zone, at_second(second));

    if (got.offset_s == want->tm_gmtoff && strcmp(got.abbreviation, want->tm_zone) == 0 &&
        got.date.year == want->tm_year + 1900 && got.date.month == want->tm_mon + 1 &&
        got.date.day == want->tm_mday && got.minute_of_day == want->tm_hour * 60 + want->tm_min &&
        got.second == want->tm_sec && (got.weekday + 1) % 7 == want->tm_wday)
        return;
    fail_msg("%s at %lld: %d %s, but the C library says %ld %s", time_zone_name(zone),
             (long long)second, got.offset_s, got.abbreviation, want->tm_gmtoff, want->tm_zone);
}

/* The way back: the first moment that shows the same minute. */
static void compare_back(const struct time_zone *zone, int64_t second)
{
    struct local_time local = time_zone_local(zone, at_second(second));
    struct wall_time back = time_zone_wall(zone, local.date, local.minute_of_day);
    struct local_time again = time_zone_local(zone, back);

    if (back.ms > second * SECOND_MS || back.ms < (second - DAY_MS / SECOND_MS) * SECOND_MS ||
        again.minute_of_day != local.minute_of_day || again.date.day != local.date.day)
        fail_msg("%s: %lld leads back to %lld", time_zone_name(zone), (long long)second,
                 (long long)back.ms / SECOND_MS);
}

/* Looks at both sides of the change between two moments. */
static void compare_change(const struct time_zone *zone, int64_t before, int64_t after)
{
    struct tm first = library_time(before);

    while (after - before > 1) {
        int64_t middle = before + (after - before) / 2;
        struct tm tm = library_time(middle);

        if (is_same_clock(&first, &tm))
            before = middle;
        else
            after = middle;
    }
    for (int64_t at = before - 1; at <= after + 1; at++) {
        struct tm tm = library_time(at);

        compare(zone, at, &tm);
    }
    compare_back(zone, before - before % 60);
    compare_back(zone, after + 60 - after % 60);
    changes++;
}

static void compare_zone(const char *name)
{
    struct error err = { 0 };
    owned(time_zone) struct time_zone *zone = time_zone_open(name, &err);
    owned(chars) char *variable = text_format(":%s", name);
    int64_t end = civil_day(2040, 12, 31) * STEP_S;
    struct tm former;

    if (zone == NULL)
        fail_msg("%s", err.text);
    setenv("TZ", variable, 1);
    tzset();
    former = library_time(civil_day(2000, 1, 1) * STEP_S);
    for (int64_t second = civil_day(2000, 1, 1) * STEP_S; second < end; second += STEP_S) {
        struct tm tm = library_time(second);

        compare(zone, second, &tm);
        if (!is_same_clock(&former, &tm))
            compare_change(zone, second - STEP_S, second);
        former = tm;
    }
    zones++;
}

static int visit(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    const char *name = path + sizeof folder - 1;
    char magic[4] = "";
    FILE *file;

    (void)status, (void)walk;
    if (kind != FTW_F || text_starts_with(name, "right/") || text_starts_with(name, "posix/"))
        return 0;
    file = fopen(path, "rb");
    require(file);
    if (fread(magic, sizeof magic, 1, file) == 1 && memcmp(magic, "TZif", 4) == 0)
        compare_zone(name);
    fclose(file);
    return 0;
}

static void every_zone_agrees_with_the_c_library(void **state)
{
    (void)state;
    zones = changes = 0;
    assert_int_equal(nftw(folder, visit, 16, 0), 0);
    print_message("    %d zones, %d changes\n", zones, changes);
    assert_true(zones > 300);
    assert_true(changes > 10000);
}

static const struct {
    const char *zone;
    struct civil_date date;
    int hour, minute;
    const char *want;
} walls[] = {
    { "UTC", { 2026, 11, 17 }, 12, 0, "2026-11-17T12:00:00Z" },
    { "Europe/Berlin", { 2026, 7, 1 }, 9, 0, "2026-07-01T07:00:00Z" },
    { "Europe/Berlin", { 2026, 3, 29 }, 2, 30, "2026-03-29T01:00:00Z" },  /* skipped */
    { "Europe/Berlin", { 2026, 10, 25 }, 2, 30, "2026-10-25T00:30:00Z" }, /* the first of two */
    { "Europe/Berlin", { 2026, 10, 25 }, 3, 0, "2026-10-25T02:00:00Z" },
    { "Europe/Berlin", { 2400, 7, 1 }, 9, 0, "2400-07-01T07:00:00Z" },
    { "Europe/Dublin", { 2026, 7, 1 }, 9, 0, "2026-07-01T08:00:00Z" },
    { "Europe/Dublin", { 2045, 1, 1 }, 9, 0, "2045-01-01T09:00:00Z" },
    { "America/New_York", { 2026, 11, 1 }, 1, 30, "2026-11-01T05:30:00Z" },
    { "America/New_York", { 2026, 3, 8 }, 2, 0, "2026-03-08T07:00:00Z" },
    { "Australia/Lord_Howe", { 2026, 4, 5 }, 1, 45, "2026-04-04T14:45:00Z" },
    { "Pacific/Apia", { 2011, 12, 30 }, 12, 0, "2011-12-30T10:00:00Z" }, /* a day that never was */
    { "America/Sao_Paulo", { 2018, 11, 4 }, 0, 0, "2018-11-04T03:00:00Z" }, /* no midnight */
    { "Asia/Kathmandu", { 2026, 1, 1 }, 0, 0, "2025-12-31T18:15:00Z" },
};

static void finds_the_moment_that_a_clock_shows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(walls); i++) {
        struct error err = { 0 };
        owned(time_zone) struct time_zone *zone = time_zone_open(walls[i].zone, &err);
        char text[WALL_TEXT_SIZE];

        print_message("    %s %s\n", walls[i].zone, walls[i].want);
        assert_non_null(zone);
        assert_string_equal(
            wall_format(time_zone_wall(zone, walls[i].date, walls[i].hour * 60 + walls[i].minute),
                        text),
            walls[i].want);
    }
}

static const struct {
    const char *name;
    enum error_kind kind;
    const char *text;
} unknown[] = {
    { "Europe/Berlim", ERROR_NOT_FOUND,
      "no time zone \"Europe/Berlim\": /usr/share/zoneinfo/Europe/Berlim: cannot open: No such "
      "file or directory" },
    { "Europe", ERROR_NOT_FOUND,
      "no time zone \"Europe\": /usr/share/zoneinfo/Europe: cannot read: Is a directory" },
    { "zone.tab", ERROR_INVALID, "\"zone.tab\" is not the name of a time zone" },
    { "../../../etc/passwd", ERROR_INVALID,
      "\"../../../etc/passwd\" is not the name of a time zone" },
    { "/etc/localtime", ERROR_INVALID, "\"/etc/localtime\" is not the name of a time zone" },
    { "", ERROR_INVALID, "\"\" is not the name of a time zone" },
    { "a b", ERROR_INVALID, "\"a b\" is not the name of a time zone" },
    { "right/UTC", ERROR_CORRUPT, "time zone right/UTC: it counts leap seconds" },
};

static void an_unknown_zone_is_never_guessed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        struct error err = { 0 };

        print_message("    %s\n", unknown[i].name);
        assert_null(time_zone_open(unknown[i].name, &err));
        assert_string_equal(err.text, unknown[i].text);
        assert_int_equal(err.kind, unknown[i].kind);
    }
}

/* A TZif file with one clock and a footer. */
static struct text *make_file(const char *footer)
{
    static const unsigned char header[] = { 'T', 'Z', 'i', 'f', '2', 0, 0, 0, 0, 0,
                                            0,   0,   0,   0,   0,   0, 0, 0, 0, 0 };
    static const unsigned char counts[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                            0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4 };
    static const unsigned char block[] = { 0, 0, 0, 0, 0, 0, 'X', 'X', 'X', 0 };
    struct text *file = text_new(1024);

    for (int part = 0; part < 2; part++) {
        text_add_bytes(file, header, sizeof header);
        text_add_bytes(file, counts, sizeof counts);
        text_add_bytes(file, block, sizeof block);
    }
    text_add(file, "\n%s\n", footer);
    return file;
}

/* What the C library makes of the same rule, at each quarter hour of some years. */
static const char *const footers[] = {
    "UTC0",
    "<+03>-3",
    "<-0330>3:30",
    "EST5EDT,M3.2.0,M11.1.0",
    "IST-1GMT0,M10.5.0,M3.5.0/1",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
    "AAA3BBB,J60/2,J300/2:30:15",
    "AAA3BBB,59/2,299",
    "NZST-12NZDT,M9.5.0,M4.1.0/3",
    "EET-2EEST,M3.4.4/50,M10.4.4/50",
    "AAA-5BBB,M2.5.6/26,J365/-26",
};

static void rules_agree_with_the_c_library(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(footers); i++) {
        owned(text) struct text *file = make_file(footers[i]);
        struct error err = { 0 };
        owned(time_zone) struct time_zone *zone = time_zone_decode("Test", file->chars,
                                                                   file->length, &err);

        print_message("    %s\n", footers[i]);
        assert_string_equal(err.text, "");
        setenv("TZ", footers[i], 1);
        tzset();
        for (int64_t at = civil_day(2027, 1, 1) * STEP_S; at < civil_day(2029, 2, 1) * STEP_S;
             at += 900) {
            struct tm tm = library_time(at);

            compare(zone, at, &tm);
        }
    }
}

static const char *const bad_footers[] = {
    "X5",
    "EST",
    "EST5EDT",
    "EST5EDT,M3.2.0",
    "EST25",
    "EST5x",
    "<EST5",
    "EST5EDT,M13.2.0,M11.1.0",
    "ABCDEFGHIJ5",
    "EST5EDT,M3.6.0,M11.1.0",
    "EST5EDT,J0,J5",
    "EST5EDT,J366,J5",
    "EST5EDT,366,5",
    "EST5EDT,M3.2.7,M11.1.0",
    "EST5EDT,M3.2.0/168,M11.1.0",
    "EST5:60",
    "EST99999999999",
};

static void a_rule_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad_footers); i++) {
        owned(text) struct text *file = make_file(bad_footers[i]);
        struct error err = { 0 };

        print_message("    %s\n", bad_footers[i]);
        assert_null(time_zone_decode("Test", file->chars, file->length, &err));
        assert_string_equal(err.text, "time zone Test: the rule in its footer makes no sense");
        assert_int_equal(err.kind, ERROR_CORRUPT);
    }
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    owned(text) struct text *file = make_file("EST5EDT,M3.2.0,M11.1.0");

    (void)state;
    for (size_t size = 0; size < file->length; size++) {
        owned(chars) char *part = mem_new(size); /* so that the sanitizer sees a byte too far */

        memcpy(part, file->chars, size);
        assert_null(time_zone_decode("Test", part, size, NULL));
    }
}

static void damaged_bytes_are_refused_or_harmless(void **state)
{
    owned(text) struct text *file = make_file("EST5EDT,M3.2.0,M11.1.0");

    (void)state;
    for (size_t at = 0; at < file->length; at++) {
        for (int bit = 0; bit < 8; bit++) {
            struct time_zone *zone;

            file->chars[at] = (char)(file->chars[at] ^ (1 << bit));
            zone = time_zone_decode("Test", file->chars, file->length, NULL);
            if (zone)
                (void)time_zone_local(zone, at_second(1800000000));
            time_zone_free(zone);
            file->chars[at] = (char)(file->chars[at] ^ (1 << bit));
        }
    }
}

/* What a time on the clock means, against every offset that there may be: in steps of twenty
   minutes through the weeks in which clocks change, with each reading kept for as long as it says.
 */
static void readings_are_all_moments_that_show_a_time(void **state)
{
    static const char *const names[] = { "Europe/Berlin",       "America/New_York",
                                         "Australia/Lord_Howe", "America/St_Johns",
                                         "Asia/Kathmandu",      "UTC" };
    static const int begins[][2] = { { 3, 3 }, { 3, 28 }, { 10, 1 }, { 10, 24 } };
    enum { QUARTER_MS = 15 * MINUTE_MS };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct time_zone *zone = time_zone_open(names[i], NULL);
        struct zone_reading reading = { 0 };
        int seen[3] = { 0 };

        for (int step = 0; step < (int)COUNT_OF(begins) * 9 * 72; step++) {
            const int *begin = begins[step / (9 * 72)];
            int64_t local_ms = civil_day(2026, begin[0], begin[1]) * DAY_MS +
                               step % (9 * 72) * (int64_t)(20 * MINUTE_MS);
            int found = 0;

            if (local_ms < reading.from_ms || local_ms >= reading.to_ms)
                reading = time_zone_read(zone, local_ms);
            for (int quarter = 14 * 4; quarter >= -14 * 4; quarter--) {
                int64_t offset_ms = quarter * (int64_t)QUARTER_MS;
                struct local_time shown = time_zone_local(
                    zone, (struct wall_time){ local_ms - offset_ms });

                if (shown.offset_s * (int64_t)SECOND_MS != offset_ms)
                    continue;
                if (found < reading.count && reading.offsets_ms[found] != offset_ms)
                    fail_msg("%s: another offset", names[i]);
                found++;
            }
            if (found != reading.count)
                fail_msg("%s: %d moments, not %d", names[i], reading.count, found);
            seen[found]++;
        }
        assert_true((seen[0] > 0 && seen[2] > 0) == (i < 4));
        time_zone_free(zone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_zone_agrees_with_the_c_library),
        cmocka_unit_test(finds_the_moment_that_a_clock_shows),
        cmocka_unit_test(readings_are_all_moments_that_show_a_time),
        cmocka_unit_test(an_unknown_zone_is_never_guessed),
        cmocka_unit_test(rules_agree_with_the_c_library),
        cmocka_unit_test(a_rule_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(damaged_bytes_are_refused_or_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
