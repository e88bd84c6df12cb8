/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Holidays and events against a second description of the same calendar, minute by minute, for
 * years and zones with every kind of change of the clock.
 */
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/calendar/calendar.h"
#include "windows/calendar/segment.h"

#include <inttypes.h>
#include <string.h>

/* A set with the default windows and this calendar. */
static struct window_set *calendar(const char *zone, const char *text, struct error *err)
{
    owned(yaml_document) struct yaml_document *document = yaml_parse(text, strlen(text), "c.yaml",
                                                                     err);
    owned(window_set) struct window_set *set = window_set_read(NULL, time_zone_open(zone, NULL),
                                                               err);

    assert_non_null(set);
    if (!document)
        fail_msg("%s", err->text);
    if (calendar_read(set, yaml_get(yaml_root(document), "holidays"),
                      yaml_get(yaml_root(document), "events"), err) < 0)
        return NULL;
    return steal(&set);
}

static struct window_set *calendar_of(const char *zone, const char *text)
{
    struct error err = { 0 };
    struct window_set *set = calendar(zone, text, &err);

    if (!set)
        fail_msg("%s", err.text);
    return set;
}

/* In every zone some of these fall on a day when the clock changes. */
static const char busy_year[] =
    "holidays: {2026-01-01: sunday, 2026-03-08: monday, 2026-03-29: wednesday, 2026-04-05: fri,\n"
    "  2026-07-03: saturday, 2026-07-04: monday, 2026-07-05: sat, 2026-10-25: tuesday,\n"
    "  2026-11-01: thursday, 2026-12-25: sunday, 2026-12-26: sunday, 2026-12-27: monday}\n"
    "events:\n"
    "  later: {from: 2026-11-30 08:00, to: 2026-12-20 00:00, multiplier: 1.1}\n"
    "  spring: {from: 2026-03-07 23:30, to: 2026-03-08 03:30, multiplier: 2}\n"
    "  summer: {from: 2026-07-03 12:00, to: 2026-07-04 12:00, multiplier: 2}\n"
    "  after: {from: 2026-07-04 12:00, to: 2026-07-04 12:01, multiplier: 2}\n"
    "  offset: {from: '2026-10-24T22:00:00Z', to: '2026-10-25T04:00:00+01:00', multiplier: 3}\n";

static const struct {
    int month, day, weekday;
} busy_holidays[] = {
    { 1, 1, 6 }, { 3, 8, 0 },   { 3, 29, 2 }, { 4, 5, 4 },   { 7, 3, 5 },   { 7, 4, 0 },
    { 7, 5, 5 }, { 10, 25, 1 }, { 11, 1, 3 }, { 12, 25, 6 }, { 12, 26, 6 }, { 12, 27, 0 },
};

/* The window by the rules alone: the hour of the weekday as which the date counts. */
static const char *window_by_rule(struct local_time local)
{
    for (size_t i = 0; i < COUNT_OF(busy_holidays); i++)
        if (local.date.year == 2026 && local.date.month == busy_holidays[i].month &&
            local.date.day == busy_holidays[i].day)
            local.weekday = busy_holidays[i].weekday;

    int day = local.minute_of_day < 480 ? (local.weekday + 6) % 7 : local.weekday;

    if (local.minute_of_day < 480 || local.minute_of_day >= 1200)
        return day >= 5 ? "weekend-night" : "weekday-night";
    if (day >= 5)
        return "weekend-day";
    return local.minute_of_day >= 510 && local.minute_of_day < 750 ? "weekday-peak" : "weekday-day";
}

/* "2026-07-03 12:00" as a number that orders; the repeated hour of autumn is not used. */
static int64_t clock_number(const struct local_time *local)
{
    return civil_day(local->date.year, local->date.month, local->date.day) * 1440 +
           local->minute_of_day;
}

static const char *event_by_rule(const struct window_set *set, struct wall_time at)
{
    struct local_time local = time_zone_local(set->zone, at);
    int64_t now = clock_number(&local);

    if (at.ms >= 1792879200000 && at.ms < 1792897200000)
        return "offset";
    if (now >= civil_day(2026, 11, 30) * 1440 + 480 && now < civil_day(2026, 12, 20) * 1440)
        return "later";
    if (now >= civil_day(2026, 3, 7) * 1440 + 1410 && now < civil_day(2026, 3, 8) * 1440 + 210)
        return "spring";
    if (now >= civil_day(2026, 7, 3) * 1440 + 720 && now < civil_day(2026, 7, 4) * 1440 + 720)
        return "summer";
    return now == civil_day(2026, 7, 4) * 1440 + 720 ? "after" : NULL;
}

