/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How accurate the bounds of past days were.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"

/* The loss of a bound that a share `misses` of days may miss (Koenker and Bassett, "Regression
   quantiles", 1978), in the unit of both. */
double forecast_pinball(double misses, double truth, double bound);

/* Counts a scored day, whose bound was one for this share of misses. */
void forecast_score_keep(struct forecast_score *score, const struct forecast_occurrence *item,
                         double misses);

void forecast_score_add(struct forecast_score *sum, const struct forecast_score *more);
