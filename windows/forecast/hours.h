/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The difference of a queue's last hours from the usual need at their time: for plans that follow
 * the day (windows/forecast/forecast.h).  A window's need is known when it is over; hours are known
 * earlier.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"

/* One cell for each hour of the local day.  The need of an occurrence is about that of its load,
   without bursts; its profile is the prediction from earlier days. */
struct forecast *hours_new(const struct forecast_setup *setup)
    __attribute__((returns_nonnull, warn_unused_result));
