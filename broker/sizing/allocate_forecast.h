/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * allocate --forecast: last week's arrivals are scaled, queue by queue and window by window, until
 * they need what the forecast's upper bound says.  Events, and windows without a forecast, are
 * planned from last week's demand.
 *
 * A stale forecast never shrinks production: when it is stale for a queue, and the plan has fewer
 * replicas of that queue in a window than the schedule file that is there, nothing is written.  The
 * same holds if there is a bound that last week's arrivals cannot be scaled to: an exporter that
 * died may look like a week in which nothing arrived.
 */
#pragma once

#include "base/input/json.h"
#include "broker/sizing/forecasts.h"
#include "windows/allocation/allocate.h"

/* For model->scales; the caller frees it with mem_free(). */
double *allocate_forecast_scales(const struct forecasts *forecasts,
                                 const struct allocate_model *model);

/* With --follow a plan's bounds are those of plans made so long before the window: ERROR_INVALID if
   the demand of a planned window ends more than a step earlier. */
int allocate_forecast_is_near(const struct forecasts *forecasts, const struct allocate_model *model,
                              const struct forecasts_options *options, struct error *err)
    __attribute__((warn_unused_result));

/* Whether a queue has no forecast in some window of the week (events do not count).  The plan then
   does not hold the requested attainment. */
bool allocate_forecast_is_short(const struct forecasts *forecasts,
                                const struct allocate_model *model);

/* For the header of every file: what the arrivals were scaled to, and which were not. */
void allocate_forecast_claim(const struct forecasts *forecasts, const struct allocate_model *model,
                             const struct forecasts_options *options, struct text *out);

/* For people on stdout, and as JSON: horizon_days, attainment (null: none is asked for), and
 * not_planned. */
void allocate_forecast_print(const struct forecasts *forecasts, const struct allocate_model *model);
json_t *allocate_forecast_json(const struct forecasts *forecasts,
                               const struct allocate_model *model,
                               const struct forecasts_options *options)
    __attribute__((warn_unused_result));

/* Lines for the header of a window's file. */
void allocate_forecast_header(const struct forecasts *forecasts, const struct allocate_model *model,
                              size_t window, struct text *out);

/* Reports stale forecasts on stderr.  ERROR_DENIED when a stale forecast would shrink the schedules
 * in `folder`. */
int allocate_forecast_check(const struct forecasts *forecasts, const struct allocate_model *model,
                            const struct allocate_plan *plan, const char *folder, struct error *err)
    __attribute__((warn_unused_result));
