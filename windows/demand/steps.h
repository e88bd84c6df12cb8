/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The step of each row of a file, from the rows' times alone.  Exports change their step: old data
 * has steps of an hour or five minutes, new data of a minute.  A run of rows with one step is an
 * era, and a row counts for the step of its era.
 *
 * Most rows say what the step is.  Another step is believed if more consecutive rows keep it than
 * chance explains: of sparse minutes, too, several follow each other five minutes apart.  Where
 * dense rows begin or end, fewer rows are believed.
 */
#pragma once

#include "base/array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct steps_era {
    int64_t from_ms; /* of its first row, until the next era's */
    int64_t step_ms;
};

struct steps {
    ARRAY(struct steps_era) eras;
    int64_t step_ms; /* of the finest era, an hour at most; the steps of other eras are multiples of
                        it */
    bool is_sparse;  /* less than half of the neighbours keep any one distance */
};

enum steps_fault {
    STEPS_FINE,
    STEPS_ALONE,  /* one time alone */
    STEPS_SHORT,  /* most rows are less than a second apart */
    STEPS_LONG,   /* most rows are more than a day apart */
    STEPS_OFF,    /* a time is not on the grid of its era */
    STEPS_UNEVEN, /* the step of an era is no multiple of the finest */
};

struct steps_problem {
    enum steps_fault fault;
    int64_t ms;      /* of the row */
    int64_t step_ms; /* of its era */
    int64_t other_ms;
};

/* From `count` times, ascending, none twice.  is_sparse: where a step has no row, nothing arrived,
   so that neighbours need not be one step apart.  The caller frees with steps_clear(). */
struct steps_problem steps_find(const int64_t *times, size_t count, bool is_sparse,
                                struct steps *ret) __attribute__((warn_unused_result));
void steps_clear(struct steps *steps);

/* The greatest common divisor of two distances; of 0 and another, that other one. */
int64_t steps_divisor(int64_t left, int64_t right);

/* How often each distance between neighbours is kept. */
struct steps_tally {
    int64_t distance_ms;
    size_t count;
};
struct steps_tallies {
    ARRAY(struct steps_tally) list; /* the shortest first */
    size_t count;                   /* of distances */
};

/* Adds those of one queue's times. */
void steps_count(const int64_t *times, size_t count, struct steps_tallies *tallies);

/* The step, in ms: the most common distance between neighbours, or the common divisor of all
   distances where that fits better; 0: there are no distances.  ret_divisor: that divisor. */
int64_t steps_base(const struct steps_tallies *tallies, bool is_sparse, int64_t *ret_divisor);
void steps_tallies_clear(struct steps_tallies *tallies);

/* The step of rows that come a little late, each by another delay, as those of a recorder that
   starts its work once a step: distances that keep no grid of it are nearly all about as long as
   it. Rounded to seconds, from a minute on to minutes. 0: the times keep a grid, or silence
   explains them. ret_ms: the first row that is off. */
int64_t steps_wander(const int64_t *times, size_t count, int64_t *ret_ms);

/* How long a row counts, if the next row is `until_ms` later (0: there is none). *at is where the
   last row's era was, 0 at first.  Rows are asked for in the order of time. */
int64_t steps_cover(const struct steps *steps, size_t *at, int64_t ms, int64_t until_ms);
