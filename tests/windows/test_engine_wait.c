/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The closed form of engines against an independent program with 40 digits, the stations that it
 * contains as limits, and two mistakes that are easily made: occupancy taken for utilisation, and
 * the service time of one load used at another.
 */
#include "base/memory.h"
#include "tests/support/unit.h"
#include "windows/servers/engine_lengths.h"
#include "windows/servers/engine_wait.h"
#include "windows/servers/erlang.h"

#include <math.h>

/* The scalars alone: no closed form looks at the table. */
static struct engine *engine_of(int slots, double iteration_s, double per_request_s,
                                double mean_out)
{
    struct engine *engine = mem_new(sizeof *engine);

    engine->law = (struct engine_law){ .slots = slots,
                                       .iteration_s = iteration_s,
                                       .per_request_s = per_request_s,
                                       .router = ENGINE_CENTRAL };
    engine->mean_out = mean_out;
    return engine;
}

static void expect_near(double have, double want, double error)
{
    if (!(fabs(have - want) <= error * fabs(want)))
        fail_msg("%.16g, expected %.16g", have, want);
}

static const struct reference {
    const char *name;
    double rate;
    int replicas;
    int slots;
    double iteration_s, per_request_s, mean_out;
    double utilisation, waiting, mean_s, p98_s, occupancy, token_s;
} references[] = {
    { "R1 at 0.9", 4, 1, 16, 0.010, 0.0005, 200, 0.9, 0.5146803192528812, 1.158030718318983,
      7.307580813877212, 0.8535549866977966, 0.01707109973395593 },
    { "R1 at 0.7", 28 / 9.0, 1, 16, 0.010, 0.0005, 200, 0.7, 0.07406978892403694,
      0.05555234169302771, 0.9819566015886845, 0.5906512559577893, 0.0151881751532003 },
    { "R2", 6.4, 1, 64, 0.020, 0.00025, 250, 0.9, 0.2093300957438437, 0.2943704471397802,
      3.302128318970624, 0.841569478169335, 0.0336627791267734 },
    { "R3", 19, 1, 256, 0.012, 0.00012, 300, 0.9511875, 0.105471671087259, 0.1081726101675985,
      1.705289127229333, 0.8530935692367523, 0.03831437784642256 },
    { "R3 at 0.99", 19.8, 1, 256, 0.012, 0.00012, 300, 0.9912375, 0.7203202548754051,
      4.115381770008555, 20.47614032837759, 0.9722013693953039, 0.04189958763723869 },
    { "s = 0", 7, 1, 8, 0.025, 0, 40, 0.875, 0.6353160175364294, 0.6353160175364294,
      3.45839026695604, 0.875, 0.025 },
    { "a = 0", 4.5, 1, 8, 0, 0.001, 200, 0.9, 0.43046721, 0.86093442, 6.138277760331071,
      0.64072438875, 0.0056953279 },
    { "4 x R1", 16, 4, 16, 0.010, 0.0005, 200, 0.9, 0.2097412833541396, 0.1179794718867035,
      1.321955163910899, 0.8418096746117114, 0.01683619349223423 },
    { "10 x R1", 40, 10, 16, 0.010, 0.0005, 200, 0.9, 0.05829515605490737, 0.01311641011235416,
      0.2407020142081109, 0.8375527616858875, 0.01675105523371775 },
    { "R1, prompts in the slope", 3.2, 1, 16, 0.010, 0.0006, 200, 0.784, 0.1786053268244793,
      0.2025847457036918, 2.483399647558886, 0.6813530392146307, 0.01703382598036577 },
    { "8 x R3", 150, 8, 256, 0.012, 0.00012, 300, 0.938671875, 2.090326458761264e-7,
      2.132931838812449e-8, 0, 0.8123142838913837, 0.03696932563132342 },
    { "B = 1", 0.8, 1, 1, 0.009, 0.001, 100, 0.8, 0.8, 4, 18.44439727056968, 0.8, 0.01 },
};

static void every_reference_value_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(references); i++) {
        const struct reference *row = &references[i];
        struct engine *engine = engine_of(row->slots, row->iteration_s, row->per_request_s,
                                          row->mean_out);
        struct engine_station station = engine_station_of(engine, row->replicas);
        struct engine_state found = engine_state(&station, row->rate);

        print_message("    %s\n", row->name);
        expect_near(row->rate / engine_capacity(&station), row->utilisation, 1e-12);
        expect_near(engine_waiting(&station, row->rate), row->waiting, 1e-11);
        expect_near(found.waiting, row->waiting, 1e-11);
        expect_near(found.wait_s, row->mean_s, 1e-11);
        expect_near(engine_quantile(&station, row->rate, 0.98), row->p98_s, 1e-11);
        expect_near(found.running / row->replicas / row->slots, row->occupancy, 1e-11);
        expect_near(found.residence_s / row->mean_out, row->token_s, 1e-11);
        expect_near(engine_tail(&station, row->rate, 1),
                    row->waiting * exp(-row->waiting / row->mean_s), 1e-9);
        mem_free(engine);
    }
}

