/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Percentiles by rank: of a class, of all days or of one.
 */
#include "windows/queueing/replay_waits.h"

#include <math.h>

void waits_init(struct waits *waits, const struct arrivals *arrivals)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        waits->items[class] = mem_new_array(
            (size_t)arrivals_total(arrivals, (enum demand_class) class) + 1, sizeof(uint64_t));
}

void waits_clear(struct waits *waits)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(waits->items[class]);
}

static double seconds_at(uint64_t *waits, size_t count, double percentile)
{
    return (double)replay_quantile(waits, count, percentile) / TICKS_PER_SECOND;
}

struct replay_class waits_class(struct waits *all, enum demand_class class, double percentile)
{
    uint64_t *waits = all->items[class];
    size_t count = all->count[class];
    struct replay_class result = { .count = (int64_t)count };
    double sum = 0;
    uint64_t longest = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (double)waits[i];
        longest = waits[i] > longest ? waits[i] : longest;
    }
    result.mean_s = count == 0 ? 0 : sum / TICKS_PER_SECOND / (double)count;
    result.max_s = (double)longest / TICKS_PER_SECOND;
    result.p50_s = seconds_at(waits, count, 50);
    result.p90_s = seconds_at(waits, count, 90);
    result.p98_s = seconds_at(waits, count, 98);
    result.p99_s = seconds_at(waits, count, 99);
    result.quantile_s = seconds_at(waits, count, percentile);
    return result;
}

static size_t day_arrivals(const struct arrivals *arrivals, const struct segment_list *day,
                           enum demand_class class)
{
    struct random random;
    size_t count = 0;

    for (size_t i = 0; i < day->list.count; i++)
        for (size_t at = 0; at < day->list.items[i].count; at++)
            count += arrivals_of_step(arrivals, day->list.items[i].first + at, class, &random);
    return count;
}

static int64_t count_over(const uint64_t *values, size_t count, uint64_t limit)
{
    int64_t over = 0;

    for (size_t i = 0; i < count; i++)
        over += values[i] > limit;
    return over;
}

/* Within a class the waits lie in the order of arrival, and so day by day.  They are reordered
   within each day first, and within all then. */
struct replay_waits waits_quantiles(struct waits *waits, const struct arrivals *arrivals,
                                    double percentile)
{
    const struct segment_list *segments = arrivals_setup_of(arrivals)->segments;
    struct replay_waits result = { .day_s = -1 };
    size_t begin[DEMAND_CLASSES] = { 0 };

    for (size_t i = 0; i < segments_day_count(segments); i++) {
        owned(segments) struct segment_list day = { 0 };

        segments_of_day(segments, i, &day);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            size_t count = day_arrivals(arrivals, &day, (enum demand_class) class);
            double wait_s = seconds_at(waits->items[class] + begin[class], count, percentile);

            begin[class] += count;
            result.day_wait_s[class] = fmax(result.day_wait_s[class], wait_s);
            if (day.list.count > 0 && wait_s > result.day_s) {
                result.day_s = wait_s;
                result.day = segments->days.count > 0 ? segments->days.items[i]
                                                      : day.list.items[0].first;
            }
        }
    }
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        result.wait_s[class] = seconds_at(waits->items[class], waits->count[class], percentile);
    return result;
}

struct replay_day waits_late_day(struct waits *waits, const struct arrivals *arrivals,
                                 uint64_t limit, double percentile)
{
    const struct segment_list *segments = arrivals_setup_of(arrivals)->segments;
    struct replay_day result = { .used = -1 };
    size_t begin[DEMAND_CLASSES] = { 0 };

    for (size_t i = 0; i < segments_day_count(segments); i++) {
        owned(segments) struct segment_list day = { 0 };

        segments_of_day(segments, i, &day);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            size_t count = day_arrivals(arrivals, &day, (enum demand_class) class);
            uint64_t *values = waits->items[class] + begin[class];
            int64_t allowed = replay_allowed((int64_t)count, percentile);
            double used = (double)count_over(values, count, limit) / (double)(allowed + 1);

            begin[class] += count;
            if (day.list.count > 0 && used > result.used)
                result = (struct replay_day){ segments->days.count > 0 ? segments->days.items[i]
                                                                       : day.list.items[0].first,
                                              used, seconds_at(values, count, percentile) };
        }
    }
    return result;
}
