/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The points of many series, by instance and step: what engine_scrapes.c collects, and makes
 * scrapes of.
 */
#pragma once

#include "base/input/json.h"
#include "broker/sources/engine_scrapes.h"

enum engine_column { /* what is asked of each instance at each step */
                     COLUMN_TIME,
                     COLUMN_ITERATIONS,
                     COLUMN_GENERATED,
                     COLUMN_COMPUTED,
                     COLUMN_PROMPTS,
                     COLUMN_GAP_SECONDS,
                     COLUMN_GAPS,
                     COLUMN_RUNNING,
                     COLUMN_RUNNING_LEAST,
                     COLUMN_RUNNING_MEAN,
                     COLUMN_WAITING,
                     ENGINE_COLUMNS,
};

struct engine_grid {
    struct wall_time first;
    int64_t step_ms;
    size_t steps;
    char **instances;
    size_t instance_count;
    double *cells; /* [instance][step][column]; NAN */
};

/* Makes a grid from first to last, both of them steps, without points. */
void engine_grid_init(struct engine_grid *grid, struct wall_time first, struct wall_time last,
                      int64_t step_ms);
void engine_grid_clear(struct engine_grid *grid);

/* Adds the points of a column's series.  ERROR_CORRUPT for a value that is no point; ERROR_INVALID
   for too many instances. */
int engine_grid_add(struct engine_grid *grid, enum engine_column column, const json_t *series,
                    struct error *err) __attribute__((warn_unused_result));

/* The scrapes of all instances, and what ran and waited.  Takes the names of the instances. */
void engine_grid_finish(struct engine_grid *grid, struct engine_scrapes *scrapes);
