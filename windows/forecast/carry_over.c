/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See carry_over.h.
 */
#include "windows/forecast/carry_over.h"

#include <math.h>

enum {
    WEEK_DAYS = 7,
    LEAST_COUNT = 40, /* occurrences, before anything is carried over */
};

static const double furthest = 1; /* a rest: an outage or a storm counts as this */
static const double ridge = 2;    /* on the diagonal, as if so much had been seen of no effect */
static const double believed = 0.5;

static double limited(double value)
{
    return fmin(fmax(value, -furthest), furthest);
}

struct mean {
    double sum;
    double count;
};

static void add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->count++;
}

static double limited_mean(const struct mean *mean)
{
    return mean->count > 0 ? limited(mean->sum / mean->count) : 0;
}

struct carry_days carry_over_days(const struct forecast *forecast,
                                  const struct points_origin *origin)
{
    struct mean day = { 0 };
    struct mean week = { 0 };

    for (size_t cell = 0; cell < forecast->count; cell++)
        for (size_t i = forecast->cells[cell].past.count; i-- > 0;) {
            const struct forecast_occurrence *item = &forecast->cells[cell].past.items[i];

            if (item->day < origin->day - WEEK_DAYS)
                break;
            if (!points_is_known(item, origin) || !(item->profile > 0))
                continue;
            add(&week, log(item->need / item->profile));
            if (item->day == origin->day - 1)
                add(&day, log(item->need / item->profile));
        }
    return (struct carry_days){ limited_mean(&day), limited_mean(&week) };
}

double carry_over_tell(const struct carry_over *carry, const struct carry_days *days)
{
    double day_day = carry->day_day + ridge;
    double week_week = carry->week_week + ridge;
    double determinant = day_day * week_week - carry->day_week * carry->day_week;

    if (carry->count < LEAST_COUNT)
        return 0;
    return believed / determinant *
           (days->day * (week_week * carry->day_rest - carry->day_week * carry->week_rest) +
            days->week * (day_day * carry->week_rest - carry->day_week * carry->day_rest));
}

void carry_over_learn(struct carry_over *carry, const struct carry_days *days, double rest)
{
    rest = limited(rest);
    carry->day_day += days->day * days->day;
    carry->day_week += days->day * days->week;
    carry->week_week += days->week * days->week;
    carry->day_rest += days->day * rest;
    carry->week_rest += days->week * rest;
    carry->count++;
}
