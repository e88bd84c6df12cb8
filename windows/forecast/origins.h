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

/* With a lead: when an occurrence that begins then is planned at first. */
struct wall_time origins_first(const struct forecast_setup *setup, struct wall_time begin);

/* The plan that is made at the end of the demand. */
struct points_origin origins_now(const struct forecast_setup *setup);

/* The first moment at or after `wall` at which a stretch of any window of the week begins.  What
   lasts longer than a day is several stretches, a day each. */
struct wall_time origins_begin(const struct window_set *set, struct wall_time wall);

/* The beginning after that one. */
struct wall_time origins_next_begin(const struct window_set *set, struct wall_time begin);

/* When the stretch of the window of this name began that is in force at `wall`, or the first one of
   that local day; of one that lasts for days, a day each.  0: another window is in force, or an
   event. */
struct wall_time origins_under_way(const struct window_set *set, const char *name,
                                   struct wall_time wall);

/* From which moment on, and before which, the stretches lie that the plan of now is for. */
struct wall_time origins_from(const struct forecast_setup *setup);
struct wall_time origins_until(const struct forecast_setup *setup);
