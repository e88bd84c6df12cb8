/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The wheel against the exact replay, and the search that uses it against trying every number
 * exactly.
 */
#include "base/random.h"
#include "tests/support/unit.h"
#include "windows/queueing/search.h"
#include "windows/queueing/wheel.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t monday_ms = 1794805200000; /* 2026-11-16 00:00 in New York */
static const struct wheel_limits unlimited = { { INT64_MAX, INT64_MAX } };

struct random_cell {
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct search_setup setup;
};

/* The shape of a week's window in small: several days, a wave, levels that differ by day. */
static void random_cell_init(struct random_cell *cell, struct random *random, const char *queue,
                             bool is_single)
{
    static const double cvs[] = { 1, 1, 1, 0.5, 0 };
    double mean_s = exp(random_between(random, log(1.5), log(40)));
    double rate = exp(random_between(random, log(2), log(12)));
    double high = is_single ? 0 : random_between(random, 0.1, 0.7);
    size_t days = 2 + random_below(random, 3);
    size_t minutes = 40 + random_below(random, 60);

    *cell = (struct random_cell){ .service = service_time_new(mean_s,
                                                              cvs[random_below(random, 5)]) };
    cell->series = (struct demand_series){
        .queue = (char *)(uintptr_t)queue,
        .start = { monday_ms },
        .step_ms = MINUTE_MS,
        .count = days * 2 * minutes,
    };
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        cell->series.counts[class] = mem_new_array(cell->series.count, sizeof(int32_t));
    for (size_t day = 0; day < days; day++) {
        double level = random_between(random, 0.8, 1.2);

        *array_add(&cell->segments.list) = (struct segment){ (2 * day + 1) * minutes, minutes };
        for (size_t i = 0; i < 2 * minutes; i++) {
            double wave = 0.8 + 0.2 * sin((double)i / (double)minutes * M_PI);
            double total = 60 * rate * level * wave * random_between(random, 0.9, 1.1);

            cell->series.counts[DEMAND_HIGH][2 * day * minutes + i] = (int32_t)(high * total);
            cell->series.counts[DEMAND_LOW][2 * day * minutes + i] = (int32_t)((1 - high) * total);
        }
    }
    cell->setup = (struct search_setup){
        .series = &cell->series,
        .segments = &cell->segments,
        .service = cell->service,
        .scale = 1,
        .target = { (int64_t)(1000 * mean_s * exp(random_between(random, log(0.4), log(4)))), 98 },
        .seed = random_next(random),
        .seeds = 3,
    };
}

static void random_cell_clear(struct random_cell *cell)
{
    segments_clear(&cell->segments);
    service_time_free(cell->service);
    mem_free(cell->series.counts[DEMAND_HIGH]);
    mem_free(cell->series.counts[DEMAND_LOW]);
}

/* All repetitions, each drawn once. */
struct trials {
    struct arrivals *items[3];
};

static bool all_pass(const struct random_cell *cell, const struct trials *trials, int servers)
{
    for (size_t i = 0; i < COUNT_OF(trials->items); i++)
        if (!replay_passes(trials->items[i], servers, &cell->setup.target, NULL))
            return false;
    return true;
}

/* Every number from well below the answer upward, exactly, under every seed. */
static int exhaustive(const struct random_cell *cell, const struct trials *trials, int near)
{
    int servers = near - near / 4 - 2 > 1 ? near - near / 4 - 2 : 1;

    while (!all_pass(cell, trials, servers) || !all_pass(cell, trials, servers + 1))
        servers++;
    return servers;
}

/* Whether under this seed as much of what is allowed is used as under any other, to a tenth. */
static bool is_worst(const struct random_cell *cell, const struct trials *trials, int servers,
                     int seed)
{
    double used[COUNT_OF(trials->items)];
    double most = 0;

    for (size_t i = 0; i < COUNT_OF(used); i++) {
        assert_true(replay_passes(trials->items[i], servers, &cell->setup.target, &used[i]));
        most = used[i] > most ? used[i] : most;
    }
    return used[seed] >= most - 0.1;
}

