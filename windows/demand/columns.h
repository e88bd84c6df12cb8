/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which column of a demand file is which: by its name and by what stands in its first row.  A file
 * has a row for each queue and step (columns of times, counts and mostly queues), or a row for each
 * step and a column for each queue, which then gives it its name.  Or it is a log, with a row for
 * each request: then it has columns of tokens and none of counts.
 */
#pragma once

#include "windows/demand/column_names.h"
#include "windows/demand/token_columns.h"

struct columns {
    int date;                    /* holds times, or the dates of them */
    int clock;                   /* the times of day where `date` holds dates only; -1: none */
    int queue;                   /* -1: none */
    int count;                   /* -1: each column with a name below is a queue, but in a log */
    int priority;                /* -1: none */
    int unit;                    /* tells that of each row's counts; -1: none */
    double *rates_s;             /* a column's counts are requests in so many seconds; 0: in the
                                    step */
    bool *is_left_out;           /* a column that counts no queue's requests */
    bool needs_unit;             /* each row tells its own: 70/min */
    bool is_utc;                 /* the name of the times' column says so */
    bool has_offset;             /* it says "UTC+1" */
    bool is_log;                 /* each row is one request */
    struct token_columns tokens; /* both, or neither */
    int64_t elapsed_ms; /* unit of `date`, counted from the start of the file; 0: absolute times */
    char **names;       /* of all columns, as the file has them */
    size_t name_count;
};

/* Finds the columns from the header, which is in header->fields, and the first two rows; the first
   one's line is row->line, and `second` is NULL if there is none.  The caller frees with
   columns_clear(), whatever is returned. */
int columns_find(struct columns *columns, const struct csv *header, const struct csv *row,
                 const struct csv *second, struct error *err) __attribute__((warn_unused_result));
void columns_clear(struct columns *columns);

/* Whether rows tell the lengths of their requests. */
static inline bool columns_has_tokens(const struct columns *columns)
{
    return columns->tokens.in >= 0;
}

static inline bool columns_is_taken(const struct columns *columns, int column)
{
    return column == columns->queue || column == columns->count || column == columns->priority ||
           column == columns->tokens.in || column == columns->tokens.out;
}

/* Whether the column tells something of the rows, or is a queue's own. */
bool columns_is_read(const struct columns *columns, size_t column);

/* The first column whose name has this role; -1: none. */
int columns_of_role(const struct columns *columns, enum column_role role);

/* For a table with tokens: the column of the queue, by its name as in any demand, else a column
   `model`. -1: none, all rows are of one queue. */
int columns_queue_of_tokens(const struct csv *header);

/* Whether the column is a queue's own. */
bool columns_is_queue(const struct columns *columns, size_t column);

/* The queue's name, without a unit: "chat (req/s)" is chat.  mem_free() it. */
char *columns_queue_name(const struct columns *columns, size_t column);

/* "2026-11-17" and "12:05" or "12" as one time; false: the second is no time of day. */
enum { COLUMNS_TIME_CHARS = 48 };
bool columns_join(const char *date, const char *clock, char out[COLUMNS_TIME_CHARS]);
