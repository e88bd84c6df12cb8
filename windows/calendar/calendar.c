/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading dates.  What would make a minute belong to two windows, or a schedule to two names, is
 * refused here, so that the look-up in window.c needs no doubt.
 */
#include "windows/calendar/calendar.h"

#include "base/input/settings.h"
#include "base/text.h"
#include "windows/calendar/holidays.h"

#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 64, HOLIDAYS_MAX = 1000, MULTIPLIER_MAX = 1000, COUNTRIES_MAX = 8, SUNDAY = 6 };

static const char *const day_names[7] = { "monday", "tuesday",  "wednesday", "thursday",
                                          "friday", "saturday", "sunday" };

const char *calendar_day_name(int weekday)
{
    return day_names[weekday];
}

int calendar_check_name(const struct yaml_node *node, struct error *err)
{
    size_t length = strspn(node->key, "abcdefghijklmnopqrstuvwxyz0123456789-");

    if (length == 0 || length > 63 || node->key[length] != '\0' || node->key[0] == '-')
        return yaml_error(err, node,
                          "a window's name has up to 63 lower-case letters, digits and hyphens");
    return 0;
}

/* "2026-12-25", and that this day exists. */
static int read_date(const struct yaml_node *node, int64_t *ret_day, struct error *err)
{
    owned(chars) char *midnight = text_format("%s 00:00", node->key);
    struct wall_time wall;

    if (strlen(node->key) != strlen("2026-12-25") || wall_parse(midnight, true, &wall, NULL) < 0)
        return yaml_error(err, node, "expected a date (2026-12-25), country or as");
    *ret_day = wall.ms / DAY_MS;
    return 0;
}

static int read_weekday(const struct yaml_node *node, int *ret_weekday, struct error *err)
{
    const char *day;

    if (yaml_text(node, &day, err) < 0)
        return -1;
    *ret_weekday = window_day_named(day, strlen(day));
    return *ret_weekday >= 0 ? 0
                             : yaml_error(err, node,
                                          "expected the day whose windows it has (sunday), found "
                                          "\"%s\"",
                                          day);
}

/* The days of one country that have no date of their own in the configuration. */
static int add_country(struct window_set *set, const struct yaml_node *node, int weekday,
                       struct error *err)
{
    owned(holidays) struct public_holidays days = { 0 };
    size_t had = set->holiday_count;
    struct error why = { 0 };
    const char *country;

    if (yaml_text(node, &country, err) < 0)
        return -1;
    if (holidays_of_country(country, &days, &why) < 0)
        return yaml_error(err, node, "%s", why.text);
    set->holidays = mem_resize(set->holidays, had + days.list.count, sizeof *set->holidays);
    for (size_t i = 0; i < days.list.count; i++) {
        const struct public_holiday *day = &days.list.items[i];
        struct holiday key = { day->day, 0, NULL };

        if (had == 0 || !bsearch(&key, set->holidays, had, sizeof key, window_compare_holidays))
            set->holidays[set->holiday_count++] = (struct holiday){ day->day, weekday,
                                                                    mem_copy_chars(day->name) };
    }
    qsort(set->holidays, set->holiday_count, sizeof *set->holidays, window_compare_holidays);
    return 0;
}

/* `country: US`, or a list of them, after all dates are known. */
static int add_countries(struct window_set *set, const struct yaml_node *holidays,
                         struct error *err)
{
    const struct yaml_node *country = yaml_get(holidays, "country");
    const struct yaml_node *as = yaml_get(holidays, "as");
    int weekday = SUNDAY;

    if (as && read_weekday(as, &weekday, err) < 0)
        return -1;
    if (as && !country)
        return yaml_error(err, as,
                          "requires country: it is the day whose windows the country's "
                          "holidays have");
    if (!country || country->kind != YAML_SEQUENCE)
        return country ? add_country(set, country, weekday, err) : 0;
    if (country->count > COUNTRIES_MAX)
        return yaml_error(err, country, "%zu countries; at most %d are possible", country->count,
                          COUNTRIES_MAX);
    for (size_t i = 0; i < country->count; i++)
        if (add_country(set, &country->children[i], weekday, err) < 0)
            return -1;
    return 0;
}

static int read_holidays(struct window_set *set, const struct yaml_node *node, struct error *err)
{
    if (yaml_expect(node, YAML_MAPPING, err) < 0)
        return -1;
    if (node->count > HOLIDAYS_MAX)
        return yaml_error(err, node, "%zu days; at most %d are possible", node->count,
                          HOLIDAYS_MAX);
    set->holidays = mem_new_array(node->count, sizeof *set->holidays);
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *entry = &node->children[i];
        struct holiday *holiday = &set->holidays[set->holiday_count];

        if (text_equal(entry->key, "country") || text_equal(entry->key, "as"))
            continue;
        if (read_date(entry, &holiday->day, err) < 0 ||
            read_weekday(entry, &holiday->weekday, err) < 0)
            return -1;
        set->holiday_count++;
    }
    if (set->holiday_count > 0)
        qsort(set->holidays, set->holiday_count, sizeof *set->holidays, window_compare_holidays);
    return add_countries(set, node, err);
}

/* With an offset, or as the clock of the zone shows it; whole minutes. */
static int read_time(const struct window_set *set, const struct yaml_node *node,
                     struct wall_time *ret_wall, struct error *err)
{
    const char *text;
    struct wall_time wall;

