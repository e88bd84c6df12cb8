/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Targets of first and later tokens in closed form: what they leave for the wait, how many requests
 * a replica may then end, and that estimates and forecasts hold them.
 */
#include "base/memory.h"
#include "tests/support/unit.h"
#include "windows/allocation/allocate.h"
#include "windows/forecast/occurrences.h"
#include "windows/queueing/target_limits.h"
#include "windows/servers/engine_lengths.h"
#include "windows/servers/erlang.h"

#include <math.h>

enum { MINUTES = 1440 };

/* R1 with prompts that take 20 ms; without them where `prefill_s` is 0. */
static struct service_shape *shape_of(double prefill_s)
{
    const struct engine_law law = {
        .slots = 16, .iteration_s = 0.010, .per_request_s = 0.0005, .prefill_s = prefill_s
    };
    const struct engine_tokens tokens = { .mean_in = 1000, .mean_out = 200, .cv = 1 };
    struct error err = { 0 };

    return service_shape_of_engine(engine_new_by_law(&law, &tokens), "test", &err);
}

static void expect_near(double have, double want)
{
    if (!(fabs(have - want) <= 1e-6 * fabs(want)))
        fail_msg("%.12g, expected %.12g", have, want);
}

/* Half a prompt of others, its own, and an iteration of a full batch. */
static void first_tokens_leave_the_rest_to_the_wait(void **state)
{
    owned(service_shape) struct service_shape *shape = shape_of(20e-6);
    struct replay_target target = { .wait_ms = 2000, .percentile = 98, .ttft = { 0.5, 90 } };
    struct target_limits limits = target_limits_of(shape->engine, &target);

    (void)state;
    assert_int_equal(limits.wait_count, 2);
    assert_true(limits.waits[0].limit_s == 2 && limits.waits[0].percentile == 98);
    expect_near(limits.waits[1].limit_s, 0.5 - 0.010 - 0.020 - 0.018);
    assert_true(limits.waits[1].percentile == 90);
    assert_int_equal(limits.rate_count, 1); /* prompts hold each other up */
    assert_true(limits.rates[0].per_s > 40 && limits.rates[0].per_s < 50);
    target.ttft.limit_s = 0.038;
    limits = target_limits_of(shape->engine, &target);
    assert_true(limits.waits[1].limit_s == 0);
    assert_int_equal(limits.rate_count, 2); /* and a batch that is not full has a short iteration */
    assert_true(limits.rates[1].per_s < 15);
    limits = target_limits_of(NULL, &target);
    assert_true(limits.wait_count == 1 && limits.rate_count == 0);
}

/* 15 ms a token: 10 of 16 slots may run, so 8.7 on average, which end 3.04 requests a second. */
static void tokens_in_time_limit_the_rate(void **state)
{
    owned(service_shape) struct service_shape *shape = shape_of(0);
    struct replay_target target = { .wait_ms = 500, .percentile = 98, .itl = { 0.015, 95 } };
    struct target_limits limits = target_limits_of(shape->engine, &target);

    (void)state;
    assert_int_equal(limits.rate_count, 1);
    expect_near(limits.rates[0].per_s, 3.036717417);
    assert_true(limits.rates[0].percentile == 95);
    target.itl.limit_s = 0.018;
    assert_int_equal(target_limits_of(shape->engine, &target).rate_count, 0);
    target.itl.limit_s = 0.0105;
    limits = target_limits_of(shape->engine, &target);
    assert_true(limits.rates[0].per_s > 0 && limits.rates[0].per_s < 1 / 2.1);
}

static void the_fewest_servers_meet_all_limits(void **state)
{
    owned(service_shape) struct service_shape *shape = shape_of(0);
    struct replay_target target = { .wait_ms = 500, .percentile = 98 };

    (void)state;
    assert_int_equal(target_servers(shape, 0, 38, &target), 10);
    target.itl = (struct replay_limit){ 0.015, 98 };
    assert_int_equal(target_servers(shape, 0, 38, &target), 13);
    target.itl.limit_s = 0;
    target.ttft = (struct replay_limit){ 0.0180001, 99.9 };
    assert_true(target_servers(shape, 0, 38, &target) > 10);
    assert_int_equal(target_servers(NULL, 20, 3, &target), erlang_servers(3, 1 / 20.0, 0.98, 0.5));
    assert_int_equal(target_servers(shape, 0, 1e9, &target), -1);
}

/* Of a plan by estimate, and of a forecast. */
static void estimates_hold_the_targets_of_tokens(void **state)
{
    owned(service_shape) struct service_shape *shape = shape_of(0);
    owned(service_time) struct service_time *service = service_time_outline(shape);
    owned(segments) struct segment_list segments = { 0 };
    int32_t *counts = mem_new_array(MINUTES, sizeof *counts);
    struct demand_series series = { .queue = (char *)(uintptr_t) "chat",
                                    .start = { 1794787200000 },
                                    .step_ms = MINUTE_MS,
                                    .count = MINUTES,
                                    .is_single = true,
                                    .counts = { NULL, counts } };
    struct search_setup setup = { .series = &series,
                                  .segments = &segments,
                                  .service = service,
                                  .scale = 1,
                                  .target = { .wait_ms = 500, .percentile = 98 },
                                  .seeds = 1 };
    struct forecast_setup forecast = { .series = &series,
                                       .service_s = service->mean_s,
                                       .service_cv = service->cv,
                                       .engine = service->engine,
                                       .scale = 1 };

    (void)state;
    for (int i = 0; i < MINUTES; i++)
        counts[i] = 38 * 60;
    segments_of_series(&series, (struct wall_span){ series.start, demand_time(&series, MINUTES) },
                       &segments);
    forecast.target = setup.target;
    assert_int_equal(allocate_estimate(&setup), 10);
    assert_in_range(ceil(occurrences_need(&forecast, &segments, 1)), 10, 10);
    forecast.target.itl = setup.target.itl = (struct replay_limit){ 0.015, 98 };
    assert_int_equal(allocate_estimate(&setup), 13);
    assert_in_range(ceil(occurrences_need(&forecast, &segments, 1)), 13, 13);
    mem_free(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_tokens_leave_the_rest_to_the_wait),
        cmocka_unit_test(tokens_in_time_limit_the_rate),
        cmocka_unit_test(the_fewest_servers_meet_all_limits),
        cmocka_unit_test(estimates_hold_the_targets_of_tokens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
