/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading `windows:` and proving that it covers the week: every minute of the local week must be
 * claimed by one chain of windows, each carved out of the one before; the last of the chain wins.
 */
#include "base/array.h"
#include "base/input/settings.h"
#include "base/text.h"
#include "windows/calendar/calendar.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOWS_MAX = 64, DAY_MINUTES = 24 * 60, WORK_DAYS = 0x1f, WEEKEND = 0x60 };

static const char *const day_names[7] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun" };

static const struct {
    const char *name;
    unsigned days;
    int from_minute;
    int to_minute;
    int within;
} default_windows[] = {
    { "weekday-day", WORK_DAYS, 8 * 60, 20 * 60, -1 },
    { "weekday-peak", WORK_DAYS, 8 * 60 + 30, 12 * 60 + 30, 0 },
    { "weekday-night", WORK_DAYS, 20 * 60, 8 * 60, -1 },
    { "weekend-day", WEEKEND, 8 * 60, 20 * 60, -1 },
    { "weekend-night", WEEKEND, 20 * 60, 8 * 60, -1 },
};

/* Three letters, or more of the whole name in any case ("Monday"). */
int window_day_named(const char *chars, size_t length)
{
    static const char *const whole[7] = { "monday", "tuesday",  "wednesday", "thursday",
                                          "friday", "saturday", "sunday" };

    for (int day = 0; day < 7; day++)
        if (length >= strlen(day_names[day]) && length <= strlen(whole[day]) &&
            strncasecmp(chars, whole[day], length) == 0)
            return day;
    return -1;
}

/* "mon" or "mon-fri"; a range may pass the end of the week ("sat-mon"). */
static int days_of_text(const struct yaml_node *node, unsigned *days, struct error *err)
{
    const char *text;

    if (yaml_text(node, &text, err) < 0)
        return -1;

    const char *dash = strchr(text, '-');
    int first = window_day_named(text, dash ? (size_t)(dash - text) : strlen(text));
    int last = dash ? window_day_named(dash + 1, strlen(dash + 1)) : first;

    if (first < 0 || last < 0)
        return yaml_error(err, node, "expected a day (mon) or days (mon-fri), found \"%s\"", text);
    for (int day = first;; day = (day + 1) % 7) {
        *days |= 1u << day;
        if (day == last)
            return 0;
    }
}

static int read_days(const struct yaml_node *node, unsigned *days, struct error *err)
{
    if (node->kind == YAML_SCALAR)
        return days_of_text(node, days, err);
    if (yaml_expect(node, YAML_SEQUENCE, err) < 0)
        return -1;
    if (node->count == 0)
        return yaml_error(err, node, "names no day");
    for (size_t i = 0; i < node->count; i++)
        if (days_of_text(&node->children[i], days, err) < 0)
            return -1;
    return 0;
}

/* "8:30", "08:30"; 24:00 where `max` allows it. */
static int read_minute(const struct yaml_node *node, int max, int *ret_minute, struct error *err)
{
    const char *text;
    char hours[3] = { 0 };
    long long hour;
    long long minute;

    if (yaml_text(node, &text, err) < 0)
        return -1;

    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;

    if (length < 1 || length > 2 || strlen(colon + 1) != 2)
        return yaml_error(err, node, "expected a time of day (08:30), found \"%s\"", text);
    memcpy(hours, text, length);
    if (!text_to_int(hours, 0, 24, &hour) || !text_to_int(colon + 1, 0, 59, &minute) ||
        hour * 60 + minute > max)
        return yaml_error(err, node, "expected a time of day (08:30), found \"%s\"", text);
    *ret_minute = (int)(hour * 60 + minute);
    return 0;
}

static int read_window(const struct yaml_node *node, struct window *window, struct error *err)
{
    struct fields {
        const struct yaml_node *days;
        const struct yaml_node *from;
        const struct yaml_node *to;
        char *within;
    } fields;
    static const struct setting table[] = {
        { "days", SETTING_NODE, offsetof(struct fields, days), NULL, 0, 0,
          "the days on which it begins: mon-fri, or a list" },
        { "from", SETTING_NODE, offsetof(struct fields, from), NULL, 0, 0, "time of day" },
        { "to", SETTING_NODE, offsetof(struct fields, to), NULL, 0, 0,
          "time of day; the next day's when it is not later than from" },
        { "within", SETTING_TEXT, offsetof(struct fields, within), "", 0, 0,
          "the window that it is carved out of" },
    };

    if (yaml_expect(node, YAML_MAPPING, err) < 0 ||
        settings_read(node, table, COUNT_OF(table), &fields, err) < 0)
        return -1;

    int result = read_days(fields.days, &window->days, err);

    if (result == 0)
        result = read_minute(fields.from, DAY_MINUTES - 1, &window->from_minute, err);
    if (result == 0)
        result = read_minute(fields.to, DAY_MINUTES, &window->to_minute, err);
    settings_clear(table, COUNT_OF(table), &fields);
    if (result < 0)
        return -1;
    if (window->to_minute == 0)
        window->to_minute = DAY_MINUTES; /* midnight is the end of the day */
    window->within = -1;
    window->name = mem_copy_chars(node->key);
    return 0;
}

