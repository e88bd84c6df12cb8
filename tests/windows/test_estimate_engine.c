/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Estimates of replicas that are engines: stationary and while demand changes, against the closed
 * form where both must agree.
 */
#include "base/memory.h"
#include "tests/support/unit.h"
#include "windows/queueing/estimate.h"
#include "windows/queueing/search.h"
#include "windows/queueing/transient.h"
#include "windows/servers/engine_lengths.h"

#include <math.h>

enum { MINUTES = 3 * 1440 };

static const int64_t monday_ms = 1794787200000; /* 2026-11-16T00:00:00Z */

/* R1, R2 and R3 of engines that are as fast as common ones. */
static const struct engine_law laws[] = {
    { .slots = 16, .iteration_s = 0.010, .per_request_s = 0.0005 },
    { .slots = 64, .iteration_s = 0.020, .per_request_s = 0.00025 },
    { .slots = 256, .iteration_s = 0.012, .per_request_s = 0.00012, .router = ENGINE_CENTRAL },
    { .slots = 16, .iteration_s = 0.010, .per_request_s = 0.0005, .router = ENGINE_RANDOM },
    { .slots = 16, .per_request_s = 0.0005 },
};
static const double means_out[] = { 200, 250, 300, 200, 200 };

/* One queue, its demand and its engine. */
struct stage {
    int32_t *counts;
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct arrivals_setup setup;
};

static void stage_init(struct stage *stage, struct service_shape *shape)
{
    *stage = (struct stage){ .counts = mem_new_array(MINUTES, sizeof *stage->counts) };
    stage->series = (struct demand_series){ .queue = (char *)(uintptr_t) "chat",
                                            .start = { monday_ms },
                                            .step_ms = MINUTE_MS,
                                            .count = MINUTES,
                                            .is_single = true,
                                            .counts = { NULL, stage->counts } };
    segments_of_series(
        &stage->series,
        (struct wall_span){ stage->series.start, demand_time(&stage->series, MINUTES) },
        &stage->segments);
    stage->service = service_time_outline(shape);
    stage->setup = (struct arrivals_setup){ &stage->series, &stage->segments, stage->service, 1,
                                            0 };
    service_shape_free(shape);
}

static void stage_clear(struct stage *stage)
{
    mem_free(stage->counts);
    segments_clear(&stage->segments);
    service_time_free(stage->service);
}

static struct service_shape *shape_of(size_t law, double cv)
{
    const struct engine_tokens tokens = { .mean_out = means_out[law], .cv = cv };
    struct error err = { 0 };
    struct service_shape *shape = service_shape_of_engine(engine_new_by_law(&laws[law], &tokens),
                                                          "test", &err);

    assert_non_null(shape);
    return shape;
}

/* A wave of a day, and minutes that differ by the share `burst`, drawn without a library. */
static void fill(struct stage *stage, double rate, double wave, double burst)
{
    unsigned drawn = 1;

    for (int i = 0; i < MINUTES; i++) {
        drawn = drawn * 1664525u + 1013904223u;

        double share = (double)(drawn >> 8) / (1 << 24) * 2 - 1;

        stage->counts[i] = (int32_t)(rate * 60 * (1 + wave * sin(i * 2 * M_PI / 1440)) *
                                         (1 + burst * share) +
                                     0.5);
    }
}

static int estimated(const struct stage *stage, double p, double t_s)
{
    struct estimate estimate;

    estimate_init(&estimate, &stage->setup);
    return estimate_servers(&estimate, p, t_s);
}

/* Where demand stays as it is. */
static void at_a_constant_rate_it_is_the_closed_form(void **state)
{
    static const double targets[] = { 0.1, 1, 10 };

    (void)state;
    for (size_t law = 0; law < COUNT_OF(laws); law++) {
        struct stage stage;

        stage_init(&stage, shape_of(law, 1));

        struct engine_station one = engine_station_of(stage.service->engine, 1);

        for (double rate = 0.7 * engine_capacity(&one); rate < 60 * engine_capacity(&one);
             rate *= 2.3)
            for (size_t i = 0; i < COUNT_OF(targets); i++) {
                fill(&stage, rate, 0, 0);

                int closed = engine_servers(stage.service->engine, rate, 0.98, targets[i]);
                int stationary = estimated(&stage, 0.98, targets[i]);
                int transient = transient_servers(&stage.setup, 0.98, targets[i]);

                if (abs(stationary - closed) > 1 || abs(transient - closed) > 1 + closed / 10)
                    fail_msg("law %zu, %g/s, %g s: %d and %d, closed form %d", law, rate,
                             targets[i], stationary, transient, closed);
            }
        stage_clear(&stage);
    }
}

