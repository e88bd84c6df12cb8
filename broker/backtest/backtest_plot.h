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

/* Its classes are styled by the page: c0 .. c9 for policies, axis, grid, wanted, bound.  Where
   nothing is told of what was recovered, research GPU-hours are drawn. */
void backtest_plot(const struct backtest *backtest, double attainment, struct text *out);
