/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See local_rows.h.
 */
#include "windows/demand/local_rows.h"

#include "base/memory.h"

#include <inttypes.h>

enum {
    LOG_DISORDER_MS = 10 * SECOND_MS, /* requests of a log that came together stand in any order */
};

struct walk {
    const struct time_zone *zone;
    const struct local_rows *whose;
    struct zone_reading reading; /* of the last row's time */
    struct packed_row last;      /* its time as the clock showed it */
    int64_t first_line;          /* with which the rows came into the hour that occurs twice */
    int64_t first_ms;
    int pass; /* through it: 0 or 1 */
    bool has_last;
};

static int fail(const struct walk *walk, int64_t line, int64_t ms, const char *sentence,
                struct error *err)
{
    char text[WALL_TEXT_SIZE];

    return error_set(err, ERROR_INVALID, "%s:%" PRId64 ": queue %s, %.19s: %s in %s",
                     walk->whose->source, line, walk->whose->queue,
                     wall_format((struct wall_time){ ms }, text), sentence,
                     time_zone_name(walk->zone));
}

/* The rows leave an hour that occurs twice: an error unless they went through it twice. */
static int leave(const struct walk *walk, int64_t to_ms, struct error *err)
{
    if (!walk->has_last || walk->reading.count != 2)
        return 0;
    if (walk->pass == 0 || to_ms < walk->reading.from_ms)
        return fail(walk, walk->first_line, walk->first_ms,
                    "the rows do not go through this hour twice, one pass after the other, so that "
                    "it is not known which of the two it is: give offsets, sort the rows by "
                    "time, or leave this hour out, which is then unknown; the clocks go back",
                    err);
    return 0;
}

static int enter(struct walk *walk, const struct packed_row *row, struct error *err)
{
    if (leave(walk, row->ms, err) < 0)
        return -1;
    walk->reading = time_zone_read(walk->zone, row->ms);
    walk->first_line = row->line;
    walk->first_ms = row->ms;
    walk->pass = 0;
    if (walk->reading.count == 0)
        return fail(walk, row->line, row->ms,
                    "this time does not exist, because the clocks skip it: give offsets, or name "
                    "the zone of the times; the clocks go forward",
                    err);
    if (walk->reading.count == 2 && walk->has_last && walk->last.ms > row->ms)
        return fail(walk, row->line, row->ms,
                    "this hour occurs twice and the rows are not in the order of time: give "
                    "offsets, or sort the rows; the clocks go back",
                    err);
    return 0;
}

/* Within the hour: its second pass begins. */
static bool goes_back(const struct walk *walk, const struct packed_row *row)
{
    return row->ms + (walk->whose->may_repeat ? LOG_DISORDER_MS : 0) <= walk->last.ms;
}

static int resolve(struct walk *walk, struct packed_row *row, struct error *err)
{
    struct packed_row shown = *row;
    bool keeps_last = false;

    if (!walk->has_last || row->ms < walk->reading.from_ms || row->ms >= walk->reading.to_ms) {
        if (enter(walk, row, err) < 0)
            return -1;
    } else if (!goes_back(walk, row)) {
        keeps_last = row->ms < walk->last.ms;
    } else if (walk->reading.count == 2 && walk->pass++ > 0) {
        return fail(walk, row->line, row->ms,
                    "this hour occurs twice, and the rows go through it more often: give offsets, "
                    "or sort the rows by time; the clocks go back",
                    err);
    }
    if (!keeps_last)
        walk->last = shown;
    walk->has_last = true;
    row->ms -= walk->reading.offsets_ms[walk->reading.count == 2 ? walk->pass : 0];
    row->is_local = false;
    return 0;
}

int local_rows_resolve(struct packed *packed, const struct time_zone *zone,
                       const struct local_rows *whose, struct error *err)
{
    struct walk walk = { .zone = zone, .whose = whose };
    struct packed_cursor cursor = packed_begin(packed);
    struct packed resolved = { 0 };
    struct packed_row row;
    int result = 0;

    if (!packed->has_local)
        return 0;
    while (result == 0 && packed_next(&cursor, &row)) {
        if (row.is_local)
            result = resolve(&walk, &row, err);
        packed_add(&resolved, &row);
    }
    if (result == 0)
        result = leave(&walk, INT64_MAX, err);
    packed_clear(packed);
    *packed = resolved;
    return result;
}