/* A day with a wave and wild minutes: what the search finds by replays, to one replica. */
static void while_demand_changes_it_is_the_search(void **state)
{
    static const struct {
        size_t law;
        double cv;
    } rows[] = { { 0, 1 }, { 0, 0 }, { 1, 1.5 }, { 3, 1 } };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct service_shape *shape = shape_of(rows[row].law, rows[row].cv);
        owned(service_time) struct service_time *service = service_time_shaped(shape);
        struct stage stage;
        struct search_result found;

        stage_init(&stage, shape);

        struct engine_station one = engine_station_of(service->engine, 1);
        struct segment_list part = { 0 };
        struct search_setup search = { .series = &stage.series,
                                       .segments = &part,
                                       .service = service,
                                       .scale = 1,
                                       .target = { .wait_ms = 1000, .percentile = 98 },
                                       .seed = 1,
                                       .seeds = 1 };

        fill(&stage, 3 * engine_capacity(&one), 0.6, 0.7);
        segments_of_series(
            &stage.series,
            (struct wall_span){ stage.series.start, demand_time(&stage.series, 480) }, &part);
        stage.setup.segments = &part;
        assert_int_equal(search_servers(&search, &found, NULL), 0);

        int transient = transient_servers(&stage.setup, 0.98, 1);
        int stationary = estimated(&stage, 0.98, 1);

        if (abs(transient - found.servers) > 1 || abs(stationary - found.servers) > 1)
            fail_msg("law %zu, cv %g: %d and %d, by replays %d", rows[row].law, rows[row].cv,
                     transient, stationary, found.servers);
        segments_clear(&part);
        stage_clear(&stage);
    }
}

/* c engines of B slots without a slope are B c servers. */
static void the_short_form_is_as_many_servers(void **state)
{
    struct service_shape *shape = service_shape_new(SERVICE_BY_CV, 6, 1.5, "test");
    struct stage plain;
    struct stage slots;
    struct estimate estimates[2];

    (void)state;
    service_shape_set_slots(shape, 16, ENGINE_CENTRAL);
    stage_init(&slots, shape);
    stage_init(&plain, service_shape_new(SERVICE_BY_CV, 6, 1.5, "test"));
    fill(&plain, 20, 0.6, 0.5);
    fill(&slots, 20, 0.6, 0.5);
    estimate_init(&estimates[0], &plain.setup);
    estimate_init(&estimates[1], &slots.setup);
    for (int replicas = 8; replicas < 16; replicas++)
        for (double t_s = 0; t_s < 30; t_s += 10) {
            assert_true(fabs(estimate_tail(&estimates[0], 16 * replicas, t_s) -
                             estimate_tail(&estimates[1], replicas, t_s)) < 1e-9);
            assert_true(fabs(transient_tail(&plain.setup, 16 * replicas, t_s) -
                             transient_tail(&slots.setup, replicas, t_s)) < 1e-9);
        }
    stage_clear(&plain);
    stage_clear(&slots);
}

static void tails_and_pressures_fall_with_replicas_and_stay_finite(void **state)
{
    (void)state;
    for (size_t law = 0; law < COUNT_OF(laws); law++) {
        struct stage stage;
        struct estimate estimate;
        double pressure = HUGE_VAL;
        double before[2] = { 1, 1 };

        stage_init(&stage, shape_of(law, 1.5));
        fill(&stage, 40, 0.6, 0.8);
        estimate_init(&estimate, &stage.setup);
        for (int replicas = 1; replicas < 60; replicas++) {
            double tails[2] = { estimate_tail(&estimate, replicas, 1),
                                transient_tail(&stage.setup, replicas, 1) };
            double now = estimate_pressure(&estimate, replicas, 0.98, 1);

            for (int i = 0; i < 2; i++)
                assert_true(tails[i] >= 0 && tails[i] <= before[i] + 1e-9);
            assert_true(isfinite(now) && now <= pressure);
            assert_true(estimate_tail(&estimate, replicas, 5) <= tails[0]);
            before[0] = tails[0];
            before[1] = tails[1];
            pressure = now;
        }
        assert_true(isfinite(estimate_pressure(&estimate, 0, 0.98, 1)));
        assert_true(before[0] < 0.02 && before[1] < 0.02);

        int servers = transient_servers(&stage.setup, 0.98, 1);

        assert_true(transient_wait(&stage.setup, servers, 0.98) <= 1.01);
        assert_true(transient_wait(&stage.setup, servers - 1, 0.98) > 0.99);
        stage_clear(&stage);
    }
}

/* Answers of one length wait less, uneven ones longer; a burst of a minute ends. */
static void spread_and_bursts_count(void **state)
{
    static const double cvs[] = { 0, 1, 2 };
    double waits[COUNT_OF(cvs)];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cvs); i++) {
        struct stage stage;

        stage_init(&stage, shape_of(0, cvs[i]));
        fill(&stage, 4 * 4.2, 0, 0);
        waits[i] = transient_wait(&stage.setup, 4, 0.98);
        fill(&stage, 40, 0.5, 0.9);
        assert_true(transient_servers(&stage.setup, 0.98, 10) < estimated(&stage, 0.98, 10));
        stage_clear(&stage);
    }
    assert_true(waits[0] < waits[1] && waits[1] < waits[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_a_constant_rate_it_is_the_closed_form),
        cmocka_unit_test(while_demand_changes_it_is_the_search),
        cmocka_unit_test(the_short_form_is_as_many_servers),
        cmocka_unit_test(tails_and_pressures_fall_with_replicas_and_stay_finite),
        cmocka_unit_test(spread_and_bursts_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