/* Many loads at once as each by itself; and where hardly anyone waits, hardly anyone does. */
static void many_loads_are_as_each_alone(void **state)
{
    enum { LOADS = 29 };
    static const int shapes[][2] = { { 1, 1 }, { 16, 1 }, { 16, 7 }, { 256, 3 }, { 2, 300 } };
    double rates[LOADS];
    double waiting[LOADS];

    (void)state;
    for (size_t row = 0; row < COUNT_OF(shapes) * 3; row++) {
        const int *shape = shapes[row % COUNT_OF(shapes)];
        size_t law = row / COUNT_OF(shapes);
        struct engine *engine = engine_of(shape[0], law == 1 ? 0 : 0.010, law == 0 ? 0 : 0.0005,
                                          200);
        size_t hardly = 0;

        engine->law.router = row % 2 ? ENGINE_RANDOM : ENGINE_CENTRAL;

        struct engine_station station = engine_station_of(engine, shape[1]);

        for (int i = 0; i < LOADS; i++)
            rates[i] = engine_capacity(&station) * (i + 1) / (LOADS + 1);
        engine_waiting_each(&station, rates, LOADS, waiting);
        for (int i = 0; i < LOADS; i++) {
            double alone = engine_waiting(&station, rates[i]);

            if (alone > 1e-14)
                expect_near(waiting[i], alone, 1e-9);
            else
                assert_true(waiting[i] >= 0 && waiting[i] < 1e-13);
            if (engine_hardly_waits(&station, rates[i])) {
                assert_true(alone < 1e-15);
                hardly++;
            } else {
                assert_true(alone > 1e-25);
            }
        }
        assert_true(shape[0] * shape[1] < 100 || hardly > 0 || law == 1 || row % 2);
        mem_free(engine);
    }
}

/* R1 at 70 % is 59 % full: occupancy is not utilisation. */
static void occupancy_is_not_utilisation(void **state)
{
    struct engine *engine = engine_of(16, 0.010, 0.0005, 200);
    struct engine_station station = engine_station_of(engine, 1);
    double rate = 0.7 * engine_capacity(&station);

    (void)state;
    expect_near(engine_capacity(&station), 40 / 9.0, 1e-12);
    expect_near(engine_state(&station, rate).running / 16, 0.591, 1e-3);
    mem_free(engine);
}

/* A token takes longer where the load is higher, and so does a service. */
static void services_take_longer_at_a_higher_load(void **state)
{
    struct engine *engine = engine_of(16, 0.010, 0.0005, 200);
    struct engine_station station = engine_station_of(engine, 1);

    (void)state;
    expect_near(engine_state(&station, 28 / 9.0).residence_s / 200, 0.01519, 1e-3);
    expect_near(engine_state(&station, 4).residence_s / 200, 0.01707, 1e-3);
    expect_near(engine_state(&station, 0).residence_s / 200, 0.0105, 1e-12);
    mem_free(engine);
}

