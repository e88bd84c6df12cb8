/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows for the policies of a backtest, proposed from what lies before the weeks that are judged.
 */
#pragma once

#include "windows/backtest/field.h"

/* What windows are proposed from.  Borrowed. */
struct backtest_past {
    const struct backtest_queue *queues;
    size_t queue_count;
    const struct window_set *judged; /* its zone and its calendar are those of the proposal */
    struct wall_time until;          /* no later demand is read */
};

/* Proposes at most `count` windows; NULL on an error.  The caller frees them. */
struct window_set *backtest_windows(const struct backtest_past *past, size_t count,
                                    struct error *err) __attribute__((warn_unused_result));

/* How alike the weekdays of a week are: the share of the variance of what all queues need that the
   time of day explains.  1: each day is like the others; 0: nothing is known.  Of longer data, in
   which each time of the week has its greatest need, it says little. */
double backtest_regularity(const struct backtest_past *past);
