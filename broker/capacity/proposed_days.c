/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A day that was like another one becomes a holiday; one that had a multiple of its arrivals, an
 * event.
 */
#include "broker/capacity/proposed_days.h"

#include "windows/calendar/calendar.h"
#include "windows/calendar/holidays.h"
#include "windows/calendar/odd_days.h"

#include <ctype.h>

enum { WORTH_A_COUNTRY = 2 };

/* "Independence Day (US)", of each country that has it. */
static json_t *public_names(int64_t day)
{
    json_t *names = json_array();

    for (const struct holiday_file *file = holiday_files; file->country; file++) {
        owned(holidays) struct public_holidays days = { 0 };
        const char *name = holidays_of_country(file->country, &days, NULL) == 0
                               ? holidays_name(&days, day)
                               : NULL;

        if (name)
            json_array_append_new(names,
                                  json_make("{s:s, s:s}", "country", file->country, "name", name));
    }
    return names;
}

static json_t *day_json(const struct odd_day *day)
{
    require(day->as >= 0 || day->factor > 0); /* a holiday, or an event */

    struct civil_date from = civil_date_of_day(day->day);
    struct civil_date to = civil_date_of_day(day->day + 1);
    owned(chars) char *date = text_format("%04d-%02d-%02d", from.year, from.month, from.day);
    owned(chars) char *yaml =
        day->as >= 0
            ? text_format("%s: %s", date, calendar_day_name(day->as))
            : text_format("day-%s: {from: %s 00:00, to: %04d-%02d-%02d 00:00, multiplier: %.2f}",
                          date, date, to.year, to.month, to.day, day->factor);

    return json_make("{s:s, s:s, s:o, s:f, s:f, s:o, s:s}", "date", date, "weekday",
                     calendar_day_name(day->weekday), "like",
                     day->as >= 0 ? json_text(calendar_day_name(day->as)) : json_null(), "factor",
                     day->factor, "share", day->share, "public", public_names(day->day), "yaml",
                     yaml);
}

json_t *proposed_days(const struct demand *demand, const struct window_set *set)
{
    owned(odd_days) struct odd_days days = { 0 };
    json_t *list = json_array();

    odd_days_find(demand, set, &days);
    for (size_t i = 0; i < days.list.count; i++)
        json_array_append_new(list, day_json(&days.list.items[i]));
    return list;
}

/* "Independence Day in US"; "" for none. */
static void add_public(const json_t *day, const char *before, const char *after, struct text *out)
{
    const json_t *names = json_object_get(day, "public");
    const json_t *first = json_array_get(names, 0);

    if (!first)
        return;
    text_add(out, "%s%s in ", before, json_text_or(first, "name", ""));
    for (size_t i = 0; i < json_array_size(names); i++)
        text_add(out, "%s%s", i > 0 ? ", " : "",
                 json_text_or(json_array_get(names, i), "country", ""));
    text_add(out, "%s", after);
}

/* "Tuesday" for "tuesday" */
static void add_weekday(const char *name, struct text *out)
{
    text_add(out, "%c%s", toupper((unsigned char)name[0]), name[0] ? name + 1 : "");
}

static void add_section(const json_t *days, bool is_like, const char *title, struct text *out)
{
    const json_t *day;
    bool is_first = true;
    size_t i;

    json_array_foreach(days, i, day) {
        if (json_is_string(json_object_get(day, "like")) != is_like)
            continue;
        text_add(out, "%s  %s   # was a ", is_first ? title : "", json_text_or(day, "yaml", ""));
        add_weekday(json_text_or(day, "weekday", ""), out);
        add_public(day, "; ", "", out);
        text_add(out, "\n");
        is_first = false;
    }
}

void proposed_days_yaml(const json_t *days, struct text *out)
{
    add_section(days, true, "holidays:\n", out);
    add_section(days, false, "events:\n", out);
}

/* The country that has most of these days, where it has several. */
static void add_country(const json_t *days, struct text *out)
{
    const char *best = NULL;
    size_t most = 0;

    for (const struct holiday_file *file = holiday_files; file->country; file++) {
        size_t count = 0;

        for (size_t i = 0; i < json_array_size(days); i++) {
            const json_t *names = json_object_get(json_array_get(days, i), "public");

            for (size_t at = 0; at < json_array_size(names); at++)
                count += text_equal(json_text_or(json_array_get(names, at), "country", ""),
                                    file->country);
        }
        if (count > most) {
            most = count;
            best = file->country;
        }
    }
    require(most == 0 || best);
    if (most >= WORTH_A_COUNTRY)
        text_add(out,
                 "%zu of these days are public holidays of %s: `holidays: {country: %s}` has them "
                 "and those to come.\n",
                 most, best, best);
}

void proposed_days_say(const json_t *days, struct text *out)
{
    const json_t *day;
    size_t i;

    json_array_foreach(days, i, day) {
        const char *like = json_text_or(day, "like", NULL);

        add_weekday(json_text_or(day, "weekday", ""), out);
        text_add(out, " %s behaved like %s", json_text_or(day, "date", ""), like ? "a " : "");
        if (like)
            add_weekday(like, out);
        else
            text_add(out, "%.2f times its weekday",
                     json_number_value(json_object_get(day, "factor")));
        text_add(out, " in your data");
        add_public(day, " (", ")", out);
        text_add(out, ": add it\n    %s: {%s}\n", like ? "holidays" : "events",
                 json_text_or(day, "yaml", ""));
    }
    add_country(days, out);
}
