/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lengths that change with the hour: those of a log's own time are drawn, and what is planned is
 * what a simulation of every iteration needs for the very requests of the log.
 */
#include "base/text.h"
#include "base/time_zone.h"
#include "tests/support/unit.h"
#include "tools/request_log.h"
#include "windows/calendar/segment.h"
#include "windows/demand/demand_rows.h"
#include "windows/judge/judge.h"
#include "windows/queueing/batch_replay.h"
#include "windows/queueing/negligible.h"
#include "windows/queueing/search.h"
#include "windows/servers/engine_lengths.h"
#include "windows/servers/engine_periods.h"

#include <string.h>

#define HEADER "t,input_tokens,output_tokens\n"

static const int64_t begin_ms = 1794873600000; /* 2026-11-17T00:00:00Z */

static const struct engine_law law = { 16, 0.012, 0.0004, 20e-6, 0, ENGINE_LEAST_OUTSTANDING };

/* A stretch of a log. */
struct part {
    int minutes;
    double rate; /* requests a second */
    double out;  /* mean tokens of an answer, exponential */
};

static struct request_log history_of(const struct part *parts, size_t count, uint64_t seed)
{
    struct request_log history;
    struct random random;
    double begin_s = 0;
    double at_s = 0;

    random_seed(&random, seed);
    request_log_init(&history, begin_ms);
    for (size_t i = 0; i < count; i++) {
        begin_s += parts[i].minutes * 60;
        while ((at_s += random_exponential(&random, 1 / parts[i].rate)) < begin_s) {
            double out = random_exponential(&random, parts[i].out);

            request_log_add(&history, at_s, (struct iteration_pair){ 200, 1 + (int)out });
        }
        at_s = begin_s;
    }
    return history;
}

/* What is made of it. */
struct plan {
    struct demand *demand;
    struct service_time *service;
    struct segment_list segments;
    struct search_setup setup;
};

static struct demand *read_log(const char *bytes, const char *zone_name)
{
    owned(time_zone) struct time_zone *zone = NULL;
    struct demand_options options = { 0 };
    struct error err = { 0 };

    if (zone_name) {
        zone = time_zone_open(zone_name, &err);
        assert_non_null(zone);
        options.zone = zone;
    }

    struct demand *demand = demand_parse(bytes, strlen(bytes), "log.csv", &options, &err);

    if (!demand)
        fail_msg("%s", err.text);
    return demand;
}

/* by_time: false, and the file might have told lengths without times. */
static struct plan plan_of(const struct request_log *history, bool by_time)
{
    struct plan plan = { .demand = read_log(history->csv->chars, NULL) };
    struct demand_series *series = &plan.demand->series[0];
    struct error err = { 0 };

    if (!by_time)
        array_clear(&series->tokens->times);

    owned(service_shape) struct service_shape *shape = service_shape_of_engine(
        engine_new_by_pairs(&law, series->tokens), "test", &err);

    if (!shape)
        fail_msg("%s", err.text);
    plan.service = service_time_shaped(shape);
    segments_of_series(series,
                       (struct wall_span){ series->start, demand_time(series, series->count) },
                       &plan.segments);
    plan.setup = (struct search_setup){ .series = series,
                                        .service = plan.service,
                                        .scale = 1,
                                        .target = { 500, 98, { 0, 0 }, { 0, 0 } },
                                        .seed = 3,
                                        .seeds = 2 };
    return plan;
}

/* Points to its own segments only where it stays. */
static void plan_settle(struct plan *plan)
{
    plan->setup.segments = &plan->segments;
}

static void plan_clear(struct plan *plan)
{
    segments_clear(&plan->segments);
    service_time_free(plan->service);
    demand_free(plan->demand);
}

static int planned(const struct request_log *history, const struct replay_target *target,
                   bool by_time)
{
    struct plan plan = plan_of(history, by_time);
    struct search_result found;
    struct error err = { 0 };

    plan_settle(&plan);
    plan.setup.target = *target;
    if (search_servers(&plan.setup, &found, &err) < 0)
        fail_msg("%s", err.text);
    plan_clear(&plan);
    return found.servers;
}