/* WHEEL_CELLS=500 is the long form. */
static void the_search_finds_what_trying_every_number_exactly_finds(void **state)
{
    const char *wanted = getenv("WHEEL_CELLS");
    int cells = wanted ? (int)strtol(wanted, NULL, 10) : 60;
    int by_wheel = 0;
    int different = 0;
    struct random random;

    (void)state;
    random_seed(&random, 21);
    for (int turn = 0; turn < cells; turn++) {
        struct random_cell cell;
        struct search_result result;
        struct trials trials;

        random_cell_init(&cell, &random, "sample", turn % 3 == 0);
        assert_int_equal(search_servers(&cell.setup, &result, NULL), 0);
        for (int i = 0; i < 3; i++)
            trials.items[i] = search_arrivals(&cell.setup, i, NULL);

        owned(wheel_times) struct wheel_times *times = wheel_times_new(trials.items[0],
                                                                       &cell.setup.target);
        int answer = exhaustive(&cell, &trials, result.servers);

        by_wheel += times != NULL;
        different += result.servers != answer;
        if (result.servers < answer)
            fail_msg("cell %d: %d servers, %d are needed", turn, result.servers, answer);
        assert_true(result.servers <= answer + 1);
        assert_true(is_worst(&cell, &trials, result.servers, result.worst_seed));
        if (result.failing_seed >= 0)
            assert_false(replay_passes(trials.items[result.failing_seed], result.servers - 1,
                                       &cell.setup.target, NULL));
        for (int i = 0; i < 3; i++)
            arrivals_free(trials.items[i]);
        random_cell_clear(&cell);
    }
    print_message("%d cells, %d by the wheel, %d unlike the exhaustive search\n", cells, by_wheel,
                  different);
    assert_true(by_wheel * 2 > cells);
    assert_true(different * 100 <= cells);
}

static void the_wheel_counts_what_the_replay_counts(void **state)
{
    struct random random;
    double off = 0;
    int compared = 0;

    (void)state;
    random_seed(&random, 4);
    for (int turn = 0; turn < 40; turn++) {
        struct random_cell cell;
        struct search_result result;
        struct replay_result exact;
        int64_t found[DEMAND_CLASSES];

        random_cell_init(&cell, &random, "count", turn % 2 == 0);
        assert_int_equal(search_servers(&cell.setup, &result, NULL), 0);

        owned(arrivals) struct arrivals *arrivals = search_arrivals(&cell.setup, 0, NULL);
        owned(wheel_times) struct wheel_times *times = wheel_times_new(arrivals,
                                                                       &cell.setup.target);

        if (times && result.servers > 1) {
            owned(wheel) struct wheel *wheel = wheel_new(arrivals, times);

            assert_true(wheel_run(wheel, result.servers - 1, &unlimited, found));
            assert_int_equal(
                replay_report(arrivals, result.servers - 1, &cell.setup.target, &exact, NULL), 0);
            for (int class = 0; class < DEMAND_CLASSES; class ++) {
                double want = (double)exact.classes[class].violations;

                if (want < 200)
                    continue;
                if (fabs((double)found[class] - want) > 0.25 * want)
                    fail_msg("cell %d: %.0f wait too long, the wheel counts %.0f", turn, want,
                             (double)found[class]);
                off += (double)found[class] / want - 1;
                compared++;
            }
        }
        random_cell_clear(&cell);
    }
    assert_true(compared >= 15);
    assert_true(fabs(off / compared) < 0.04);
}

/* A steady load of `erlangs` for two hours. */
static void steady_cell(struct random_cell *cell, int32_t a_minute, double mean_s, double cv)
{
    *cell = (struct random_cell){ .service = service_time_new(mean_s, cv) };
    cell->series = (struct demand_series){
        .queue = (char *)(uintptr_t) "steady",
        .start = { monday_ms },
        .step_ms = MINUTE_MS,
        .count = 120,
    };
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        cell->series.counts[class] = mem_new_array(120, sizeof(int32_t));
    for (size_t i = 0; i < 120; i++)
        cell->series.counts[DEMAND_LOW][i] = a_minute;
    *array_add(&cell->segments.list) = (struct segment){ 0, 120 };
    cell->setup = (struct search_setup){
        .series = &cell->series,
        .segments = &cell->segments,
        .service = cell->service,
        .scale = 1,
        .target = { 20 * SECOND_MS, 98 },
        .seed = 1,
        .seeds = 2,
    };
}

