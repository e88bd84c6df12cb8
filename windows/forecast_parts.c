/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See forecast_parts.h.
 */
#include "windows/forecast_parts.h"

#include "base/text.h"

/* clang-format off */
const struct forecast_part_row forecast_parts[] = {
    { FORECAST_WEEKDAYS, "weekdays",
      "what a weekday has of its own counts as its distance stands out of the noise" },
    { FORECAST_SHORT_HISTORY, "short-history",
      "while few days were predicted, those that were only seen tell how far days lie apart" },
    { FORECAST_CAP, "cap",
      "no bound is much over what the queue ever needed" },
    { FORECAST_LEVEL_SHIFT, "level-shift",
      "no cap while days go on passing all that were before, nor just over what is foretold" },
    { 0 },
};
/* clang-format on */

unsigned forecast_part_find(const char *name)
{
    for (const struct forecast_part_row *row = forecast_parts; row->name; row++)
        if (text_equal(row->name, name))
            return row->part;
    return 0;
}
