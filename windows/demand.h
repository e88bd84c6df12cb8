/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Demand: how many requests arrived in each step of time, per queue and class.  Read from CSV
 * (plain or gzip) whose columns are found by content: the first column that holds ISO times (times
 * without an offset are UTC), `count`, and where there are such, `queue` (otherwise there is one
 * queue, named after the file) and `priority` (`high` or `low`; without the column a queue has a
 * single class).  The step (1, 5, 10 minutes, ...) is the one most rows keep.
 *
 * A step without a row is unknown, and unknown is never taken for zero: whoever uses a series skips
 * such steps.  With missing_zero it counts as zero arrivals, except where a gaps file (columns
 * gap_start*, gap_end* and, where given, trace: a queue or part of the file's name) says that
 * nothing is known.  Where one class of a step is missing, the whole step is unknown.
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum demand_class { DEMAND_HIGH, DEMAND_LOW, DEMAND_CLASSES };

enum { DEMAND_UNKNOWN = -1 };

struct demand_series {
    char *queue;
    struct wall_time start;
    int64_t step_ms;
    size_t count;                    /* of steps */
    bool is_single;                  /* no priorities: everything is in DEMAND_LOW */
    int32_t *counts[DEMAND_CLASSES]; /* DEMAND_UNKNOWN in all classes of a step or in none; NULL:
                                        the queue has no such class */
};

struct demand {
    struct demand_series *series; /* sorted by queue */
    size_t count;
    struct wall_time end; /* of the last step of all */
};

struct demand_options {
    bool missing_zero;
    const char *gaps; /* path; NULL: none */
};

struct demand *demand_read(const char *path, const struct demand_options *options,
                           struct error *err) __attribute__((warn_unused_result));

/* The same from bytes, which are written to; `source` names them in errors. */
struct demand *demand_parse(char *bytes, size_t size, const char *source,
                            const struct demand_options *options, struct error *err)
    __attribute__((warn_unused_result));
void demand_free(struct demand *demand);

const struct demand_series *demand_find(const struct demand *demand, const char *queue);

static inline bool demand_is_known(const struct demand_series *series, size_t step)
{
    const int32_t *counts = series->counts[DEMAND_LOW] ? series->counts[DEMAND_LOW]
                                                       : series->counts[DEMAND_HIGH];

    return counts[step] >= 0;
}

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
