/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of what a forecast consists of beside its profile: parts that can be left out, to see
 * what each is worth (`sluice backtest --without`).
 */
#pragma once

enum forecast_part {
    FORECAST_WEEKDAYS = 1 << 0,
    FORECAST_SHORT_HISTORY = 1 << 1,
    FORECAST_CAP = 1 << 2,
    FORECAST_LEVEL_SHIFT = 1 << 3,
    FORECAST_WINDOW_SCALE = 1 << 4,
    FORECAST_AGAIN = 1 << 5,
    FORECAST_CARRY_OVER = 1 << 6,
};

struct forecast_part_row {
    enum forecast_part part;
    const char *name;
    const char *meaning; /* one line */
};

extern const struct forecast_part_row forecast_parts[]; /* ends with an empty row */
