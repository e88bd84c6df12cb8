/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * POSIX TZ strings with the extensions of RFC 8536, section 3.3.1: hours from -167 to 167.
 */
#include "base/posix_zone.h"

#include "base/timestamp.h"

#include <ctype.h>
#include <string.h>

enum { DAY_S = 86400, HOUR_S = 3600, MINUTE_S = 60 };

/* Digits at *at as a number in [min, max]; moves on. */
static bool take_number(const char **at, int min, int max, int *ret_value)
{
    int value = 0;

    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); (*at)++) {
        value = value * 10 + (**at - '0');
        if (value > max)
            return false;
    }
    *ret_value = value;
    return value >= min;
}

static bool take_mark(const char **at, char mark)
{
    if (**at != mark)
        return false;
    (*at)++;
    return true;
}

/* "EST", or "<-03>" with any signs and digits. */
static bool take_abbreviation(const char **at, char out[ABBREVIATION_SIZE])
{
    bool is_quoted = take_mark(at, '<');
    size_t length = 0;

    while (isalpha((unsigned char)**at) ||
           (is_quoted && (isdigit((unsigned char)**at) || **at == '+' || **at == '-'))) {
        if (length + 1 == ABBREVIATION_SIZE)
            return false;
        out[length++] = *(*at)++;
    }
    out[length] = '\0';
    return length >= 3 && (!is_quoted || take_mark(at, '>'));
}

/* "[+-]hh[:mm[:ss]]" in seconds. */
static bool take_time(const char **at, int max_hours, int *ret_time_s)
{
    bool is_negative = take_mark(at, '-');
    int hours, minutes = 0, seconds = 0;

    if (!is_negative)
        take_mark(at, '+');
    if (!take_number(at, 0, max_hours, &hours))
        return false;
    if (take_mark(at, ':') && !take_number(at, 0, 59, &minutes))
        return false;
    if (take_mark(at, ':') && !take_number(at, 0, 59, &seconds))
        return false;
    *ret_time_s = hours * HOUR_S + minutes * MINUTE_S + seconds;
    if (is_negative)
        *ret_time_s = -*ret_time_s;
    return true;
}

/* POSIX counts offsets westwards. */
static bool take_offset(const char **at, int *ret_offset_s)
{
    if (!take_time(at, 24, ret_offset_s))
        return false;
    *ret_offset_s = -*ret_offset_s;
    return true;
}

static bool take_edge_day(const char **at, struct zone_edge *edge)
{
    if (take_mark(at, 'M')) {
        edge->form = EDGE_MONTH_WEEK;
        return take_number(at, 1, 12, &edge->month) && take_mark(at, '.') &&
               take_number(at, 1, 5, &edge->week) && take_mark(at, '.') &&
               take_number(at, 0, 6, &edge->day);
    }
    if (take_mark(at, 'J')) {
        edge->form = EDGE_DAY_NO_LEAP;
        return take_number(at, 1, 365, &edge->day);
    }
    edge->form = EDGE_DAY_OF_YEAR;
    return take_number(at, 0, 365, &edge->day);
}

static bool take_edge(const char **at, struct zone_edge *ret_edge)
{
    struct zone_edge edge = { .time_s = 2 * HOUR_S };

    if (!take_mark(at, ',') || !take_edge_day(at, &edge))
        return false;
    if (take_mark(at, '/') && !take_time(at, 167, &edge.time_s))
        return false;
    *ret_edge = edge;
    return true;
}

bool posix_zone_parse(const char *chars, struct posix_zone *ret_zone)
{
    struct posix_zone zone = { 0 };
    const char *at = chars;

    if (!take_abbreviation(&at, zone.standard.abbreviation) ||
        !take_offset(&at, &zone.standard.offset_s))
        return false;
    if (*at != '\0') {
        zone.has_summer = true;
        zone.summer.offset_s = zone.standard.offset_s + HOUR_S;
        if (!take_abbreviation(&at, zone.summer.abbreviation))
            return false;
        if (*at != ',' && !take_offset(&at, &zone.summer.offset_s))
            return false;
        if (!take_edge(&at, &zone.summer_begins) || !take_edge(&at, &zone.summer_ends))
            return false;
    }
    *ret_zone = zone;
    return *at == '\0';
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The day number of the week-th given weekday (0 Sunday) of a month; the fifth means the last. */
static int64_t day_of_week(int year, const struct zone_edge *edge)
{
    int64_t first = civil_day(year, edge->month, 1);
    int64_t next_month = edge->month == 12 ? civil_day(year + 1, 1, 1)
                                           : civil_day(year, edge->month + 1, 1);
    int first_weekday = (civil_weekday(first) + 1) % 7; /* 0 Sunday */
    int64_t day = first + (edge->day - first_weekday + 7) % 7 + (edge->week - 1) * 7;

    return day >= next_month ? day - 7 : day;
}

/* The moment of an edge in a year, when the clock that ends is `offset_s` from UTC. */
static int64_t edge_moment(const struct zone_edge *edge, int year, int offset_s)
{
    int64_t day = 0;

    switch (edge->form) {
    case EDGE_MONTH_WEEK:
        day = day_of_week(year, edge);
        break;
    case EDGE_DAY_NO_LEAP:
        day = civil_day(year, 1, 1) + edge->day - 1 + (is_leap(year) && edge->day >= 60);
        break;
    case EDGE_DAY_OF_YEAR:
        day = civil_day(year, 1, 1) + edge->day;
        break;
    }
    return day * DAY_S + edge->time_s - offset_s;
}

static int year_of(int64_t moment)
{
    return civil_date_of_day((moment - (moment % DAY_S + DAY_S) % DAY_S) / DAY_S).year;
}

/* Only the edges of the year before to the year after matter: an edge may lie some days outside its
   year.  If summer ends and begins at one moment, summer goes on. */
const struct zone_clock *posix_zone_clock(const struct posix_zone *zone, int64_t moment)
{
    const struct zone_clock *clock = &zone->standard;
    int64_t latest = INT64_MIN;
    int year = zone->has_summer ? year_of(moment) : 0;

    if (!zone->has_summer)
        return clock;
    for (int at = year - 1; at <= year + 1; at++) {
        int64_t begin = edge_moment(&zone->summer_begins, at, zone->standard.offset_s);
        int64_t end = edge_moment(&zone->summer_ends, at, zone->summer.offset_s);

        if (end <= moment && end > latest) {
            latest = end;
            clock = &zone->standard;
        }
        if (begin <= moment && begin >= latest) {
            latest = begin;
            clock = &zone->summer;
        }
    }
    return clock;
}

int64_t posix_zone_next_edge(const struct posix_zone *zone, int64_t moment)
{
    int64_t next = INT64_MAX;
    int year = zone->has_summer ? year_of(moment) : 0;

    for (int at = year - 1; zone->has_summer && at <= year + 1; at++) {
        int64_t begin = edge_moment(&zone->summer_begins, at, zone->standard.offset_s);
        int64_t end = edge_moment(&zone->summer_ends, at, zone->summer.offset_s);

        if (begin > moment && begin < next)
            next = begin;
        if (end > moment && end < next)
            next = end;
    }
    return next;
}
