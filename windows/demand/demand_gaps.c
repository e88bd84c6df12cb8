/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a gaps file lists is unknown, whatever the demand file or missing_zero say.
 */
#include "base/file.h"
#include "base/text.h"
#include "windows/demand/cells.h"
#include "windows/demand/column_names.h"
#include "windows/demand/demand_rows.h"

#include <string.h>

enum { GAPS_BYTES_MAX = 16 << 20 };

struct gap {
    const char *trace; /* a queue, or the demand file; NULL: all queues */
    int64_t start_ms;
    int64_t end_ms;
};

/* A column of the gaps file; -1: none. */
struct gap_column {
    int at;
    bool is_utc; /* its name says so */
    bool is_end; /* of gaps; otherwise their begin */
};

static struct gap_column column_starting(const struct csv *csv, const char *start)
{
    for (size_t i = 0; i < csv->columns; i++)
        if (strncasecmp(csv->fields[i], start, strlen(start)) == 0)
            return (struct gap_column){ .at = (int)i,
                                        .is_utc = strcasestr(csv->fields[i], "utc") != NULL };
    return (struct gap_column){ .at = -1 };
}

/* The queue or file whose gap it is. */
static int trace_column(const struct csv *csv)
{
    int trace = column_starting(csv, "trace").at;

    for (size_t i = 0; trace < 0 && i < csv->columns; i++)
        if (column_name_of(csv->fields[i]).role == COLUMN_QUEUE)
            trace = (int)i;
    return trace;
}

/* In an hour that occurs twice a gap covers both: it begins with the first, and ends with the
 * second.
 */
static int read_time(const struct csv *csv, struct gap_column column, const struct time_zone *zone,
                     int64_t *ret_ms, struct error *err)
{
    const char *text = csv->fields[column.at];
    struct zone_reading reading;
    struct cell_time found;

    if (!cell_time(text, &found))
        return csv_error(csv, csv->line, err, "expected a time like %s, found \"%.80s\"",
                         CELL_TIME_FORMS, text);
    *ret_ms = found.ms;
    if (!found.is_local || !zone || column.is_utc)
        return 0;
    reading = time_zone_read(zone, found.ms);
    if (reading.count == 0)
        return csv_error(csv, csv->line, err, "\"%.80s\" does not exist in %s: the clocks skip it",
                         text, time_zone_name(zone));
    *ret_ms -= reading.offsets_ms[column.is_end ? reading.count - 1 : 0];
    return 0;
}

/* Every step that the gap touches; whether it touches one. */
static bool mark(struct demand_series *series, const struct gap *gap)
{
    bool is_any = false;
    int64_t since = gap->start_ms - series->start.ms;

    for (size_t i = since > 0 ? (size_t)(since / series->step_ms) : 0;
         i < series->count && demand_time(series, i).ms < gap->end_ms; i++, is_any = true)
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            if (series->counts[class])
                series->counts[class][i] = DEMAND_UNKNOWN;
    return is_any;
}

/* "arrivals_nasa.csv.gz" may be called arrivals_nasa or nasa. */
static bool is_name_of(const char *source, const char *trace)
{
    static const char arrivals[] = "arrivals_";
    owned(chars) char *name = demand_name_of_source(source);
    size_t start = text_starts_with(name, arrivals) ? strlen(arrivals) : 0;

    return text_equal(name, trace) || text_equal(name + start, trace);
}

/* A queue's name says which queue is meant, even if the file has this name, too. */
static void mark_named(struct demand *demand, const char *source, const struct gap *gap)
{
    bool is_queue = gap->trace && demand_find(demand, gap->trace);
    bool is_file = gap->trace && !is_queue && is_name_of(source, gap->trace);
    bool is_any = false;

    for (size_t i = 0; i < demand->count; i++)
        if (!gap->trace || is_file || text_equal(gap->trace, demand->series[i].queue))
            is_any |= mark(&demand->series[i], gap);
    demand->facts.gaps++;
    demand->facts.file_gaps += is_file;
    demand->facts.idle_gaps += !is_any;
}

int demand_gaps_read(struct demand *demand, const char *path, const struct time_zone *zone,
                     const char *demand_source, struct error *err)
{
    owned(text) struct text *bytes = file_read_unpacked(path, GAPS_BYTES_MAX, err);
    owned(chars) char *trace_name = NULL;
    struct csv csv;
    int more;

    if (!bytes || csv_open(&csv, bytes->chars, bytes->length, path, err) < 0)
        return -1;

    int trace = trace_column(&csv);
    struct gap_column start = column_starting(&csv, "gap_start");
    struct gap_column end = column_starting(&csv, "gap_end");

    if (trace >= 0)
        trace_name = mem_copy_chars(csv.fields[trace]);
    if (start.at < 0 || end.at < 0)
        return csv_error(&csv, csv.line, err,
                         "the header needs columns that begin with gap_start and gap_end");
    end.is_end = true;
    while ((more = csv_next(&csv, err)) == 1) {
        struct gap gap = { .trace = trace < 0 ? NULL : csv.fields[trace] };

        if (read_time(&csv, start, zone, &gap.start_ms, err) < 0 ||
            read_time(&csv, end, zone, &gap.end_ms, err) < 0)
            return -1;
        if (gap.end_ms <= gap.start_ms)
            return csv_error(&csv, csv.line, err, "the gap ends before it begins");
        if (gap.trace && !*gap.trace)
            return csv_error(&csv, csv.line, err,
                             "%.80s: is empty: expected a queue, or no column %.80s if each gap is "
                             "one of all queues",
                             trace_name, trace_name);
        mark_named(demand, demand_source, &gap);
    }
    return more;
}
