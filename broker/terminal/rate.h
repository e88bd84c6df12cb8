/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A rate as people write it: 1.2/s, 70/m or 70/min, 4000/h, 90000/day.
 */
#pragma once

#include <stdbool.h>

/* The whole string, not negative; false for anything else. */
bool rate_parse(const char *text, double *ret_per_s);
