/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a row of a backtest is worth where it meets just an attainment: the best of its levels that
 * reach it, and of the lines from these to a neighbour that does not.  A line stands for plans that
 * use one level in some weeks and its neighbour in the others.  Without it the figure would depend
 * on how fine a policy's levels are, and on single misses.
 */
#pragma once

#include "windows/backtest/backtest.h"

/* The most that it recovers.  False: no level reaches the attainment, or `recovered` is not
   known. */
bool equal_recovered(const struct backtest *backtest, const struct backtest_row *row,
                     double attainment, double *ret_recovered);

/* The fewest GPU-hours of production, transit and lost work, of all weeks judged.  False: no level
   reaches the attainment. */
bool equal_hours(const struct backtest_row *row, double attainment, double *ret_hours);
