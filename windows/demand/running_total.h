/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Finds counters in the place of counts: the number of requests since a program started, instead of
 * those of a step.  Such a number only grows, except where the program starts again; arrivals grow
 * and decrease by turns, and decrease each night.
 */
#pragma once

#include "windows/demand/demand_rows.h"

/* ERROR_INVALID with the remedy: the queue's sorted rows are a counter's.  It reads all rows of
   such a queue, and few of any other. */
int running_total_check(const struct demand_queue *queue, struct error *err)
    __attribute__((warn_unused_result));
