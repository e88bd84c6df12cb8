/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rows of one queue, of all classes together, in the order of time; and from them its series:
 * part of demand.c.
 */
#pragma once

#include "windows/demand/demand_rows.h"
#include "windows/demand/steps.h"

/* A row with its class, and when the queue's next row of another time comes (0: never). */
struct queue_row {
    struct packed_row row;
    enum demand_class class;
};

struct queue_cursor {
    struct packed_cursor cursors[DEMAND_CLASSES];
    struct packed_row rows[DEMAND_CLASSES];
    bool has[DEMAND_CLASSES];
};

/* Each class has to be sorted. */
struct queue_cursor queue_begin(const struct demand_queue *queue);
bool queue_next(struct queue_cursor *cursor, struct queue_row *ret_row);

/* How many classes have rows. */
size_t queue_classes(const struct demand_queue *queue);

/* "FILE:LINE: queue Q, TIME: sentence", ERROR_INVALID, -1. */
int queue_error(const struct demand_queue *queue, const struct packed_row *row, struct error *err,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

/* How the rows of a queue lie on the steps of its series. */
struct queue_grid {
    const struct steps *steps;
    int64_t phase_ms;    /* of the rows' times against the steps */
    bool missing_zero;   /* a step without a row had no arrivals; otherwise it is unknown */
    bool is_utc_assumed; /* times had no offset, and no other zone was given */
};

/* Puts the rows' counts into the series, whose start, step and count of steps are set: each over
   the steps that it covers.  ERROR_INVALID: two rows of one time and class, or too large a count.
 */
int queue_fill(const struct demand_queue *queue, const struct queue_grid *grid,
               struct demand_series *series, struct error *err) __attribute__((warn_unused_result));
