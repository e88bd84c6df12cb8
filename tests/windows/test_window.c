/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows against a clock that is walked minute by minute, and against every way to write them
 * wrong.
 */
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/calendar/window.h"

#include <string.h>

static struct window_set *defaults(const char *zone_name)
{
    struct error err = { 0 };
    struct time_zone *zone = time_zone_open(zone_name, &err);

    if (!zone)
        fail_msg("%s", err.text);

    struct window_set *set = window_set_read(NULL, zone, &err);

    assert_non_null(set);
    return set;
}

/* The default five, written down a second time as conditions on the clock. */
static const char *expected_window(const struct local_time *local)
{
    /* a night belongs to the day on which it began */
    int day = local->minute_of_day < 8 * 60 ? (local->weekday + 6) % 7 : local->weekday;
    bool is_weekend = day >= 5;
    bool is_day = local->minute_of_day >= 8 * 60 && local->minute_of_day < 20 * 60;

    if (!is_day)
        return is_weekend ? "weekend-night" : "weekday-night";
    if (is_weekend)
        return "weekend-day";
    return local->minute_of_day >= 8 * 60 + 30 && local->minute_of_day < 12 * 60 + 30
               ? "weekday-peak"
               : "weekday-day";
}

static const struct {
    const char *zone;
    int year;
} years[] = {
    { "America/New_York", 2026 },
    { "America/New_York", 2028 },
    { "Europe/Berlin", 2025 },
    { "Australia/Lord_Howe", 2026 }, /* half an hour of daylight saving */
    { "Asia/Kathmandu", 2024 },
    { "UTC", 2027 },
    { "Africa/Casablanca", 2026 }, /* goes back for a month in spring */
};

static void every_minute_of_a_year_belongs_to_the_window_of_its_clock(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(years); row++) {
        owned(window_set) struct window_set *set = defaults(years[row].zone);
        struct wall_time at = time_zone_wall(set->zone,
                                             (struct civil_date){ years[row].year, 1, 1 }, 0);
        struct wall_time end = time_zone_wall(set->zone,
                                              (struct civil_date){ years[row].year + 1, 1, 1 }, 0);

        for (; at.ms < end.ms; at.ms += MINUTE_MS) {
            struct local_time local = time_zone_local(set->zone, at);

            assert_string_equal(window_at(set, at)->name, expected_window(&local));
        }
    }
}

/* From change to change through a year: each stretch is of one window, from its first minute. */
static void changes_and_beginnings_agree_with_a_walk(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(years); row++) {
        owned(window_set) struct window_set *set = defaults(years[row].zone);
        struct wall_time at = time_zone_wall(set->zone,
                                             (struct civil_date){ years[row].year, 1, 1 }, 8 * 60);
        struct wall_time end = time_zone_wall(set->zone,
                                              (struct civil_date){ years[row].year + 1, 1, 1 }, 0);

        while (at.ms < end.ms) {
            const struct window *window = window_at(set, at);
            struct wall_time next = window_next_change(set, at);
            struct wall_time walk = at;

            while (window_at(set, walk) == window)
                walk.ms += MINUTE_MS;
            assert_int_equal(next.ms, walk.ms);
            assert_int_equal(window_began(set, at).ms, at.ms);
            assert_int_equal(window_began(set, (struct wall_time){ next.ms - 1 }).ms, at.ms);
            assert_int_equal(
                window_next_change(set, (struct wall_time){ at.ms + 7 * MINUTE_MS + 123 }).ms,
                next.ms);
            at = next;
        }
    }
}

static void a_week_has_an_hour_less_in_spring_and_one_more_in_autumn(void **state)
{
    static const struct {
        struct civil_date monday;
        int64_t minutes;
        int64_t weekend_night; /* the Saturday night has the change */
    } weeks[] = {
        { { 2026, 3, 2 }, 10020, 1440 - 60 },
        { { 2026, 3, 16 }, 10080, 1440 },
        { { 2026, 10, 26 }, 10140, 1440 + 60 },
    };
    owned(window_set) struct window_set *set = defaults("America/New_York");

    (void)state;
    for (size_t row = 0; row < COUNT_OF(weeks); row++) {
        struct civil_date monday = weeks[row].monday;
        struct wall_time at = time_zone_wall(set->zone, monday, 8 * 60);
        int64_t day = civil_day(monday.year, monday.month, monday.day) + 7;
        struct wall_time end = time_zone_wall(set->zone, civil_date_of_day(day), 8 * 60);
        int64_t minutes[5] = { 0 };
        int64_t sum = 0;

        for (; at.ms < end.ms; at.ms += MINUTE_MS)
            minutes[window_at(set, at) - set->items]++;
        for (size_t i = 0; i < set->count; i++)
            sum += minutes[i];
        assert_int_equal(sum, weeks[row].minutes);
        assert_int_equal(minutes[window_find(set, "weekend-night") - set->items],
                         weeks[row].weekend_night);
        assert_int_equal(minutes[window_find(set, "weekday-day") - set->items], 5 * 480);
        assert_int_equal(minutes[window_find(set, "weekday-peak") - set->items], 5 * 240);
    }
}

static struct window_set *parse(const char *text, struct error *err)
{
    owned(yaml_document) struct yaml_document *document = yaml_parse(text, strlen(text), "w.yaml",
                                                                     err);
    owned(time_zone) struct time_zone *zone = time_zone_open("Europe/Berlin", NULL);

    if (!document)
        return NULL;

    struct window_set *set = window_set_read(yaml_get(yaml_root(document), "windows"), zone, err);

    if (set)
        (void)steal(&zone);
    return set;
}

