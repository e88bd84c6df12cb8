/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Points in time and durations.  A point on the wall clock is a struct wall_time; a duration or a
 * monotonic reading is an int64_t whose name ends in _ms.  The two never mix by accident.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SECOND_MS = 1000,
    MINUTE_MS = 60 * SECOND_MS,
    HOUR_MS = 60 * MINUTE_MS,
    DAY_MS = 24 * HOUR_MS,
};
#define WEEK_MS ((int64_t)7 * DAY_MS)

struct wall_time {
    int64_t ms; /* since 1970-01-01T00:00:00Z, leap seconds not counted; 0 means "never" */
};

enum { WALL_TEXT_SIZE = 32, DURATION_TEXT_SIZE = 32 };

/* The proleptic Gregorian date of a day number (days since 1970-01-01), and back. */
struct civil_date {
    int year;
    int month; /* 1..12 */
    int day;   /* 1..31 */
};
struct civil_date civil_date_of_day(int64_t day);
int64_t civil_day(int year, int month, int day);
int civil_weekday(int64_t day); /* 0 Monday .. 6 Sunday */

/* Rounds up to a whole second, for times that people read. */
static inline struct wall_time wall_whole_second(int64_t ms)
{
    return (struct wall_time){ (ms + SECOND_MS - 1) / SECOND_MS * SECOND_MS };
}

/* "2026-11-17T12:12:05Z", with ".250" where the milliseconds are not zero; "-" for never. */
const char *wall_format(struct wall_time wall, char out[WALL_TEXT_SIZE]);

/* RFC 3339: date, T or space, time with optional seconds and fraction, Z or an offset.  A text
   without an offset is taken as UTC when allow_naive is set and refused otherwise. */
int wall_parse(const char *chars, bool allow_naive, struct wall_time *ret_wall, struct error *err)
    __attribute__((warn_unused_result));

/* A date as HTTP has it, "Sat, 21 Nov 2026 12:52:20 GMT"; false for anything else. */
bool wall_parse_http(const char *chars, struct wall_time *ret_wall);

/* "250ms", "20s", "28.7s", "5m", "1h30m", "2d", to the nearest millisecond; a bare number is
   refused, and so is a fraction of anything but seconds. */
int duration_parse(const char *chars, int64_t *ret_ms, struct error *err)
    __attribute__((warn_unused_result));

/* As duration_parse(), also for times below a millisecond: "250us", "0.5ms", "20ms", "1.5s".  To
   the nearest double. */
int seconds_parse(const char *chars, double *ret_s, struct error *err)
    __attribute__((warn_unused_result));

/* "250us", "20.5ms", "1.5s", "0s"; durations of a minute and more in seconds. */
const char *seconds_format(double seconds, char out[DURATION_TEXT_SIZE]);

/* The two largest units: "1h18m", "32m", "2m5s", "3d4h", "0s"; a minus sign for negative ones. */
const char *duration_format(int64_t duration_ms, char out[DURATION_TEXT_SIZE]);
