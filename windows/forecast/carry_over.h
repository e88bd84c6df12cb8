/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How much of what the last days lay over their profiles the next day will lie over its
 * prediction, too.  Each queue has its own answer: where days are drawn anew each time it is none
 * of it, and after a launch all of it.  So a ridge regression learns it from the queue's past
 * nights, and half of what it says counts: the mean of two predictions, with it and without it.
 */
#pragma once

#include "windows/forecast/forecast_cell.h"
#include "windows/forecast/points.h"

/* By how much the queue's windows lay over their profiles, as logarithms: means of all. */
struct carry_days {
    double day;  /* of the last day before the origin; 0: nothing is known of it */
    double week; /* of the last seven days */
};

/* Sums over past occurrences. */
struct carry_over {
    double day_day;
    double day_week;
    double week_week;
    double day_rest;
    double week_rest;
    size_t count;
};

struct carry_days carry_over_days(const struct forecast *forecast,
                                  const struct points_origin *origin);

/* What is to be added to a prediction that is made after such days, as a logarithm; 0 while too few
   occurrences are known. */
double carry_over_tell(const struct carry_over *carry, const struct carry_days *days);

/* After such days an occurrence lay by `rest` over its prediction without this. */
void carry_over_learn(struct carry_over *carry, const struct carry_days *days, double rest);
