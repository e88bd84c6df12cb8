/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an occurrence of a window may need, from those that were over when day `origin` began: part
 * of windows/forecast.h.  Needs, and levels as logarithms of them.
 */
#pragma once

#include "windows/forecast.h"

/* The growth of a week as a logarithm (Theil-Sen over weeks); 0 while there are too few. */
double points_growth(const struct forecast_cell *cell, int64_t origin);

/* The need of the same weekday a week before, or of the last one that is known; failing that, of
   the window's last day.  0: there is none. */
double points_last_week(const struct forecast_cell *cell, int weekday, int64_t origin);

/* The need of such a weekday in the weeks before, on a damped trend; 0: there is none. */
double points_profile(const struct forecast_cell *cell, int weekday, int64_t day, int64_t origin);

/* By how much the queue's last days lay over their profiles; 0: they did not, or are not known. */
double points_level(const struct forecast *forecast, int64_t origin);

/* How much of that is left on `day`. */
double points_level_left(double level, int64_t day, int64_t origin);
