/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cap: no plan holds much more than the greatest need of a queue so far, over all its windows.
 * It matters if the history is short and bounds are wide.
 *
 * The cap itself is missed on days that exceed all earlier days by more than the margin.  So it
 * applies unchanged only to bounds that may be missed as often as that.  For safer bounds it rises
 * with the square root of the ratio (as records of a distribution with a power-law tail of exponent
 * two do).  If three of the last seven days were records, the level shifts or grows, and there is
 * no cap.
 */
#pragma once

#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>

struct peak_day {
    int64_t day;
    double need; /* the most of its windows */
};

struct peak {
    ARRAY(struct peak_day) days; /* in their order */
};

/* What is known of records when a plan is made. */
struct peak_cap {
    double servers; /* 0: there is no cap */
    double missed;  /* the share of days that pass it */
};

void peak_clear(struct peak *peak);

/* A window of that day needed so much. */
void peak_add(struct peak *peak, int64_t day, double need);

/* On day `origin`, on its morning or later; `gives_way`: no cap while days keep setting records. */
struct peak_cap peak_look(const struct peak *peak, int64_t origin, bool gives_way);

/* The most that a bound may be that a share `misses` of days may miss. */
double peak_most(const struct peak_cap *cap, double misses);
