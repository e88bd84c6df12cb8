/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Distances are means over the hours, weighted by how busy they are, of differences that are cut
 * off: what one hour does says little.  Before a day is compared, the level of the week before or
 * after it is taken away, whichever makes it less odd.
 */
#include "windows/calendar/odd_days.h"

#include "windows/demand/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HOURS = 24,
    WEEK_DAYS = 7,
    SATURDAY = 5,
    REACH_DAYS = 28, /* to both sides, of what is usual */
    OWN_MIN = 3,     /* days of its weekday */
    OTHER_MIN = 2,   /* of another */
    HOURS_MIN = 20,  /* that are known of a day */
    DAYS_MIN = 21,   /* of a queue, before anything is said */
    RUN_MAX = 4,     /* more in a row are a change, no holidays */
    LEVEL_DAYS = 7,
};

static const double cut = 1.0;          /* of an hour's difference, as a logarithm */
static const double floor_share = 0.05; /* of the mean hour, added before the logarithm:
                                           few arrivals then differ little from none */
static const double far_times = 2.5;    /* times the usual distance of days */
static const double far_min = 0.2;
static const double near_times = 1.5;
static const double near_min = 0.08;
static const double near_part = 0.5;   /* of the distance from its own weekday */
static const double shape_part = 0.75; /* of the distance from its own weekday, levels apart */
static const double level_times = 4;   /* the deviation of days' levels, for a factor */
static const double level_min = 0.25;  /* as a logarithm */
static const double factor_max = 1.9;  /* as a logarithm: beyond it something was broken */

struct day {
    int64_t day;
    int weekday; /* as which it counts */
    bool is_usable;
    bool is_candidate; /* the calendar says nothing of it */
    double hours[HOURS];
    double usual[HOURS]; /* of its own weekday */
    double busy[HOURS];  /* weights */
    bool has_usual;
    double level;    /* its median over what is usual */
    double distance; /* from what is usual, with the level of its neighbours */
    int as;          /* -1: none */
    double factor;   /* 0: not odd */
    bool is_far;     /* from what is usual, whatever it is like */
    bool is_suspect; /* was far off in the first pass: does not count for the usual values */
};

struct calendar_days {
    struct day *items;
    size_t count;
    double total; /* arrivals */
};

static int compare_doubles(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return (*left > *right) - (*left < *right);
}

