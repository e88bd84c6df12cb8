/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The accuracy of the bound on past days: part of windows/forecast/forecast.h.
 */
#include "windows/forecast/forecast_score.h"

double forecast_pinball(double misses, double truth, double bound)
{
    return truth > bound ? (1 - misses) * (truth - bound) : misses * (bound - truth);
}

void forecast_score_keep(struct forecast_score *score, const struct forecast_occurrence *item,
                         double misses)
{
    double last = item->points[FORECAST_LAST_WEEK];
    double bound = item->bounds[item->method];
    bool is_covered = item->need <= bound;

    score->scored++;
    score->covered += is_covered;
    score->bases[item->basis]++;
    score->bases_covered[item->basis] += is_covered;
    score->loss += forecast_pinball(misses, item->need, bound);
    score->last_week_loss += forecast_pinball(misses, item->need, last);
    score->last_week_10_loss += forecast_pinball(misses, item->need, last * 1.1);
    score->needs += item->need;
    score->bounds += bound;
}

void forecast_score_add(struct forecast_score *sum, const struct forecast_score *more)
{
    sum->scored += more->scored;
    sum->covered += more->covered;
    for (int basis = 0; basis < CONFORMAL_BASES; basis++) {
        sum->bases[basis] += more->bases[basis];
        sum->bases_covered[basis] += more->bases_covered[basis];
    }
    sum->loss += more->loss;
    sum->last_week_loss += more->last_week_loss;
    sum->last_week_10_loss += more->last_week_10_loss;
    sum->needs += more->needs;
    sum->bounds += more->bounds;
}