static const char *const zones[] = {
    "America/New_York", "Europe/Berlin",     "UTC",
    "Asia/Kathmandu",   "Africa/Casablanca", "Australia/Lord_Howe"
};

static void every_minute_belongs_to_one_window_of_its_date(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(zones); row++) {
        owned(window_set) struct window_set *set = calendar_of(zones[row], busy_year);
        struct wall_time at = time_zone_wall(set->zone, (struct civil_date){ 2025, 12, 20 }, 0);
        struct wall_time end = time_zone_wall(set->zone, (struct civil_date){ 2027, 1, 20 }, 0);

        for (; at.ms < end.ms; at.ms += MINUTE_MS) {
            const char *want = event_by_rule(set, at);
            const char *beneath = window_by_rule(time_zone_local(set->zone, at));

            assert_string_equal(window_at(set, at)->name, want ? want : beneath);
            assert_string_equal(window_beneath(set, at)->name, beneath);
        }
    }
}

static void changes_and_beginnings_agree_with_a_walk(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(zones); row++) {
        owned(window_set) struct window_set *set = calendar_of(zones[row], busy_year);
        struct wall_time at = time_zone_wall(set->zone, (struct civil_date){ 2025, 12, 29 }, 480);
        struct wall_time end = time_zone_wall(set->zone, (struct civil_date){ 2027, 1, 20 }, 0);

        while (at.ms < end.ms) {
            const struct window *window = window_at(set, at);
            struct wall_time next = window_next_change(set, at);
            struct wall_time walk = at;

            while (window_at(set, walk) == window)
                walk.ms += MINUTE_MS;
            assert_int_equal(next.ms, walk.ms);
            assert_int_equal(window_began(set, at).ms, at.ms);
            assert_int_equal(window_began(set, (struct wall_time){ next.ms - 1 }).ms, at.ms);
            at = next;
        }
    }
}

static void a_holiday_cuts_the_nights_at_midnight(void **state)
{
    owned(window_set) struct window_set *set = calendar_of("UTC",
                                                           "holidays: {2026-12-25: sunday}\n");
    int64_t friday = civil_day(2026, 12, 25) * DAY_MS;
    static const struct {
        int64_t minute; /* of the Friday */
        const char *window;
        int64_t began;
        int64_t until;
    } rows[] = {
        { -1, "weekday-night", -240, 0 },      { 0, "weekend-night", 0, 480 },
        { 479, "weekend-night", 0, 480 },      { 480, "weekend-day", 480, 1200 },
        { 1199, "weekend-day", 480, 1200 },    { 1200, "weekend-night", 1200, 1440 },
        { 1440, "weekday-night", 1440, 1920 }, /* what a Saturday always begins with */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct wall_time at = { friday + rows[i].minute * MINUTE_MS };

        assert_string_equal(window_at(set, at)->name, rows[i].window);
        assert_int_equal(window_began(set, at).ms, friday + rows[i].began * MINUTE_MS);
        assert_int_equal(window_next_change(set, at).ms, friday + rows[i].until * MINUTE_MS);
    }
}

static void an_event_changes_even_what_never_changes(void **state)
{
    static const char always[] = "always: {days: mon-sun, from: '6:00', to: '6:00'}\n";
    static const char dates[] = "holidays: {2027-05-05: sunday}\n"
                                "events: {e: {from: 2027-01-01 00:00, to: 2027-01-02 00:00,"
                                " multiplier: 2}}\n";
    owned(yaml_document) struct yaml_document *week = yaml_parse(always, strlen(always), "w", NULL);
    owned(yaml_document) struct yaml_document *more = yaml_parse(dates, strlen(dates), "d", NULL);
    struct error err = { 0 };
    owned(window_set) struct window_set *set = window_set_read(yaml_root(week),
                                                               time_zone_open("UTC", NULL), &err);
    struct wall_time before = { civil_day(2026, 1, 1) * DAY_MS };
    struct wall_time from = { civil_day(2027, 1, 1) * DAY_MS };
    struct wall_time to = { from.ms + DAY_MS };

    (void)state;
    assert_non_null(set);
    assert_int_equal(calendar_read(set, yaml_get(yaml_root(more), "holidays"),
                                   yaml_get(yaml_root(more), "events"), &err),
                     0);
    assert_int_equal(window_next_change(set, before).ms, from.ms);
    assert_int_equal(window_began(set, before).ms, 0);
    assert_string_equal(window_at(set, from)->name, "e");
    assert_int_equal(window_next_change(set, from).ms, to.ms);
    assert_int_equal(window_began(set, (struct wall_time){ to.ms + WEEK_MS }).ms, to.ms);
    assert_int_equal(window_next_change(set, to).ms, 0);
    assert_int_equal(window_beneath_next_change(set, from).ms, 0);
    assert_false(window_is_over(&set->items[1], from));
    assert_true(window_is_over(&set->items[1], to));
    assert_false(window_is_over(&set->items[0], to));
}

