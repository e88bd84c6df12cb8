/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The course of a backtest as pictures: the fleet's nodes and each queue's servers over time, and
 * what was needed, a strip for each week judged.
 */
#pragma once

#include "broker/backtest/backtest_inputs.h"

/* Adds a part of the page, which styles the classes c0 .. c9 (policies), axis, grid, need and
   missed. */
void backtest_course(const struct backtest_inputs *inputs, const struct backtest *backtest,
                     struct text *out);