static void an_overload_is_drained_and_counted(void **state)
{
    struct random_cell cell;
    int64_t found[DEMAND_CLASSES];
    struct replay_result exact;

    (void)state;
    steady_cell(&cell, 600, 10, 1);

    owned(arrivals) struct arrivals *arrivals = search_arrivals(&cell.setup, 0, NULL);
    owned(wheel_times) struct wheel_times *times = wheel_times_new(arrivals, &cell.setup.target);
    owned(wheel) struct wheel *wheel = wheel_new(arrivals, times);
    struct wheel_limits few = { { 100, 100 } };

    /* nine tenths of the load: at the end an eighth of all is still in the queue */
    assert_true(wheel_run(wheel, 90, &unlimited, found));
    assert_int_equal(replay_report(arrivals, 90, &cell.setup.target, &exact, NULL), 0);
    assert_true(exact.classes[DEMAND_LOW].violations > 60000);
    /* without the two hundred of the last twenty seconds it would be as many less */
    assert_true(llabs(found[DEMAND_LOW] - exact.classes[DEMAND_LOW].violations) < 60);
    assert_int_equal(found[DEMAND_HIGH], 0);
    assert_false(wheel_run(wheel, 90, &few, found));
    assert_true(found[DEMAND_LOW] > 100 && found[DEMAND_LOW] < 10000);
    assert_true(wheel_run(wheel, 200, &unlimited, found));
    assert_int_equal(found[DEMAND_LOW], 0);
    random_cell_clear(&cell);
}

static void where_ticks_would_be_too_coarse_or_too_many_there_is_no_wheel(void **state)
{
    /* arrivals a minute, mean service, target, whether there is one */
    static const struct {
        int32_t a_minute;
        double mean_s;
        int64_t target_ms;
        bool is_there;
    } cases[] = {
        { 600, 10, 30 * SECOND_MS, true },
        { 6, 10, 30 * SECOND_MS, false },    /* fewer arrivals than ticks */
        { 600, 10, 0, false },               /* every wait is too long */
        { 600, 0.1, 30 * SECOND_MS, false }, /* eight ticks a service */
        { 600, 3000, 2 * SECOND_MS, false }, /* a ring of too many ticks */
        { 600000, 10, 30 * SECOND_MS, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct random_cell cell;

        steady_cell(&cell, cases[i].a_minute, cases[i].mean_s, 1);
        cell.setup.target.wait_ms = cases[i].target_ms;

        owned(arrivals) struct arrivals *arrivals = search_arrivals(&cell.setup, 0, NULL);
        owned(wheel_times) struct wheel_times *times = wheel_times_new(arrivals,
                                                                       &cell.setup.target);

        assert_int_equal(times != NULL, cases[i].is_there);
        random_cell_clear(&cell);
    }
}

static void what_was_quiet_with_fewer_is_left_out_and_nothing_else(void **state)
{
    struct random_cell cell;
    int64_t found[DEMAND_CLASSES];
    int64_t fresh[DEMAND_CLASSES];

    (void)state;
    steady_cell(&cell, 600, 10, 1);
    for (size_t i = 0; i < 60; i++)
        cell.series.counts[DEMAND_LOW][i] = 300;
    cell.segments.list.items[0].count = 60;
    *array_add(&cell.segments.list) = (struct segment){ 60, 60 };

    owned(arrivals) struct arrivals *arrivals = search_arrivals(&cell.setup, 0, NULL);
    owned(wheel_times) struct wheel_times *times = wheel_times_new(arrivals, &cell.setup.target);
    owned(wheel) struct wheel *wheel = wheel_new(arrivals, times);
    owned(wheel) struct wheel *other = wheel_new(arrivals, times);

    assert_true(wheel_run(wheel, 95, &unlimited, found));
    assert_int_equal(wheel_worst(wheel, 0, found), 1);
    assert_true(found[DEMAND_LOW] > 0);
    assert_int_equal(wheel_worst(wheel, 1, found), 0);
    assert_int_equal(found[DEMAND_LOW], 0);
    for (int servers = 40; servers < 100; servers += 17) { /* fewer, then more than 95 */
        assert_true(wheel_run(wheel, servers, &unlimited, found));
        wheel_free(other);
        other = wheel_new(arrivals, times);
        assert_true(wheel_run(other, servers, &unlimited, fresh));
        assert_int_equal(found[DEMAND_LOW], fresh[DEMAND_LOW]);
    }
    random_cell_clear(&cell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_finds_what_trying_every_number_exactly_finds),
        cmocka_unit_test(the_wheel_counts_what_the_replay_counts),
        cmocka_unit_test(an_overload_is_drained_and_counted),
        cmocka_unit_test(where_ticks_would_be_too_coarse_or_too_many_there_is_no_wheel),
        cmocka_unit_test(what_was_quiet_with_fewer_is_left_out_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
