/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The search for replicas of engines: its answer stands by replays that leave nothing out, what it
 * leaves out holds no late request, and each target is one.
 */
#include "tests/support/sweep.h"
#include "tests/support/unit.h"
#include "tools/engine_rows.h"
#include "windows/queueing/negligible.h"
#include "windows/queueing/search.h"

#include <inttypes.h>
#include <string.h>

static const int64_t monday_ms = 1794805200000; /* 2026-11-16 00:00 in New York */

enum { DAYS = 2, QUIET = 60, MINUTES = 7 * 60, SEEDS = 2 };

/* Two days of eight hours with a peak of one, and noise. */
struct peaks {
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service;
    struct search_setup setup;
};

static void peaks_init(struct peaks *peaks, const struct engine_law *law, double cv, double in,
                       double rate)
{
    struct random random;

    *peaks = (struct peaks){ .service = engine_service(law, 300, cv, in) };
    peaks->series = (struct demand_series){
        .queue = (char *)(uintptr_t) "peaks",
        .start = { monday_ms },
        .step_ms = MINUTE_MS,
        .count = (size_t)DAYS * (QUIET + MINUTES),
    };
    random_seed(&random, 5);
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        peaks->series.counts[class] = mem_new_array(peaks->series.count, sizeof(int32_t));
    for (size_t i = 0; i < peaks->series.count; i++) {
        double hour = (double)(i % (QUIET + MINUTES)) / 60;
        double count = 60 * rate * (0.4 + exp(-(hour - 5) * (hour - 5))) *
                       random_between(&random, 0.95, 1.05);

        peaks->series.counts[DEMAND_HIGH][i] = (int32_t)(0.3 * count);
        peaks->series.counts[DEMAND_LOW][i] = (int32_t)(0.7 * count);
    }
    for (size_t day = 0; day < DAYS; day++)
        *array_add(&peaks->segments.list) = (struct segment){ day * (QUIET + MINUTES) + QUIET,
                                                              MINUTES };
    peaks->setup = (struct search_setup){
        .series = &peaks->series,
        .segments = &peaks->segments,
        .service = peaks->service,
        .scale = 1.01, /* what is left over of a count is decided by chance */
        .target = { .wait_ms = SECOND_MS, .percentile = 98 },
        .seed = 7,
        .seeds = SEEDS,
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
    struct engine_law law;
    double cv;
    double in;
    double rate;
} shapes[] = {
    { { 16, 0.010, 0.0005, 0, 0, ENGINE_LEAST_OUTSTANDING }, 1, 0, 12 },
    { { 16, 0.010, 0.0005, 20e-6, 0, ENGINE_CENTRAL }, 1.5, 1000, 12 },
    { { 8, 0.010, 0.0005, 0, 0, ENGINE_RANDOM }, 1, 0, 6 },
    { { 8, 0.010, 0.0005, 0, 0, ENGINE_ROUND_ROBIN }, 0.5, 0, 6 },
    { { 64, 0.020, 0.00025, 20e-6, 0, ENGINE_LEAST_OUTSTANDING }, 1, 500, 30 },
};

static bool passes_under(const struct peaks *peaks, int seed, int servers)
{
    owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks->setup, seed, NULL);

    return replay_passes(arrivals, servers, &peaks->setup.target, NULL);
}

static int found_of(struct peaks *peaks, struct search_result *ret)
{
    struct error err = { 0 };

    if (search_servers(&peaks->setup, ret, &err) < 0)
        fail_msg("%s", err.text);
    return ret->servers;
}

static void the_answer_stands_in_full(void **state)
{
    struct sweep_part part = sweep_part(2);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        if (!sweep_plays(&part))
            continue;

        struct peaks peaks;
        struct search_result found;
        struct search_wait wait;

        peaks_init(&peaks, &shapes[i].law, shapes[i].cv, shapes[i].in, shapes[i].rate);
        assert_in_range(found_of(&peaks, &found), 3, 60);
        for (int seed = 0; seed < SEEDS; seed++)
            assert_true(passes_under(&peaks, seed, found.servers));
        assert_true(passes_under(&peaks, found.worst_seed, found.servers + 1));
        assert_false(passes_under(&peaks, found.failing_seed, found.servers - 1));
        assert_int_equal(
            search_wait_under(&peaks.setup, found.worst_seed, found.servers, &wait, NULL), 0);
        assert_true(wait.wait_s == fmax(found.wait_s[DEMAND_HIGH], found.wait_s[DEMAND_LOW]));
        assert_true(wait.wait_s <= 1);
        peaks_clear(&peaks);
    }
}

