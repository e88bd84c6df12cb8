/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The steps of all queues of a file: each queue's own; or with missing_zero one for all, because
 * a queue of few rows does not tell its step, and all queues together do.  Without it, too, such a
 * queue changes its step when all queues together do.  And with it a queue whose rows show by
 * themselves that their step changed keeps its own.
 */
#pragma once

#include "windows/demand/coarse_rows.h"
#include "windows/demand/demand_rows.h"
#include "windows/demand/steps.h"

struct demand_steps {
    struct steps *own;  /* one a queue; empty: it follows the shared ones */
    int64_t *phases_ms; /* one a queue: how far its times are off the grid that is shared */
    struct steps shared;
    size_t count;
    bool is_shared;
    bool *follows;              /* one a queue: it has the shared ones */
    struct coarse_rows *coarse; /* one a queue, where they are shared */
};

/* Finds the steps of sorted rows.  The caller frees with demand_steps_clear(), whatever is
   returned. */
int demand_steps_find(const struct demand_rows *rows, bool missing_zero, struct demand_steps *steps,
                      struct error *err) __attribute__((warn_unused_result));

/* The same of a log, whose requests were counted by such steps. */
void demand_steps_of_log(size_t queues, int64_t step_ms, struct demand_steps *steps);
void demand_steps_clear(struct demand_steps *steps);

/* The rows of a queue that keep a coarser grid than the steps that all share. */
struct demand_apart demand_steps_apart(const struct demand_steps *steps, size_t queue);

static inline const struct steps *demand_steps_of(const struct demand_steps *steps, size_t queue)
{
    return steps->follows[queue] ? &steps->shared : &steps->own[queue];
}
