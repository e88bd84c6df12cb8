/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See forecast_parts.h.
 */
#include "windows/forecast/forecast_parts.h"

/* clang-format off */
const struct forecast_part_row forecast_parts[] = {
    { FORECAST_WEEKDAYS, "weekdays",
      "what a weekday has of its own counts as its distance stands out of the noise" },
    { FORECAST_SHORT_HISTORY, "short-history",
      "while few days were predicted, those that were only seen tell how far days lie apart" },
    { FORECAST_CAP, "cap",
      "no bound is much over what the queue ever needed" },
    { FORECAST_LEVEL_SHIFT, "level-shift",
      "shifts upwards are followed at once, downwards when two days agree, and no cap is in their way" },
    { FORECAST_WINDOW_SCALE, "window-scale",
      "a window whose days differ more than those of others has the wider bound" },
    { FORECAST_AGAIN, "again",
      "a plan that follows the day looks at a window again, each hour while it is in force" },
    { FORECAST_CARRY_OVER, "carry-over",
      "what the last days lay over their profiles counts for the next day as far as it did so far" },
    { 0 },
};
/* clang-format on */
