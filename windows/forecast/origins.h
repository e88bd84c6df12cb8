/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When the plans of a setup are made, past ones and the next one, and which days they cover: part
 * of windows/forecast/forecast.h.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"
#include "windows/forecast/points.h"

/* Days until a plan is made again. */
int origins_horizon(const struct forecast_setup *setup);

/* The plan that was in use for an occurrence, when plans are made until local day `end`. */
struct points_origin origins_of(const struct forecast_setup *setup,
                                const struct forecast_occurrence *item, int64_t end);

/* The plan that is made at the end of the demand. */
struct points_origin origins_now(const struct forecast_setup *setup);

/* The first moment at or after `wall` at which a stretch of any window of the week begins.  What
   lasts longer than a day is several stretches, a day each. */
struct wall_time origins_begin(const struct window_set *set, struct wall_time wall);

/* The beginning after that one. */
struct wall_time origins_next_begin(const struct window_set *set, struct wall_time begin);

/* From which moment on, and before which, the stretches lie that the plan of now is for. */
struct wall_time origins_from(const struct forecast_setup *setup);
struct wall_time origins_until(const struct forecast_setup *setup);
