/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See times.h.
 */
#include "broker/terminal/times.h"

#include "base/time_zone.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = sizeof "2026-11-17T12:12:05.250Z" - 1 };

/* One terminal, one command at a time. */
static struct {
    bool is_on;
    bool is_utc;
    struct time_zone *zone; /* NULL: UTC */
} shown;

void times_begin(bool is_utc)
{
    time_zone_free(shown.zone);
    shown.zone = NULL;
    shown.is_on = true;
    shown.is_utc = is_utc;
}

void times_use_zone(const char *name)
{
    struct time_zone *zone;
    struct error err;

    if (!shown.is_on || shown.is_utc || !name ||
        (shown.zone && text_equal(time_zone_name(shown.zone), name)))
        return;
    zone = time_zone_open(name, &err);
    if (!zone)
        return;
    time_zone_free(shown.zone);
    shown.zone = zone;
}

/* The length of a time in UTC that begins there; 0: there is none. */
static size_t length_at(const char *at, struct wall_time *ret_wall)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    char chars[LONGEST + 1];
    struct error ignored;
    size_t length = 0;

    for (; form[length] != '\0'; length++)
        if (form[length] == 'd' ? !isdigit((unsigned char)at[length]) : at[length] != form[length])
            return 0;
    if (at[length] == '.')
        for (length++; isdigit((unsigned char)at[length]); length++)
            if (length == LONGEST)
                return 0;
    if (at[length] != 'Z' || length + 1 > LONGEST || isalnum((unsigned char)at[length + 1]))
        return 0;
    text_print(chars, sizeof chars, "%.*s", (int)length + 1, at);
    return wall_parse(chars, false, ret_wall, &ignored) == 0 ? length + 1 : 0;
}

static void add_local(struct text *out, struct wall_time wall)
{
    struct local_time local = { .abbreviation = "UTC" };

    if (shown.zone) {
        local = time_zone_local(shown.zone, wall);
    } else {
        int64_t day = wall.ms / DAY_MS;

        local.date = civil_date_of_day(day);
        local.minute_of_day = (int)(wall.ms % DAY_MS / MINUTE_MS);
        local.second = (int)(wall.ms % MINUTE_MS / SECOND_MS);
    }
    text_add(out, "%04d-%02d-%02d %02d:%02d", local.date.year, local.date.month, local.date.day,
             local.minute_of_day / 60, local.minute_of_day % 60);
    if (local.second != 0)
        text_add(out, ":%02d", local.second);
    text_add(out, " %s", local.abbreviation);
}

char *times_local(const char *chars)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    bool is_inside = false; /* a word: no time begins there */

    while (*chars != '\0') {
        struct wall_time wall = { 0 };
        size_t length = shown.is_on && !is_inside ? length_at(chars, &wall) : 0;

        if (length > 0 && wall.ms > 0)
            add_local(out, wall);
        else
            text_add_bytes(out, chars, length = 1);
        is_inside = isalnum((unsigned char)chars[length - 1]) || chars[length - 1] == '-';
        chars += length;
    }
    return text_take(out);
}
