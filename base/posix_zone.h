/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rule in a POSIX TZ string ("EST5EDT,M3.2.0,M11.1.0"): which of two clocks is in force, for
 * ever.  It is the footer of a TZif file, which time_zone.c uses past the end of its table.  All
 * moments are seconds since 1970 in UTC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ABBREVIATION_SIZE = 8, ZONE_OFFSET_LIMIT_S = 26 * 3600 };

struct zone_clock {
    int offset_s; /* east of UTC, nearer than ZONE_OFFSET_LIMIT_S */
    char abbreviation[ABBREVIATION_SIZE];
};

enum edge_form {
    EDGE_MONTH_WEEK,  /* M3.5.0: the fifth (last) Sunday of March */
    EDGE_DAY_NO_LEAP, /* J60: the 60th day, 29 February not counted */
    EDGE_DAY_OF_YEAR, /* 59: the day after 59 days, 29 February counted */
};

/* A yearly change of clocks, by the clock that ends. */
struct zone_edge {
    enum edge_form form;
    int month;
    int week;
    int day;
    int time_s; /* from midnight; may be negative or beyond a day */
};

struct posix_zone {
    struct zone_clock standard;
    bool has_summer;
    struct zone_clock summer;
    struct zone_edge summer_begins;
    struct zone_edge summer_ends;
};

bool posix_zone_parse(const char *chars, struct posix_zone *ret_zone);

/* The clock in force at a moment. */
const struct zone_clock *posix_zone_clock(const struct posix_zone *zone, int64_t moment);

/* The first change of clocks after a moment; INT64_MAX when there is none. */
int64_t posix_zone_next_edge(const struct posix_zone *zone, int64_t moment);
