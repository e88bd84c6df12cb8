/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The profile is a mean of logarithms, weighted by age, in which nothing counts for more than a
 * limit off the median: an outage says little of next week, and neither does a storm.  What a
 * weekday has of its own counts the more, the more of that weekday have been seen.
 */
#include "windows/points.h"

#include "windows/trend.h"

#include <math.h>
#include <string.h>

enum {
    WEEK_DAYS = 7,
    HISTORY_WEEKS = 16, /* longer ago says nothing */
    TREND_WEEKS = 4,    /* of history, for a trend */
    LEVEL_DAYS = 14,    /* longer ago says nothing of the level */
};

static const double growth_max = 0.13976194237515868; /* ln 1.15, a week */
static const double believed = 0.5;                   /* of the growth that was seen */
static const double damping = 0.8;                    /* of growth that has not been seen */
static const double half_life = 4;                    /* weeks, of what is known */
static const double weekday_prior = 3;                /* days, as much as which all days say */
static const double highest = 1.0986122886681098;     /* ln 3, over the median */
static const double lowest = 2.0794415416798357;      /* ln 8, under it */

static const double level_half_life = 1.5;          /* days */
static const double level_prior = 0.5;              /* days without a deviation */
static const double level_max = 0.6931471805599453; /* ln 2, of one day */
static const double level_left = 0.8;               /* a day later */

/* The occurrences that predict: known, and over when day `origin` begins. */
static bool is_before(const struct forecast_occurrence *item, int64_t origin)
{
    return item->is_known && item->last_day < origin &&
           item->day >= origin - WEEK_DAYS * HISTORY_WEEKS;
}

/* Whole weeks between an occurrence and the seven days after the origin: 0 for the last seven. */
static int64_t weeks_ago(const struct forecast_occurrence *item, int64_t origin)
{
    return (origin - 1 - item->day) / WEEK_DAYS;
}

/* From each week's mean. */
double points_growth(const struct forecast_cell *cell, int64_t origin)
{
    double sums[HISTORY_WEEKS] = { 0 };
    double counts[HISTORY_WEEKS] = { 0 };
    double x[HISTORY_WEEKS];
    size_t weeks = 0;

    for (size_t i = 0; i < cell->past.count; i++) {
        const struct forecast_occurrence *item = &cell->past.items[i];

        if (!is_before(item, origin))
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
    return fmin(fmax(trend_slope(x, sums, weeks), -growth_max), growth_max);
}

double points_last_week(const struct forecast_cell *cell, int weekday, int64_t origin)
{
    double other = 0;

    for (size_t i = cell->past.count; i-- > 0;) {
        const struct forecast_occurrence *item = &cell->past.items[i];

        if (!is_before(item, origin))
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

static double median_of(const struct profile *profile)
{
    double *copy = mem_new_array(2 * profile->count, sizeof *copy);
    double median;

    memcpy(copy, profile->values, profile->count * sizeof *copy);
    memcpy(copy + profile->count, profile->weights, profile->count * sizeof *copy);
    median = trend_median(copy, copy + profile->count, profile->count);
    mem_free(copy);
    return median;
}

/* The mean of all days, and of the weekday's distance from it as much as its days are worth. */
static double profile_mean(const struct profile *profile, int weekday)
{
    double median = median_of(profile);
    double sum = 0;
    double weight = 0;
    double own = 0;
    double own_weight = 0;
    double own_count = 0;

    for (size_t i = 0; i < profile->count; i++) {
        double value = fmin(fmax(profile->values[i], median - lowest), median + highest);

        sum += profile->weights[i] * value;
        weight += profile->weights[i];
        if (profile->weekdays[i] == weekday) {
            own += profile->weights[i] * value;
            own_weight += profile->weights[i];
            own_count++;
        }
    }
    if (own_count <= 0)
        return sum / weight;
    return sum / weight +
           (own / own_weight - sum / weight) * own_count / (own_count + weekday_prior);
}

double points_profile(const struct forecast_cell *cell, int weekday, int64_t day, int64_t origin)
{
    double growth = points_growth(cell, origin) * believed / WEEK_DAYS;
    struct profile profile = { mem_new_array(cell->past.count + 1, sizeof(double)),
                               mem_new_array(cell->past.count + 1, sizeof(double)),
                               mem_new_array(cell->past.count + 1, sizeof(int)), 0 };
    double point = 0;

    for (size_t i = 0; i < cell->past.count; i++) {
        const struct forecast_occurrence *item = &cell->past.items[i];
        double age = (double)(origin - 1 - item->day);

        if (!is_before(item, origin))
            continue;
        profile.values[profile.count] = log(item->need) + growth * age;
        profile.weekdays[profile.count] = item->weekday;
        profile.weights[profile.count++] = exp2(-age / WEEK_DAYS / half_life);
    }
    if (profile.count > 0)
        point = exp(profile_mean(&profile, weekday) +
                    growth * damping * (double)(day - origin + 1));
    mem_free(profile.values);
    mem_free(profile.weights);
    mem_free(profile.weekdays);
    return point;
}

double points_level(const struct forecast *forecast, int64_t origin)
{
    double sum = 0;
    double weights = level_prior;

    for (size_t cell = 0; cell < forecast->count; cell++)
        for (size_t i = forecast->cells[cell].past.count; i-- > 0;) {
            const struct forecast_occurrence *item = &forecast->cells[cell].past.items[i];
            double weight = exp2(-(double)(origin - 1 - item->day) / level_half_life);

            if (item->day < origin - LEVEL_DAYS)
                break;
            if (!is_before(item, origin) || !(item->profile > 0))
                continue;
            sum += weight * fmin(fmax(log(item->need / item->profile), -level_max), level_max);
            weights += weight;
        }
    return sum / weights;
}

double points_level_left(double level, int64_t day, int64_t origin)
{
    return level * pow(level_left, (double)(day - origin + 1));
}
