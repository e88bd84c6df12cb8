/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See time_columns.h.
 */
#include "windows/demand/time_columns.h"

#include "base/text.h"
#include "base/timestamp.h"
#include "windows/demand/cells.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { DATE_CHARS = 10 };

/* Where a column of times may be looked for: by the column's name, then by a date, then by a number
   since 1970. */
enum way { BY_NAME, BY_DATE, BY_NUMBER, WAYS };

static bool is_time_name(const struct columns *columns, int column)
{
    return column_name_of(columns->names[column]).role == COLUMN_TIME;
}

/* These two names are the row's time, whatever other columns hold. */
static bool is_main_name(const struct columns *columns, int column)
{
    return strcasecmp(columns->names[column], "time") == 0 ||
           strcasecmp(columns->names[column], "timestamp") == 0;
}

static bool holds_time(const struct columns *columns, const struct csv *row, int column,
                       enum way way)
{
    const char *cell = row->fields[column];
    struct cell_time found;

    if (columns_is_taken(columns, column) || !cell_time(cell, &found))
        return false;
    return way == BY_NUMBER || (way == BY_NAME ? is_time_name(columns, column)
                                               : strchr(cell, '-') || strchr(cell, '/'));
}

/* "2026-11-17" and "2026-11-17 12:05". */
static bool is_day_of(const char *date, const char *time)
{
    return strlen(date) == DATE_CHARS && strlen(time) > DATE_CHARS &&
           strncmp(date, time, DATE_CHARS) == 0;
}

/* The one of two columns that tells the row's time; -1: nothing says which. */
static int choose(const struct columns *columns, const struct csv *row, int left, int right,
                  enum way way)
{
    struct cell_time times[2];

    if (is_main_name(columns, left) != is_main_name(columns, right))
        return is_main_name(columns, left) ? left : right;
    if (way != BY_NAME)
        return -1;
    if (is_day_of(row->fields[left], row->fields[right]))
        return right;
    if (is_day_of(row->fields[right], row->fields[left]))
        return left;
    return cell_time(row->fields[left], &times[0]) && cell_time(row->fields[right], &times[1]) &&
                   times[0].ms == times[1].ms && times[0].is_local == times[1].is_local
               ? left
               : -1;
}

/* Of several columns with times the one that is named so; the others may say when the row was
   written, or when its step ends. */
static int find_date(struct columns *columns, const struct csv *header, const struct csv *row,
                     struct error *err)
{
    for (int way = 0; way < WAYS && columns->date < 0; way++)
        for (int turn = 0; turn < 2; turn++)
            for (int i = 0; i < (int)row->count; i++) {
                int chosen = i;

                if (is_main_name(columns, i) != (turn == 0) ||
                    !holds_time(columns, row, i, (enum way)way))
                    continue;
                if (columns->date >= 0)
                    chosen = choose(columns, row, columns->date, i, (enum way)way);
                if (chosen < 0)
                    return csv_error(header, header->line, err,
                                     "\"%.80s\" and \"%.80s\" both hold times: name the one that "
                                     "tells when the row's step begins \"time\", or take the other "
                                     "out",
                                     columns->names[columns->date], columns->names[i]);
                columns->date = chosen;
            }
    return 0;
}

bool columns_join(const char *date, const char *clock, char out[COLUMNS_TIME_CHARS])
{
    size_t digits = strspn(clock, "0123456789");

    if (digits == 0 || digits > 2 || cell_is_range(clock))
        return false;
    return text_print(out, COLUMNS_TIME_CHARS, "%sT%s%s%s", date, digits == 1 ? "0" : "", clock,
                      clock[digits] == '\0' ? ":00" : "");
}

/* A number without a colon may be a day or a minute, unless the column's name means an hour. */
static bool may_be_clock(const struct columns *columns, int column, const char *cell)
{
    return is_time_name(columns, column) &&
           (strchr(cell, ':') || strcasecmp(columns->names[column], "hour") == 0);
}

/* If the date column has no time of day, another column may have it. */
static int find_clock(const struct columns *columns, const struct csv *row)
{
    const char *date = row->fields[columns->date];
    char joined[COLUMNS_TIME_CHARS];
    struct cell_time found;

    for (int i = 0; strlen(date) == DATE_CHARS && i < (int)row->count; i++)
        if (i != columns->date && !columns_is_taken(columns, i) &&
            may_be_clock(columns, i, row->fields[i]) &&
            columns_join(date, row->fields[i], joined) && cell_time(joined, &found))
            return i;
    return -1;
}

