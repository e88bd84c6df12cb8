/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Why a window has no forecast: part of windows/forecast/forecast.h.
 */
#include "windows/forecast/forecast.h"

static const double whole_share = 0.9; /* of a window, as of each of its days */

enum forecast_lack forecast_lack(const struct forecast_cell *cell)
{
    size_t known = 0;

    if (cell->point > 0)
        return FORECAST_FORETOLD;
    for (size_t i = 0; i < cell->past.count; i++)
        known += cell->past.items[i].is_known;
    if (cell->past.count == 0)
        return FORECAST_NO_DAYS;
    if (known > 0)
        return FORECAST_NOT_NEAR;
    return cell->idle > 0 ? FORECAST_IDLE : FORECAST_UNKNOWN;
}

bool forecast_is_whole(const struct forecast_cell *cell)
{
    return cell->usually_known >= whole_share;
}

enum forecast_lack forecast_plan_lack(const struct forecast_cell *cell)
{
    enum forecast_lack lack = forecast_lack(cell);

    if (lack == FORECAST_FORETOLD && !cell->is_scaled)
        return FORECAST_NO_SHAPE;
    return lack == FORECAST_FORETOLD && !forecast_is_whole(cell) ? FORECAST_PARTLY : lack;
}

static const struct {
    const char *name;
    const char *text;
} lacks[] = {
    [FORECAST_FORETOLD] = { "", "" },
    [FORECAST_NO_DAYS] = { "no-days", "the demand has no day of it: give a longer history" },
    [FORECAST_UNKNOWN] = { "unknown",
                           "over half of each of its days is unknown, or over a tenth at "
                           "changing times: fill the gaps, or give --missing zero if a step "
                           "without a row means that nothing arrived" },
    [FORECAST_IDLE] = { "idle", "nothing arrived on any of its known days" },
    [FORECAST_NOT_NEAR] = { "not-near", "none of its days lies within a week, or those that are "
                                        "known are over 16 weeks old: give newer demand" },
    [FORECAST_NO_SHAPE] = { "no-shape", "too little arrived in the last seven days to be scaled to "
                                        "its bound: give newer demand" },
    [FORECAST_PARTLY] = { "partly-known", "over a tenth of it is unknown each time, and the plan "
                                          "is for the rest: fill the gaps, or give --missing zero "
                                          "if a step without a row means that nothing arrived" },
};

const char *forecast_lack_name(enum forecast_lack lack)
{
    return lacks[lack].name;
}

const char *forecast_lack_text(enum forecast_lack lack)
{
    return lacks[lack].text;
}
