/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a replay confirms of a forecast: servers with a fraction, by the target that one server
 * fewer misses.
 */
#include "tests/support/unit.h"
#include "tools/engine_rows.h"
#include "windows/forecast/confirm.h"
#include "windows/queueing/search.h"

#include <math.h>

static const int64_t monday_ms = 1794805200000; /* 2026-11-16 00:00 in New York */

enum { MINUTES = 24 * 60, BEGIN = 9 * 60, END = 12 * 60 };

/* A day of the same demand each minute; three hours of it are the occurrence. */
struct day {
    struct demand_series series;
    struct window_set *set;
    struct service_time *service;
    struct forecast_setup setup;
    struct forecast_cell cells[16];
    struct forecast forecast;
    size_t window;
};

static void day_init(struct day *day, const struct replay_target *target, int per_minute)
{
    static const struct engine_law law = ENGINE_R1(ENGINE_LEAST_OUTSTANDING);

    *day = (struct day){ .set = window_set_read(NULL, time_zone_open("America/New_York", NULL),
                                                NULL),
                         .service = engine_service(&law, 300, 1, 0) };
    day->series = (struct demand_series){ .queue = (char *)(uintptr_t) "chat",
                                          .start = { monday_ms },
                                          .step_ms = MINUTE_MS,
                                          .count = MINUTES };
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        day->series.counts[class] = mem_new_array(MINUTES, sizeof(int32_t));
    for (size_t i = 0; i < MINUTES; i++)
        day->series.counts[DEMAND_LOW][i] = per_minute;
    day->setup = (struct forecast_setup){ .series = &day->series,
                                          .set = day->set,
                                          .engine = day->service->engine,
                                          .scale = 1,
                                          .target = *target,
                                          .end = { monday_ms + DAY_MS } };
    day->window = (size_t)(window_at(day->set,
                                     (struct wall_time){ monday_ms + BEGIN * MINUTE_MS }) -
                           day->set->items);
    assert_in_range(day->set->count, day->window + 1, COUNT_OF(day->cells));
    day->forecast = (struct forecast){ .cells = day->cells, .count = day->set->count };
    *array_add(&day->cells[day->window].past) =
        (struct forecast_occurrence){ .begin = { monday_ms + BEGIN * MINUTE_MS },
                                      .end = { monday_ms + END * MINUTE_MS },
                                      .is_known = true,
                                      .need = 1 };
}

static void day_clear(struct day *day)
{
    array_clear(&day->cells[day->window].past);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(day->series.counts[class]);
    service_time_free(day->service);
    window_set_free(day->set);
}

/* The late share of each target with so many servers; a half of a request at least. */
static void late_shares(const struct search_setup *setup, int servers, double shares[3])
{
    owned(arrivals) struct arrivals *arrivals = search_arrivals(setup, 0, NULL);
    struct replay_result result;

    assert_int_equal(replay_report(arrivals, servers, &setup->target, &result, NULL), 0);

    const struct replay_class *low = &result.classes[DEMAND_LOW];
    const int64_t late[] = { low->violations, low->ttft.violations, low->itl.violations };

    for (int i = 0; i < 3; i++)
        shares[i] = fmax((double)late[i], 0.5) / (double)low->count;
}

/* By hand: from the servers of the search, by the logarithm of the share that is late. */
static double need_by_hand(const struct day *day, int binds, double allowed, int *ret_servers)
{
    owned(segments) struct segment_list segments = { 0 };
    struct search_setup setup = { &day->series, &segments, day->service, 1, day->setup.target, 1, 1,
                                  false };
    struct search_result found;
    double passes[3];
    double fails[3];

    segments_of_window(
        &day->series, day->set, day->window,
        (struct wall_span){ { monday_ms + BEGIN * MINUTE_MS }, { monday_ms + END * MINUTE_MS } },
        &segments);
    assert_int_equal(search_servers(&setup, &found, NULL), 0);
    assert_in_range(found.servers, 3, 30);
    late_shares(&setup, found.servers, passes);
    late_shares(&setup, found.servers - 1, fails);
    assert_true(passes[binds] <= allowed && fails[binds] > allowed);
    *ret_servers = found.servers;
    return found.servers - log(allowed / passes[binds]) / log(fails[binds] / passes[binds]);
}

static void the_target_that_one_fewer_misses_makes_the_fraction(void **state)
{
    enum { WAIT, TTFT, ITL };
    static const struct {
        struct replay_target target;
        int binds;
        double allowed;
    } rows[] = {
        { { .wait_ms = 500, .percentile = 98 }, WAIT, 0.02 },
        { { .wait_ms = 60000, .percentile = 90, .ttft = { 0.3, 95 } }, TTFT, 0.05 },
        { { .wait_ms = 60000, .percentile = 98, .itl = { 0.0145, 90 } }, ITL, 0.1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct day day;
        double ratio;
        double need;
        int servers;

        day_init(&day, &rows[i].target, 12 * 60);
        need = need_by_hand(&day, rows[i].binds, rows[i].allowed, &servers);
        assert_int_equal(
            confirm_ratio(&(struct confirm_queue){ &day.setup, day.service, &day.forecast },
                          day.window, &ratio, NULL),
            0);
        if (!(fabs(ratio - need) < 1e-9))
            fail_msg("target %d: %g servers of %d, not %g", rows[i].binds, ratio, servers, need);
        assert_true(need < servers);
        day_clear(&day);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_that_one_fewer_misses_makes_the_fraction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