/* Without a slope it is Erlang's station, however its servers are split into replicas. */
static void without_a_slope_it_is_erlangs_station(void **state)
{
    static const int shapes[][2] = { { 1, 1 },  { 8, 1 },    { 1, 8 },     { 64, 1 },
                                     { 16, 4 }, { 256, 16 }, { 4096, 10 }, { 3, 7 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (double rho = 0.3; rho < 1; rho += 0.06) {
            struct engine *engine = engine_of(shapes[i][0], 0.05, 0, 20);
            struct engine_station station = engine_station_of(engine, shapes[i][1]);
            struct station erlang = { shapes[i][0] * shapes[i][1], 1 };
            double rate = rho * erlang.servers;
            double share = erlang_c(erlang.servers, rate);

            if (share > 1e-200) {
                expect_near(engine_waiting(&station, rate), share, 1e-9);
                expect_near(engine_state(&station, rate).running, rate, 1e-9);
            }
            if (share > 1e-6)
                expect_near(engine_quantile(&station, rate, 1 - share / 3),
                            erlang_quantile(erlang, rate, 1 - share / 3), 1e-9);
            mem_free(engine);
        }
}

/* One at a time: M/M/1, whose waiting share is its load. */
static void one_slot_is_a_single_server(void **state)
{
    (void)state;
    for (double rho = 0.05; rho < 1; rho += 0.05) {
        struct engine *engine = engine_of(1, 0.009, 0.001, 100);
        struct engine_station station = engine_station_of(engine, 1);

        expect_near(engine_waiting(&station, rho), rho, 1e-12);
        expect_near(engine_state(&station, rho).wait_s, rho / (1 - rho), 1e-12);
        mem_free(engine);
    }
}

/* All iteration time is the requests': a replica that has any ends them at one rate. */
static void without_a_fixed_part_the_rate_is_constant(void **state)
{
    (void)state;
    for (int slots = 1; slots <= 512; slots *= 2) {
        struct engine *engine = engine_of(slots, 0, 0.001, 200);
        struct engine_station station = engine_station_of(engine, 1);

        for (double rho = 0.5; rho < 1; rho += 0.07)
            expect_near(engine_waiting(&station, rho * 5), pow(rho, slots), 1e-11);
        mem_free(engine);
    }
}

static void a_random_router_leaves_each_replica_alone(void **state)
{
    struct engine *engine = engine_of(16, 0.010, 0.0005, 200);

    (void)state;
    engine->law.router = ENGINE_RANDOM;

    struct engine_station alone = engine_station_of(engine, 1);
    struct engine_station four = engine_station_of(engine, 4);

    expect_near(engine_waiting(&four, 16), engine_waiting(&alone, 4), 1e-12);
    expect_near(engine_quantile(&four, 16, 0.98), engine_quantile(&alone, 4, 0.98), 1e-12);
    expect_near(engine_state(&four, 16).running, 4 * engine_state(&alone, 4).running, 1e-12);
    expect_near(engine_state(&four, 16).residence_s, engine_state(&alone, 4).residence_s, 1e-12);
    mem_free(engine);
}

/* R1 with 30 % of high priority: .1586 and 1.586 s; both together wait as if there were one. */
static void priorities_share_out_one_wait(void **state)
{
    struct engine *engine = engine_of(16, 0.010, 0.0005, 200);
    struct engine_station station = engine_station_of(engine, 1);
    double high_s = engine_high_mean(&station, 1.2, 2.8);
    double low_s = engine_low_mean(&station, 1.2, 2.8);
    struct engine *flat = engine_of(8, 0.025, 0, 40);
    struct engine_station erlang_like = engine_station_of(flat, 1);
    struct station erlang = { 8, 1 };

    (void)state;
    expect_near(high_s, 0.15863434497520316, 1e-9);
    expect_near(low_s, 1.5863434497520316, 1e-9);
    expect_near((1.2 * high_s + 2.8 * low_s) / 4, 1.158030718318983, 1e-9);
    expect_near(engine_high_quantile(&erlang_like, 3, 4, 0.98),
                erlang_high_quantile(erlang, 3, 4, 0.98), 1e-9);
    expect_near(engine_low_quantile(&erlang_like, 3, 4, 0.98),
                erlang_low_quantile(erlang, 3, 4, 0.98), 1e-9);
    assert_true(engine_low_quantile(&station, 1.2, 2.8, 0.98) > engine_quantile(&station, 4, 0.98));
    assert_true(engine_high_quantile(&station, 1.2, 2.8, 0.98) <
                engine_quantile(&station, 4, 0.98));
    mem_free(engine);
    mem_free(flat);
}

static void what_cannot_be_served_waits_forever(void **state)
{
    struct engine *engine = engine_of(16, 0.010, 0.0005, 200);
    struct engine_station station = engine_station_of(engine, 2);

    (void)state;
    assert_true(engine_waiting(&station, 8.9) == 1);
    assert_true(engine_tail(&station, 8.9, 1e6) == 1);
    assert_true(isinf(engine_quantile(&station, 8.9, 0.5)));
    assert_true(isinf(engine_state(&station, 8.9).wait_s));
    assert_true(engine_state(&station, 8.9).running == 32);
    assert_true(isinf(engine_low_mean(&station, 1, 7.9)));
    assert_true(isfinite(engine_high_mean(&station, 1, 7.9)));
    assert_true(engine_waiting(&station, 0) == 0 && engine_quantile(&station, 0, 0.98) == 0);
    mem_free(engine);
}

/* 4096 slots and a thousand replicas: finite, and falling in replicas. */
static void large_stations_are_no_harder(void **state)
{
    struct engine *engine = engine_of(4096, 0.012, 0.00001, 300);
    struct engine_station station = engine_station_of(engine, 1000);
    double rate = engine_capacity(&station) * 0.9999;
    double before = 1;

    (void)state;
    for (station.replicas = 1000; station.replicas <= 1004; station.replicas++) {
        double waiting = engine_waiting(&station, rate);
        struct engine_state found = engine_state(&station, rate);

        assert_true(waiting >= 0 && waiting < before);
        expect_near(found.waiting, waiting, 1e-12);
        assert_true(found.running > 0.9 * 4096 * 1000 && found.running < 4096.0 * 1004);
        before = waiting;
    }
    mem_free(engine);
}

/* As trying every number finds them; for R1 the known 10 and 14. */
static void the_fewest_replicas_meet_the_target(void **state)
{
    static const double targets[] = { 0.02, 0.5, 5, 60 };
    struct engine *engine = engine_of(16, 0.010, 0.0005, 200);

    (void)state;
    assert_int_equal(engine_servers(engine, 40, 0.98, 0.5), 10);
    engine->law.router = ENGINE_RANDOM;
    assert_int_equal(engine_servers(engine, 40, 0.98, 0.5), 14);
    for (int router = 0; router < ENGINE_ROUTERS; router++)
        for (size_t i = 0; i < COUNT_OF(targets); i++)
            for (double rate = 0.01; rate < 1000; rate *= 3.7) {
                struct engine_station station;
                int want = 0;

                engine->law.router = (enum engine_router)router;
                do
                    station = engine_station_of(engine, ++want);
                while (engine_quantile(&station, rate, 0.98) > targets[i]);
                assert_int_equal(engine_servers(engine, rate, 0.98, targets[i]), want);
            }
    assert_int_equal(engine_servers(engine, 1e9, 0.98, 1), -1);
    mem_free(engine);
}

/* 1,000 tokens of prompt at 20 us are 0.1 ms more for each of 200 tokens of an answer. */
static void prompts_hold_up_those_that_run(void **state)
{
    struct engine *engine = engine_of(16, 0.010, 0.0005, 200);

    (void)state;
    engine->law.prefill_s = 20e-6;
    engine->mean_in = 1000;

    struct engine_station station = engine_station_of(engine, 1);

    expect_near(engine_waiting(&station, 3.2), 0.1786053268244793, 1e-9);
    expect_near(engine_quantile(&station, 3.2, 0.98), 2.483399647558886, 1e-9);
    mem_free(engine);
}

/* Nearly idle it takes its own prompt and one iteration; a longer one takes more. */
static void a_first_token_takes_wait_and_prompt(void **state)
{
    struct engine *engine = engine_of(16, 0.010, 0.0005, 200);

    (void)state;
    engine->law.prefill_s = 20e-6;
    engine->mean_in = 1000;
    expect_near(engine_first_token_s(engine, 1, 1e-9), 0.020 + 0.0105, 1e-6);
    engine->mean_in = 5000;
    expect_near(engine_first_token_s(engine, 1, 1e-9), 0.100 + 3 * 0.0105, 1e-6);
    assert_true(engine_first_token_s(engine, 1, 2) > engine_first_token_s(engine, 2, 2));
    engine->mean_in = 1000; /* replays of a day: 41.6 ms, 40.1 and 43.1 */
    expect_near(engine_first_token_s(engine, 1, 2.0408), 0.0416, 0.03);
    expect_near(engine_first_token_s(engine, 4, 8.1632), 0.0401, 0.03);
    expect_near(engine_first_token_s(engine, 4, 11.4286), 0.0431, 0.03);
    engine->mean_in = 4000;
    expect_near(engine_first_token_s(engine, 4, 6.5574), 0.1184, 0.05);
    assert_true(isinf(engine_first_token_s(engine, 1, 20)));
    mem_free(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reference_value_holds),
        cmocka_unit_test(many_loads_are_as_each_alone),
        cmocka_unit_test(occupancy_is_not_utilisation),
        cmocka_unit_test(services_take_longer_at_a_higher_load),
        cmocka_unit_test(without_a_slope_it_is_erlangs_station),
        cmocka_unit_test(one_slot_is_a_single_server),
        cmocka_unit_test(without_a_fixed_part_the_rate_is_constant),
        cmocka_unit_test(a_random_router_leaves_each_replica_alone),
        cmocka_unit_test(priorities_share_out_one_wait),
        cmocka_unit_test(what_cannot_be_served_waits_forever),
        cmocka_unit_test(large_stations_are_no_harder),
        cmocka_unit_test(the_fewest_replicas_meet_the_target),
        cmocka_unit_test(prompts_hold_up_those_that_run),
        cmocka_unit_test(a_first_token_takes_wait_and_prompt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
