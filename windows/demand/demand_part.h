/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Some whole lines of a demand file, which one thread parses: part of demand_rows.c.
 */
#pragma once

#include "base/map.h"
#include "windows/demand/cells.h"
#include "windows/demand/columns.h"
#include "windows/demand/demand_rows.h"

#include <pthread.h>

/* Nothing but the numbers of a file shows what its points mean: those of a table with tabs, and in
   files that a spreadsheet of another language wrote, too. */
struct demand_points {
    bool has_decimal; /* a number shows that points are decimal, or thousands are not set apart */
    bool has_whole;   /* a number below a thousand has none */
    int line;         /* of the first number that may have thousands set apart; 0: there is none */
    size_t column;
    char text[24];
};

/* Counting a log, for each class: the step of the last row, and its number of rows so far. */
struct demand_counting {
    struct packed_row classes[DEMAND_CLASSES];
};

struct demand_part {
    struct demand_block block;
    struct csv csv;
    const struct columns *columns;
    ARRAY(struct demand_queue) queues;
    struct map *names; /* of queues: their index plus one, so that none is NULL */
    size_t queue;      /* of the last row: files repeat themselves */
    struct cell_clock clock;
    struct wall_time begin;                  /* of times that count from there */
    ARRAY(struct demand_counting) countings; /* of a log: one a queue */
    struct demand_points points;
    struct error err; /* with which it ended, if any */
    pthread_t thread;
    bool has_thread;
    bool keeps_local;
    bool has_local;
    size_t void_cells;   /* of counts */
    size_t counts[2];    /* without a unit: whole ones, and those with a fraction */
    char unit_text[32];  /* the last cell of the column of units */
    double unit_s;       /* that it tells: requests in so many seconds; 0: in the step */
    bool has_unit_rates; /* units made rates of counts */
};

/* Reads the part to its end, or to the first mistake, which is then in part->err.  `argument` is
   the part. */
void *demand_part_read(void *argument);

/* Whether a queue's name is valid text; `line`: its line. */
int demand_part_check_name(const struct csv *csv, int line, const char *name, struct error *err)
    __attribute__((warn_unused_result));
