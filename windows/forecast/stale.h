/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether the end of the demand still supports a forecast: part of windows/forecast/forecast.h.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"

/* Of one window of the week (an index), whose past has been predicted. */
enum forecast_stale stale_find(const struct forecast_setup *setup, const struct forecast_cell *cell,
                               size_t window);