/* Reorders them. */
static double middle_of(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Counts the hours of each local day; those that are not known by half are NaN. */
static void count_hours(const struct demand_series *series, const struct window_set *set,
                        struct calendar_days *days)
{
    double(*known)[HOURS] = mem_new_array(days->count, sizeof *known);
    double steps_an_hour = (double)HOUR_MS / (double)series->step_ms;

    for (size_t step = 0; step < series->count; step++) {
        struct local_time local = time_zone_local(set->zone, demand_time(series, step));
        int64_t number = civil_day(local.date.year, local.date.month, local.date.day);
        size_t at = (size_t)(number - days->items[0].day);
        size_t hour = (size_t)local.minute_of_day / 60;
        double arrivals;

        if (!demand_is_known(series, step))
            continue;
        arrivals = demand_at(series, DEMAND_HIGH, step) +
                   (double)demand_at(series, DEMAND_LOW, step);
        days->items[at].hours[hour] += arrivals;
        days->total += arrivals;
        known[at][hour]++;
    }
    for (size_t i = 0; i < days->count; i++)
        for (size_t hour = 0; hour < HOURS; hour++)
            days->items[i].hours[hour] = known[i][hour] * 2 >= steps_an_hour
                                             ? days->items[i].hours[hour] * steps_an_hour /
                                                   known[i][hour]
                                             : NAN;
    mem_free(known);
}

static void take_logarithms(struct calendar_days *days)
{
    double sum = 0;
    double count = 0;

    for (size_t i = 0; i < days->count; i++)
        for (size_t hour = 0; hour < HOURS; hour++)
            if (!isnan(days->items[i].hours[hour])) {
                sum += days->items[i].hours[hour];
                count++;
            }
    for (size_t i = 0; i < days->count; i++) {
        struct day *day = &days->items[i];
        int found = 0;

        for (size_t hour = 0; hour < HOURS; hour++) {
            found += !isnan(day->hours[hour]);
            day->hours[hour] = log(day->hours[hour] + floor_share * sum / count + 1);
        }
        day->is_usable = day->is_usable && found >= HOURS_MIN;
    }
}

static void days_init(struct calendar_days *days, const struct demand_series *series,
                      const struct window_set *set)
{
    struct local_time first = time_zone_local(set->zone, series->start);
    struct local_time last = time_zone_local(set->zone, demand_time(series, series->count - 1));
    int64_t day = civil_day(first.date.year, first.date.month, first.date.day);
    int64_t end = civil_day(last.date.year, last.date.month, last.date.day);

    *days = (struct calendar_days){ .count = (size_t)(end - day + 1) };
    days->items = mem_new_array(days->count, sizeof *days->items);
    for (size_t i = 0; i < days->count; i++) {
        struct day *item = &days->items[i];
        struct wall_time noon;

        item->day = day + (int64_t)i;
        item->as = -1;
        noon = time_zone_wall(set->zone, civil_date_of_day(item->day), HOURS * 60 / 2);
        item->weekday = window_week_minute(set, noon) / (HOURS * 60);
        item->is_usable = !window_at(set, noon)->event;
        item->is_candidate = !window_holiday(set, item->day);
    }
    count_hours(series, set, days);
    take_logarithms(days);
}

/* The usual profile of a weekday around day `at`, without that day; false: too few days. */
static bool usual_of(const struct calendar_days *days, size_t at, int weekday, size_t least,
                     double ret[HOURS])
{
    size_t first = at > REACH_DAYS ? at - REACH_DAYS : 0;
    double values[2 * REACH_DAYS + 1];

    for (size_t hour = 0; hour < HOURS; hour++) {
        size_t count = 0;

        for (size_t i = first; i < days->count && i <= at + REACH_DAYS; i++) {
            const struct day *day = &days->items[i];

            if (i != at && day->is_usable && !day->is_suspect && day->weekday == weekday &&
                !isnan(day->hours[hour]))
                values[count++] = day->hours[hour];
        }
        if (count < least)
            return false;
        ret[hour] = middle_of(values, count);
    }
    return true;
}

/* The median of the hours' differences, each as often as it is busy. */
static double level_over(const struct day *day, const double usual[HOURS])
{
    double values[HOURS];
    double weights[HOURS];
    size_t count = 0;

    for (size_t hour = 0; hour < HOURS; hour++)
        if (!isnan(day->hours[hour])) {
            values[count] = day->hours[hour] - usual[hour];
            weights[count++] = day->busy[hour];
        }
    return trend_median(values, weights, count);
}

static double distance_from(const struct day *day, const double usual[HOURS], double level)
{
    double sum = 0;
    double weights = 0;

    for (size_t hour = 0; hour < HOURS; hour++)
        if (!isnan(day->hours[hour])) {
            sum += day->busy[hour] * fmin(fabs(day->hours[hour] - usual[hour] - level), cut);
            weights += day->busy[hour];
        }
    return sum / weights;
}

static void find_usual(struct calendar_days *days, size_t at, size_t least)
{
    struct day *day = &days->items[at];

    day->has_usual = day->is_usable && usual_of(days, at, day->weekday, least, day->usual);
    if (!day->has_usual)
        return;
    for (size_t hour = 0; hour < HOURS; hour++)
        day->busy[hour] = exp(day->usual[hour] / 2);
    day->level = level_over(day, day->usual);
}

/* The median level of the week before a day or after it; false: no known day. */
static bool neighbours_level(const struct calendar_days *days, size_t at, int direction,
                             double *ret_level)
{
    double values[LEVEL_DAYS];
    size_t count = 0;

    for (int i = 1; i <= LEVEL_DAYS; i++) {
        int64_t other = (int64_t)at + direction * i;

        if (other < 0 || other >= (int64_t)days->count || !days->items[other].has_usual ||
            days->items[other].is_suspect)
            continue;
        values[count++] = days->items[other].level;
    }
    *ret_level = middle_of(values, count);
    return count > 0;
}

/* The smaller of the distances with the levels on both sides. */
static double least_distance(const struct day *day, const double usual[HOURS],
                             const double levels[2])
{
    return fmin(distance_from(day, usual, levels[0]), distance_from(day, usual, levels[1]));
}

/* The usual variation of days: their distance from their weekday, and their levels. */
struct spread {
    double distance;
    double level;
};

static struct spread spread_of(const struct calendar_days *days)
{
    double *distances = mem_new_array(days->count, sizeof *distances);
    double *levels = mem_new_array(days->count, sizeof *levels);
    struct spread spread;
    size_t count = 0;

    for (size_t i = 0; i < days->count; i++)
        if (days->items[i].has_usual) {
            distances[count] = days->items[i].distance;
            levels[count++] = fabs(days->items[i].level);
        }
    spread.distance = middle_of(distances, count);
    spread.level = 1.4826 * middle_of(levels, count);
    mem_free(distances);
    mem_free(levels);
    return spread;
}

/* Whether the shape alone proves it, or else the level is far from all usual levels. */
static bool is_shaped_like(const struct day *day, const double usual[HOURS],
                           const struct spread *spread, double over)
{
    return distance_from(day, usual, level_over(day, usual)) <
               shape_part * distance_from(day, day->usual, day->level) ||
           fabs(over) > level_times * spread->level;
}

/* Whether two weekdays differ by more than their level: a busy Tuesday is not like a Thursday. */
static bool is_another_kind(const struct day *day, int weekday, const double usual[HOURS])
{
    struct day own = *day;

    if ((day->weekday < SATURDAY) != (weekday < SATURDAY))
        return true;
    memcpy(own.hours, day->usual, sizeof own.hours);
    return distance_from(&own, usual, level_over(&own, usual)) >= far_min;
}

/* The distance from another weekday, at the best-fitting level.  The level must lie between those
   of the neighbouring days, or beyond them by the usual variation. */
static double near_distance(const struct day *day, const double usual[HOURS],
                            const double levels[2], const struct spread *spread)
{
    double least = fmin(levels[0], levels[1]) - spread->level;
    double most = fmax(levels[0], levels[1]) + spread->level;

    return distance_from(day, usual, fmin(fmax(level_over(day, usual), least), most));
}

/* Which other weekday it is near to; -1: none. */
static int like_which(const struct calendar_days *days, size_t at, const struct spread *spread,
                      const double levels[2], double over)
{
    const struct day *day = &days->items[at];
    double best = fmin(near_part * day->distance, fmax(near_min, near_times * spread->distance));
    int as = -1;

    for (int weekday = WEEK_DAYS; weekday-- > 0;) {
        double usual[HOURS];

        if (weekday == day->weekday || !usual_of(days, at, weekday, OTHER_MIN, usual) ||
            !is_another_kind(day, weekday, usual))
            continue;

        double distance = near_distance(day, usual, levels, spread);

        if (distance < best && is_shaped_like(day, usual, spread, over)) {
            best = distance;
            as = weekday;
        }
    }
    return as;
}

static void judge(struct calendar_days *days, size_t at, const struct spread *spread)
{
    struct day *day = &days->items[at];
    double levels[2];
    double over;

    day->factor = 0;
    day->as = -1;
    day->is_far = day->has_usual && day->distance >= fmax(far_min, far_times * spread->distance);
    if (!day->is_far || !day->is_candidate || !neighbours_level(days, at, -1, &levels[0]) ||
        !neighbours_level(days, at, 1, &levels[1]))
        return;
    over = fabs(day->level - levels[0]) < fabs(day->level - levels[1]) ? day->level - levels[0]
                                                                       : day->level - levels[1];
    day->as = like_which(days, at, spread, levels, over);
    if (day->as < 0 &&
        (fabs(over) < fmax(level_min, level_times * spread->level) || fabs(over) > factor_max ||
         distance_from(day, day->usual, day->level) >
             fmin(near_part * day->distance, fmax(near_min, near_times * spread->distance))))
        return;
    day->factor = exp(over);
}

/* A long row of days that are far is something else. */
static void drop_long_runs(struct calendar_days *days)
{
    for (size_t from = 0, to; from < days->count; from = to + 1) {
        for (to = from; to < days->count && days->items[to].is_far; to++)
            ;
        for (size_t i = from; to - from > RUN_MAX && i < to; i++) {
            days->items[i].factor = 0;
            days->items[i].is_far = false;
        }
    }
}

/* One pass over all days, with the usual values from days that are not suspects. */
static void take_turn(struct calendar_days *days, size_t least)
{
    struct spread spread;

    for (size_t i = 0; i < days->count; i++)
        find_usual(days, i, least);
    for (size_t i = 0; i < days->count; i++) {
        double levels[2] = { 0 };
        bool has_before = neighbours_level(days, i, -1, &levels[0]);
        bool has_after = neighbours_level(days, i, 1, &levels[1]);

        levels[0] = has_before ? levels[0] : levels[1];
        levels[1] = has_after ? levels[1] : levels[0];
        if (days->items[i].has_usual)
            days->items[i].distance = least_distance(&days->items[i], days->items[i].usual, levels);
    }
    spread = spread_of(days);
    for (size_t i = 0; i < days->count; i++)
        judge(days, i, &spread);
    drop_long_runs(days);
}

/* All days of one queue.  Two holidays on four Mondays are half of the Mondays: so there is a
   second pass without the days that were far off in the first one, outages included. */
static void find_in(const struct demand_series *series, const struct window_set *set,
                    struct calendar_days *days)
{
    size_t usable = 0;

    days_init(days, series, set);
    for (size_t i = 0; i < days->count; i++)
        usable += days->items[i].is_usable;
    if (usable < DAYS_MIN || series->step_ms > HOUR_MS)
        return;
    take_turn(days, OWN_MIN);
    for (size_t i = 0; i < days->count; i++)
        days->items[i].is_suspect = days->items[i].is_far;
    take_turn(days, OWN_MIN - 1);
}

static const struct day *day_of(const struct calendar_days *days, int64_t number)
{
    int64_t at = days->count > 0 ? number - days->items[0].day : -1;

    return at >= 0 && at < (int64_t)days->count ? &days->items[at] : NULL;
}

/* The majority of the queues on a day, weighted by their arrivals. */
static void vote(const struct calendar_days *queues, size_t count, int64_t number,
                 struct odd_days *out)
{
    double votes[WEEK_DAYS + 1] = { 0 }; /* the last: a factor */
    double factors[WEEK_DAYS + 1] = { 0 };
    double all = 0;
    int weekday = 0;
    size_t best = 0;

    for (size_t i = 0; i < count; i++) {
        const struct day *day = day_of(&queues[i], number);
        size_t as;

        if (!day || !day->has_usual)
            continue;
        all += queues[i].total;
        if (!(day->factor > 0))
            continue;
        as = day->as >= 0 ? (size_t)day->as : WEEK_DAYS;
        votes[as] += queues[i].total;
        factors[as] += queues[i].total * day->factor;
        weekday = day->weekday;
    }
    for (size_t as = 1; as <= WEEK_DAYS; as++)
        best = votes[as] > votes[best] ? as : best;
    if (!(votes[best] > 0) || votes[best] * 2 < all)
        return;
    *array_add(&out->list) = (struct odd_day){ number, weekday, best < WEEK_DAYS ? (int)best : -1,
                                               factors[best] / votes[best], votes[best] / all };
}

void odd_days_find(const struct demand *demand, const struct window_set *set, struct odd_days *out)
{
    struct calendar_days *queues = mem_new_array(demand->count, sizeof *queues);
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;

    for (size_t i = 0; i < demand->count; i++) {
        if (demand->series[i].count == 0)
            continue;
        find_in(&demand->series[i], set, &queues[i]);
        first = queues[i].items[0].day < first ? queues[i].items[0].day : first;
        last = queues[i].items[queues[i].count - 1].day > last
                   ? queues[i].items[queues[i].count - 1].day
                   : last;
    }
    for (int64_t day = first; day <= last; day++)
        vote(queues, demand->count, day, out);
    for (size_t i = 0; i < demand->count; i++)
        mem_free(queues[i].items);
    mem_free(queues);
}

void odd_days_clear(struct odd_days *days)
{
    array_clear(&days->list);
}
