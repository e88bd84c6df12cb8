/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The replay against what is known without it: closed forms of stationary systems, hand-counted
 * percentiles, and a plain simulation that keeps every request as an object.
 */
#include "base/random.h"
#include "tests/support/sweep.h"
#include "tests/support/unit.h"
#include "windows/queueing/replay.h"
#include "windows/servers/erlang.h"

#include <math.h>
#include <string.h>

enum { REPETITIONS = 12 };

/* A series of Poisson counts per minute; the caller frees counts. */
static struct demand_series poisson_series(double high, double low, size_t minutes, uint64_t seed)
{
    struct demand_series series = { .queue = (char *)(uintptr_t) "poisson", .step_ms = MINUTE_MS };
    double rates[DEMAND_CLASSES] = { high, low };
    struct random random;

    series.start.ms = (int64_t)1767225600000;
    series.count = minutes;
    random_seed(&random, seed);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        series.counts[class] = mem_new_array(minutes, sizeof(int32_t));
        if (rates[class] <= 0)
            continue;
        for (size_t i = 0; i < minutes; i++)
            for (double at = random_exponential(&random, 1 / rates[class]); at < 60;
                 at += random_exponential(&random, 1 / rates[class]))
                series.counts[class][i]++;
    }
    return series;
}

static void series_clear(struct demand_series *series)
{
    mem_free(series->counts[DEMAND_HIGH]);
    mem_free(series->counts[DEMAND_LOW]);
}

struct figures {
    double sum;
    double squares;
};

static void figures_add(struct figures *figures, double value)
{
    figures->sum += value;
    figures->squares += value * value;
}

static void assert_near(const struct figures *figures, double want, const char *what)
{
    double mean = figures->sum / REPETITIONS;
    double variance = (figures->squares - figures->sum * mean) / (REPETITIONS - 1);
    double error = sqrt(variance / REPETITIONS);

    if (!(fabs(mean - want) <= 3 * error + 2e-6) || error > 0.06 * want)
        fail_msg("%s: %.6g +- %.2g, not %.6g", what, mean, error, want);
}

/* c, high and low rate in services per second; service mean 1 s */
static const struct {
    int servers;
    double high;
    double low;
    size_t minutes;
} stationary[] = {
    { 2, 0.5, 1.2, 9000 }, { 1, 0, 0.7, 12000 }, { 10, 3, 5.5, 4000 },
    { 3, 1, 1, 9000 },     { 40, 12, 24, 1500 }, { 10, 0, 8, 4000 },
};

static void stationary_waits_agree_with_the_closed_forms(void **state)
{
    owned(service_time) struct service_time *service = service_time_new(1, 1);
    struct replay_target target = { .wait_ms = 1000, .percentile = 98 };
    struct sweep_part part = sweep_part(2);

    (void)state;
    for (size_t row = 0; row < COUNT_OF(stationary); row++) {
        if (!sweep_plays(&part))
            continue;

        struct station station = { stationary[row].servers, 1 };
        double rates[2] = { stationary[row].high, stationary[row].low };
        struct figures means[2] = { 0 };
        struct figures quantiles[2] = { 0 };

        for (uint64_t seed = 0; seed < REPETITIONS; seed++) {
            struct demand_series series = poisson_series(rates[0], rates[1],
                                                         stationary[row].minutes, seed + 100 * row);
            struct segment_list segments = { 0 };
            struct replay_result result;

            /* the first half hour is what came before */
            segments_of_series(&series,
                               (struct wall_span){ { series.start.ms + 30 * MINUTE_MS },
                                                   demand_time(&series, series.count) },
                               &segments);

            struct arrivals_setup setup = { &series, &segments, service, 1, seed };
            owned(arrivals) struct arrivals *arrivals = arrivals_new(&setup, NULL);

            assert_non_null(arrivals);
            assert_int_equal(replay_report(arrivals, station.servers, &target, &result, NULL), 0);
            for (int class = 0; class < 2; class ++) {
                figures_add(&means[class], result.classes[class].mean_s);
                figures_add(&quantiles[class], result.classes[class].p98_s);
            }
            segments_clear(&segments);
            series_clear(&series);
        }
        assert_near(&means[1], erlang_class_mean(station, rates, 2, 1), "mean of low");
        assert_near(&quantiles[1], erlang_low_quantile(station, rates[0], rates[1], 0.98),
                    "p98 of low");
        if (rates[0] > 0) {
            assert_near(&means[0], erlang_class_mean(station, rates, 2, 0), "mean of high");
            assert_near(&quantiles[0], erlang_high_quantile(station, rates[0], rates[1], 0.98),
                        "p98 of high");
        }
    }
}