static void count_late(struct arrivals *arrivals, int servers, const struct negligible *negligible,
                       int64_t late[DEMAND_CLASSES])
{
    const struct replay_target lenient = { .wait_ms = SECOND_MS, .percentile = 0.001 };

    memset(late, 0, DEMAND_CLASSES * sizeof *late);
    for (size_t i = 0; i < DAYS; i++)
        assert_true(
            replay_count(arrivals, &(struct replay_try){ servers, &lenient, negligible }, i, late));
}

/* The steps of what is looked at get no arrivals; returns how many chunks those are. */
static size_t keep_negligible(struct peaks *peaks, const struct arrivals *arrivals,
                              const struct negligible *negligible, int servers)
{
    size_t looked_at = 0;

    for (size_t at = 0; at < arrivals_chunks(arrivals); at++) {
        const struct arrivals_chunk *chunk = arrivals_outline(arrivals, at);

        if (negligible_at(negligible, arrivals, at, servers))
            continue;
        looked_at++;
        for (int class = 0; class < DEMAND_CLASSES; class ++)
            memset(peaks->series.counts[class] + chunk->first, 0, chunk->steps * sizeof(int32_t));
    }
    return looked_at;
}

/* A batch does not come back to the very state that it would have had, but to one like it: who is
   late differs a little.  In what is left out none is. */
static void no_request_is_late_in_what_is_left_out(void **state)
{
    struct sweep_part part = sweep_part(2);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        if (!sweep_plays(&part))
            continue;

        struct peaks peaks;
        struct search_result found;
        struct negligible negligible;
        int64_t sums[2] = { 0 };

        peaks_init(&peaks, &shapes[i].law, shapes[i].cv, shapes[i].in, shapes[i].rate);
        found_of(&peaks, &found);
        negligible_init(&negligible, peaks.service, &peaks.setup.target);
        for (int seed = 0; seed < SEEDS; seed++) {
            owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, seed, NULL);

            for (int servers = found.servers - 1; servers <= found.servers; servers++)
                for (int is_left_out = 0; is_left_out < 2; is_left_out++) {
                    int64_t late[DEMAND_CLASSES];

                    count_late(arrivals, servers, is_left_out ? &negligible : NULL, late);
                    sums[is_left_out] += late[DEMAND_HIGH] + late[DEMAND_LOW];
                }
        }
        assert_true(sums[0] > 500);
        if (llabs(sums[1] - sums[0]) > sums[0] / 10)
            fail_msg("shape %zu: %" PRId64 " late, not %" PRId64, i, sums[1], sums[0]);

        owned(arrivals) struct arrivals *all = search_arrivals(&peaks.setup, 0, NULL);
        struct negligible with = negligible_with(&negligible, found.servers);
        size_t looked_at = keep_negligible(&peaks, all, &with, found.servers);
        owned(arrivals) struct arrivals *rest = search_arrivals(&peaks.setup, 0, NULL);
        int64_t late[DEMAND_CLASSES];

        count_late(rest, found.servers, NULL, late);
        assert_int_equal(late[DEMAND_HIGH] + late[DEMAND_LOW], 0);
        /* a replica that is alone with its share may have a crowd at any load */
        if (shapes[i].law.router != ENGINE_RANDOM && shapes[i].law.router != ENGINE_ROUND_ROBIN &&
            looked_at * 4 > arrivals_chunks(all) * 3)
            fail_msg("shape %zu: %zu of %zu are looked at", i, looked_at, arrivals_chunks(all));
        peaks_clear(&peaks);
    }
}

