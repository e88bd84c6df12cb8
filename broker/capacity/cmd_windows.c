/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice windows: the windows of the week, holidays and events, which one is in force, the proof
 * that a year is covered, and windows proposed from a demand.
 */
#include "base/input/json.h"
#include "broker/capacity/windows_suggest.h"
#include "broker/sizing/demand_input.h"
#include "broker/sizing/measures.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "windows/calendar/calendar.h"
#include "windows/calendar/suggest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct command_option windows_options[] = {
    { "at", 0, "TIME", "show the window in force at that time (RFC 3339, with Z or an offset)",
      false },
    { "check-year", 0, "YEAR", "count the minutes of each window in that year", false },
    { "suggest", 0, NULL, "propose the windows that fit a demand best (with --demand)", false },
    { "demand", 'd', "FILE", "arrivals as CSV, plain or gzip", false },
    DEMAND_INPUT_OPTIONS,
    { "count", 0, "K", "propose at most K windows (2 to 24, default 5)", false },
    { "shortest", 0, "DURATION", "propose no window shorter than this (default 1h)", false },
    { "zone", 0, "NAME", "show the default five windows in this zone; read no configuration",
      false },
    { "output", 'o', "table|json|yaml|csv|name", "the form of the answer (default table)", false },
    PAGE_TITLES_OPTION,
    { 0 },
};

static const char day_letters[] = "MTWTFSS";

static void days_text(const struct window *window, char out[8])
{
    for (int day = 0; day < 7; day++)
        out[day] = window->days >> day & 1 ? day_letters[day] : '-';
    out[7] = '\0';
}

static void minute_text(int minute, char out[8])
{
    text_print(out, 8, "%02d:%02d", minute / 60 % 25, minute % 60);
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
                     window->within < 0 ? json_null() : json_text(set->items[window->within].name),
                     "minutes_per_week", (json_int_t)minutes_per_week(set, at));
}

static json_t *wall_json(struct wall_time wall)
{
    char text[WALL_TEXT_SIZE];

    return wall.ms == 0 ? json_null() : json_text(wall_format(wall, text));
}

static json_t *event_json(const struct window *window)
{
    const struct window_event *event = window->event;
    json_t *queues = json_array();

    for (size_t i = 0; i < event->queue_count; i++)
        json_array_append_new(queues, json_text(event->queues[i]));
    return json_make("{s:s, s:o, s:o, s:f, s:o}", "window", window->name, "from",
                     wall_json(event->from), "to", wall_json(event->to), "multiplier",
                     event->multiplier, "queues", queues);
}

static json_t *holiday_json(const struct holiday *holiday)
{
    struct civil_date date = civil_date_of_day(holiday->day);
    owned(chars) char *text = text_format("%04d-%02d-%02d", date.year, date.month, date.day);

    return json_make("{s:s, s:s, s:o}", "date", text, "as", calendar_day_name(holiday->weekday),
                     "name", holiday->name ? json_text(holiday->name) : json_null());
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
    json_object_set_new(root, "in_force", json_text(window_at(set, wall)->name));
    json_object_set_new(root, "began", wall_json(window_began(set, wall)));
    json_object_set_new(root, "next_change", wall_json(window_next_change(set, wall)));
    return 0;
}

/* Counts the minutes of each window, and checks the moment of each change. */
static int count_minutes(const struct window_set *set, struct wall_time at, struct wall_time end,
                         int64_t *minutes, struct error *err)
{
    const struct window *window = window_at(set, at);
    struct wall_time change = window_next_change(set, at);
    char text[WALL_TEXT_SIZE];

    for (; at.ms < end.ms; at.ms += MINUTE_MS) {
        if (change.ms != 0 && at.ms >= change.ms) {
            const struct window *next = window_at(set, at);

            if (next == window || at.ms != change.ms)
                return error_set(err, ERROR_BUG, "%s: no change of window",
                                 wall_format(change, text));
            window = next;
            change = window_next_change(set, at);
        }
        if (window_at(set, at) != window)
            return error_set(err, ERROR_BUG, "%s: a change of window that was not expected",
                             wall_format(at, text));
        minutes[window - set->items]++;
    }
    return 0;
}

/* Walks through the local year. */
static int add_year(struct command_call *call, const struct window_set *set, json_t *root,
                    struct error *err)
{
    int64_t year = 0;

    if (call_int(call, "check-year", (struct int_range){ 1970, 9998 }, &year, err) < 0)
        return -1;
    if (year == 0)
        return 0;

    struct wall_time at = time_zone_wall(set->zone, (struct civil_date){ (int)year, 1, 1 }, 0);
    struct wall_time end = time_zone_wall(set->zone, (struct civil_date){ (int)year + 1, 1, 1 }, 0);
    int64_t *minutes = mem_new_array(set->count, sizeof *minutes);
    int result = count_minutes(set, at, end, minutes, err);

    for (size_t i = 0; i < set->count; i++) {
        json_t *list = json_object_get(root, i < set->weekly_count ? "windows" : "events");
        size_t row = i < set->weekly_count ? i : i - set->weekly_count;

        json_object_set_new(json_array_get(list, row), "minutes_in_year", json_integer(minutes[i]));
    }
    json_object_set_new(root, "year", json_integer(year));
    json_object_set_new(root, "minutes_in_year", json_integer((end.ms - at.ms) / MINUTE_MS));
    mem_free(minutes);
    return result;
}