static void the_percentile_is_the_one_counted_by_hand(void **state)
{
    /* waits 1..n */
    static const struct {
        int64_t count;
        int64_t allowed;
        uint64_t p98;
        uint64_t p50;
    } cases[] = {
        { 0, 0, 0, 0 },      { 1, 0, 1, 1 },      { 2, 0, 2, 1 },         { 49, 0, 49, 25 },
        { 50, 1, 49, 25 },   { 51, 1, 50, 26 },   { 99, 1, 98, 50 },      { 100, 2, 98, 50 },
        { 149, 2, 147, 75 }, { 150, 3, 147, 75 }, { 1000, 20, 980, 500 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t waits[1000];
        size_t count = (size_t)cases[i].count;

        for (size_t at = 0; at < count; at++)
            waits[at * 7 % count] = 0;
        for (size_t at = 0; at < count; at++)
            waits[at] = count - at;
        assert_int_equal(replay_allowed(cases[i].count, 98), cases[i].allowed);
        assert_int_equal(replay_quantile(waits, count, 98), cases[i].p98);
        assert_int_equal(replay_quantile(waits, count, 50), cases[i].p50);
    }
    assert_int_equal(replay_allowed(1000, 99.9), 1);
    assert_int_equal(replay_allowed(1000, 99.99), 0);
}

static void counting_and_sorting_agree_with_ties(void **state)
{
    struct random random;
    uint64_t waits[300];

    (void)state;
    random_seed(&random, 5);
    for (int turn = 0; turn < 2000; turn++) {
        size_t count = 1 + random_below(&random, COUNT_OF(waits));
        uint64_t target = random_below(&random, 20);
        int64_t violations = 0;

        for (size_t i = 0; i < count; i++) {
            waits[i] = random_below(&random, 20);
            violations += waits[i] > target;
        }
        assert_int_equal(violations <= replay_allowed((int64_t)count, 90),
                         replay_quantile(waits, count, 90) <= target);
    }
}

/* Each request an object, each server a number, a scan for everything. */
struct request {
    uint64_t arrival;
    bool is_low;
    bool is_started;
};

static void plain_simulation(struct request *requests, size_t count, int servers,
                             const uint64_t *services, uint64_t sums[2])
{
    uint64_t free_at[8] = { 0 };

    sums[0] = sums[1] = 0;
    for (size_t start = 0; start < count; start++) {
        size_t first = 0;
        struct request *next = NULL;
        uint64_t now = UINT64_MAX;

        for (int i = 1; i < servers; i++)
            if (free_at[i] < free_at[first])
                first = (size_t)i;
        for (size_t i = 0; i < count; i++)
            if (!requests[i].is_started && requests[i].arrival < now)
                now = requests[i].arrival;
        now = now > free_at[first] ? now : free_at[first];
        for (int is_low = 0; is_low < 2 && !next; is_low++)
            for (size_t i = 0; i < count; i++)
                if (!requests[i].is_started && requests[i].is_low == (is_low == 1) &&
                    requests[i].arrival <= now && (!next || requests[i].arrival < next->arrival))
                    next = &requests[i];
        assert_non_null(next);
        next->is_started = true;
        sums[next->is_low] += now - next->arrival;
        free_at[first] = now + services[start];
    }
}

/* The services that the replay will draw, by running its generator alone. */
static void draw_services(const struct arrivals_setup *setup, size_t first, uint64_t *out,
                          size_t count)
{
    struct random random;
    uint64_t word = 0;

    random_seed(&random, random_mix(setup->seed, "service",
                                    (uint64_t)demand_time(setup->series, first).ms, 0));
    for (size_t i = 0; i < count; i++) {
        if (i % 4 == 0)
            word = random_next(&random);
        out[i] = setup->service->ticks[word >> (i % 4 * 16) & (SERVICE_TIMES - 1)];
    }
}

static void the_replay_is_the_plain_simulation_to_the_tick(void **state)
{
    owned(service_time) struct service_time *service = service_time_new(20, 1);

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct demand_series series = poisson_series(0.02, 0.06, 30, seed);
        struct segment_list segments = { 0 };
        struct arrivals_setup setup = { &series, &segments, service, 1, seed };
        struct request requests[600];
        uint64_t services[600];
        uint64_t sums[2];
        size_t count = 0;
        size_t busy;
        int servers = (int)(1 + seed % 3);

        segments_of_series(&series, (struct wall_span){ series.start, demand_time(&series, 30) },
                           &segments);

        owned(arrivals) struct arrivals *arrivals = arrivals_new(&setup, NULL);
        const uint64_t *left = arrivals_before(arrivals, 0, &busy);

        /* those in service before are requests that arrive first and do not wait */
        busy = busy < (size_t)servers ? busy : (size_t)servers;
        for (size_t i = 0; i < arrivals_chunks(arrivals); i++) {
            const struct arrivals_chunk *chunk = arrivals_chunk(arrivals, i);

            for (int class = 0; class < 2; class ++)
                for (size_t at = 0; at < chunk->count[class]; at++)
                    requests[count++] = (struct request){ 1 + chunk->at[class][at], class == 1,
                                                          false };
        }
        for (size_t i = 0; i < busy; i++)
            requests[count + i] = (struct request){ 0, true, false };
        draw_services(&setup, 0, services + busy, count);
        for (size_t i = 0; i < busy; i++)
            services[i] = left[i] + 1;
        plain_simulation(requests, count + busy, servers, services, sums);

        struct replay_result result;
        struct replay_target target = { .wait_ms = 30 * SECOND_MS, .percentile = 98 };

        assert_int_equal(replay_report(arrivals, servers, &target, &result, NULL), 0);
        for (int class = 0; class < 2; class ++) {
            const struct replay_class *found = &result.classes[class];
            double total = found->mean_s * TICKS_PER_SECOND * (double)found->count;

            assert_true(fabs(total - (double)sums[class]) < 1);
            assert_int_equal(found->violations <= replay_allowed(found->count, 98),
                             found->p98_s <= 30);
        }

        bool passes = replay_passes(arrivals, servers, &target, NULL);

        assert_int_equal(passes, result.classes[0].p98_s <= 30 && result.classes[1].p98_s <= 30);
        segments_clear(&segments);
        series_clear(&series);
    }
}