/* By the targets of the report: a number passes where all of them are met. */
static void each_target_is_one(void **state)
{
    static const struct {
        struct replay_target target;
        int servers_min;
    } rows[] = {
        { { 60 * SECOND_MS, 98, { 0, 0 }, { 0, 0 } }, 3 },
        { { 60 * SECOND_MS, 98, { 0.2, 90 }, { 0, 0 } }, 4 },
        { { 60 * SECOND_MS, 98, { 0, 0 }, { 0.016, 95 } }, 5 },
        { { SECOND_MS, 98, { 0.2, 95 }, { 0.016, 50 } }, 4 },
    };
    const struct engine_law law = { 16, 0.010, 0.0005, 20e-6, 0, ENGINE_LEAST_OUTSTANDING };
    struct peaks peaks;
    int least = 0;

    (void)state;
    peaks_init(&peaks, &law, 1, 1000, 8);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct search_result found;
        int failed = 0;

        peaks.setup.target = rows[i].target;
        found_of(&peaks, &found);
        for (int servers = found.servers - 1; servers <= found.servers + 1; servers++)
            for (int seed = 0; seed < SEEDS; seed++) {
                owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, seed,
                                                                            NULL);
                const struct replay_target *target = &peaks.setup.target;
                struct replay_result report;
                bool is_met = true;

                assert_int_equal(replay_report(arrivals, servers, target, &report, NULL), 0);
                for (int class = 0; class < DEMAND_CLASSES; class ++) {
                    const struct replay_class *of = &report.classes[class];

                    is_met = is_met && of->quantile_s * SECOND_MS <= (double)target->wait_ms &&
                             (target->ttft.limit_s <= 0 ||
                              of->ttft.quantile_s <= target->ttft.limit_s) &&
                             (target->itl.limit_s <= 0 ||
                              of->itl.quantile_s <= target->itl.limit_s);
                }
                assert_int_equal(is_met, passes_under(&peaks, seed, servers));
                assert_true(is_met || servers < found.servers);
                failed += !is_met;
            }
        assert_true(failed > 0);
        if (found.servers < rows[i].servers_min)
            fail_msg("row %zu: %d replicas", i, found.servers);
        least = i == 0 ? found.servers : least;
        assert_true(i == 0 || found.servers > least);
    }
    peaks_clear(&peaks);
}

static void nothing_is_left_out_where_tokens_have_a_target(void **state)
{
    static const struct replay_target targets[] = {
        { SECOND_MS, 98, { 1, 98 }, { 0, 0 } },
        { SECOND_MS, 98, { 0, 0 }, { 1, 98 } },
        { 0, 98, { 0, 0 }, { 0, 0 } },
    };
    struct peaks peaks;

    (void)state;
    peaks_init(&peaks, &shapes[0].law, 1, 0, 12);
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, 0, NULL);
        struct negligible negligible;

        negligible_init(&negligible, peaks.service, &targets[i]);
        negligible = negligible_with(&negligible, 1000);
        for (size_t at = 0; at < arrivals_chunks(arrivals); at++)
            assert_false(negligible_at(&negligible, arrivals, at, 1000));
    }
    peaks_clear(&peaks);
}

/* A prompt that takes longer than the target has no number of replicas. */
static void what_no_number_meets_is_refused(void **state)
{
    const struct engine_law law = { 16, 0.010, 0.0005, 20e-6, 0, ENGINE_LEAST_OUTSTANDING };
    struct search_result found;
    struct error err = { 0 };
    struct peaks peaks;

    (void)state;
    peaks_init(&peaks, &law, 1, 10000, 1);
    peaks.setup.target.ttft = (struct replay_limit){ 0.1, 98 };
    assert_int_equal(search_servers(&peaks.setup, &found, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "queue peaks: more than "));
    assert_non_null(strstr(err.text, "would not be enough"));
    peaks_clear(&peaks);
}

