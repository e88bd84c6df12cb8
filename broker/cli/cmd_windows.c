/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice windows: the windows of the week, which one is in force, and the proof that a year is
 * covered.
 */
#include "base/json.h"
#include "broker/cli/commands.h"
#include "broker/fleet/config.h"

#include <inttypes.h>
#include <stdio.h>

const struct command_option windows_options[] = {
    { "at", 0, "TIME", "which window is in force then (RFC 3339, with Z or an offset)", false },
    { "check-year", 0, "YEAR", "count the minutes of each window in that year", false },
    { "zone", 0, "NAME", "the default five windows in this zone; no configuration is read", false },
    { 0 },
};

const char windows_examples[] = "sluice windows\n"
                                "sluice windows --at 2026-11-17T12:12:05Z\n"
                                "sluice windows --zone Europe/Berlin --check-year 2026\n";

const char windows_text[] =
    "JSON: time_zone, windows: [{window, days, from, to, within, minutes_per_week}]; with --at "
    "also\n"
    "at, in_force, began, next_change (null: never); with --check-year also year, minutes_in_year\n"
    "and of each window minutes_in_year.  Exit code 1 when minutes are missing or double.\n";

static const char day_letters[] = "MTWTFSS";

static void days_text(const struct window *window, char out[8])
{
    for (int day = 0; day < 7; day++)
        out[day] = window->days >> day & 1 ? day_letters[day] : '-';
    out[7] = '\0';
}

static void minute_text(int minute, char out[8])
{
    snprintf(out, 8, "%02d:%02d", minute / 60 % 25, minute % 60);
}

static int64_t minutes_per_week(const struct window_set *set, size_t window)
{
    int64_t minutes = 0;

    for (int minute = 0; minute < WINDOW_MINUTES; minute++)
        minutes += set->at_minute[minute] == window;
    return minutes;
}

static json_t *window_json(const struct window_set *set, size_t at)
{
    const struct window *window = &set->items[at];
    char days[8], from[8], to[8];

    days_text(window, days);
    minute_text(window->from_minute, from);
    minute_text(window->to_minute, to);
    return json_make("{s:s, s:s, s:s, s:s, s:o, s:I}", "window", window->name, "days", days, "from",
                     from, "to", to, "within",
                     window->within < 0 ? json_null()
                                        : json_string(set->items[window->within].name),
                     "minutes_per_week", (json_int_t)minutes_per_week(set, at));
}

static json_t *wall_json(struct wall_time wall)
{
    char text[WALL_TEXT_SIZE];

    return wall.ms == 0 ? json_null() : json_string(wall_format(wall, text));
}

static int add_moment(struct command_call *call, const struct window_set *set, json_t *root,
                      struct error *err)
{
    struct wall_time wall;

    if (!call_text(call, "at"))
        return 0;
    if (wall_parse(call_text(call, "at"), false, &wall, err) < 0)
        return error_context(err, "--at");
    json_object_set_new(root, "at", wall_json(wall));
    json_object_set_new(root, "in_force", json_string(window_at(set, wall)->name));
    json_object_set_new(root, "began", wall_json(window_began(set, wall)));
    json_object_set_new(root, "next_change", wall_json(window_next_change(set, wall)));
    return 0;
}

/* From change to change through the local year; every stretch must be another window's. */
static int add_year(struct command_call *call, const struct window_set *set, json_t *root,
                    struct error *err)
{
    int64_t year = 0;

    if (call_int(call, "check-year", 1970, 9998, &year, err) < 0)
        return -1;
    if (year == 0)
        return 0;

    struct wall_time at = time_zone_wall(set->zone, (struct civil_date){ (int)year, 1, 1 }, 0);
    struct wall_time end = time_zone_wall(set->zone, (struct civil_date){ (int)year + 1, 1, 1 }, 0);
    int64_t whole = (end.ms - at.ms) / MINUTE_MS;
    int64_t minutes[64] = { 0 };
    int64_t sum = 0;

