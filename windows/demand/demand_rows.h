/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a demand file as they stand in it, for demand.c, which makes series of them.
 */
#pragma once

#include "base/array.h"
#include "windows/demand/csv.h"
#include "windows/demand/demand.h"
#include "windows/demand/demand_feed.h"
#include "windows/demand/demand_tokens.h"
#include "windows/demand/packed.h"

enum {
    DEMAND_QUEUES_MAX = 10000,
    DEMAND_LOG_STEP_MS = SECOND_MS, /* the shortest: answers of a replica may take no longer */
};

struct demand_queue {
    char *name;
    const char *source; /* the file, for errors; of demand_rows only */
    struct packed classes[DEMAND_CLASSES];
    struct demand_tokens tokens; /* of its requests, where the file tells them */
};

struct demand_rows {
    ARRAY(struct demand_queue) queues; /* in the order in which the file names them */
    const char *source;
    const char *begin; /* set before reading: of times that count from there; NULL: none do */
    bool has_priority;
    bool has_local;  /* some times have no offset */
    bool is_wide;    /* each column is a queue */
    bool is_cut;     /* the last line has no line end */
    bool is_log;     /* each row of it was one request: these are steps of DEMAND_LOG_STEP_MS, and a
                        step may have several */
    bool has_tokens; /* rows tell the lengths of their requests */
    bool has_unit_rates; /* counts are rates by a unit in the header or in a column */
    bool has_offset;     /* the name of the times' column says "UTC+1" */
    size_t void_cells;   /* cells that should hold a count, and hold none */
    size_t counts[2];    /* without a unit: whole ones, and those with a fraction */
    size_t empty_queues; /* left out, because none of their cells holds a count */
    char *left_out;      /* the first column that is not read; NULL: all are */
    size_t left_out_count;
};

/* Reads the rows in parts of at least so many bytes, one thread each; 0: as many bytes as pay off.
   With keeps_local times without an offset stay what the clock shows; otherwise they are UTC. */
int demand_rows_read(struct demand_rows *rows, struct demand_feed *feed, bool keeps_local,
                     size_t part_bytes, struct error *err) __attribute__((warn_unused_result));
void demand_rows_clear(struct demand_rows *rows);

/* The name of a queue that only its file names: "traces/chat.csv.gz" is "chat".  mem_free() it. */
char *demand_name_of_source(const char *source);

/* Marks what the gaps file at `path` lists; `source` is the demand file's name.  In demand_gaps.c.
 */
int demand_gaps_read(struct demand *demand, const char *path, const struct time_zone *zone,
                     const char *source, struct error *err) __attribute__((warn_unused_result));

static inline void owned_demand_rows(struct demand_rows *rows)
{
    demand_rows_clear(rows);
}
