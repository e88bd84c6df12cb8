/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a search leaves out changes no count, and the neighbours of an answer fare beside it as they
 * do by themselves.
 */
#include "base/random.h"
#include "tests/support/unit.h"
#include "windows/queueing/negligible.h"
#include "windows/queueing/search.h"
#include "windows/queueing/wheel.h"

#include <math.h>
#include <string.h>

static const int64_t monday_ms = 1794805200000; /* 2026-11-16 00:00 in New York */
static const struct wheel_limits unlimited = { { INT64_MAX, INT64_MAX } };

enum { DAYS = 2, MINUTES = 10 * 60 };

/* Two days of ten hours with a peak of one, and noise. */
struct peaks {
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct search_setup setup;
};

static void peaks_init(struct peaks *peaks, double mean_s, double cv, double high)
{
    struct random random;

    *peaks = (struct peaks){ .service = service_time_new(mean_s, cv) };
    peaks->series = (struct demand_series){
        .queue = (char *)(uintptr_t) "peaks",
        .start = { monday_ms },
        .step_ms = MINUTE_MS,
        .count = DAYS * (MINUTES + 60),
    };
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        peaks->series.counts[class] = mem_new_array(peaks->series.count, sizeof(int32_t));
    random_seed(&random, 5);
    for (size_t i = 0; i < peaks->series.count; i++) {
        double hour = (double)(i % (MINUTES + 60)) / 60;
        double peak = exp(-(hour - 6) * (hour - 6));
        double count = 400 * (0.5 + peak) * random_between(&random, 0.95, 1.05);

        peaks->series.counts[DEMAND_HIGH][i] = (int32_t)(high * count);
        peaks->series.counts[DEMAND_LOW][i] = (int32_t)((1 - high) * count);
    }
    for (size_t day = 0; day < DAYS; day++)
        *array_add(&peaks->segments.list) = (struct segment){ day * (MINUTES + 60) + 60, MINUTES };
    peaks->setup = (struct search_setup){
        .series = &peaks->series,
        .segments = &peaks->segments,
        .service = peaks->service,
        .scale = 1.01, /* what is left over of a count is decided by chance */
        .target = { .wait_ms = (int64_t)(mean_s * 1500), .percentile = 98 },
        .seed = 7,
        .seeds = 4,
    };
}

static void peaks_clear(struct peaks *peaks)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(peaks->series.counts[class]);
    segments_clear(&peaks->segments);
    service_time_free(peaks->service);
}

static const struct {
    double mean_s;
    double cv;
    double high; /* share */
} shapes[] = {
    { 3, 1, 0.3 }, { 20, 1, 0.5 }, { 60, 1, 0 }, { 20, 0, 0.2 }, { 10, 0.5, 1 },
};

/* All late requests, whatever is allowed. */
static void count_late(struct arrivals *arrivals, int servers, const struct replay_target *target,
                       const struct negligible *negligible, int64_t late[DEMAND_CLASSES])
{
    const struct replay_target lenient = { .wait_ms = target->wait_ms, .percentile = 0.001 };

    memset(late, 0, DEMAND_CLASSES * sizeof *late);
    for (size_t i = 0; i < DAYS; i++)
        assert_true(
            replay_count(arrivals, &(struct replay_try){ servers, &lenient, negligible }, i, late));
}

static void what_is_left_out_changes_no_count(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct peaks peaks;
        struct search_result found;
        struct negligible negligible;
        size_t chunks = 0;
        size_t left_out = 0;
        int64_t late = 0;

        peaks_init(&peaks, shapes[i].mean_s, shapes[i].cv, shapes[i].high);
        negligible_init(&negligible, peaks.service, &peaks.setup.target);
        assert_int_equal(search_servers(&peaks.setup, &found, NULL), 0);
        for (int seed = 0; seed < peaks.setup.seeds; seed++) {
            owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, seed, NULL);
            int64_t all[DEMAND_CLASSES];
            int64_t rest[DEMAND_CLASSES];

            for (int servers = found.servers - 1; servers <= found.servers; servers++) {
                count_late(arrivals, servers, &peaks.setup.target, NULL, all);
                count_late(arrivals, servers, &peaks.setup.target, &negligible, rest);
                assert_memory_equal(all, rest, sizeof all);
                late += all[DEMAND_HIGH] + all[DEMAND_LOW];
            }
            for (size_t at = 0; at < arrivals_chunks(arrivals); at++, chunks++)
                left_out += negligible_at(&negligible, arrivals, at, found.servers);
        }
        assert_true(late > 0);
        assert_true(left_out * 2 > chunks);
        peaks_clear(&peaks);
    }
}

/* In ticks as well: as if nothing had been left out, whatever has been run before. */
static void a_wheel_counts_the_same_whatever_it_ran_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct peaks peaks;
        struct search_result found;

        peaks_init(&peaks, shapes[i].mean_s, shapes[i].cv, shapes[i].high);
        assert_int_equal(search_servers(&peaks.setup, &found, NULL), 0);

        owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, 0, NULL);
        owned(wheel_times) struct wheel_times *times = wheel_times_new(arrivals,
                                                                       &peaks.setup.target);
        owned(wheel_times) struct wheel_times *busy = wheel_times_new(arrivals,
                                                                      &peaks.setup.target);
        int64_t counts[3][DEMAND_CLASSES];

        assert_non_null(times);
        busy->negligible.spare = HUGE_VAL;

        owned(wheel) struct wheel *fresh = wheel_new(arrivals, times);
        owned(wheel) struct wheel *used = wheel_new(arrivals, times);
        owned(wheel) struct wheel *whole = wheel_new(arrivals, busy);

        assert_true(wheel_run(fresh, found.servers, &unlimited, counts[0]));
        assert_true(wheel_run(used, found.servers - found.servers / 3, &unlimited, counts[1]));
        assert_true(wheel_run(used, found.servers, &unlimited, counts[1]));
        assert_true(wheel_run(whole, found.servers, &unlimited, counts[2]));
        assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
        assert_memory_equal(counts[0], counts[2], sizeof counts[0]);
        assert_true(counts[0][DEMAND_HIGH] + counts[0][DEMAND_LOW] > 0);
        peaks_clear(&peaks);
    }
}