    for (; at.ms < end.ms; at.ms += MINUTE_MS)
        minutes[window_at(set, at) - set->items]++;
    for (size_t i = 0; i < set->count; i++) {
        json_object_set_new(json_array_get(json_object_get(root, "windows"), i), "minutes_in_year",
                            json_integer(minutes[i]));
        sum += minutes[i];
    }
    json_object_set_new(root, "year", json_integer(year));
    json_object_set_new(root, "minutes_in_year", json_integer(whole));
    if (sum != whole)
        return error_set(err, ERROR_BUG,
                         "%" PRId64 " minutes in windows, but the year has %" PRId64, sum, whole);
    return 0;
}

static void print_table(const json_t *root)
{
    const json_t *windows = json_object_get(root, "windows");
    bool has_year = json_object_get(root, "year") != NULL;

    printf("%-24s %-8s %-6s %-6s %-24s %16s%s\n", "WINDOW", "DAYS", "FROM", "TO", "WITHIN",
           "MINUTES_PER_WEEK", has_year ? "  MINUTES_IN_YEAR" : "");
    for (size_t i = 0; i < json_array_size(windows); i++) {
        const json_t *window = json_array_get(windows, i);

        printf("%-24s %-8s %-6s %-6s %-24s %16" PRId64, json_text_or(window, "window", ""),
               json_text_or(window, "days", ""), json_text_or(window, "from", ""),
               json_text_or(window, "to", ""), json_text_or(window, "within", "-"),
               json_int_or(window, "minutes_per_week", 0));
        if (has_year)
            printf("  %15" PRId64, json_int_or(window, "minutes_in_year", 0));
        printf("\n");
    }
    printf("\ntime zone    %s\n", json_text_or(root, "time_zone", ""));
    if (has_year)
        printf("year %" PRId64 "    %" PRId64 " minutes, each in exactly one window\n",
               json_int_or(root, "year", 0), json_int_or(root, "minutes_in_year", 0));
    if (json_object_get(root, "at"))
        printf("in force     %s at %s, since %s, until %s\n", json_text_or(root, "in_force", ""),
               json_text_or(root, "at", ""), json_text_or(root, "began", "ever"),
               json_text_or(root, "next_change", "ever"));
}

static int show(struct command_call *call, const struct window_set *set)
{
    struct error err = { 0 };
    json_t *windows = json_array();
    owned(json) json_t *root = json_make("{s:s, s:o}", "time_zone", time_zone_name(set->zone),
                                         "windows", windows);

    for (size_t i = 0; i < set->count; i++)
        json_array_append_new(windows, window_json(set, i));
    if (add_moment(call, set, root, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (add_year(call, set, root, &err) < 0)
        return err.kind == ERROR_BUG ? call_fail(call, EXIT_ERROR, &err)
                                     : call_usage_error(call, "%s", err.text);
    if (text_equal(call_text_or(call, "output", "table"), "json")) {
        owned(chars) char *text = json_print_pretty(root);

        fputs(text, stdout);
    } else {
        print_table(root);
    }
    return EXIT_DONE;
}

static int show_zone(struct command_call *call)
{
    struct error err = { 0 };
    struct time_zone *zone = time_zone_open(call_text(call, "zone"), &err);

    if (!zone)
        return call_fail(call, EXIT_ERROR, &err);

    owned(window_set) struct window_set *set = window_set_read(NULL, zone, &err);

    return show(call, set);
}

int cmd_windows(struct command_call *call)
{
    struct error err = { 0 };

    if (call_text(call, "zone"))
        return show_zone(call);

    owned(chars) char *path = config_find(call_text(call, "config"), &err);
    owned(config) struct config *config = path ? config_read(path, &err) : NULL;

    return config ? show(call, config->windows) : call_fail(call, EXIT_ERROR, &err);
}
