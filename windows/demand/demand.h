/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Demand: how many requests arrived in each step of time, per queue and class.  Read from a table
 * as text, plain or gzip, in the forms that windows/README.md lists: which column is which is found
 * by names and content (windows/demand/columns.h), and what a cell says by its form
 * (windows/demand/cells.h).  A form that has two readings is refused with file and line.
 *
 * Times without an offset are those of the time zone that is given.  The step is the one that most
 * rows of a queue keep, or where it changes the finest: the count of a longer step is spread evenly
 * over the steps that it covers (windows/demand/steps.h).  Counts with a fraction are rounded so
 * that what is left over goes to the next step: any sum over time is right to within one.
 *
 * A table with columns of a request's tokens and none of counts is a log: its rows are requests,
 * which are counted by steps of a second, of ten seconds where those were too many, or else of
 * minutes.  A step without a row had none, and gaps alone make it unknown.
 *
 * In all others a step without a row is unknown, and unknown is never taken for zero: each user of
 * a series skips such steps.  With missing_zero it counts as zero arrivals, except where a gaps
 * file (columns gap_start*, gap_end* and, where given, trace: a queue, or the file's name) says
 * that nothing is known.  Where one class of a step is missing, the whole step is unknown.
 */
#pragma once

#include "base/error.h"
#include "base/time_zone.h"
#include "base/timestamp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct token_pairs; /* engine_lengths.h */

enum demand_class { DEMAND_HIGH, DEMAND_LOW, DEMAND_CLASSES };

enum { DEMAND_UNKNOWN = -1 };

/* With missing_zero, rows of a queue that keep a coarser grid than its steps: they may count for
   longer, or nothing arrived between them. */
struct demand_apart {
    int64_t grid_ms;       /* 0: there are none */
    struct wall_time from; /* the first and the last of these rows */
    struct wall_time until;
    bool is_all; /* all rows of the queue are such rows */
};

struct demand_series {
    char *queue;
    struct wall_time start;
    int64_t step_ms;
    size_t count;                    /* of steps */
    bool is_single;                  /* no priorities: everything is in DEMAND_LOW */
    int32_t *counts[DEMAND_CLASSES]; /* DEMAND_UNKNOWN in all classes of a step or in none; NULL:
                                        the queue has no such class */
    int64_t longest_ms;              /* the longest step of its rows.  step_ms is an hour at most,
                                        and less than this if the step changed */
    struct wall_time changed;        /* when its step first changed; 0: never */
    struct token_pairs *tokens;      /* lengths of its requests; NULL: the file tells none */
    struct demand_apart apart;
    size_t half_known; /* steps that are unknown because one class alone has a row */
};

/* How the file was understood: facts that people should know. */
struct demand_facts {
    bool is_wide;        /* each column is a queue */
    bool has_local;      /* some times have no offset */
    bool is_cut;         /* the last line has no line end */
    bool is_log;         /* each row is one request; a step without one had none */
    bool has_means;      /* rows tell mean lengths of several requests each */
    bool has_unit_rates; /* counts are rates by a unit in the header or in a column */
    size_t void_cells;   /* cells that should hold a count, and hold none: no rows */
    bool has_fractions;  /* most counts without a unit have one: they may be rates */
    size_t empty_queues; /* left out, because none of their cells holds a count */
    size_t left_out;     /* columns that are not read; of a wide file: they number its rows, or
                            begin with _ */
    size_t gaps;         /* rows of the gaps file */
    size_t file_gaps;    /* of them: they name the file, and are gaps of all its queues */
    size_t idle_gaps;    /* of them: they touch no step of this file's queues */
};

struct demand {
    struct demand_series *series; /* sorted by queue */
    size_t count;
    struct wall_time end; /* of the last step of all */
    struct demand_facts facts;
    char *left_out; /* the first of the columns left out; NULL: none is */
};

struct demand_options {
    bool missing_zero;
    const char *gaps;             /* path; NULL: none */
    const struct time_zone *zone; /* of times without an offset; NULL: UTC */
    const char *begin;            /* when times began that count from there; NULL: none do */
};

struct demand *demand_read(const char *path, const struct demand_options *options,
                           struct error *err) __attribute__((warn_unused_result));

/* The same from bytes; `source` names them in errors. */
struct demand *demand_parse(const char *bytes, size_t size, const char *source,
                            const struct demand_options *options, struct error *err)
    __attribute__((warn_unused_result));
void demand_free(struct demand *demand);

const struct demand_series *demand_find(const struct demand *demand, const char *queue);

/* The same; NULL: ERROR_INVALID with the queues that there are. */
const struct demand_series *demand_need(const struct demand *demand, const char *queue,
                                        struct error *err) __attribute__((warn_unused_result));

static inline bool demand_is_known(const struct demand_series *series, size_t step)
{
    const int32_t *counts = series->counts[DEMAND_LOW] ? series->counts[DEMAND_LOW]
                                                       : series->counts[DEMAND_HIGH];

    return counts[step] >= 0;
}

/* How many steps are unknown. */
size_t demand_unknown(const struct demand_series *series);

/* Makes a step that one class lacks unknown in both, as demand_is_known() asks of a series. */
void demand_spread_unknown(struct demand_series *series);

/* Arrivals of a known step; 0 for a class that the queue does not have. */
static inline int32_t demand_at(const struct demand_series *series, enum demand_class class,
                                size_t step)
{
    return series->counts[class] ? series->counts[class][step] : 0;
}

static inline struct wall_time demand_time(const struct demand_series *series, size_t step)
{
    return (struct wall_time){ series->start.ms + (int64_t)step * series->step_ms };
}

static inline void owned_demand(struct demand **demand)
{
    demand_free(*demand);
}