static void nested_windows_win_over_what_they_are_carved_out_of(void **state)
{
    struct error err = { 0 };
    owned(window_set) struct window_set *set = parse(
        "windows:\n"
        "  noon: { days: [wed], from: '12:00', to: '12:30', within: middle }\n"
        "  middle: { days: mon-fri, from: 10:00, to: 14:00, within: all }\n"
        "  all: { days: mon-sun, from: 0:00, to: 24:00 }\n",
        &err);

    (void)state;
    if (!set)
        fail_msg("%s", err.text);
    assert_int_equal(window_find(set, "noon")->depth, 2);

    struct civil_date wednesday = { 2026, 11, 18 };
    struct civil_date thursday = { 2026, 11, 19 };

    assert_string_equal(window_at(set, time_zone_wall(set->zone, wednesday, 719))->name, "middle");
    assert_string_equal(window_at(set, time_zone_wall(set->zone, wednesday, 720))->name, "noon");
    assert_string_equal(window_at(set, time_zone_wall(set->zone, wednesday, 750))->name, "middle");
    assert_string_equal(window_at(set, time_zone_wall(set->zone, thursday, 725))->name, "middle");
    assert_string_equal(window_at(set, time_zone_wall(set->zone, thursday, 840))->name, "all");
}

static void one_window_for_all_never_changes(void **state)
{
    owned(window_set) struct window_set *set = parse(
        "windows:\n  always: { days: mon-sun, from: 6:00, to: 6:00 }\n", NULL);
    struct wall_time wall = { 1767225600000 };

    (void)state;
    assert_non_null(set);
    assert_string_equal(window_at(set, wall)->name, "always");
    assert_int_equal(window_next_change(set, wall).ms, 0);
    assert_int_equal(window_began(set, wall).ms, 0);
}

#define ALL "  all: { days: mon-sun, from: 0:00, to: 24:00 }\n"

static const struct {
    const char *text; /* below `windows:` */
    const char *want; /* in the error */
} mistakes[] = {
    { "  a: { days: mon-sat, from: 0:00, to: 24:00 }\n",
      "w.yaml:2: windows: sun 00:00 belongs to no window" },
    { ALL "  b: { days: mon, from: 9:00, to: 10:00 }\n",
      "w.yaml:3: windows.b: mon 09:00 belongs also to all" },
    { ALL "  b: { days: mon, from: 9:00, to: 10:00, within: c }\n"
          "  c: { days: mon, from: 9:30, to: 11:00, within: all }\n",
      "w.yaml:3: windows.b: mon 09:00 is not part of c" },
    { ALL "  b: { days: mon, from: 9:00, to: 10:00, within: c }\n"
          "  c: { days: mon, from: 9:00, to: 10:00, within: b }\n",
      "w.yaml:3: windows.b: is carved out of itself" },
    { ALL "  b: { days: mon, from: 9:00, to: 10:00, within: x }\n",
      "windows.b.within: there is no window \"x\"" },
    { ALL "  b: { days: noday, from: 9:00, to: 10:00, within: all }\n",
      "windows.b.days: expected a day" },
    { ALL "  b: { days: [], from: 9:00, to: 10:00, within: all }\n",
      "windows.b.days: names no day" },
    { ALL "  b: { days: mon, from: 25:00, to: 10:00, within: all }\n",
      "windows.b.from: expected a time of day" },
    { ALL "  b: { days: mon, from: 9:60, to: 10:00, within: all }\n",
      "windows.b.from: expected a time of day" },
    { ALL "  b: { days: mon, from: 900, to: 10:00, within: all }\n",
      "windows.b.from: expected a time of day" },
    { ALL "  b: { days: mon, from: 9:00, within: all }\n", "w.yaml:3: windows.b" },
    { ALL "  b: { days: mon, from: 9:00, to: 10:00, inside: all }\n", "inside" },
    { ALL "  b/c: { days: mon, from: 9:00, to: 10:00, within: all }\n", "lower-case letters" },
    { ALL "  b: [mon]\n", "windows.b" },
    { "  - mon\n", "windows" },
    { "  {}\n", "windows: names no window" },
};

static void a_mistake_is_answered_with_file_line_and_window(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        owned(chars) char *text = text_format("windows:\n%s", mistakes[i].text);
        struct error err = { 0 };
        owned(window_set) struct window_set *set = parse(text, &err);

        if (set || !strstr(err.text, mistakes[i].want) || strncmp(err.text, "w.yaml:", 7) != 0)
            fail_msg("%s: \"%s\" is not \"%s\"", text, err.text, mistakes[i].want);
    }
}

static void more_than_64_windows_are_refused(void **state)
{
    owned(text) struct text *text = text_new(1 << 16);
    struct error err = { 0 };

    (void)state;
    text_add(text, "windows:\n" ALL);
    for (int i = 0; i < 64; i++)
        text_add(text, "  w%d: { days: mon, from: 0:00, to: 0:01, within: all }\n", i);
    assert_null(parse(text->chars, &err));
    assert_non_null(strstr(err.text, "65 windows"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_minute_of_a_year_belongs_to_the_window_of_its_clock),
        cmocka_unit_test(changes_and_beginnings_agree_with_a_walk),
        cmocka_unit_test(a_week_has_an_hour_less_in_spring_and_one_more_in_autumn),
        cmocka_unit_test(nested_windows_win_over_what_they_are_carved_out_of),
        cmocka_unit_test(one_window_for_all_never_changes),
        cmocka_unit_test(a_mistake_is_answered_with_file_line_and_window),
        cmocka_unit_test(more_than_64_windows_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
