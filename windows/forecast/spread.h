/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How far apart a queue's days lie, in logarithms of what they needed: what tells how wide a bound
 * has to be while no day has been scored yet.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"
#include "windows/forecast/points.h"

/* The known days at the origin, each compared with the mean of the window's other days of its kind
   (Monday to Friday, or the weekend).  The mean square; 0 and no days if nothing is known. */
double spread_of_days(const struct forecast *forecast, const struct points_origin *origin,
                      double *ret_days);
