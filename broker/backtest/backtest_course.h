/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The course of a backtest as pictures: the fleet's nodes and each queue's servers over time, and
 * what was needed, a strip for each week judged.
 */
#pragma once

#include "broker/backtest/backtest_inputs.h"

/* A part of the page.  Styled by it: c0 .. c9 for policies, axis, grid, need, missed. */
void backtest_course(const struct backtest_inputs *inputs, const struct backtest *backtest,
                     struct text *out);
