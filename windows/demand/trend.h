/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Estimates that a few wild values cannot move.
 */
#pragma once

#include <stddef.h>

/* The median of the slopes between all pairs of points with different x; 0 for none. */
double trend_slope(const double *x, const double *y, size_t count);

/* The slope that three quarters of them reach or exceed; 0: fewer have one sign. */
double trend_sure_slope(const double *x, const double *y, size_t count);

/* The least value such that it and all below it have half of the weight.  Reorders both. */
double trend_median(double *values, double *weights, size_t count);
