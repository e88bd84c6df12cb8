/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The frontier of a backtest as SVG: targets met against capacity recovered, one line a policy.
 */
#pragma once

#include "base/text.h"
#include "windows/backtest/backtest.h"

enum { BACKTEST_COLOURS = 9 };

/* Its classes are styled by the page: c0 .. c8 for policies, axis, grid, wanted, bound. */
void backtest_plot(const struct backtest *backtest, double attainment, struct text *out);
