/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The predicted need of a window occurrence, from those that were over when day `origin` began:
 * part of windows/forecast/forecast.h.  Needs, and levels as logarithms of them.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"

/* The moment at which a plan was made. */
struct points_origin {
    int64_t day;         /* local: the first that was not over */
    struct wall_time at; /* its midnight; later where a plan is for one window only */
    bool is_late;        /* it is later: what the last hours brought counts most */
};

/* Whether the need of an occurrence was known then, and is recent enough. */
bool points_is_known(const struct forecast_occurrence *item, const struct points_origin *origin);

/* Whole days between it and the last day before the origin; 0 for a later one. */
int64_t points_age(const struct forecast_occurrence *item, const struct points_origin *origin);

/* The growth of a week as a logarithm (Theil-Sen over weeks); 0 while there are too few. */
double points_growth(const struct forecast_cell *cell, const struct points_origin *origin);

/* The need of the same weekday a week before, or of the last one that is known; failing that, of
   the window's last day.  0: there is none. */
double points_last_week(const struct forecast_cell *cell, int weekday,
                        const struct points_origin *origin);

/* The need of such a weekday in the weeks before, on a damped trend; 0: there is none.  `without`:
   parts (windows/forecast/forecast_parts.h). */
double points_profile(const struct forecast_cell *cell, int weekday, int64_t day,
                      const struct points_origin *origin, unsigned without);

/* By how much the queue's last windows were over their profiles, as a logarithm. */
struct points_level {
    double value;    /* 0: they did not, or are not known */
    double left;     /* part of it on the origin's day; as much of that each day later */
    bool is_shift;   /* each of the last ones lay over what noise explains: it stays */
    bool is_lasting; /* of hours: what one lay over its profile, those four hours later do, too */
};

/* For a plan of so many days. */
struct points_level points_level(const struct forecast *forecast,
                                 const struct points_origin *origin, int planned, unsigned without);

/* How much of that is left on `day`. */
double points_level_left(const struct points_level *level, int64_t day,
                         const struct points_origin *origin);
