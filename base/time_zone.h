/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Named time zones, read from the system's TZif files (RFC 8536: version 2+ data block and the
 * POSIX TZ footer for the years past the table).  The C library's zone is process-wide state; a
 * planner that handles several zones and must give the same bytes everywhere cannot use it.
 */
#pragma once

#include "base/timestamp.h"

#include <stdbool.h>
#include <stddef.h>

struct time_zone;

/* What a clock on the wall of that zone shows. */
struct local_time {
    struct civil_date date;
    int weekday;       /* 0 Monday .. 6 Sunday */
    int minute_of_day; /* 0..1439 */
    int second;
    int offset_s; /* east of UTC */
    char abbreviation[8];
};

/* By IANA name ("America/New_York", "UTC") below /usr/share/zoneinfo, or below $TZDIR.  NULL and
   ERROR_NOT_FOUND with the path when there is no such zone: sluice never guesses UTC instead.
   A name with "..", a leading "/" or a character outside [A-Za-z0-9_+/-] is ERROR_INVALID. */
struct time_zone *time_zone_open(const char *name, struct error *err)
    __attribute__((warn_unused_result));

/* From the bytes of a TZif file, for tests; the name is copied. */
struct time_zone *time_zone_decode(const char *name, const void *bytes, size_t size,
                                   struct error *err) __attribute__((warn_unused_result));

void time_zone_free(struct time_zone *zone);
const char *time_zone_name(const struct time_zone *zone);

struct local_time time_zone_local(const struct time_zone *zone, struct wall_time wall);

/* The moment at which the clock of that zone shows this date and time.  A time that occurs twice
   (autumn) gives the first moment; a skipped one (spring) gives the moment of the change. */
struct wall_time time_zone_wall(const struct time_zone *zone, struct civil_date date,
                                int minute_of_day);

/* The meaning of local times near a change of the zone.  Each local time from `from_ms` to before
   `to_ms` (as if it were UTC) occurs `count` times: none where clocks jump in spring, twice in
   autumn, the earlier moment first.  A moment is the local time less its offset. */
struct zone_reading {
    int64_t from_ms;
    int64_t to_ms;
    int count;
    int64_t offsets_ms[2];
};
struct zone_reading time_zone_read(const struct time_zone *zone, int64_t local_ms);

static inline void owned_time_zone(struct time_zone **zone)
{
    time_zone_free(*zone);
}
