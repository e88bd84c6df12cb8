/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What --estimate plans with, against the exact search on minutes that burst more and more; the
 * planted series were made to be those on which a stationary formula is off by half and more.
 */
#include "tests/windows/plant.h"
#include "windows/queueing/estimate.h"
#include "windows/queueing/search.h"
#include "windows/queueing/transient.h"

#include <stdlib.h>

enum { DAYS = 5, MINUTES = DAYS * 1440 };

struct bursts {
    const char *name;
    double cv;    /* of a minute's rate, about the hour's */
    double keeps; /* correlation from minute to minute */
    double service_s;
    double service_cv;
    double target_s;
};

/* A day's wave, with rates that are lognormal about it. */
static void fill(const struct bursts *bursts, int32_t counts[MINUTES])
{
    double sigma = sqrt(log(1 + bursts->cv * bursts->cv));
    struct random random;
    double z = 0;

    random_seed(&random, 5);
    for (int i = 0; i < MINUTES; i++) {
        double level = 100 * (1 - 0.6 * cos((double)i / 1440 * 2 * M_PI));
        double rate;

        z = bursts->keeps * z + sqrt(1 - bursts->keeps * bursts->keeps) * random_normal(&random);
        rate = level * exp(sigma * z - sigma * sigma / 2);
        counts[i] = (int32_t)fmax(0, rate + sqrt(rate) * random_normal(&random) + 0.5);
    }
}

static struct demand_series series_of(int32_t *counts)
{
    return (struct demand_series){ .queue = (char *)(uintptr_t) "bursts",
                                   .start = { monday_ms },
                                   .step_ms = MINUTE_MS,
                                   .count = MINUTES,
                                   .is_single = true,
                                   .counts = { NULL, counts } };
}

static const struct bursts cases[] = {
    { "calm", 0, 0, 30, 1, 30 },
    { "negligible, fixed services", 0, 0, 30, 0, 30 },
    { "a quarter", 0.25, 0, 30, 1, 30 },
    { "half", 0.5, 0, 30, 1, 30 },
    { "half, short services", 0.5, 0, 5, 1, 30 },
    { "half, long services", 0.5, 0, 120, 1, 30 },
    { "half, wild services", 0.5, 0, 30, 2, 30 },
    { "half, long services of one length", 0.5, 0, 120, 0, 30 },
    { "half, services of one length, short waits", 0.5, 0, 30, 0, 5 },
    { "half, long waits", 0.5, 0, 30, 1, 120 },
    { "as much as the mean", 1, 0, 30, 1, 30 },
    { "as much as the mean, for minutes", 1, 0.8, 30, 1, 30 },
    { "for half an hour", 0.5, 0.97, 30, 1, 30 },
};

static void an_estimate_is_within_a_few_per_cent_of_the_search(void **state)
{
    int32_t *counts = mem_new_array(MINUTES, sizeof *counts);
    double worst_stationary = 0;

    (void)state;
    for (size_t row = 0; row < COUNT_OF(cases); row++) {
        struct demand_series series = series_of(counts);
        owned(segments) struct segment_list segments = { 0 };
        owned(service_time) struct service_time *service = service_time_new(cases[row].service_s,
                                                                            cases[row].service_cv);
        struct search_setup search = { &series,
                                       &segments,
                                       service,
                                       1,
                                       { .wait_ms = (int64_t)(cases[row].target_s * SECOND_MS),
                                         .percentile = 98 },
                                       1,
                                       2,
                                       false };
        struct arrivals_setup arrivals = { &series, &segments, service, 1, 0 };
        struct search_result found;
        struct estimate estimate;

        fill(&cases[row], counts);
        segments_of_series(
            &series, (struct wall_span){ series.start, demand_time(&series, MINUTES) }, &segments);
        assert_int_equal(search_servers(&search, &found, NULL), 0);
        estimate_init(&estimate, &arrivals);

        double off =
            (double)transient_servers(&arrivals, 0.98, cases[row].target_s) / found.servers - 1;
        double stationary =
            (double)estimate_servers(&estimate, 0.98, cases[row].target_s) / found.servers - 1;

        worst_stationary = fmax(worst_stationary, stationary);
        if (fabs(off) > 0.06)
            fail_msg("%s: %+.3f of %d servers", cases[row].name, off, found.servers);
    }
    assert_true(worst_stationary > 0.5); /* or the cases test nothing */
    mem_free(counts);
}

