/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a demand file as they stand in it, for demand.c, which makes series of them.
 */
#pragma once

#include "base/array.h"
#include "windows/csv.h"
#include "windows/demand.h"

enum { DEMAND_QUEUES_MAX = 10000, DEMAND_BYTES_MAX = 1 << 30 };

struct demand_row {
    int64_t ms;
    uint32_t queue; /* index of its name */
    int line;
    int32_t count;
    enum demand_class class;
};

struct demand_rows {
    ARRAY(struct demand_row) rows;
    ARRAY(char *) queues; /* in the order in which the file names them */
    int64_t first_ms;     /* of all rows */
    int64_t last_ms;
    bool has_priority;
    const char *source;
};

/* In parts of so many bytes at least, one thread each; 0: as pays off. */
int demand_rows_read(struct demand_rows *rows, char *bytes, size_t size, const char *source,
                     size_t part_bytes, struct error *err) __attribute__((warn_unused_result));
void demand_rows_clear(struct demand_rows *rows);

/* Marks what the gaps file at `path` lists; `source` is the demand file's name.  In demand_gaps.c.
 */
int demand_gaps_read(struct demand *demand, const char *path, const char *source, struct error *err)
    __attribute__((warn_unused_result));

static inline void owned_demand_rows(struct demand_rows *rows)
{
    demand_rows_clear(rows);
}
