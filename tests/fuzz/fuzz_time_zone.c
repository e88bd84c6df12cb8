/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * TZif files, and the POSIX rule at their end: every moment has a clock, and comes back.
 */
#include "base/posix_zone.h"
#include "base/time_zone.h"
#include "tests/fuzz/fuzz.h"

static void ask(const struct time_zone *zone)
{
    for (int64_t day = -30000; day <= 60000; day += 997) {
        struct wall_time wall = { day * DAY_MS };
        struct local_time local = time_zone_local(zone, wall);
        struct wall_time back;

        require(local.minute_of_day >= 0 && local.minute_of_day < 1440);
        require(local.weekday >= 0 && local.weekday < 7);
        back = time_zone_wall(zone, local.date, local.minute_of_day);
        (void)back; /* a zone may be mad; it must not hang or read beyond its end */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    owned(chars) char *chars = fuzz_chars(bytes, size);
    struct error err = { 0 };
    owned(time_zone) struct time_zone *zone = time_zone_decode("fuzz", bytes, size, &err);
    struct posix_zone posix;

    if (zone)
        ask(zone);
    else
        fuzz_expect_error(&err);
    if (posix_zone_parse(chars, &posix)) {
        int64_t moment = 0;

        require(posix.standard.offset_s < ZONE_OFFSET_LIMIT_S &&
                posix.standard.offset_s > -ZONE_OFFSET_LIMIT_S);
        for (int i = 0; i < 10 && moment < INT64_MAX; i++) {
            int64_t next = posix_zone_next_edge(&posix, moment);

            require(next > moment && posix_zone_clock(&posix, moment));
            moment = next;
        }
    }
    return 0;
}