static void what_is_planned_is_what_the_log_needs(void **state)
{
    static const struct {
        const char *what;
        struct part parts[2];
        struct replay_target target;
        int astray; /* whom lengths of all hours lead: 1 to too many, -1 to too few */
    } rows[] = {
        { "short at the peak, waits",
          { { 20, 8, 400 }, { 20, 40, 100 } },
          { 500, 98, { 0, 0 }, { 0, 0 } },
          1 },
        { "short at the peak, first tokens",
          { { 20, 8, 400 }, { 20, 40, 100 } },
          { DAY_MS, 98, { 0.5, 98 }, { 0, 0 } },
          1 },
        { "long at the peak, waits",
          { { 20, 20, 40 }, { 20, 20, 200 } },
          { 500, 98, { 0, 0 }, { 0, 0 } },
          -1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct request_log history = history_of(rows[i].parts, 2, i + 1);
        int found = planned(&history, &rows[i].target, true);
        int whole = planned(&history, &rows[i].target, false);
        int fewest = request_log_fewest(&history, &law, &rows[i].target, found);

        if (found < fewest || found > fewest + 1)
            fail_msg("%s: %d replicas, and %d are needed (%d by lengths of all hours)",
                     rows[i].what, found, fewest, whole);
        if ((whole - fewest) * rows[i].astray < 1)
            fail_msg("%s: %d are needed, and lengths of all hours say %d", rows[i].what, fewest,
                     whole);
        request_log_clear(&history);
    }
}

/* Nothing is another then than where lengths have no times. */
static void short_logs_have_one_period(void **state)
{
    static const struct {
        struct part parts[2];
        bool by_time;
        size_t periods;
    } rows[] = {
        { { { 10, 20, 40 }, { 9, 20, 200 } }, true, 0 },
        { { { 60, 0.25, 40 }, { 60, 0.25, 200 } }, true, 0 },
        { { { 20, 8, 400 }, { 20, 8, 100 } }, false, 0 },
        { { { 20, 8, 400 }, { 20, 8, 100 } }, true, 4 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct request_log history = history_of(rows[i].parts, 2, i + 1);
        struct plan plan = plan_of(&history, rows[i].by_time);
        const struct engine_periods *periods = plan.service->engine->periods;

        assert_int_equal(periods ? periods->count : 0, rows[i].periods);
        plan_clear(&plan);
        request_log_clear(&history);
    }
}

/* None is shorter than ten minutes or has fewer requests than make a table, and a time of none of
   them has the lengths of all. */
static void periods_follow_each_other(void **state)
{
    static const struct part parts[] = { { 20, 8, 400 }, { 60, 1, 40 }, { 20, 40, 100 } };
    struct request_log history = history_of(parts, COUNT_OF(parts), 5);
    struct plan plan = plan_of(&history, true);
    const struct engine *engine = plan.service->engine;
    const struct engine_periods *periods = engine->periods;
    int64_t end_ms = begin_ms + 100 * MINUTE_MS;

    (void)state;
    assert_non_null(periods);
    assert_true(periods->items[0].begin_ms == begin_ms && periods->end_ms == end_ms);
    for (size_t i = 0; i < periods->count; i++) {
        int64_t from_ms = periods->items[i].begin_ms;
        int64_t to_ms = i + 1 < periods->count ? periods->items[i + 1].begin_ms : end_ms;
        struct engine_draw draw = engine_draw_of(engine, i + 1);
        size_t requests = 0;
        double mean = 0;
        double drawn = 0;

        for (size_t at = 0; at < history.came_s.count; at++) {
            int64_t ms = begin_ms + (int64_t)(history.came_s.items[at] * SECOND_MS);

            if (ms >= from_ms && ms < to_ms) {
                requests++;
                mean += history.lengths.items[at].out;
            }
        }
        for (unsigned word = 0; word < ENGINE_LENGTHS; word++)
            drawn += (double)draw.out[word >> draw.shift] / ENGINE_LENGTHS;
        assert_true(requests >= ENGINE_PERIOD_PAIRS && to_ms - from_ms >= ENGINE_PERIOD_MS);
        mean /= (double)requests;
        if (fabs(drawn / mean - 1) > 0.01)
            fail_msg("period %zu: %.1f tokens, and %.1f are drawn", i, mean, drawn);
        /* all prompts are of one length: the longer side is that of the answers, or that one */
        assert_true(
            fabs(engine_period_work(engine, i + 1) / fmax(1, drawn / engine->mean_out) - 1) < 1e-9);
        assert_int_equal(engine_period_at(engine, from_ms), i + 1);
        assert_int_equal(engine_period_at(engine, to_ms - 1), i + 1);
    }
    assert_int_equal(engine_period_at(engine, begin_ms - 1), ENGINE_WHOLE);
    assert_int_equal(engine_period_at(engine, end_ms), ENGINE_WHOLE);
    plan_clear(&plan);
    request_log_clear(&history);
}

static void assert_same_tokens(const struct token_pairs *found, const struct token_pairs *want)
{
    assert_int_equal(found->list.count, want->list.count);
    assert_int_equal(found->times.count, found->list.count);
    assert_memory_equal(found->list.items, want->list.items,
                        want->list.count * sizeof *want->list.items);
    assert_memory_equal(found->times.items, want->times.items,
                        want->times.count * sizeof *want->times.items);
}

/* The second keeps a sample of its rows: each of them with its own time. */
static void where_a_log_is_cut_leaves_the_times(void **state)
{
    static const struct part logs[] = { { 10, 10, 50 }, { 45, 60, 50 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(logs); i++) {
        struct request_log history = history_of(&logs[i], 1, i + 1);
        owned(demand) struct demand *demand = read_log(history.csv->chars, NULL);
        const struct token_pairs *whole = demand->series[0].tokens;
        size_t at = 0;

        for (size_t bytes = 40 << 10; bytes <= 4 << 20; bytes *= 10) {
            owned(demand_rows) struct demand_rows rows = { 0 };
            struct demand_feed feed = { .source = "log.csv",
                                        .bytes = history.csv->chars,
                                        .size = history.csv->length };

            assert_int_equal(demand_rows_read(&rows, &feed, false, bytes, NULL), 0);
            assert_same_tokens(&rows.queues.items[0].tokens.pairs, whole);
            demand_block_clear(&feed.rest);
        }
        for (size_t pair = 0; pair < whole->list.count; pair++, at++) {
            while (at < history.came_s.count &&
                   (begin_ms + (int64_t)(history.came_s.items[at] * SECOND_MS) !=
                        whole->times.items[pair] ||
                    history.lengths.items[at].out != (int)whole->list.items[pair].out))
                at++;
            assert_true(at < history.came_s.count);
        }
        request_log_clear(&history);
    }
}

/* Of rows without offsets: in their zone; some with and some without have no time that is known. */
static void times_of_the_clock_become_moments(void **state)
{
    static const struct {
        const char *log;
        const char *zone;
        const char *first; /* NULL: not known */
    } rows[] = {
        { HEADER "2026-11-17T12:00:00,5,6\n", "Europe/Berlin", "2026-11-17T11:00:00Z" },
        { HEADER "2026-11-17T12:00:00,5,6\n", NULL, "2026-11-17T12:00:00Z" },
        { HEADER "2026-11-17T12:00:00Z,5,6\n", "Europe/Berlin", "2026-11-17T12:00:00Z" },
        { HEADER "2026-11-17T12:00:00Z,5,6\n2026-11-17T13:30:00,5,6\n", "Europe/Berlin", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(demand) struct demand *demand = read_log(rows[i].log, rows[i].zone);
        const struct token_pairs *tokens = demand->series[0].tokens;
        struct wall_time first = { 0 };

        if (rows[i].first)
            assert_int_equal(wall_parse(rows[i].first, false, &first, NULL), 0);
        assert_int_equal(tokens->times.count, rows[i].first ? tokens->list.count : 0);
        assert_true(!rows[i].first || tokens->times.items[0] == first.ms);
    }
}

/* Hours that hardly anybody waits in are left out of a search, and its verdicts stay. */
static void what_is_negligible_is_by_the_periods_own_lengths(void **state)
{
    static const struct part parts[] = { { 60, 8, 30 }, { 30, 8, 400 }, { 60, 8, 30 } };
    struct request_log history = history_of(parts, COUNT_OF(parts), 7);
    struct plan plan = plan_of(&history, true);
    struct negligible negligible;
    int most = 0;

    (void)state;
    plan_settle(&plan);
    negligible_init(&negligible, plan.service, &plan.setup.target);

    owned(arrivals) struct arrivals *arrivals = search_arrivals(&plan.setup, 0, NULL);

    for (int servers = 1; servers < 12; servers++) {
        struct negligible with = negligible_with(&negligible, servers);
        int64_t kept[DEMAND_CLASSES] = { 0 };
        int64_t all[DEMAND_CLASSES] = { 0 };
        int left_out = 0;

        (void)batch_replay_count(
            arrivals, &(struct replay_try){ servers, &plan.setup.target, &negligible }, 0, kept);
        (void)batch_replay_count(arrivals,
                                 &(struct replay_try){ servers, &plan.setup.target, NULL }, 0, all);
        assert_int_equal(kept[DEMAND_LOW], all[DEMAND_LOW]);
        for (size_t at = 0; at < arrivals_chunks(arrivals); at++)
            left_out += negligible_at(&with, arrivals, at, servers);
        most = left_out > most ? left_out : most;
    }
    assert_true(most > 0);
    plan_clear(&plan);
    request_log_clear(&history);
}

/* As many all the time is a replay, chance for chance. */
static void a_judge_draws_as_the_replay_does(void **state)
{
    static const struct part parts[] = { { 20, 8, 400 }, { 20, 40, 100 } };
    enum { SLOTS = 40 * MINUTE_MS / JUDGE_SLOT_MS };
    struct request_log history = history_of(parts, COUNT_OF(parts), 9);
    struct plan plan = plan_of(&history, true);
    int64_t late = 0;

    (void)state;
    plan_settle(&plan);
    for (int replicas = 3; replicas < 6; replicas++) {
        owned(arrivals) struct arrivals *arrivals = search_arrivals(&plan.setup, 0, NULL);
        int servers[SLOTS];
        struct judge_score score;
        struct replay_result result;

        for (int slot = 0; slot < SLOTS; slot++)
            servers[slot] = replicas;

        struct judge_plan constant = { plan.setup.series->start, servers, SLOTS };
        struct wall_span span = { plan.setup.series->start,
                                  demand_time(plan.setup.series, plan.setup.series->count) };

        judge(&(struct judge_setup){ arrivals, &plan.setup.target, &span, 1 }, &constant, &score);
        assert_int_equal(replay_report(arrivals, replicas, &plan.setup.target, &result, NULL), 0);
        assert_int_equal(score.violations[DEMAND_LOW], result.classes[DEMAND_LOW].violations);
        late += score.violations[DEMAND_LOW];
    }
    assert_true(late > 100);
    plan_clear(&plan);
    request_log_clear(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_planned_is_what_the_log_needs),
        cmocka_unit_test(short_logs_have_one_period),
        cmocka_unit_test(periods_follow_each_other),
        cmocka_unit_test(where_a_log_is_cut_leaves_the_times),
        cmocka_unit_test(times_of_the_clock_become_moments),
        cmocka_unit_test(what_is_negligible_is_by_the_periods_own_lengths),
        cmocka_unit_test(a_judge_draws_as_the_replay_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
