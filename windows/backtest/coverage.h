/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which slots of a course count for its capacity.  A plan that holds less while the demand of a
 * queue is unknown would seem to gain.  Such slots are left out for all plans alike.
 */
#pragma once

#include "windows/backtest/field.h"

struct coverage {
    bool *counted;     /* one a slot of the course: each queue has a known step in it */
    size_t judged;     /* slots from the first judged week on */
    size_t left_out;   /* of them: not counted */
    size_t *unknown;   /* one a queue: judged slots in which it has no known step */
    size_t blanks;     /* judged weeks without a counted slot */
    size_t worst;      /* the queue with most unknown slots */
    bool has_arrivals; /* a slot that is not counted has known steps of some queue */
};

/* Of so many queues; `first_week` is the first that is judged. */
void coverage_init(struct coverage *coverage, const struct backtest_queue *queues,
                   size_t queue_count, const struct course *course, size_t first_week);
void coverage_clear(struct coverage *coverage);
