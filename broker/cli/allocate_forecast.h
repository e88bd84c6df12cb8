/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * allocate --forecast: last week's arrivals are scaled, queue by queue and window by window, until
 * they need what the forecast's upper bound says.  An event is scaled as it is without a forecast.
 *
 * A stale forecast never shrinks production: when it is stale for a queue, and the plan has fewer
 * replicas of that queue in a window than the schedule file that is there, nothing is written.
 */
#pragma once

#include "broker/cli/forecasts.h"
#include "windows/allocate.h"

/* For model->scales; the caller frees it with mem_free(). */
double *allocate_forecast_scales(const struct forecasts *forecasts,
                                 const struct allocate_model *model);

/* Lines for the header of a window's file. */
void allocate_forecast_header(const struct forecasts *forecasts, const struct allocate_model *model,
                              size_t window, struct text *out);

/* Says on stderr which forecasts are stale.  ERROR_DENIED when a stale forecast would shrink what
 * stands in `folder`. */
int allocate_forecast_check(const struct forecasts *forecasts, const struct allocate_model *model,
                            const struct allocate_plan *plan, const char *folder, struct error *err)
    __attribute__((warn_unused_result));