/* The unit in ms that a column's name ends with: 1 for "time_ms", 1000 for "Time (s)"; 0: none. */
static int64_t unit_of(const char *name)
{
    static const struct {
        const char *ending;
        int64_t ms;
    } units[] = {
        { "_ms", 1 },
        { " ms", 1 },
        { "(ms)", 1 },
        { "_s", SECOND_MS },
        { " s", SECOND_MS },
        { "(s)", SECOND_MS },
        { "_seconds", SECOND_MS },
        { " seconds", SECOND_MS },
        { "(seconds)", SECOND_MS },
    };
    size_t length = strlen(name);

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t ending = strlen(units[i].ending);

        if (length > ending && strcasecmp(name + length - ending, units[i].ending) == 0)
            return units[i].ms;
    }
    return 0;
}

static bool is_time_without_unit(const char *name)
{
    size_t end = strcspn(name, "_ (");
    owned(chars) char *start = text_format("%.*s", (int)(end < INT32_MAX ? end : 0), name);

    return unit_of(name) > 0 && column_name_of(start).role == COLUMN_TIME;
}

/* Times of logs may count from the file's beginning.  Their unit is at the end of the column's name
   (time_ms); otherwise it is that of the public trace with these columns (token_columns.h). */
static int find_elapsed(struct columns *columns, const struct csv *header, const struct csv *row,
                        struct error *err)
{
    double first;

    for (int i = 0; columns_has_tokens(columns) && i < (int)row->count; i++) {
        const char *name = columns->names[i];

        if (columns_is_taken(columns, i) || !cell_number(row->fields[i], &first) ||
            (!is_time_name(columns, i) && !is_time_without_unit(name)))
            continue;
        columns->date = i;
        columns->elapsed_ms = unit_of(name) > 0 ? unit_of(name) : columns->tokens.elapsed_ms;
        if (columns->elapsed_ms > 0)
            return 0;
        return csv_error(header, header->line, err,
                         "\"%.80s\" counts from the file's beginning (\"%.80s\"), and nothing "
                         "says in what: name it time_s or time_ms",
                         name, row->fields[i]);
    }
    return 0;
}

static int no_times(const struct columns *columns, const struct csv *row, struct error *err)
{
    int named = columns_of_role(columns, COLUMN_TIME);

    if (named < 0)
        return csv_error(row, row->line, err, "no column holds times: expected one like %s",
                         CELL_TIME_FORMS);
    return csv_error(row, row->line, err,
                     "no column holds times: \"%.80s\" holds \"%.80s\", expected one like %s",
                     columns->names[named], row->fields[named], CELL_TIME_FORMS);
}

/* "Time (UTC+1)", and not "Time (UTC+00:00)". */
static bool says_offset(const char *name)
{
    const char *utc = strcasestr(name, "utc");
    const char *rest = utc ? utc + 3 + strspn(utc + 3, " ") : "";

    return (*rest == '+' || *rest == '-') && strpbrk(rest, "123456789");
}

/* "utc_offset" and "not_utc" say no zone. */
static bool says_utc(const char *name)
{
    return strcasestr(name, "utc") && !says_offset(name) && !strcasestr(name, "not_utc") &&
           !strcasestr(name, "utc_offset");
}

/* What is named time is not silently a column's whose name says nothing: its form may be one that
   is not known. */
static int check_main(const struct columns *columns, const struct csv *row, struct error *err)
{
    char joined[COLUMNS_TIME_CHARS];
    struct cell_time found;
    double number;

    for (int i = 0; !is_time_name(columns, columns->date) && i < (int)row->count; i++) {
        const char *cell = row->fields[i];

        if (is_main_name(columns, i) && i != columns->date && i != columns->clock &&
            !cell_is_void(cell) && !cell_time(cell, &found) && strpbrk(cell, "/.: ") &&
            !cell_number(cell, &number) &&
            !(columns_join("2026-11-17", cell, joined) && cell_time(joined, &found)))
            return csv_error(row, row->line, err,
                             "\"%.80s\" holds \"%.80s\", expected one like %s; or take it out, if "
                             "\"%.80s\" holds the times",
                             columns->names[i], cell, CELL_TIME_FORMS,
                             columns->names[columns->date]);
    }
    return 0;
}

int time_columns_find(struct columns *columns, const struct csv *header, const struct csv *row,
                      struct error *err)
{
    if (find_date(columns, header, row, err) < 0)
        return -1;
    if (columns->date < 0 && find_elapsed(columns, header, row, err) < 0)
        return -1;
    if (columns->date < 0)
        return no_times(columns, row, err);
    columns->clock = find_clock(columns, row);
    columns->has_offset = says_offset(columns->names[columns->date]);
    columns->is_utc = says_utc(columns->names[columns->date]) ||
                      (columns->clock >= 0 && says_utc(columns->names[columns->clock]));
    return columns->elapsed_ms > 0 ? 0 : check_main(columns, row, err);
}
