/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bounds for an attainment: instead of a bound that nine days in ten stay under, whatever it costs,
 * each window of each queue gets the bound whose misses, all together, are as many as are allowed,
 * and that costs least (windows/forecast/shares.h).
 */
#pragma once

#include "windows/forecast/forecast.h"

struct forecast_share {
    struct forecast *forecast; /* changed: upper, basis, scale, misses */
    struct forecast_setup setup;
    int gpus; /* of a server */
};

/* Distributes misses so that a share `attainment` of all days of all windows meets its target,
   until the next plan. */
void forecast_share_out(const struct forecast_share *items, size_t count, double attainment);

/* The share of misses given to plans for so many days, out of those that an attainment allows.
   Plans for one day get fewer: the choice of the cheapest bounds prefers those that look safer than
   they are.  The bound of a plan for more days is that of the neediest day, so the others miss
   less. */
double forecast_share_of(double attainment, int horizon_days);
