/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether the end of the demand still supports a forecast: part of windows/forecast/forecast.h.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"

/* Whether the forecast of one window of the week (an index) is stale; its past must have been
   predicted. */
enum forecast_stale stale_find(const struct forecast_setup *setup, const struct forecast_cell *cell,
                               size_t window);
