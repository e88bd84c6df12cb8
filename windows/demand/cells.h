/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parses the cells of a demand file: times, counts and priorities in many forms.  Pure functions of
 * the text; an ambiguous text is refused.
 */
#pragma once

#include "base/error.h"
#include "windows/demand/demand.h"
#include "windows/demand/packed.h"

#include <stdbool.h>
#include <stdint.h>

/* What people are told to write. */
#define CELL_TIME_FORMS                                                                            \
    "2026-11-17T12:12:00Z, 2026-11-17 12:12 (in the file's time zone), 2026-11-17, or seconds "    \
    "since 1970; in the years 1990 to 2099"

struct cell_time {
    int64_t ms; /* since 1970; as a clock on the wall shows it where is_local is set */
    bool is_local;
};

/* A date and time with Z, UTC, GMT or an offset, or without (local).  A date alone is its
   midnight.  Years are 1990 to 2099.  A number between the years 2000 and 2100 is seconds,
   milliseconds, micro- or nanoseconds since 1970; its size decides which. */
bool cell_time(const char *text, struct cell_time *ret);

/* As cell_time(), but faster: neighbouring rows often have the same time, so the last result is
   compared first. */
struct cell_clock {
    char day[12];   /* of the last time, with what follows it; empty: none */
    char suffix[8]; /* what followed its minutes or seconds */
    int64_t day_ms; /* when that day began */
    bool is_local;
};
bool cell_time_like(struct cell_clock *clock, const char *text, struct cell_time *ret);

/* Whether it ends with two times of day without seconds, like 09:00-10:00: the second one is no
   offset. */
bool cell_is_range(const char *text);

/* A number of requests, with or without a fraction; with a unit like "/s", "req/s" or "/min" it is
   a rate.  In files whose delimiter is a semicolon a comma may be the decimal point.  Sets value
   and kind.  false: ret_why is the expected form. */
bool cell_count(const char *text, char delimiter, struct packed_row *row, const char **ret_why);

/* What a number shows of its file: "1.5" has a decimal point, "1.234" may be a thousand, 987 tells
   nothing, and where 1234 stands thousands are not set apart. */
enum cell_point {
    CELL_POINT_NONE,
    CELL_POINT_DECIMAL,
    CELL_POINT_DOUBTFUL,
    CELL_POINT_NEEDLESS,
};
enum cell_point cell_point(const char *text, char delimiter);

/* A number that begins with a digit, as text_to_double() reads it. */
bool cell_number(const char *text, double *ret);

/* high or 1, low or 2, in any case. */
bool cell_class(const char *text, enum demand_class *ret);

/* Whether the cell says that nothing is known: "", "NaN", "null" and the like. */
bool cell_is_void(const char *text);
