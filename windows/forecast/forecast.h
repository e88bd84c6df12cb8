/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forecast: what capacity one queue will need in each window of the days that come, and a bound
 * that holds nine times in ten.  What is forecast is the need itself: the servers, in closed form
 * and with a fraction, with which each past occurrence of a window (one a day) met its target.
 *
 * Two methods predict it: `last-week`, the need of the same weekday a week before, and `profile`,
 * the mean of the weekday in the weeks before on a damped trend (windows/forecast/points.h), moved
 * by what the queue's last days, in all of its windows, lay over theirs, or with a `lead` its last
 * hours. All past days are predicted as if they had not been, each from the data before it and as
 * far ahead as a plan is used: for days
 * (`horizon`), or for one window, from what is known a `lead` before it begins.
 * The errors of all windows of the queue together make the bound (windows/forecast/conformal.h),
 * under a cap (windows/forecast/peak.h); of a short history its spread stands in for them
 * (windows/forecast/spread.h). The profile is in use unless bounds about last week had the smaller
 * loss.
 *
 * Holidays count as their other day, hours of events are left out, and an occurrence of which less
 * than nine tenths are known is missing: it is neither fitted nor scored.  What is unknown each
 * time in the same place (windows/forecast/habit.h) is no gap of one occurrence: need then speaks
 * of the rest, which has to be half of the window.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"

struct forecast *forecast_new(const struct forecast_setup *setup)
    __attribute__((returns_nonnull, warn_unused_result));
void forecast_free(struct forecast *forecast);

/* The three steps of forecast_new().  First the past days alone, with their needs: it takes most of
   the time, and is the same for all horizons and shares of misses. */
struct forecast *forecast_past(const struct forecast_setup *setup)
    __attribute__((returns_nonnull, warn_unused_result));

/* The predictions of past days and of the days ahead, again for each setup.  With a lead: of the
   next occurrence of each window, from all known data; if shared, of those that begin on `day`,
   from the data when that day was planned. */
void forecast_predict(struct forecast *forecast, const struct forecast_setup *setup);

/* Computes what depends on `upper`: the scale, and whether it is stale. */
void forecast_settle(struct forecast *forecast, const struct forecast_setup *setup);

/* Why a window has no forecast: `point`, `lower`, `upper`, `scale` and `growth` are then
   meaningless, and no attainment may be claimed for it. */
enum forecast_lack forecast_lack(const struct forecast_cell *cell);

static inline bool forecast_is_foretold(const struct forecast_cell *cell)
{
    return forecast_lack(cell) == FORECAST_FORETOLD;
}

/* Whether nine tenths of the window are usually known: the bound is of the window as a whole. */
bool forecast_is_whole(const struct forecast_cell *cell);

/* The same of a plan that scales the last seven days to `upper`. */
enum forecast_lack forecast_plan_lack(const struct forecast_cell *cell);

/* "unknown"; and a sentence with the reason and what to do about it, which ends without a stop. */
const char *forecast_lack_name(enum forecast_lack lack);
const char *forecast_lack_text(enum forecast_lack lack);

const char *forecast_method_name(enum forecast_method method);
const char *forecast_stale_name(enum forecast_stale stale); /* "" when fresh */

static inline void owned_forecast(struct forecast **forecast)
{
    forecast_free(*forecast);
}
