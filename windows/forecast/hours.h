/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a queue's last hours lay over what is usual at their time: for plans that follow the day
 * (windows/forecast/forecast.h).  A window says what it needed when it is over; the hours say it on
 * the way.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"

/* One cell for each hour of the local day.  The need of an occurrence is about that of its load,
   without bursts; its profile is the prediction from earlier days. */
struct forecast *hours_new(const struct forecast_setup *setup)
    __attribute__((returns_nonnull, warn_unused_result));
