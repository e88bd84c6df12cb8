/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The played queue against Erlang's formula, and what happens when servers come and go.
 */
#include "base/random.h"
#include "tests/simulator/bench.h"
#include "tools/simulator/model/traffic.h"

#include <math.h>

/* The chance that a request must wait, by the recursion of Erlang B. */
static double erlang_c(int servers, double load)
{
    double blocking = 1;

    for (int i = 1; i <= servers; i++)
        blocking = load * blocking / (i + load * blocking);
    return servers * blocking / (servers - load * (1 - blocking));
}

/* Poisson arrivals a minute, as a demand history would hold them. */
static int poisson(struct random *random, double mean)
{
    int count = -1;

    for (double sum = 0; sum < mean; count++)
        sum += random_exponential(random, 1);
    return count;
}

static void test_waits_are_those_of_erlang(void **state)
{
    static const struct {
        int servers;
        double load, service_s;
    } cases[] = { { 1, 0.5, 1 }, { 10, 8, 2 }, { 50, 45, 10 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double means[20], sum = 0, spread = 0;
        double rate = cases[i].load / cases[i].service_s;
        double wanted = erlang_c(cases[i].servers, cases[i].load) * cases[i].service_s /
                        (cases[i].servers - cases[i].load);

        for (uint64_t run = 0; run < COUNT_OF(means); run++) {
            struct random random;
            struct queue_play *play = queue_play_new(random_mix(1, "service", run, i),
                                                     cases[i].service_s, 1, 1);

            random_seed(&random, random_mix(1, "arrivals", run, i));
            queue_play_servers(play, cases[i].servers);
            for (int minute = 0; minute < 5000; minute++) {
                const int count[2] = { poisson(&random, rate * 60), 0 };

                queue_play_arrivals(play, minute * 60, 60, count);
                queue_play_until(play, (minute + 1) * 60);
            }

            owned(json) json_t *report = queue_play_report(play);

            means[run] = json_real_value(json_at(report, "all/mean_s"));
            sum += means[run];
            queue_play_free(play);
        }

        double mean = sum / (double)COUNT_OF(means);

        for (size_t run = 0; run < COUNT_OF(means); run++)
            spread += (means[run] - mean) * (means[run] - mean);

        double error = sqrt(spread / (double)(COUNT_OF(means) - 1) / (double)COUNT_OF(means));

        print_message("%d servers: %.4f s, Erlang %.4f s, standard error %.4f s\n",
                      cases[i].servers, mean, wanted, error);
        assert_true(fabs(mean - wanted) < 4 * error);
    }
}

static void test_high_priority_goes_first(void **state)
{
    const int count[2] = { 10, 10 };
    struct queue_play *play = queue_play_new(1, 10, 0, 1);

    (void)state;
    queue_play_arrivals(play, 0, 1, count);
    queue_play_until(play, 1); /* all wait: no replica serves */
    queue_play_servers(play, 1);
    queue_play_until(play, 10000);

    owned(json) json_t *report = queue_play_report(play);

    /* One server, constant service of 10 s: the tenth high waits 90 s, the last low 190 s. */
    assert_true(json_real_value(json_at(report, "high/max_s")) < 91.1);
    assert_true(json_real_value(json_at(report, "low/p50_s")) > 95);
    assert_true(json_real_value(json_at(report, "low/max_s")) > 189);
    assert_int_equal(json_int_or(report, "all/count", 0), 20);
    queue_play_free(play);
}

static void test_a_server_taken_away_finishes_its_request(void **state)
{
    const int count[2] = { 2, 0 };
    struct queue_play *play = queue_play_new(1, 100, 0, 1);

    (void)state;
    queue_play_servers(play, 1);
    queue_play_arrivals(play, 0, 1, count);
    queue_play_until(play, 10);
    queue_play_servers(play, -1);
    queue_play_until(play, 1000);

    owned(json) json_t *before = queue_play_report(play);

    assert_int_equal(json_int_or(before, "all/count", 0), 1);
    assert_int_equal(json_int_or(before, "waiting", 0), 1);
    assert_int_equal(json_int_or(before, "servers", -1), 0);
    queue_play_servers(play, 1);
    queue_play_until(play, 2000);

    owned(json) json_t *after = queue_play_report(play);

    assert_int_equal(json_int_or(after, "waiting", 0), 0);
    assert_true(json_real_value(json_at(after, "all/max_s")) > 999);
    queue_play_free(play);
}

static void test_replicas_of_the_clusters_serve_the_demand(void **state)
{
    struct bench here, *bench = &here;
    owned(text) struct text *demand = text_new(1 << 20);
    owned(chars) char *world = text_format("%sdemand: demand.csv\n", bench_world);

    (void)state;
    text_add(demand, "minute_utc_iso,queue,count,priority\n");
    for (int minute = 0; minute < 120; minute++)
        text_add(demand, "2026-11-25T%02d:%02d:00Z,chat,%d,high\n", 10 + minute / 60, minute % 60,
                 minute < 60 ? 12 : 60);
    bench_open(bench, bench_config, world, demand->chars);
    bench_wait(bench, HOUR_MS);

    owned(json) json_t *calm = simulator_report(bench->simulator);

    assert_int_equal(json_int_or(calm, "queues/chat/servers", 0), 4);
    assert_in_range(json_int_or(calm, "queues/chat/all/count", 0), 715, 720);
    assert_true(json_real_value(json_at(calm, "queues/chat/all/p98_s")) < 30);
    bench_wait(bench, HOUR_MS);

    /* 60 a minute of 10 s each need more than ten; there are four. */
    owned(json) json_t *rush = simulator_report(bench->simulator);

    assert_true(json_int_or(rush, "queues/chat/waiting", 0) > 1000);
    assert_true(json_real_value(json_at(rush, "queues/chat/all/p98_s")) > 600);
    bench_close(bench);
}

static void test_a_mistake_in_the_demand_is_told_with_its_line(void **state)
{
    struct error err = { 0 };
    owned(test_folder) char *folder = test_folder_new();
    owned(loop) struct loop *loop = loop_virtual_new((struct wall_time){ 1795600800000 });
    owned(chars) char *config = test_folder_write(folder, "sluice.yaml", bench_config);
    owned(chars) char *demand = test_folder_write(
        folder, "demand.csv", "minute,queue,count\n2026-11-25T10:00:00Z,chat,x\n");
    owned(chars) char *world = test_folder_write(folder, "world.yaml", "demand: demand.csv\n");

    (void)state;
    assert_non_null(demand);
    assert_null(simulator_new(loop, config, world, &err));
    assert_non_null(strstr(err.text, "demand.csv:2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_are_those_of_erlang),
        cmocka_unit_test(test_high_priority_goes_first),
        cmocka_unit_test(test_a_server_taken_away_finishes_its_request),
        cmocka_unit_test(test_replicas_of_the_clusters_serve_the_demand),
        cmocka_unit_test(test_a_mistake_in_the_demand_is_told_with_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
