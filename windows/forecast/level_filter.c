/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Correlations are about zero, the mean that profiles promise, and not about the mean of the hours:
 * a level that has shifted is a level.  The unit of variance cancels, so it is 1.
 */
#include "windows/forecast/level_filter.h"

#include "base/timestamp.h"

#include <math.h>

enum {
    NEAR_HOURS = 1,
    FAR_HOURS = 4,
    PRIOR_PAIRS = 72, /* of hours, with the correlations that are taken for granted: */
};

static const double prior_near = 0.6;
static const double prior_far = 0.5;
static const double left_least = 0.5;
static const double left_most = 0.99; /* a half is left after 69 hours */
static const double share_most = 0.9; /* of the variance that is the level's */

static int64_t hours_between(const struct level_sample *first, const struct level_sample *second)
{
    return (second->end_ms - first->end_ms + HOUR_MS / 2) / HOUR_MS;
}

/* The correlation of samples that lie so many hours apart. */
static double correlation(const struct level_sample *samples, size_t count, int hours, double prior)
{
    double products = 0;
    double squares = 0;
    double pairs = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = i; k-- > 0 && hours_between(&samples[k], &samples[i]) <= hours;) {
            double earlier = samples[k].value;
            double later = samples[i].value;

            if (hours_between(&samples[k], &samples[i]) < hours || !(samples[i].weight > 0) ||
                !(samples[k].weight > 0))
                continue;
            products += earlier * later;
            squares += (earlier * earlier + later * later) / 2;
            pairs++;
        }
    if (!(squares > 0))
        return prior;
    return (pairs * products / squares + PRIOR_PAIRS * prior) / (pairs + PRIOR_PAIRS);
}

struct level_filter level_filter(const struct level_sample *samples, size_t count, int64_t at_ms)
{
    double near = fmax(correlation(samples, count, NEAR_HOURS, prior_near), 0);
    double far = fmax(correlation(samples, count, FAR_HOURS, prior_far), 0);
    double left = near > 0 ? pow(far / near, 1. / (FAR_HOURS - NEAR_HOURS)) : 0;
    struct level_filter level = { .left = fmin(fmax(left, left_least), left_most),
                                  .persistence = far };
    double share = fmin(near / level.left, share_most);
    double variance = share; /* of the level, as far as it is known */

    for (size_t i = 0; i < count; i++) {
        int64_t since = i > 0 ? samples[i].end_ms - samples[i - 1].end_ms : 0;
        double kept = pow(level.left, (double)since / HOUR_MS);
        double gain;

        level.value *= kept;
        variance = share + kept * kept * (variance - share);
        if (!(samples[i].weight > 0) || !(share > 0))
            continue;
        gain = variance / (variance + (1 - share) / samples[i].weight);
        level.value += gain * (samples[i].value - level.value);
        variance *= 1 - gain;
    }
    if (count > 0)
        level.value *= pow(level.left, (double)(at_ms - samples[count - 1].end_ms) / HOUR_MS);
    return level;
}