static void a_wait_as_long_as_the_target_is_not_too_long(void **state)
{
    owned(service_time) struct service_time *service = service_time_new(10, 1);
    struct demand_series series = poisson_series(0.1, 0.1, 60, 1);
    struct segment_list segments = { 0 };
    struct arrivals_setup setup = { &series, &segments, service, 1, 1 };
    struct replay_target target = { .wait_ms = 0, .percentile = 98 };
    struct replay_result result;

    (void)state;
    segments_of_series(
        &series, (struct wall_span){ series.start, demand_time(&series, series.count) }, &segments);

    owned(arrivals) struct arrivals *arrivals = arrivals_new(&setup, NULL);

    /* no request waits, and no wait is what is asked for */
    assert_true(replay_passes(arrivals, 60, &target, NULL));
    assert_int_equal(replay_report(arrivals, 60, &target, &result, NULL), 0);
    assert_true(result.classes[DEMAND_LOW].count > 100);
    assert_int_equal(result.classes[DEMAND_LOW].violations, 0);
    assert_int_equal(result.classes[DEMAND_HIGH].violations, 0);
    segments_clear(&segments);
    series_clear(&series);
}

static void an_overload_fails_and_loses_no_request(void **state)
{
    owned(service_time) struct service_time *service = service_time_new(10, 1);
    struct demand_series series = poisson_series(0, 1, 600, 1);
    struct segment_list segments = { 0 };
    struct arrivals_setup setup = { &series, &segments, service, 1, 1 };
    struct replay_target target = { .wait_ms = 60 * SECOND_MS, .percentile = 98 };
    struct replay_result result;
    int64_t count = 0;

    (void)state;
    for (size_t i = 0; i < series.count; i++)
        count += series.counts[DEMAND_LOW][i];
    segments_of_series(
        &series, (struct wall_span){ series.start, demand_time(&series, series.count) }, &segments);

    owned(arrivals) struct arrivals *arrivals = arrivals_new(&setup, NULL);

    assert_false(replay_passes(arrivals, 9, &target, NULL));
    assert_true(replay_passes(arrivals, 30, &target, NULL));
    assert_int_equal(replay_report(arrivals, 9, &target, &result, NULL), 0);
    assert_int_equal(result.classes[DEMAND_LOW].count, count);
    assert_true(result.classes[DEMAND_LOW].max_s > 1800);
    segments_clear(&segments);
    series_clear(&series);
}

