/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private to the backtest: what its work is expected to take, for an honest end time.  The unit is
 * one request replayed once by the judge.
 */
#pragma once

#include "windows/backtest/work.h"

/* Requests of a queue in a week of the course, on average. */
double expected_requests(const struct field *field);

/* The expected work for one queue: its forecasts, one search, one plan, its verdicts, its limit. */
double expected_foretell(const struct work *work, size_t queue);
double expected_search(const struct work *work, const struct search_item *item, size_t queue);
double expected_plan(const struct work *work, const struct policy *policy, size_t queue);
double expected_judge(const struct work *work, size_t runs, size_t queue);
double expected_limit(const struct work *work, size_t queue);
