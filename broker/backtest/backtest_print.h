/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sluice backtest says, in four forms: for people, as JSON, as CSV (every point of the
 * frontier), as one HTML page.
 */
#pragma once

#include "base/input/json.h"
#include "broker/backtest/backtest_inputs.h"

void backtest_print(const struct backtest_inputs *inputs, const struct backtest *backtest,
                    struct text *out);
json_t *backtest_json(const struct backtest_inputs *inputs, const struct backtest *backtest)
    __attribute__((returns_nonnull, warn_unused_result));
void backtest_csv(const struct backtest *backtest, struct text *out);

/* `command` is the line that made it. */
void backtest_html(const struct backtest_inputs *inputs, const struct backtest *backtest,
                   const char *command, struct text *out);

/* The basis of the judgement, and its limits, as lines of plain text. */
void backtest_basis(const struct backtest_inputs *inputs, const struct backtest *backtest,
                    void (*line)(void *context, const char *text), void *context);

/* What no backtest shows; ends with NULL. */
extern const char *const backtest_caveats[];

/* The price of the research GPU-hours that a week has more than under static-peak, which must have
   been played. */
double backtest_money(const struct backtest_inputs *inputs, const struct backtest *backtest,
                      const struct measure *measure);

/* 1 for the row with most research GPU-hours among those that may be ranked; 0: it may not. */
int backtest_rank(const struct backtest_inputs *inputs, const struct backtest *backtest,
                  size_t row);

/* Whether it reached the requested attainment; if not, it is ranked by attainment only. */
static inline bool backtest_is_ranked(const struct backtest_inputs *inputs,
                                      const struct measure *measure)
{
    return measure->spans > 0 && measure->attainment >= inputs->setup.attainment;
}
