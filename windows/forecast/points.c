/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The profile is a mean of logarithms, weighted by age, in which nothing counts for more than a
 * limit off the median of its weekday: an outage says little of next week, and neither does a
 * storm.  What a weekday has of its own counts the more, the more of that weekday have been seen,
 * and the further weekdays lie apart compared with the days of one (Efron and Morris, "Data
 * analysis using Stein's estimator", 1975): a queue that runs on two nights a week is not an
 * average of all.
 */
#include "windows/forecast/points.h"

#include "windows/demand/trend.h"
#include "windows/forecast/forecast_parts.h"

#include <math.h>

enum {
    WEEK_DAYS = 7,
    HISTORY_WEEKS = 16, /* longer ago says nothing */
    TREND_WEEKS = 4,    /* of history, for a trend */
    SURE_WEEKS = 5,     /* for a steep one: the first and the last may lack days */
    MEDIAN_DAYS = 3,    /* of a weekday, to have a median of its own */
};

static const double growth_max = 0.13976194237515868; /* ln 1.15, a week */
static const double believed = 0.5;                   /* of the growth that was seen, */
static const double believed_sure = 0.9;              /* if it is sure */
static const double damping = 0.8;                    /* of growth that has not been seen */
static const double half_life = 4;                    /* weeks, of what is known */
static const double weekday_prior = 3;                /* days of a weekday: the weight of the mean
                                                         of all days, */
static const double weekday_least = 0.02; /* if its variance is unknown; otherwise from here */
static const double weekday_most = 6;
static const double noise = 0.2;       /* assumed standard deviation between days of one weekday */
static const double noise_freedom = 5; /* with the weight of so many days */
static const double highest = 1.0986122886681098; /* ln 3, over the median */
static const double lowest = 2.0794415416798357;  /* ln 8, under it */

bool points_is_known(const struct forecast_occurrence *item, const struct points_origin *origin)
{
    return item->is_known && item->end.ms <= origin->at.ms &&
           item->day >= origin->day - WEEK_DAYS * HISTORY_WEEKS;
}

int64_t points_age(const struct forecast_occurrence *item, const struct points_origin *origin)
{
    int64_t age = origin->day - 1 - item->day;

    return age > 0 ? age : 0;
}

/* Whole weeks between an occurrence and the seven days after the origin: 0 for the last seven. */
static int64_t weeks_ago(const struct forecast_occurrence *item, const struct points_origin *origin)
{
    return points_age(item, origin) / WEEK_DAYS;
}

/* The growth, from each week's mean.  Above `growth_max` it is sure: most weeks show it. */
double points_growth(const struct forecast_cell *cell, const struct points_origin *origin)
{
    double sums[HISTORY_WEEKS] = { 0 };
    double counts[HISTORY_WEEKS] = { 0 };
    double x[HISTORY_WEEKS];
    double most = growth_max;
    size_t weeks = 0;

    for (size_t i = 0; i < cell->past.count; i++) {
        const struct forecast_occurrence *item = &cell->past.items[i];

        if (!points_is_known(item, origin))
            continue;
        sums[weeks_ago(item, origin)] += log(item->need);
        counts[weeks_ago(item, origin)]++;
    }
    for (int week = 0; week < HISTORY_WEEKS; week++)
        if (counts[week] > 0) {
            x[weeks] = -week;
            sums[weeks++] = sums[week] / counts[week];
        }
    if (weeks < TREND_WEEKS)
        return 0;
    if (weeks >= SURE_WEEKS)
        most = fmax(most, fabs(trend_sure_slope(x, sums, weeks)));
    return fmin(fmax(trend_slope(x, sums, weeks), -most), most);
}

double points_last_week(const struct forecast_cell *cell, int weekday,
                        const struct points_origin *origin)
{
    double other = 0;

    for (size_t i = cell->past.count; i-- > 0;) {
        const struct forecast_occurrence *item = &cell->past.items[i];

        if (!points_is_known(item, origin))
            continue;
        if (item->weekday == weekday)
            return item->need;
        if (!(other > 0))
            other = item->need;
    }
    return other;
}

struct profile {
    double *values;
    double *weights;
    int *weekdays;
    size_t count;
};

/* The days of one weekday, or of all (-1). */
struct group {
    size_t count;
    double weight;
    double mean;
    double squares; /* about the mean, of equal weights */
};

static double median_of(const struct profile *profile, int weekday)
{
    double *copy = mem_new_array(2 * profile->count, sizeof *copy);
    size_t count = 0;
    double median;

    for (size_t i = 0; i < profile->count; i++)
        if (weekday < 0 || profile->weekdays[i] == weekday) {
            copy[count] = profile->values[i];
            copy[profile->count + count++] = profile->weights[i];
        }
    median = trend_median(copy, copy + profile->count, count);
    mem_free(copy);
    return median;
}

static struct group group_of(const struct profile *profile, int weekday)
{
    struct group group = { 0 };

    for (size_t i = 0; i < profile->count; i++)
        if (weekday < 0 || profile->weekdays[i] == weekday) {
            group.count++;
            group.weight += profile->weights[i];
            group.mean += profile->weights[i] * profile->values[i];
        }
    group.mean /= group.count > 0 ? group.weight : 1;
    for (size_t i = 0; i < profile->count; i++)
        if (weekday < 0 || profile->weekdays[i] == weekday)
            group.squares += (profile->values[i] - group.mean) * (profile->values[i] - group.mean);
    return group;
}

static void clip(struct profile *profile, int weekday, double median)
{
    for (size_t i = 0; i < profile->count; i++)
        if (weekday < 0 || profile->weekdays[i] == weekday)
            profile->values[i] = fmin(fmax(profile->values[i], median - lowest), median + highest);
}

/* Clipped around the median of its own weekday; with one or two days the outlier is unknown. */
static void clip_weekdays(struct profile *profile)
{
    for (int weekday = 0; weekday < WEEK_DAYS; weekday++)
        if (group_of(profile, weekday).count >= MEDIAN_DAYS)
            clip(profile, weekday, median_of(profile, weekday));
}

/* Empirical Bayes: the weight of the mean over all weekdays, in days, when a weekday's own mean is
   shrunk towards it. */
static double prior_of_weekdays(const struct profile *profile)
{
    double within = noise_freedom * noise * noise;
    double between = 0;
    double mean = 0;
    double groups = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int weekday = 0; weekday < WEEK_DAYS; weekday++) {
            struct group group = group_of(profile, weekday);

            if (group.count == 0)
                continue;
            if (pass == 0) {
                mean += group.mean;
                within += group.squares;
                groups++;
            } else {
                between += (group.mean - mean / groups) * (group.mean - mean / groups);
            }
        }
    if (groups < 2)
        return weekday_prior;
    within /= (double)profile->count - groups + noise_freedom;
    between = between / (groups - 1) - within * groups / (double)profile->count;
    return between > 0 ? fmin(fmax(within / between, weekday_least), weekday_most) : weekday_most;
}

