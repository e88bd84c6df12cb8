/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plan was made for, as the file beside its schedules (windows/forecast/forecast_file.h).
 *
 * A forecast is computed in closed form; the plan's own search then finds the replicas that its
 * bound needs.  The record has the prediction times what the search found over what the closed form
 * said, so that prediction, bound and schedule are in the same unit.
 */
#pragma once

#include "broker/sizing/forecasts.h"
#include "windows/allocation/allocate.h"
#include "windows/forecast/forecast_file.h"

struct forecast_record {
    const struct allocate_model *model;
    const struct allocate_plan *plan;
    const struct forecasts *forecasts; /* NULL: planned for last week's demand */
    const struct forecasts_options *options;
    const struct forecast_file *before; /* NULL, or where windows come from that are not planned */
};

/* In the order of the configuration's windows; an event that is over has none. */
struct forecast_file *forecast_record_make(const struct forecast_record *record)
    __attribute__((returns_nonnull, warn_unused_result));
