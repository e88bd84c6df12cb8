/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The frontier of a backtest as SVG: targets met against capacity recovered, one line a policy, and
 * what lies beyond its axes.
 */
#pragma once

#include "base/text.h"
#include "windows/backtest/backtest.h"

enum { BACKTEST_COLOURS = 10 };

/* A policy has one colour in all pictures, whichever others are played. */
static inline size_t backtest_colour(const struct policy *policy)
{
    return (size_t)(policy - policies) % BACKTEST_COLOURS;
}

/* The page styles the classes: c0 .. c9 for policies, axis, grid, wanted, bound.  Without
   `recovered` the plot shows research GPU-hours. */
void backtest_plot(const struct backtest *backtest, double attainment, struct text *out);
