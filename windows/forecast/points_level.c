/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The level of a queue's last days, over their profiles: a fading mean of what each window lay over
 * its own.  A plan that follows the day has the level of the last hours (level_filter.h).
 *
 * Three rules override it.  If each of the last two days (for a plan of several) or hours lay so
 * far over its profile that noise does not explain it, the level has shifted, and their mean does
 * not fade.  Hours of less than half of their profile are an outage, which ends at once: they do
 * not count for the hours to come.  And one quiet day is a holiday or an outage before it is a new
 * level: the days after it are planned lower only when two days agree.
 */
#include "windows/forecast/forecast_parts.h"
#include "windows/forecast/level_filter.h"
#include "windows/forecast/points.h"

#include <math.h>
#include <stdlib.h>

enum {
    LEVEL_DAYS = 14,  /* longer ago says nothing of the level */
    SHIFTED = 2,      /* last hours or days, */
    NOISE_HOURS = 72, /* of so many at least, to know what noise is */
    NOISE_DAYS = 7,
    AHEAD_HOURS = 2, /* from a plan until its window is in force */
};

static const double most = 0.6931471805599453; /* ln 2, of one window or hour */
static const double shift_deviations = 3;
static const double noise_least = 0.04;
static const double usual_least = 0.15;           /* of the mean day */
static const double deviation_of_median = 1.4826; /* of the normal law's distances */

/* The decay of the last days' level. */
static const double half_life = 1.5; /* days */
static const double prior = 0.5;     /* of them, without a deviation */
static const double left = 0.8;      /* a day later */

/* What a window or an hour lay over its profile. */
struct rest {
    int64_t end_ms;
    int64_t day;
    double profile;
    double value;
    double weight;
};

struct rests {
    ARRAY(struct rest) list; /* in the order of their ends */
};

static int compare_ends(const void *a, const void *b)
{
    const struct rest *first = a;
    const struct rest *second = b;

    if (first->end_ms != second->end_ms)
        return first->end_ms < second->end_ms ? -1 : 1;
    return first->value < second->value ? -1 : first->value > second->value;
}

/* Lists the known differences from the profiles, with weights that fade by days. */
static void list_rests(const struct forecast *forecast, const struct points_origin *origin,
                       struct rests *out)
{
    for (size_t cell = 0; cell < forecast->count; cell++)
        for (size_t i = forecast->cells[cell].past.count; i-- > 0;) {
            const struct forecast_occurrence *item = &forecast->cells[cell].past.items[i];

            if (item->day < origin->day - LEVEL_DAYS)
                break;
            if (!points_is_known(item, origin) || !(item->profile > 0))
                continue;
            *array_add(&out->list) = (struct rest){
                item->end.ms,
                item->day,
                item->profile,
                log(item->need / item->profile),
                exp2(-(double)points_age(item, origin) / half_life),
            };
        }
    if (out->list.count > 0)
        qsort(out->list.items, out->list.count, sizeof *out->list.items, compare_ends);
}

/* An hour with little expected load has little weight for one with much. */
static void weigh_hours(struct rests *rests)
{
    double sum = 0;

    for (size_t i = 0; i < rests->list.count; i++)
        sum += rests->list.items[i].profile;
    for (size_t i = 0; i < rests->list.count; i++) {
        struct rest *rest = &rests->list.items[i];

        rest->weight = rest->value < -most
                           ? 0
                           : fmin(1, rest->profile * (double)rests->list.count / sum);
    }
}

static double limited(double value)
{
    return fmin(fmax(value, -most), most);
}

static double mean_level(const struct rests *rests)
{
    double sum = 0;
    double weights = prior;

    for (size_t i = 0; i < rests->list.count; i++) {
        const struct rest *rest = &rests->list.items[i];

        sum += rest->weight * limited(rest->value);
        weights += rest->weight;
    }
    return sum / weights;
}

static struct points_level level_of_hours(struct rests *rests, const struct points_origin *origin)
{
    struct level_sample *samples = mem_new_array(rests->list.count, sizeof *samples);
    struct level_filter filter;

    weigh_hours(rests);
    for (size_t i = 0; i < rests->list.count; i++) {
        const struct rest *rest = &rests->list.items[i];

        samples[i] = (struct level_sample){ rest->end_ms, limited(rest->value), rest->weight };
    }
    filter = level_filter(samples, rests->list.count, origin->at.ms);
    mem_free(samples);
    return (struct points_level){ .value = filter.value,
                                  .left = pow(filter.left, AHEAD_HOURS),
                                  .is_lasting = filter.persistence >= LEVEL_LASTS };
}

