/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The schemas of sections that other readers than settings tables read: `windows`, `events`,
 * `holidays` and `accelerators`.  The patterns allow what windows/calendar and
 * config_accelerators.c take.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/config/config_tables.h"
#include "windows/calendar/calendar.h"
#include "windows/calendar/holidays.h"

#include <ctype.h>

#define NAME "^[a-z0-9][a-z0-9-]{0,62}$"
#define DATE "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
#define HOUR "([01][0-9]|2[0-3])"

/* A text of that pattern; anchors are added. */
static json_t *text_like(const char *pattern, const char *help, const char *example)
{
    owned(chars) char *whole = text_format("^(%s)$", pattern);

    return json_make("{ss ss ss s[s]}", "type", "string", "pattern", whole, "description", help,
                     "examples", example);
}

static void add_letter(struct text *out, char letter)
{
    text_add(out, "[%c%c]", toupper((unsigned char)letter), letter);
}

/* Three letters or more of a day's name, in any case: "([Mm][Oo][Nn]([Dd]([Aa]([Yy])?)?)?|...)". */
static void add_days(struct text *out)
{
    enum { SHORTEST = 3 };

    for (int day = 0; day < 7; day++) {
        const char *name = calendar_day_name(day);
        size_t length = strlen(name);

        text_add(out, day == 0 ? "(" : "|");
        for (size_t i = 0; i < length; i++) {
            text_add(out, i < SHORTEST ? "" : "(");
            add_letter(out, name[i]);
        }
        for (size_t i = SHORTEST; i < length; i++)
            text_add(out, ")?");
    }
    text_add(out, ")");
}

static json_t *day(const char *help)
{
    owned(text) struct text *pattern = text_new(TEXT_UNBOUNDED);

    add_days(pattern);
    return text_like(pattern->chars, help, "sunday");
}

/* A day or a range of them, or a list. */
static json_t *days(void)
{
    owned(text) struct text *pattern = text_new(TEXT_UNBOUNDED);
    owned(json) json_t *one = NULL;

    add_days(pattern);
    text_add(pattern, "(-");
    add_days(pattern);
    text_add(pattern, ")?");
    one = text_like(pattern->chars, "a day (mon) or days (mon-fri)", "mon-fri");
    return json_make("{ss s[O{ss si sO}]}", "description",
                     "the days on which it begins: mon-fri, or a list", "anyOf", one, "type",
                     "array", "minItems", 1, "items", one);
}

static json_t *windows(void)
{
    return json_make(
        "{ss s{ss} si si s{ss s{so so so s{s[ss] ss}} s[sss] sb}}", "type", "object",
        "propertyNames", "pattern", NAME, "minProperties", 1, "maxProperties", 64,
        "additionalProperties", "type", "object", "properties", "days", days(), "from",
        text_like("([01]?[0-9]|2[0-3]):[0-5][0-9]", "time of day", "08:30"), "to",
        text_like("([01]?[0-9]|2[0-3]):[0-5][0-9]|24:00",
                  "time of day; the next day's when it is not later than from", "20:00"),
        "within", "type", "string", "integer", "description", "the window that it is carved out of",
        "required", "days", "from", "to", "additionalProperties", 0);
}

/* With an offset, or as the clock of the zone shows it; whole minutes. */
static json_t *moment(const char *help)
{
    return text_like(DATE "[Tt ]" HOUR ":[0-5][0-9](:00([.]0+)?)?([Zz]|[+-]" HOUR ":?[0-5][0-9])?",
                     help, "2026-12-01 09:00");
}

static json_t *events(void)
{
    return json_make("{ss s{ss} si s{ss s{so so s{ss si si ss} s{ss si s{s[ss]} ss}} s[sss] sb}}",
                     "type", "object", "propertyNames", "pattern", NAME, "maxProperties", 64,
                     "additionalProperties", "type", "object", "properties", "from",
                     moment("date and time"), "to", moment("date and time"), "multiplier", "type",
                     "number", "exclusiveMinimum", 0, "maximum", 1000, "description",
                     "of the arrivals at these hours of the week", "queues", "type", "array",
                     "minItems", 1, "items", "type", "string", "number", "description",
                     "whose arrivals are multiplied; absent: all queues", "required", "from", "to",
                     "multiplier", "additionalProperties", 0);
}

static json_t *holidays(void)
{
    json_t *names = json_array();
    owned(json) json_t *country = json_make("{ss so}", "type", "string", "enum", names);

    for (const struct holiday_file *file = holiday_files; file->country; file++)
        json_array_append_new(names, json_text(file->country));
    return json_make("{ss s{s{ss s[O{ss si sO}]} so} s{so} s{s[s]} sb}", "type", "object",
                     "properties", "country", "description",
                     "whose public holidays are added: one, or a list", "anyOf", country, "type",
                     "array", "maxItems", 8, "items", country, "as",
                     day("the day whose windows the country's holidays have (default sunday)"),
                     "patternProperties", "^" DATE "$", day("the day whose windows it has"),
                     "dependencies", "as", "country", "additionalProperties", 0);
}

/* DOMAIN/NAME, or the name of a driver, which has a dot, too. */
static json_t *accelerators(void)
{
    return json_make("{ss s{s[{ss}{ss}]} s{ss si si ss}}", "type", "object", "propertyNames",
                     "allOf", "pattern", "[.]", "pattern",
                     "^[A-Za-z0-9._-]([A-Za-z0-9._/-]*[A-Za-z0-9._-])?$", "additionalProperties",
                     "type", "number", "minimum", 0, "maximum", 1024, "description",
                     "how many GPUs one unit is; 0: it is none");
}

json_t *config_schema_calendar(void)
{
    return json_make("{so so so so}", "windows", windows(), "events", events(), "holidays",
                     holidays(), "accelerators", accelerators());
}