static void the_neighbours_fare_as_by_themselves(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct peaks peaks;
        struct search_result found;
        struct negligible negligible;

        peaks_init(&peaks, shapes[i].mean_s, shapes[i].cv, shapes[i].high);
        negligible_init(&negligible, peaks.service, &peaks.setup.target);
        assert_int_equal(search_servers(&peaks.setup, &found, NULL), 0);

        owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, found.worst_seed,
                                                                    NULL);

        for (int servers = found.servers - 2; servers <= found.servers + 2; servers++) {
            struct replay_around around;
            struct replay_result alone;
            const struct replay_target *target = &peaks.setup.target;

            replay_around(arrivals, servers, target, &negligible, &around);
            assert_int_equal(around.passes, replay_passes(arrivals, servers, target, NULL));
            assert_int_equal(around.fewer_fails,
                             !replay_passes(arrivals, servers - 1, target, NULL));
            assert_int_equal(around.more_passes,
                             replay_passes(arrivals, servers + 1, target, NULL));
            assert_int_equal(replay_report(arrivals, servers, target, &alone, NULL), 0);
            assert_memory_equal(&around.waits, &alone.waits, sizeof alone.waits);
        }
        peaks_clear(&peaks);
    }
}

static void one_server_has_no_fewer_beside_it(void **state)
{
    struct peaks peaks;
    struct replay_around around;
    struct negligible negligible;

    (void)state;
    peaks_init(&peaks, 0.01, 1, 0.5);
    negligible_init(&negligible, peaks.service, &peaks.setup.target);

    owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, 0, NULL);

    replay_around(arrivals, 1, &peaks.setup.target, &negligible, &around);
    assert_true(around.passes);
    assert_true(around.more_passes);
    assert_false(around.fewer_fails);
    peaks_clear(&peaks);
}

static void nothing_is_negligible_where_no_request_may_wait(void **state)
{
    struct peaks peaks;
    struct negligible negligible;

    (void)state;
    peaks_init(&peaks, 3, 1, 0.5);

    owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, 0, NULL);
    const struct replay_target targets[] = { { .wait_ms = 0, .percentile = 98 },
                                             { .wait_ms = 1000, .percentile = 100 } };

    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        negligible_init(&negligible, peaks.service, &targets[i]);
        for (size_t at = 0; at < arrivals_chunks(arrivals); at++)
            assert_false(negligible_at(&negligible, arrivals, at, 1000000));
    }
    peaks_clear(&peaks);
}

/* Hours at nearly full load gather a crowd that the peak after them makes late; the target is sixty
   times a service. */
static void a_crowd_that_gathers_is_not_left_out(void **state)
{
    enum { SERVICE_S = 10, MINUTES_BEFORE = 61, MINUTES_LONG = 600, SEEDS = 8 };
    struct demand_series series = {
        .queue = (char *)(uintptr_t) "peaks",
        .start = { monday_ms },
        .step_ms = MINUTE_MS,
        .count = MINUTES_BEFORE + MINUTES_LONG,
    };
    struct segment_list segments = { 0 };
    struct service_time *service = service_time_new(SERVICE_S, 1);
    struct search_setup setup = { .series = &series,
                                  .segments = &segments,
                                  .service = service,
                                  .scale = 1.01,
                                  .target = { .wait_ms = 600 * SECOND_MS, .percentile = 98 },
                                  .seed = 7,
                                  .seeds = SEEDS };
    struct random random;
    struct search_result found;

    (void)state;
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        series.counts[class] = mem_new_array(series.count, sizeof(int32_t));
    random_seed(&random, 5);
    for (size_t i = 0; i < series.count; i++) {
        double at = ((double)i - MINUTES_BEFORE) / MINUTES_LONG;
        double peak = i < MINUTES_BEFORE ? 0 : (114 - 101) * exp(-pow((at - 0.8) / 0.08, 2));
        double load = 101 + peak;
        double count = load / SERVICE_S * 60 * random_between(&random, 0.999, 1.001);

        series.counts[DEMAND_LOW][i] = (int32_t)count;
    }
    *array_add(&segments.list) = (struct segment){ MINUTES_BEFORE, MINUTES_LONG };
    assert_int_equal(search_servers(&setup, &found, NULL), 0);
    for (int seed = 0; seed < SEEDS; seed++) {
        owned(arrivals) struct arrivals *arrivals = search_arrivals(&setup, seed, NULL);

        assert_true(replay_passes(arrivals, found.servers, &setup.target, NULL));
    }
    segments_clear(&segments);
    service_time_free(service);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(series.counts[class]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_changes_no_count),
        cmocka_unit_test(a_wheel_counts_the_same_whatever_it_ran_before),
        cmocka_unit_test(the_neighbours_fare_as_by_themselves),
        cmocka_unit_test(one_server_has_no_fewer_beside_it),
        cmocka_unit_test(nothing_is_negligible_where_no_request_may_wait),
        cmocka_unit_test(a_crowd_that_gathers_is_not_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