static int compare_doubles(const void *a, const void *b)
{
    const double *first = a;
    const double *second = b;

    return *first < *second ? -1 : *first > *second;
}

/* The noise of most hours, by the median of their distances: a shift itself is no noise. */
static double noise_of(const struct rests *rests)
{
    size_t count = rests->list.count;
    double *distances = mem_new_array(count, sizeof *distances);
    double median;

    for (size_t i = 0; i < count; i++)
        distances[i] = fabs(rests->list.items[i].value);
    qsort(distances, count, sizeof *distances, compare_doubles);
    median = distances[count / 2];
    mem_free(distances);
    return fmax(deviation_of_median * median, noise_least);
}

/* The mean of the last ones of so many at least, if each of them is above the noise; 0: there is no
   shift. */
static double shift_of(const struct rests *rests, size_t least_count)
{
    size_t count = rests->list.count;
    double least = HUGE_VAL;
    double sum = 0;

    if (count < least_count)
        return 0;
    for (size_t i = count - SHIFTED; i < count; i++) {
        least = fmin(least, rests->list.items[i].value);
        sum += rests->list.items[i].value;
    }
    return least > shift_deviations * noise_of(rests) ? sum / SHIFTED : 0;
}

/* The mean of each day, and the sum of its profiles. */
static void list_days(const struct rests *rests, struct rests *out)
{
    const struct rest *items = rests->list.items;

    for (size_t from = 0, next; from < rests->list.count; from = next) {
        struct rest day = items[from];

        for (next = from + 1; next < rests->list.count && items[next].day == day.day; next++) {
            day.value += items[next].value;
            day.profile += items[next].profile;
        }
        day.value /= (double)(next - from);
        *array_add(&out->list) = day;
    }
}

/* A level below zero counts only as far as the last two days agree: the higher of them limits it.
   With a single day it is 0. */
static double agreed(const struct rests *days, double level)
{
    const struct rest *items = days->list.items;
    size_t count = days->list.count;

    return count > 1 ? fmin(0, fmax(level, fmax(items[count - 1].value, items[count - 2].value)))
                     : 0;
}

/* Today's first windows say nothing of a holiday. */
static bool is_today(const struct rests *days, const struct points_origin *origin)
{
    size_t count = days->list.count;

    return count > 0 && days->list.items[count - 1].day >= origin->day;
}

/* Weekends on which hardly anything is expected tell nothing of Monday, and neither do days before
   a gap. */
static bool are_telling(const struct rests *days, const struct points_origin *origin)
{
    size_t count = days->list.count;
    double sum = 0;
    double least = HUGE_VAL;

    if (count < SHIFTED || days->list.items[count - SHIFTED].day < origin->day - SHIFTED)
        return false;
    for (size_t i = 0; i < count; i++) {
        sum += days->list.items[i].profile;
        if (i + SHIFTED >= count)
            least = fmin(least, days->list.items[i].profile);
    }
    return least * (double)count >= usual_least * sum;
}

/* A plan for one day is mended the next night, and then its misses have widened its bounds: it
   needs no such rule.  Weekdays soon take a shift into their profiles, and it would leave weekends
   too low. */
static double shift_of_days(const struct rests *days, const struct points_origin *origin,
                            int planned)
{
    return planned > 1 && are_telling(days, origin) ? shift_of(days, NOISE_DAYS) : 0;
}

struct points_level points_level(const struct forecast *forecast,
                                 const struct points_origin *origin, int planned, unsigned without)
{
    bool is_late = origin->is_late;
    struct points_level level = { .left = left };
    struct rests rests = { 0 };
    struct rests days = { 0 };
    double shift;

    list_rests(is_late ? forecast->hours : forecast, origin, &rests);
    list_days(&rests, &days);
    if (is_late)
        level = level_of_hours(&rests, origin);
    else
        level.value = mean_level(&rests);
    if ((without & FORECAST_LEVEL_SHIFT) == 0) {
        shift = is_late ? shift_of(&rests, NOISE_HOURS) : shift_of_days(&days, origin, planned);
        level.is_shift = shift > fmax(level.value, 0);
        if (level.is_shift)
            level.value = shift;
        else if (level.value < 0 && !is_today(&days, origin))
            level.value = agreed(&days, level.value);
    }
    array_clear(&rests.list);
    array_clear(&days.list);
    return level;
}

double points_level_left(const struct points_level *level, int64_t day,
                         const struct points_origin *origin)
{
    if (level->is_shift)
        return level->value;
    return level->value * pow(level->left, (double)(day - origin->day + 1));
}
