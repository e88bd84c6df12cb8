/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One row for each step and class.  A step that is unknown has no row.
 */
#include "broker/capacity/snapshot_rows.h"

#include "base/file.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

static bool has_priorities(const struct demand *const *demands, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < demands[i]->count; at++)
            if (!demands[i]->series[at].is_single)
                return true;
    return false;
}

static void add_rows(const struct demand_series *series, bool has_priority, struct text *out)
{
    static const char *const names[DEMAND_CLASSES] = { "high", "low" };

    for (size_t step = 0; step < series->count; step++) {
        char time[WALL_TEXT_SIZE];

        if (!demand_is_known(series, step))
            continue;
        wall_format(demand_time(series, step), time);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            if (!series->counts[class])
                continue;
            require(series->counts[class][step] >= 0); /* what is unknown has no row */
            text_add(out, "%s,%s,%" PRId32, time, series->queue, series->counts[class][step]);
            if (has_priority)
                text_add(out, ",%s", names[class]);
            text_add(out, "\n");
        }
    }
}

int snapshot_rows_write(const struct demand *const *demands, size_t count, const char *path,
                        struct error *err)
{
    bool has_priority = has_priorities(demands, count);
    owned(text) struct text *rows = text_new(TEXT_UNBOUNDED);
    const char *ending = strrchr(path, '.');
    size_t header;

    text_add(rows, "time,queue,count%s\n", has_priority ? ",priority" : "");
    header = rows->length;
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < demands[i]->count; at++)
            add_rows(&demands[i]->series[at], has_priority, rows);
    if (rows->length == header)
        return error_set(err, ERROR_INVALID,
                         "the sources know of no minute of that time; nothing was written");
    if (!ending || !text_equal(ending, ".gz"))
        return file_write(path, rows->chars, rows->length, 0666, err);

    owned(text) struct text *packed = file_pack(rows->chars, rows->length);

    return file_write(path, packed->chars, packed->length, 0666, err);
}