/* The same through a plan, with each day by itself and with a wait that agrees. */
static void a_plan_by_estimate_is_near_the_plan_by_replays(void **state)
{
    static const char *const queues[] = { "a" };
    int32_t *counts = mem_new_array(MINUTES, sizeof *counts);
    struct demand_series series = series_of(counts);
    struct plant plant;

    (void)state;
    fill(&cases[3], counts);
    plant_init(&plant, queues, 1);
    plant.queues[0].demand = &series;
    plant.queues[0].service_s = 20;
    plant.model.window_end = 3; /* those of weekdays */
    plant.model.to.ms = monday_ms + DAYS * (int64_t)DAY_MS;
    for (int each_day = 0; each_day < 2; each_day++) {
        plant.queues[0].is_each_day = each_day;
        plant.model.is_estimate = false;
        owned(allocate_plan) struct allocate_plan *exact = plan_of(&plant);
        plant.model.is_estimate = true;
        owned(allocate_plan) struct allocate_plan *quick = plan_of(&plant);

        for (size_t i = 0; i < 3; i++) {
            double ratio = (double)quick->cells[i].search.servers / exact->cells[i].search.servers;

            if (fabs(ratio - 1) > 0.06)
                fail_msg("window %zu, each day %d: %d for %d", i, each_day,
                         quick->cells[i].search.servers, exact->cells[i].search.servers);
            assert_true(quick->cells[i].wait_s <= 30.01 && quick->cells[i].wait_s > 5);
        }
    }
    plant_clear(&plant);
    mem_free(counts);
}

static void tails_fall_with_servers_and_with_time(void **state)
{
    int32_t *counts = mem_new_array(MINUTES, sizeof *counts);
    struct demand_series series = series_of(counts);
    owned(segments) struct segment_list segments = { 0 };
    owned(service_time) struct service_time *service = service_time_new(30, 1);
    struct arrivals_setup arrivals = { &series, &segments, service, 1, 0 };

    (void)state;
    segments_of_series(&series, (struct wall_span){ series.start, demand_time(&series, MINUTES) },
                       &segments);
    assert_int_equal(transient_servers(&arrivals, 0.98, 30), 0); /* nothing arrives */
    assert_true(transient_tail(&arrivals, 1, 0) <= 0);
    fill(&cases[10], counts);
    for (int servers = 1; servers < 120; servers += 7) {
        double tail = transient_tail(&arrivals, servers, 30);

        assert_true(tail >= transient_tail(&arrivals, servers + 7, 30) - 1e-12);
        assert_true(tail >= transient_tail(&arrivals, servers, 60) - 1e-12);
        assert_true(tail >= 0 && tail <= 1);
    }
    assert_true(transient_wait(&arrivals, 1, 0.98) > 3600);
    assert_true(transient_wait(&arrivals, 1000, 0.98) <= 0);

    int servers = transient_servers(&arrivals, 0.98, 30);

    assert_true(transient_wait(&arrivals, servers, 0.98) <= 30.1);
    assert_true(transient_wait(&arrivals, servers - 1, 0.98) > 29.9);
    mem_free(counts);
}

/* A need rises with the arrivals, its ceiling is the number that the search for whole servers
   finds, and a guess changes only how long it takes. */
static void a_need_has_a_fraction_and_no_memory_of_its_guess(void **state)
{
    int32_t *counts = mem_new_array(MINUTES, sizeof *counts);
    struct demand_series series = series_of(counts);
    owned(segments) struct segment_list segments = { 0 };
    owned(service_time) struct service_time *service = service_time_new(30, 1);
    double last = 0;

    (void)state;
    segments_of_series(&series, (struct wall_span){ series.start, demand_time(&series, MINUTES) },
                       &segments);
    assert_true(transient_need(&(struct arrivals_setup){ &series, &segments, service, 1, 0 }, 0.98,
                               30, 7) <= 0); /* nothing arrives */
    fill(&cases[3], counts);
    for (double scale = 0.002; scale < 4; scale *= 1.17) {
        struct arrivals_setup arrivals = { &series, &segments, service, scale, 0 };
        double need = transient_need(&arrivals, 0.98, 30, 0);
        int servers = transient_servers(&arrivals, 0.98, 30);

        if ((int)ceil(need) != servers || need < last || (last > 0 && need > last * 1.4 + 1))
            fail_msg("at %g: %g after %g, and %d", scale, need, last, servers);
        for (int guess = 1; guess <= 1000; guess *= 10)
            assert_true(fabs(transient_need(&arrivals, 0.98, 30, guess) - need) <= 0);
        last = need;
    }
    assert_true(last > 100);
    mem_free(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_estimate_is_within_a_few_per_cent_of_the_search),
        cmocka_unit_test(a_plan_by_estimate_is_near_the_plan_by_replays),
        cmocka_unit_test(tails_fall_with_servers_and_with_time),
        cmocka_unit_test(a_need_has_a_fraction_and_no_memory_of_its_guess),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