static void an_overload_loses_no_request(void **state)
{
    const struct replay_target target = { .wait_ms = 60 * SECOND_MS, .percentile = 98 };
    struct replay_result found;
    int64_t count = 0;
    struct peaks peaks;

    (void)state;
    peaks_init(&peaks, &shapes[0].law, 1, 0, 12);
    peaks.setup.scale = 1;
    for (size_t day = 0; day < DAYS; day++)
        for (size_t i = 0; i < MINUTES; i++)
            count += peaks.series.counts[DEMAND_LOW][day * (QUIET + MINUTES) + QUIET + i];

    owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, 0, NULL);

    assert_false(replay_passes(arrivals, 1, &target, NULL));
    assert_int_equal(replay_report(arrivals, 1, &target, &found, NULL), 0);
    assert_int_equal(found.classes[DEMAND_LOW].count, count);
    assert_true(found.classes[DEMAND_LOW].max_s > 4 * 3600);
    assert_true(found.classes[DEMAND_LOW].violations > count / 2);
    assert_true(found.classes[DEMAND_LOW].itl.p50_s > 0.0179); /* that of a full batch */
    assert_true(found.classes[DEMAND_LOW].itl.p50_s < 0.0181);
    peaks_clear(&peaks);
}

/* In many segments that are no longer than two requests nearly as many wait as in one long one, if
   each begins as full as the steady stream before it left the replica; that no request waits then
   is what is missing. */
static void a_segment_begins_with_what_came_before(void **state)
{
    const struct engine_row *row = &engine_rows[1]; /* R1 at 0.7: 7.4 % wait */
    const struct replay_target target = { .wait_ms = 0, .percentile = 98 };
    struct service_time *service = engine_service(&row->law, 10 * row->out, row->cv, 0);
    struct segment_list segments = { 0 };
    struct demand_series series;
    struct replay_result found;

    (void)state;
    engine_stream(&series, row->rate / 10, 0, 100000, 3);
    for (size_t at = 3; at + 1 < series.count; at += 4)
        *array_add(&segments.list) = (struct segment){ at, 1 };

    struct arrivals_setup setup = { &series, &segments, service, 1, 1 };
    owned(arrivals) struct arrivals *arrivals = arrivals_new(&setup, NULL);

    assert_int_equal(replay_report(arrivals, 1, &target, &found, NULL), 0);

    double share = (double)found.classes[DEMAND_LOW].violations /
                   (double)found.classes[DEMAND_LOW].count;

    if (share < 0.8 * row->waits.want || share > 1.05 * row->waits.want)
        fail_msg("%.4f wait, not %.4f", share, row->waits.want);
    segments_clear(&segments);
    engine_stream_clear(&series);
    service_time_free(service);
}

/* Every figure of a report to its last bit, on every machine and for every compiler. */
static void a_replay_has_the_digest_it_has_everywhere(void **state)
{
    static const uint64_t want[COUNT_OF(shapes)] = {
        0xfa8702da93046a96, 0xf5d3637b626feb89, 0x2d90cab6eebc3495,
        0xb435591cf8b496ca, 0x1caefe408bc094bb,
    };
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct replay_result found;
        uint64_t digest = 1;
        struct peaks peaks;

        peaks_init(&peaks, &shapes[i].law, shapes[i].cv, shapes[i].in, shapes[i].rate);

        owned(arrivals) struct arrivals *arrivals = search_arrivals(&peaks.setup, 0, NULL);

        assert_int_equal(replay_report(arrivals, 9, &peaks.setup.target, &found, NULL), 0);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            const struct replay_class *of = &found.classes[class];
            const double values[] = { of->mean_s,     of->p98_s,     of->max_s,    of->ttft.p50_s,
                                      of->ttft.max_s, of->itl.p50_s, of->itl.max_s };

            for (size_t at = 0; at < COUNT_OF(values); at++) {
                uint64_t bits;

                memcpy(&bits, &values[at], sizeof bits);
                digest = random_mix(digest, "value", bits, at);
            }
            digest = random_mix(digest, "late", (uint64_t)of->violations, 0);
        }
        if (digest != want[i]) {
            print_message("shape %zu: 0x%016" PRIx64 "\n", i, digest);
            wrong++;
        }
        peaks_clear(&peaks);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_stands_in_full),
        cmocka_unit_test(no_request_is_late_in_what_is_left_out),
        cmocka_unit_test(each_target_is_one),
        cmocka_unit_test(nothing_is_left_out_where_tokens_have_a_target),
        cmocka_unit_test(what_no_number_meets_is_refused),
        cmocka_unit_test(an_overload_loses_no_request),
        cmocka_unit_test(a_segment_begins_with_what_came_before),
        cmocka_unit_test(a_replay_has_the_digest_it_has_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
