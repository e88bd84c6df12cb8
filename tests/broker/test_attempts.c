/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What attempts at machines teach: when a pool is closed, how waves grow, which hosts are avoided,
 * and that all of it is the same after a restart.
 */
#include "base/input/json.h"
#include "broker/transfer/attempts.h"
#include "tests/support/unit.h"

#include <string.h>

static struct config_pool pools[] = {
    { .name = (char *)(uintptr_t) "prod", .provider_name = (char *)(uintptr_t) "google" },
    { .name = (char *)(uintptr_t) "lab", .provider_name = (char *)(uintptr_t) "google" },
    { .name = (char *)(uintptr_t) "far", .provider_name = (char *)(uintptr_t) "other" },
};

static struct config config = {
    .guard = { .breaker = 3, .breaker_pause_ms = 30 * MINUTE_MS },
    .join = { .quarantine_ms = DAY_MS },
    .pools = pools,
    .pool_count = COUNT_OF(pools),
};

static const struct wall_time noon = { 1790000000000 };

static struct wall_time after(int64_t ms)
{
    return (struct wall_time){ noon.ms + ms };
}

static void a_pool_is_closed_after_so_many_failures_for_so_long(void **state)
{
    static const struct {
        int64_t breaker;
        int64_t failures;
        int64_t minutes; /* since the last one */
        bool is_closed;
    } rows[] = {
        { 3, 0, 0, false }, { 3, 2, 0, false },  { 3, 3, 0, true }, { 3, 3, 29, true },
        { 3, 9, 29, true }, { 3, 3, 30, false }, { 1, 1, 1, true }, { 0, 50, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct config_guard guard = { .breaker = rows[i].breaker,
                                      .breaker_pause_ms = 30 * MINUTE_MS };
        struct lane lane = { .failures = rows[i].failures, .failed = noon };
        struct wall_time until = lane_closed_until(&lane, &guard,
                                                   after(rows[i].minutes * MINUTE_MS));

        if ((until.ms > 0) != rows[i].is_closed)
            fail_msg("row %zu", i);
        if (until.ms > 0)
            assert_int_equal(until.ms, noon.ms + 30 * MINUTE_MS);
    }
}

static void waves_grow_by_what_served(void **state)
{
    static const struct {
        bool canary;
        int64_t failures;
        int64_t served;
        int64_t earlier;
        int64_t of_this_wave;
        int64_t room; /* -1: any number */
    } rows[] = {
        { false, 0, 0, 0, 0, -1 }, { false, 2, 0, 9, 9, -1 }, /* nothing holds it back */
        { false, 3, 0, 0, 0, 1 },  { false, 3, 0, 0, 1, 0 },  /* after a pause: one */
        { false, 3, 0, 1, 0, 0 },  { true, 0, 0, 0, 0, 1 },   /* ever: one */
        { true, 0, 0, 0, 1, 0 },   { true, 0, 0, 1, 0, 0 },   { true, 0, 1, 0, 0, 2 },
        { true, 0, 1, 0, 1, 1 },   { true, 0, 1, 1, 0, 0 },   { true, 0, 2, 0, 0, 2 },
        { true, 0, 3, 0, 0, 4 },   { true, 0, 6, 0, 0, 4 },   { true, 0, 7, 0, 3, 5 },
        { true, 1, 0, 0, 0, 1 },   { true, 3, 0, 0, 0, 1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct config_guard guard = { .breaker = 3, .canary = rows[i].canary };
        struct lane lane = { .failures = rows[i].failures, .served = rows[i].served };
        int64_t room = lane_room(&lane, &guard, 1, rows[i].earlier, rows[i].of_this_wave);

        if (room != (rows[i].room < 0 ? INT64_MAX : rows[i].room))
            fail_msg("row %zu: %lld", i, (long long)room);
    }
}

/* Nodes that serve only together begin together. */
static void the_least_wave_is_one_group(void **state)
{
    static const struct {
        int64_t served;
        int64_t of_this_wave;
        int64_t room;
    } rows[] = {
        { 0, 0, 4 }, { 0, 1, 3 }, { 3, 0, 4 }, { 4, 0, 8 }, { 11, 0, 8 }, { 12, 0, 16 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct config_guard guard = { .canary = true };
        struct lane lane = { .served = rows[i].served };
        int64_t room = lane_room(&lane, &guard, 4, 0, rows[i].of_this_wave);

        if (room != rows[i].room)
            fail_msg("row %zu: %lld", i, (long long)room);
    }
}

struct bench {
    struct journal *journal;
    uint64_t epoch;
    struct attempts *attempts;
};

static void load(struct bench *bench)
{
    struct error err = { 0 };

    attempts_free(bench->attempts);
    bench->attempts = attempts_new(&config);
    if (attempts_load(bench->attempts, bench->journal, &err) < 0)
        fail_msg("%s", err.text);
}

static void fail_in(struct bench *bench, const struct config_pool *pool, const char *host,
                    int64_t ms)
{
    struct transfer *transfer = transfer_new();
    struct journal_batch *batch = journal_batch_new(bench->epoch);
    struct error err = { 0 };

    transfer->source = &pools[1];
    transfer->target = pool;
    text_copy(transfer->new_instance, sizeof transfer->new_instance, "prod-1");
    text_copy(transfer->waiting, sizeof transfer->waiting, "7 of 8 GPUs allocatable");
    if (host)
        attempts_failed(bench->attempts, transfer, host, after(ms), batch);
    else
        attempts_served(bench->attempts, transfer, batch);
    if (journal_commit(bench->journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
    transfer_free(transfer);
}

static void fail_attempt(struct bench *bench, const char *host, int64_t ms)
{
    fail_in(bench, &pools[0], host, ms);
}

static void open_bench(struct bench *bench)
{
    struct error err = { 0 };

    *bench = (struct bench){ .journal = journal_memory_new() };
    assert_int_equal(journal_begin_epoch(bench->journal, &bench->epoch, &err), 0);
    load(bench);
}

static void close_bench(struct bench *bench)
{
    attempts_free(bench->attempts);
    journal_close(bench->journal);
}

static void failures_in_a_row_are_counted_over_a_restart(void **state)
{
    struct bench bench;
    struct error err = { 0 };

    (void)state;
    open_bench(&bench);
    fail_attempt(&bench, "", 0);
    fail_attempt(&bench, "", 0);
    assert_int_equal(attempts_allow(bench.attempts, &pools[0], noon, &err), 0);
    load(&bench);
    fail_attempt(&bench, "", MINUTE_MS);
    load(&bench);
    assert_int_equal(attempts_allow(bench.attempts, &pools[0], after(MINUTE_MS), &err), -1);
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "the last 3 failed: 7 of 8 GPUs allocatable"));
    assert_int_equal(attempts_allow(bench.attempts, &pools[1], after(MINUTE_MS), &err), 0);
    fail_attempt(&bench, NULL, 0);
    load(&bench);
    assert_int_equal(attempts_allow(bench.attempts, &pools[0], after(MINUTE_MS), &err), 0);
    assert_int_equal(attempts_lane(bench.attempts, &pools[0])->served, 1);
    close_bench(&bench);
}

static void a_host_is_avoided_for_its_time(void **state)
{
    struct bench bench;
    owned(json) json_t *rows = NULL;
    owned(json) json_t *later = NULL;

    (void)state;
    open_bench(&bench);
    fail_attempt(&bench, "b/s/h1", 0);
    fail_attempt(&bench, "b/s/h1", HOUR_MS); /* the first sentence stands */
    load(&bench);
    assert_int_equal(attempts_quarantine(bench.attempts, &pools[0], "b/s/h1", noon).ms,
                     noon.ms + DAY_MS);
    assert_int_equal(attempts_quarantine(bench.attempts, &pools[1], "b/s/h1", noon).ms,
                     noon.ms + DAY_MS);
    assert_int_equal(attempts_quarantine(bench.attempts, &pools[2], "b/s/h1", noon).ms, 0);
    assert_int_equal(attempts_quarantine(bench.attempts, &pools[0], "b/s/h2", noon).ms, 0);
    assert_int_equal(attempts_quarantine(bench.attempts, &pools[0], "", noon).ms, 0);
    assert_int_equal(attempts_quarantine(bench.attempts, &pools[0], "b/s/h1", after(DAY_MS)).ms, 0);
    rows = attempts_hosts(bench.attempts, noon);
    assert_int_equal(json_array_size(rows), 1);
    assert_string_equal(json_text_or(json_array_get(rows, 0), "text", ""),
                        "7 of 8 GPUs allocatable");

    /* What ended leaves the journal when the next one is written. */
    fail_attempt(&bench, "b/s/h2", 2 * (int64_t)DAY_MS);
    load(&bench);
    later = attempts_hosts(bench.attempts, noon);
    assert_int_equal(json_array_size(later), 1);
    assert_string_equal(json_text_or(json_array_get(later, 0), "host", ""), "b/s/h2");
    close_bench(&bench);
}

/* NULL: it is released; else the kind of the refusal. */
static void release(struct bench *bench, const char *name, int64_t ms, const char *refusal)
{
    struct journal_batch *batch = journal_batch_new(bench->epoch);
    struct error err = { 0 };
    const char *key = attempts_find_host(bench->attempts, name, after(ms), &err);
    owned(json) json_t *row = key ? attempts_release(bench->attempts, key, "ada", after(ms), batch)
                                  : NULL;

    if (!row != (refusal != NULL))
        fail_msg("%s: %s", name, err.text);
    if (refusal)
        assert_string_equal(error_kind_name(err.kind), refusal);
    if (journal_commit(bench->journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
    load(bench);
}

static int count_hosts(const struct bench *bench, int64_t ms)
{
    owned(json) json_t *rows = attempts_hosts(bench->attempts, after(ms));

    return (int)json_array_size(rows);
}

static void a_person_ends_a_quarantine_by_the_hosts_name(void **state)
{
    struct bench bench;
    struct error err = { 0 };
    const json_t *row;

    (void)state;
    open_bench(&bench);
    fail_attempt(&bench, "b/s/h1", 0);
    fail_attempt(&bench, "b/s/h2", 0);
    fail_in(&bench, &pools[2], "b/s/h2", 0);
    release(&bench, "h1", 0, "not_found"); /* the whole name */
    release(&bench, "google", 0, "not_found");
    release(&bench, "b/s/h2", 0, "conflict"); /* which of the two? */
    release(&bench, "b/s/h1", DAY_MS, "not_found");
    assert_int_equal(count_hosts(&bench, 0), 3);
    release(&bench, "b/s/h1", HOUR_MS, NULL);
    assert_int_equal(attempts_quarantine(bench.attempts, &pools[0], "b/s/h1", noon).ms, 0);
    release(&bench, "b/s/h1", HOUR_MS, "not_found");
    release(&bench, "other/b/s/h2", HOUR_MS, NULL);
    assert_int_equal(attempts_quarantine(bench.attempts, &pools[2], "b/s/h2", noon).ms, 0);
    assert_true(attempts_quarantine(bench.attempts, &pools[0], "b/s/h2", noon).ms > 0);
    release(&bench, "b/s/h2", HOUR_MS, NULL); /* one is left of that name */
    assert_int_equal(count_hosts(&bench, 0), 0);
    fail_attempt(&bench, "b/s/h1", 2 * HOUR_MS); /* it was not mended */
    assert_int_equal(attempts_quarantine(bench.attempts, &pools[0], "b/s/h1", noon).ms,
                     noon.ms + 2 * HOUR_MS + DAY_MS);

    owned(json) json_t *events = journal_events(bench.journal, 3, &err);

    row = json_object_get(json_array_get(events, 0), "event");
    assert_string_equal(json_text_or(row, "event", ""), "host_released");
    assert_string_equal(json_text_or(row, "host", ""), "b/s/h2");
    assert_string_equal(json_text_or(row, "provider", ""), "google");
    assert_string_equal(json_text_or(row, "by", ""), "ada");
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_closed_after_so_many_failures_for_so_long),
        cmocka_unit_test(waves_grow_by_what_served),
        cmocka_unit_test(the_least_wave_is_one_group),
        cmocka_unit_test(failures_in_a_row_are_counted_over_a_restart),
        cmocka_unit_test(a_host_is_avoided_for_its_time),
        cmocka_unit_test(a_person_ends_a_quarantine_by_the_hosts_name),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