static int link_within(const struct yaml_node *windows, struct window_set *set, struct error *err)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct yaml_node *within = yaml_get(&windows->children[i], "within");
        const char *name = within ? within->text : NULL;

        if (!name || name[0] == '\0')
            continue;

        const struct window *parent = window_find(set, name);

        if (!parent)
            return yaml_error(err, within, "there is no window \"%s\"", name);
        set->items[i].within = (int)(parent - set->items);
    }
    for (size_t i = 0; i < set->count; i++) {
        int depth = 0;

        for (int at = set->items[i].within; at >= 0; at = set->items[at].within)
            if (++depth > (int)set->count)
                return yaml_error(err, &windows->children[i],
                                  "is carved out of itself, directly or through others");
        set->items[i].depth = depth;
    }
    return 0;
}

static bool window_claims(const struct window *window, int minute)
{
    int length = window->to_minute - window->from_minute;

    if (length <= 0)
        length += DAY_MINUTES;
    for (int day = 0; day < 7; day++) {
        int since = (minute - day * DAY_MINUTES - window->from_minute + 2 * WINDOW_MINUTES) %
                    WINDOW_MINUTES;

        if ((window->days >> day & 1) && since < length)
            return true;
    }
    return false;
}

static int minute_error(struct error *err, const struct yaml_node *node, int minute,
                        const char *sentence, const char *other)
{
    int of_day = minute % DAY_MINUTES;

    return yaml_error(err, node, "%s %02d:%02d %s%s", day_names[minute / DAY_MINUTES], of_day / 60,
                      of_day % 60, sentence, other);
}

/* Each minute's claims, from the outermost in; two at one depth, or one without its parent, are
   mistakes. */
static int cover_minute(const struct yaml_node *windows, struct window_set *set, int minute,
                        struct error *err)
{
    int at_depth[WINDOWS_MAX + 1];
    int deepest = -1;

    memset(at_depth, -1, sizeof at_depth);
    for (size_t i = 0; i < set->count; i++) {
        int depth = set->items[i].depth;

        if (!window_claims(&set->items[i], minute))
            continue;
        if (at_depth[depth] >= 0)
            return minute_error(err, &windows->children[i], minute, "belongs also to ",
                                set->items[at_depth[depth]].name);
        at_depth[depth] = (int)i;
        deepest = depth > deepest ? depth : deepest;
    }
    if (deepest < 0)
        return minute_error(err, windows, minute, "belongs to no window", "");
    for (int depth = deepest; depth > 0; depth--) {
        int parent = set->items[at_depth[depth]].within;

        if (at_depth[depth - 1] != parent)
            return minute_error(err, &windows->children[at_depth[depth]], minute, "is not part of ",
                                set->items[parent].name);
    }
    set->at_minute[minute] = (unsigned char)at_depth[deepest];
    return 0;
}

static int read_all(const struct yaml_node *windows, struct window_set *set, struct error *err)
{
    if (yaml_expect(windows, YAML_MAPPING, err) < 0)
        return -1;
    if (windows->count == 0)
        return yaml_error(err, windows, "names no window; leave it out for the default five");
    if (windows->count > WINDOWS_MAX)
        return yaml_error(err, windows, "%zu windows; at most %d are allowed", windows->count,
                          WINDOWS_MAX);
    set->items = mem_new_array(windows->count, sizeof *set->items);
    for (size_t i = 0; i < windows->count; i++) {
        if (calendar_check_name(&windows->children[i], err) < 0 ||
            read_window(&windows->children[i], &set->items[i], err) < 0)
            return -1;
        set->count++;
    }
    if (link_within(windows, set, err) < 0)
        return -1;
    for (int minute = 0; minute < WINDOW_MINUTES; minute++)
        if (cover_minute(windows, set, minute, err) < 0)
            return -1;
    return 0;
}

static void take_defaults(struct window_set *set)
{
    set->count = COUNT_OF(default_windows);
    set->items = mem_new_array(set->count, sizeof *set->items);
    for (size_t i = 0; i < set->count; i++)
        set->items[i] = (struct window){
            .name = mem_copy_chars(default_windows[i].name),
            .days = default_windows[i].days,
            .from_minute = default_windows[i].from_minute,
            .to_minute = default_windows[i].to_minute,
            .within = default_windows[i].within,
            .depth = default_windows[i].within < 0 ? 0 : 1,
        };
    for (int minute = 0; minute < WINDOW_MINUTES; minute++)
        for (size_t i = 0; i < set->count; i++)
            if (window_claims(&set->items[i], minute) &&
                (set->items[i].depth > 0 || set->at_minute[minute] == 0))
                set->at_minute[minute] = (unsigned char)i;
}

struct window_set *window_set_read(const struct yaml_node *windows, struct time_zone *zone,
                                   struct error *err)
{
    owned(window_set) struct window_set *set = mem_new(sizeof *set);

    if (!windows)
        take_defaults(set);
    else if (read_all(windows, set, err) < 0)
        return NULL;
    set->weekly_count = set->count;
    set->zone = zone;
    return steal(&set);
}
