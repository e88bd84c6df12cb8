/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One window of a plan: how many replicas of each queue the nodes have room for, and where.  For
 * allocate.c, which knows how many are needed.
 */
#pragma once

#include "windows/allocation/allocate.h"
#include "windows/queueing/estimate.h"

struct window_work {
    const struct allocate_model *model;
    struct allocate_cell *cells; /* of this window, one a queue */
    const struct estimate
        *estimates;              /* one a queue: what a replica is worth where they are scarce */
    struct allocate_need *needs; /* one a cluster: set */
    bool *is_withheld;           /* set: unused nodes stay unused, because a queue has to survive
                                    the loss of a zone */
};

/* Sets `needed`, `granted` and `lost` of each cell, writes the schedule; ret_missing: how many more
   nodes all needs would take.  Returns whether every target and loss is covered. */
bool allocate_window(const struct window_work *work, struct schedule *schedule, int *ret_missing);
