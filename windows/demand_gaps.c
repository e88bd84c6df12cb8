/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a gaps file lists is unknown, whatever the demand file or missing_zero say.
 */
#include "base/file.h"
#include "base/text.h"
#include "windows/demand_rows.h"

#include <string.h>

enum { GAPS_BYTES_MAX = 16 << 20 };

struct gap {
    const char *trace; /* NULL: all queues */
    int64_t start_ms;
    int64_t end_ms;
};

static int column_starting(const struct csv *csv, const char *start)
{
    for (size_t i = 0; i < csv->columns; i++)
        if (text_starts_with(csv->fields[i], start))
            return (int)i;
    return -1;
}

static int read_time(const struct csv *csv, int column, int64_t *ret_ms, struct error *err)
{
    struct wall_time wall;
    struct error reason = { 0 };

    if (wall_parse(csv->fields[column], true, &wall, &reason) < 0)
        return csv_error(csv, csv->line, err, "%s", reason.text);
    *ret_ms = wall.ms;
    return 0;
}

/* Every step that the gap touches. */
static void mark(struct demand_series *series, const struct gap *gap)
{
    for (size_t i = 0; i < series->count; i++) {
        int64_t ms = demand_time(series, i).ms;

        if (ms + series->step_ms <= gap->start_ms || ms >= gap->end_ms)
            continue;
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            if (series->counts[class])
                series->counts[class][i] = DEMAND_UNKNOWN;
    }
}

int demand_gaps_read(struct demand *demand, const char *path, const char *demand_source,
                     struct error *err)
{
    owned(text) struct text *bytes = file_read_unpacked(path, GAPS_BYTES_MAX, err);
    const char *slash = strrchr(demand_source, '/');
    struct csv csv;
    int more;

    if (!bytes || csv_open(&csv, bytes->chars, bytes->length, path, err) < 0)
        return -1;

    int trace = column_starting(&csv, "trace");
    int start = column_starting(&csv, "gap_start");
    int end = column_starting(&csv, "gap_end");

    if (start < 0 || end < 0)
        return csv_error(&csv, csv.line, err,
                         "the header needs columns that begin with gap_start and gap_end");
    while ((more = csv_next(&csv, err)) == 1) {
        struct gap gap = { .trace = trace < 0 ? NULL : csv.fields[trace] };

        if (read_time(&csv, start, &gap.start_ms, err) < 0 ||
            read_time(&csv, end, &gap.end_ms, err) < 0)
            return -1;
        if (gap.end_ms <= gap.start_ms)
            return csv_error(&csv, csv.line, err, "the gap ends before it begins");
        for (size_t i = 0; i < demand->count; i++)
            if (!gap.trace || text_equal(gap.trace, demand->series[i].queue) ||
                strstr(slash ? slash + 1 : demand_source, gap.trace))
                mark(&demand->series[i], &gap);
    }
    return more;
}