/* Two weeks of hours; the count is the hour's number. */
/* Monday at midnight is of the weekend's last night. */
static void a_schedule_is_used_until_its_window_is_over(void **state)
{
    static const struct {
        const char *window, *until;
    } rows[] = {
        { NULL, "2026-11-30T00:00:00Z" },
        { "launch", "2026-12-31T00:00:00Z" },
        { "weekday-day", "2026-11-23T20:00:00Z" },
        { "weekday-peak", "2026-11-23T12:30:00Z" },
        { "weekday-night", "2026-11-24T08:00:00Z" },
        { "weekend-night", "2026-11-23T08:00:00Z" },
        { "weekend-day", "2026-11-28T20:00:00Z" },
    };
    owned(window_set) struct window_set *set = calendar_of(
        "UTC", "events: {launch: {from: 2026-12-30 08:00, to: 2026-12-31 00:00, multiplier: 2}}\n");
    struct wall_time from;

    (void)state;
    assert_int_equal(wall_parse("2026-11-23T00:00:00Z", false, &from, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char until[WALL_TEXT_SIZE];

        wall_format(window_used_until(set, from, rows[i].window), until);
        assert_string_equal(until, rows[i].until);
    }
}

static void an_event_is_planned_from_its_hours_of_the_weeks_before(void **state)
{
    owned(window_set) struct window_set *set = calendar_of(
        "UTC", "holidays: {2026-12-02: tuesday}\n" /* a Wednesday */
               "events:\n"
               "  past: {from: 2026-11-17 10:30, to: 2026-11-17 12:00, multiplier: 3}\n"
               "  soon: {from: 2026-12-02 10:00, to: 2026-12-02 13:00, multiplier: 2}\n");
    owned(text) struct text *csv = text_new(1 << 16);
    int64_t monday = civil_day(2026, 11, 16);
    int hours[16];
    size_t count = 0;

    (void)state;
    text_add(csv, "t,count\n");
    for (int hour = 0; hour < 14 * 24; hour++) {
        char time[WALL_TEXT_SIZE];

        text_add(csv, "%s,%d\n",
                 wall_format((struct wall_time){ monday * DAY_MS + hour * (int64_t)HOUR_MS }, time),
                 hour ^ 1); /* what never falls is a counter */
    }

    struct demand_options options = { 0 };
    owned(demand) struct demand *demand = demand_parse(csv->chars, csv->length, "q.csv", &options,
                                                       NULL);
    struct segment_list segments = { 0 };

    segments_of_window(&demand->series[0], set, (size_t)(window_find(set, "soon") - set->items),
                       (struct wall_span){ demand->series[0].start, demand->end }, &segments);
    for (size_t i = 0; i < segments.list.count; i++)
        for (size_t at = 0; at < segments.list.items[i].count; at++)
            hours[count++] = demand_at(&demand->series[0], DEMAND_LOW,
                                       segments.list.items[i].first + at);
    segments_clear(&segments);

    /* Tuesdays 10, 11 and 12 o'clock; on the first, 11 o'clock was another event's */
    static const int want[] = { 34 ^ 1, 36 ^ 1, 202 ^ 1, 203 ^ 1, 204 ^ 1 };

    assert_int_equal(count, COUNT_OF(want));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(hours[i], want[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_minute_belongs_to_one_window_of_its_date),
        cmocka_unit_test(changes_and_beginnings_agree_with_a_walk),
        cmocka_unit_test(a_holiday_cuts_the_nights_at_midnight),
        cmocka_unit_test(an_event_changes_even_what_never_changes),
        cmocka_unit_test(a_schedule_is_used_until_its_window_is_over),
        cmocka_unit_test(an_event_is_planned_from_its_hours_of_the_weeks_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
