/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A short stretch of recorded minutes with gaps in it, cut into spans, for the tests of the oracle
 * and its bound.
 */
#pragma once

#include "base/random.h"
#include "tests/support/unit.h"
#include "windows/backtest/occurrence.h"
#include "windows/backtest/rerun.h"

enum { WARD_SLOTS = 16, WARD_SPANS = 4 };

struct ward {
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct arrivals *arrivals;
    struct wall_span spans[WARD_SPANS];
    struct occurrence_setup setup;
};

/* `slots` slots with up to `rate` requests of each class a minute; every third has one class, and
   every second a minute that is unknown. */
static inline void ward_init(struct ward *ward, struct random *random, size_t slots, int rate)
{
    static const double cvs[] = { 0, 1, 2 };
    static const int64_t waits_s[] = { 0, 15, 60 };
    size_t minutes = slots * 5;
    bool has_high = random_below(random, 3) > 0;
    struct error err = { 0 };

    *ward = (struct ward){ 0 };
    ward->series = (struct demand_series){ .queue = (char *)(uintptr_t) "ward",
                                           .start = { 1767225600000 },
                                           .step_ms = MINUTE_MS,
                                           .count = minutes,
                                           .is_single = !has_high };
    for (int class = has_high ? DEMAND_HIGH : DEMAND_LOW; class < DEMAND_CLASSES; class ++) {
        ward->series.counts[class] = mem_new_array(minutes, sizeof(int32_t));
        for (size_t i = 0; i < minutes; i++)
            ward->series.counts[class][i] = (int32_t)random_below(random, (uint64_t)rate + 1);
    }
    if (random_below(random, 2) == 0) {
        size_t hole = random_below(random, minutes);

        for (int class = 0; class < DEMAND_CLASSES; class ++)
            if (ward->series.counts[class])
                ward->series.counts[class][hole] = DEMAND_UNKNOWN;
    }
    ward->service = service_time_new(random_between(random, 5, 90), cvs[random_below(random, 3)]);
    segments_of_series(
        &ward->series,
        (struct wall_span){ ward->series.start, demand_time(&ward->series, minutes) },
        &ward->segments);

    struct arrivals_setup setup = { &ward->series, &ward->segments, ward->service, 1,
                                    random_next(random) };

    ward->arrivals = arrivals_new(&setup, &err);
    assert_non_null(ward->arrivals);
    ward->setup = (struct occurrence_setup){
        .arrivals = ward->arrivals,
        .target = { waits_s[random_below(random, 3)] * SECOND_MS,
                    random_below(random, 2) == 0 ? 98 : 80 },
        .spans = ward->spans,
        .begin = ward->series.start,
        .slots = slots,
    };
    for (size_t at = random_below(random, 7); ward->setup.span_count < WARD_SPANS;) {
        size_t length = 3 + random_below(random, minutes);

        if (at + length > minutes)
            break;
        ward->spans[ward->setup.span_count++] = (struct wall_span){
            demand_time(&ward->series, at), demand_time(&ward->series, at + length)
        };
        at += length + random_below(random, 2);
    }
}

static inline void ward_clear(struct ward *ward)
{
    arrivals_free(ward->arrivals);
    service_time_free(ward->service);
    segments_clear(&ward->segments);
    mem_free(ward->series.counts[DEMAND_HIGH]);
    mem_free(ward->series.counts[DEMAND_LOW]);
}

/* A trial that is replayed to its end; ret_added may be NULL. */
static inline bool try_all(struct rerun *rerun, size_t first, size_t count, int change,
                           int64_t *ret_added)
{
    int64_t added;

    return rerun_try(rerun, (struct rerun_change){ first, count, change }, INT64_MAX,
                     ret_added ? ret_added : &added);
}