static void more_arrivals_keep_the_former_ones(void **state)
{
    owned(service_time) struct service_time *service = service_time_new(10, 1);
    struct demand_series series = poisson_series(0, 0.3, 100, 7);
    struct segment_list segments = { 0 };

    (void)state;
    segments_of_series(
        &series, (struct wall_span){ series.start, demand_time(&series, series.count) }, &segments);

    struct arrivals_setup setup = { &series, &segments, service, 1, 3 };
    struct arrivals_setup more = { &series, &segments, service, 1.37, 3 };
    owned(arrivals) struct arrivals *few = arrivals_new(&setup, NULL);
    owned(arrivals) struct arrivals *many = arrivals_new(&more, NULL);
    const struct arrivals_chunk *a = arrivals_chunk(few, 0);
    const struct arrivals_chunk *b = arrivals_chunk(many, 0);
    size_t at = 0;

    assert_true(b->count[1] > a->count[1] * 5 / 4);
    for (size_t i = 0; i < a->count[1]; i++, at++) {
        while (at < b->count[1] && b->at[1][at] < a->at[1][i])
            at++;
        assert_true(at < b->count[1] && b->at[1][at] == a->at[1][i]);
    }
    segments_clear(&segments);
    series_clear(&series);
}

/* In a steady stream as many are in service as the load says, and their time left is exponential.
 */
static void a_segment_begins_with_what_came_before(void **state)
{
    owned(service_time) struct service_time *service = service_time_new(100, 1);
    struct demand_series series = poisson_series(1, 4, 100, 9);

    (void)state;
    for (size_t first = 0; first < 100; first += 50) { /* unknown before, known before */
        struct segment_list segments = { 0 };
        struct arrivals_setup setup = { &series, &segments, service, 1, 3 };
        double sum = 0;
        size_t count;

        segments_of_series(
            &series, (struct wall_span){ demand_time(&series, first), demand_time(&series, 100) },
            &segments);

        owned(arrivals) struct arrivals *arrivals = arrivals_new(&setup, NULL);
        const uint64_t *left = arrivals_before(arrivals, 0, &count);

        for (size_t i = 0; i < count; i++) {
            assert_true(i == 0 || left[i] <= left[i - 1]);
            sum += (double)left[i] / TICKS_PER_SECOND;
        }
        assert_true(count > 500 - 120 && count < 500 + 120);
        assert_true(sum / (double)count > 80 && sum / (double)count < 120);
        segments_clear(&segments);
    }
    series_clear(&series);
}

static void service_times_have_their_mean_and_deviation(void **state)
{
    static const double cvs[] = { 0, 0.3, 1, 2 };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(cvs); row++) {
        owned(service_time) struct service_time *service = service_time_new(25, cvs[row]);
        double sum = 0;
        double squares = 0;

        for (size_t i = 0; i < SERVICE_TIMES; i++) {
            double seconds = (double)service->ticks[i] / TICKS_PER_SECOND;

            sum += seconds;
            squares += seconds * seconds;
        }

        double mean = sum / SERVICE_TIMES;
        double cv = sqrt(fmax(0, squares / SERVICE_TIMES / mean / mean - 1));

        assert_true(fabs(mean - 25) < 25e-9);
        assert_true(fabs(cv - cvs[row]) < 0.01 * cvs[row] + 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stationary_waits_agree_with_the_closed_forms),
        cmocka_unit_test(the_percentile_is_the_one_counted_by_hand),
        cmocka_unit_test(counting_and_sorting_agree_with_ties),
        cmocka_unit_test(the_replay_is_the_plain_simulation_to_the_tick),
        cmocka_unit_test(a_wait_as_long_as_the_target_is_not_too_long),
        cmocka_unit_test(an_overload_fails_and_loses_no_request),
        cmocka_unit_test(more_arrivals_keep_the_former_ones),
        cmocka_unit_test(a_segment_begins_with_what_came_before),
        cmocka_unit_test(service_times_have_their_mean_and_deviation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
