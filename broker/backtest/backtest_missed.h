/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The window occurrences that plans of sluice missed in a backtest, and why: as a table for people,
 * as JSON, as a part of the page.
 */
#pragma once

#include "base/input/json.h"
#include "broker/backtest/backtest_inputs.h"

void backtest_missed_print(const struct backtest_inputs *inputs, const struct backtest *backtest,
                           struct text *out);

/* All misses of a row's policy; null if the policy is none of sluice's. */
json_t *backtest_missed_json(const struct backtest_inputs *inputs, const struct backtest *backtest,
                             const struct backtest_row *row)
    __attribute__((returns_nonnull, warn_unused_result));

/* The first hundred of each policy. */
void backtest_missed_html(const struct backtest_inputs *inputs, const struct backtest *backtest,
                          struct text *out);
