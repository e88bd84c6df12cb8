/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The variance of a queue's days, in logarithms of their needs: it gives the width of a bound while
 * no day has been scored yet.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"
#include "windows/forecast/points.h"

/* The known days at the origin, each compared with the mean of the window's other days of its kind
   (Monday to Friday, or the weekend).  The mean square; 0 and no days if nothing is known. */
double spread_of_days(const struct forecast *forecast, const struct points_origin *origin,
                      double *ret_days);