    if (yaml_text(node, &text, err) < 0)
        return -1;
    if (wall_parse(text, false, ret_wall, NULL) < 0) {
        if (wall_parse(text, true, &wall, NULL) < 0)
            return yaml_error(err, node,
                              "expected a date and a time (2026-12-01 09:00), found \"%s\"", text);

        int64_t day = wall.ms / DAY_MS;

        *ret_wall = time_zone_wall(set->zone, civil_date_of_day(day),
                                   (int)(wall.ms % DAY_MS / MINUTE_MS));
        ret_wall->ms += wall.ms % MINUTE_MS;
    }
    if (ret_wall->ms <= 0 || ret_wall->ms % MINUTE_MS != 0)
        return yaml_error(err, node, "expected a whole minute after 1970, found \"%s\"", text);
    return 0;
}

static int read_queues(const struct yaml_node *node, struct window_event *event, struct error *err)
{
    if (yaml_expect(node, YAML_SEQUENCE, err) < 0)
        return -1;
    if (node->count == 0)
        return yaml_error(err, node, "names no queue; leave it out for all of them");
    event->queues = mem_new_array(node->count, sizeof *event->queues);
    for (size_t i = 0; i < node->count; i++) {
        const char *name;

        if (yaml_text(&node->children[i], &name, err) < 0)
            return -1;
        event->queues[event->queue_count++] = mem_copy_chars(name);
    }
    return 0;
}

static int read_event(const struct window_set *set, const struct yaml_node *node,
                      struct window_event *event, struct error *err)
{
    struct fields {
        const struct yaml_node *from;
        const struct yaml_node *to;
        const struct yaml_node *queues;
        double multiplier;
    } fields;
    static const struct setting table[] = {
        { "from", SETTING_NODE, offsetof(struct fields, from), NULL, 0, 0, "date and time" },
        { "to", SETTING_NODE, offsetof(struct fields, to), NULL, 0, 0, "date and time" },
        { "queues", SETTING_NODE, offsetof(struct fields, queues), "", 0, 0,
          "whose arrivals are multiplied; absent: all queues" },
        { "multiplier", SETTING_DOUBLE, offsetof(struct fields, multiplier), NULL, 0,
          MULTIPLIER_MAX, "of the arrivals at these hours of the week" },
    };

    if (yaml_expect(node, YAML_MAPPING, err) < 0 ||
        settings_read(node, table, COUNT_OF(table), &fields, err) < 0)
        return -1;
    event->multiplier = fields.multiplier;
    if (event->multiplier <= 0)
        return yaml_error(err, yaml_get(node, "multiplier"), "must be more than 0");
    if (read_time(set, fields.from, &event->from, err) < 0 ||
        read_time(set, fields.to, &event->to, err) < 0)
        return -1;
    if (event->to.ms <= event->from.ms)
        return yaml_error(err, fields.to, "is not later than from");
    return fields.queues ? read_queues(fields.queues, event, err) : 0;
}

static int check_event(const struct window_set *set, const struct yaml_node *node,
                       const struct window *window, struct error *err)
{
    for (const struct window *other = set->items; other < window; other++) {
        if (text_equal(other->name, window->name))
            return yaml_error(err, node, "is the name of a window of the week");
        if (other->event && other->event->from.ms < window->event->to.ms &&
            window->event->from.ms < other->event->to.ms)
            return yaml_error(err, node, "overlaps the event %s", other->name);
    }
    return 0;
}

static int compare_events(const void *left, const void *right)
{
    const struct window *a = left;
    const struct window *b = right;

    return (a->event->from.ms > b->event->from.ms) - (a->event->from.ms < b->event->from.ms);
}

static int read_events(struct window_set *set, const struct yaml_node *node, struct error *err)
{
    if (yaml_expect(node, YAML_MAPPING, err) < 0)
        return -1;
    if (node->count > EVENTS_MAX)
        return yaml_error(err, node, "%zu events; at most %d are possible", node->count,
                          EVENTS_MAX);
    set->items = mem_resize(set->items, set->count + node->count, sizeof *set->items);
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *entry = &node->children[i];
        struct window *window = &set->items[set->count++];

        *window = (struct window){ .name = mem_copy_chars(entry->key),
                                   .within = -1,
                                   .event = mem_new(sizeof *window->event) };
        if (calendar_check_name(entry, err) < 0 || read_event(set, entry, window->event, err) < 0 ||
            check_event(set, entry, window, err) < 0)
            return -1;
    }
    qsort(&set->items[set->weekly_count], node->count, sizeof *set->items, compare_events);
    return 0;
}

int calendar_read(struct window_set *set, const struct yaml_node *holidays,
                  const struct yaml_node *events, struct error *err)
{
    if (holidays && read_holidays(set, holidays, err) < 0)
        return -1;
    return events ? read_events(set, events, err) : 0;
}

static struct window_event *copy_event(const struct window_event *from)
{
    struct window_event *event = mem_new(sizeof *event);

    *event = *from;
    event->queues = mem_new_array(from->queue_count, sizeof *event->queues);
    for (size_t i = 0; i < from->queue_count; i++)
        event->queues[i] = mem_copy_chars(from->queues[i]);
    return event;
}

void calendar_copy(const struct window_set *from, struct window_set *set)
{
    size_t events = from->count - from->weekly_count;

    require(set->holiday_count == 0 && set->count == set->weekly_count);
    set->holidays = mem_new_array(from->holiday_count, sizeof *set->holidays);
    for (; set->holiday_count < from->holiday_count; set->holiday_count++) {
        struct holiday *holiday = &set->holidays[set->holiday_count];

        *holiday = from->holidays[set->holiday_count];
        holiday->name = holiday->name ? mem_copy_chars(holiday->name) : NULL;
    }
    set->items = mem_resize(set->items, set->count + events, sizeof *set->items);
    for (size_t i = from->weekly_count; i < from->count; i++) {
        struct window *window = &set->items[set->count++];

        *window = from->items[i];
        window->name = mem_copy_chars(from->items[i].name);
        window->event = copy_event(from->items[i].event);
    }
}