/* A country has many holidays: only those of the requested year are printed. */
static void print_holidays(const json_t *root)
{
    int64_t year = json_int_or(root, "year", 0);
    const json_t *row;
    size_t hidden = 0;
    size_t i;

    json_array_foreach(json_object_get(root, "holidays"), i, row) {
        const char *date = json_text_or(row, "date", "");
        const char *name = json_text_or(row, "name", NULL);

        if (name && strtol(date, NULL, 10) != year) {
            hidden++;
            continue;
        }
        printf("%s%s has the windows of a %s%s%s%s\n", i == hidden ? "\n" : "", date,
               json_text_or(row, "as", ""), name ? " (" : "", name ? name : "", name ? ")" : "");
    }
    if (hidden > 0)
        printf("%s%zu public holidays of other years are not shown: --check-year YEAR shows "
               "those of one\n",
               i == hidden ? "\n" : "", hidden);
}

static void print_calendar(const json_t *root)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(root, "events"), i, row) {
        printf("%s%-24s %s to %s, arrivals x %g", i == 0 ? "\n" : "",
               json_text_or(row, "window", ""), json_text_or(row, "from", ""),
               json_text_or(row, "to", ""), json_number_value(json_object_get(row, "multiplier")));
        for (size_t at = 0; at < json_array_size(json_object_get(row, "queues")); at++)
            printf("%s%s", at == 0 ? " of " : ", ",
                   json_string_value(json_array_get(json_object_get(row, "queues"), at)));
        if (json_object_get(row, "minutes_in_year"))
            printf(", %" PRId64 " minutes", json_int_or(row, "minutes_in_year", 0));
        printf("\n");
    }
    print_holidays(root);
}

static void print_table(const json_t *root, bool is_bare)
{
    const json_t *windows = json_object_get(root, "windows");
    bool has_year = json_object_get(root, "year") != NULL;

    if (!is_bare)
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
    print_calendar(root);
    printf("\ntime zone    %s\n", json_text_or(root, "time_zone", ""));
    if (has_year)
        printf("year %" PRId64 "    %" PRId64 " minutes, each in exactly one window\n",
               json_int_or(root, "year", 0), json_int_or(root, "minutes_in_year", 0));
    if (json_object_get(root, "at"))
        printf("in force     %s at %s, since %s, until %s\n", json_text_or(root, "in_force", ""),
               json_text_or(root, "at", ""), json_text_or(root, "began", "ever"),
               json_text_or(root, "next_change", "ever"));
}

static const struct answer_rows rows = { "windows", "window" };

static int show(struct command_call *call, const struct window_set *set)
{
    struct error err = { 0 };
    json_t *windows = json_array();
    json_t *holidays = json_array();
    json_t *events = json_array();
    owned(json)
        json_t *root = json_make("{s:s, s:o, s:o, s:o}", "time_zone", time_zone_name(set->zone),
                                 "windows", windows, "holidays", holidays, "events", events);

    for (size_t i = 0; i < set->weekly_count; i++)
        json_array_append_new(windows, window_json(set, i));
    for (size_t i = 0; i < set->holiday_count; i++)
        json_array_append_new(holidays, holiday_json(&set->holidays[i]));
    for (size_t i = set->weekly_count; i < set->count; i++)
        json_array_append_new(events, event_json(&set->items[i]));
    if (add_moment(call, set, root, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (add_year(call, set, root, &err) < 0)
        return err.kind == ERROR_BUG ? call_fail(call, EXIT_ERROR, &err)
                                     : call_usage_error(call, "%s", err.text);
    if (!forms_print(call, root, &rows))
        print_table(root, forms_style(call).is_bare);
    return EXIT_DONE;
}

static int suggest(struct command_call *call, struct config *config, const struct window_set *set)
{
    struct windows_question question = { config, set, NULL, 5, HOUR_MS };
    struct demand_options options = demand_input_options(call, set->zone);
    owned(measures_used) struct measures_used used = { 0 };
    const char *path = call_text(call, "demand");
    struct error err = { 0 };

    if (!path)
        return call_usage_error(call, "--suggest needs --demand FILE");
    if (call_int(call, "count", (struct int_range){ 2, SUGGEST_WINDOWS_MAX }, &question.count,
                 &err) < 0 ||
        call_duration(call, "shortest", &question.shortest_ms, &err) < 0)
        return call_usage_error(call, "%s", err.text);

    owned(demand) struct demand *demand = demand_input_read(path, &options, &err);

    if (!demand || (config && measures_take(config, demand, path, &used, &err) < 0))
        return call_fail(call, EXIT_ERROR, &err);
    question.demand = demand;

    owned(json) json_t *root = windows_suggest(&question, &err);

    if (!root)
        return call_fail(call, EXIT_ERROR, &err);
    json_object_set_new(root, "demand", demand_input_json(demand, &options));
    if (!forms_print(call, root, &rows))
        windows_suggest_print(root);
    return EXIT_DONE;
}

/* Answers the question about these windows. */
static int answer(struct command_call *call, struct config *config, const struct window_set *set)
{
    return call_flag(call, "suggest") ? suggest(call, config, set) : show(call, set);
}

static int show_zone(struct command_call *call)
{
    struct error err = { 0 };
    struct time_zone *zone = time_zone_open(call_text(call, "zone"), &err);

    if (!zone)
        return call_fail(call, EXIT_ERROR, &err);

    owned(window_set) struct window_set *set = window_set_read(NULL, zone, &err);

    return answer(call, NULL, set);
}

int cmd_windows(struct command_call *call)
{
    struct error err = { 0 };

    if (call_text(call, "zone"))
        return show_zone(call);

    owned(chars) char *path = config_find(call_text(call, "config"), &err);
    owned(config) struct config *config = path ? config_read(path, &err) : NULL;

    return config ? answer(call, config, config->windows) : call_fail(call, EXIT_ERROR, &err);
}