/* The mean of all days, plus the weekday's distance from it, weighted by the number of its days. */
static double profile_mean(struct profile *profile, int weekday, unsigned without)
{
    double prior = weekday_prior;

    if (without & FORECAST_WEEKDAYS) {
        clip(profile, -1, median_of(profile, -1));
    } else {
        clip_weekdays(profile);
        prior = prior_of_weekdays(profile);
    }

    struct group all = group_of(profile, -1);
    struct group own = group_of(profile, weekday);

    if (own.count == 0)
        return all.mean;
    return all.mean + (own.mean - all.mean) * (double)own.count / ((double)own.count + prior);
}

double points_profile(const struct forecast_cell *cell, int weekday, int64_t day,
                      const struct points_origin *origin, unsigned without)
{
    double seen = points_growth(cell, origin);
    double growth = seen * (fabs(seen) > growth_max ? believed_sure : believed) / WEEK_DAYS;
    struct profile profile = { mem_new_array(cell->past.count + 1, sizeof(double)),
                               mem_new_array(cell->past.count + 1, sizeof(double)),
                               mem_new_array(cell->past.count + 1, sizeof(int)), 0 };
    double point = 0;

    for (size_t i = 0; i < cell->past.count; i++) {
        const struct forecast_occurrence *item = &cell->past.items[i];
        double age = (double)points_age(item, origin);

        if (!points_is_known(item, origin))
            continue;
        profile.values[profile.count] = log(item->need) + growth * age;
        profile.weekdays[profile.count] = item->weekday;
        profile.weights[profile.count++] = exp2(-age / WEEK_DAYS / half_life);
    }
    if (profile.count > 0)
        point = exp(profile_mean(&profile, weekday, without) +
                    growth * damping * (double)(day - origin->day + 1));
    mem_free(profile.values);
    mem_free(profile.weights);
    mem_free(profile.weekdays);
    return point;
}
