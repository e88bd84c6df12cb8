/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of one queue and class, packed: the difference of each row from the one before it, in two
 * bytes for most rows.  A file of many millions of rows fits into memory, each row with its line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum packed_kind {
    PACKED_COUNT, /* a whole number of requests */
    PACKED_REAL,  /* of requests, with a fraction */
    PACKED_RATE,  /* of requests a second */
};

struct packed_row {
    int64_t ms; /* since 1970, in UTC or as a clock on the wall shows it */
    int64_t line;
    double value;
    enum packed_kind kind;
    bool is_local; /* `ms` is what a clock of the file's time zone shows */
};

/* The state of a reader or the writer: the last row, and its differences. */
struct packed_state {
    int64_t ms, ms_step;
    int64_t line, line_step;
};

struct packed {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    size_t count; /* of rows */
    struct packed_state last;
    int64_t first_line;
    bool is_unsorted; /* a row is before the one that it follows */
    bool has_local;
};

struct packed_cursor {
    const struct packed *packed;
    size_t at;
    struct packed_state state;
};

void packed_add(struct packed *packed, const struct packed_row *row);

void packed_append(struct packed *packed, const struct packed *more);

static inline struct packed_cursor packed_begin(const struct packed *packed)
{
    return (struct packed_cursor){ .packed = packed };
}

/* The next row; false at the end. */
bool packed_next(struct packed_cursor *cursor, struct packed_row *ret_row);

/* Sorts by time; rows of one time stay in the order of their lines. */
void packed_sort(struct packed *packed);

/* Rows of one step become one at its begin, with their values added up: of rows that are sorted and
   of one kind. */
void packed_merge(struct packed *packed, int64_t step_ms);

/* Frees what it holds; it is empty afterwards. */
void packed_clear(struct packed *packed);
