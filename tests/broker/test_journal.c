/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One contract, all journals: every case runs on SQLite (a file) and on memory, each written in the
 * call of a commit or later.  A case begins on an empty journal of its own.
 */
#include "tests/broker/journal_bench.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void a_put_names_the_revision_that_it_replaces(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);

    add_put(batch, "a", 0, 1);
    add_put(batch, "b", 0, 2);
    expect_commit(&bench, batch);
    expect_things(&bench, "a@1=1 b@1=2 ");

    batch = batch_of(&bench);
    add_put(batch, "a", 1, 11);
    expect_commit(&bench, batch);
    expect_things(&bench, "a@2=11 b@1=2 ");

    static const uint64_t wrong[] = { 0, 1, 3 };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        batch = batch_of(&bench);
        add_put(batch, "a", wrong[i], 99);
        expect_refusal(&bench, batch, ERROR_CONFLICT);
    }
    batch = batch_of(&bench);
    add_put(batch, "new", 1, 99);
    expect_refusal(&bench, batch, ERROR_CONFLICT);
    expect_things(&bench, "a@2=11 b@1=2 ");
}

static void a_remove_names_the_revision_too(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);

    add_put(batch, "a", 0, 1);
    expect_commit(&bench, batch);
    static const uint64_t wrong[] = { 0, 2 };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        batch = batch_of(&bench);
        journal_remove(batch, "thing", "a", wrong[i]);
        expect_refusal(&bench, batch, ERROR_CONFLICT);
    }
    for (uint64_t rev = 0; rev < 2; rev++) {
        batch = batch_of(&bench);
        journal_remove(batch, "thing", "absent", rev);
        expect_refusal(&bench, batch, ERROR_CONFLICT);
    }
    batch = batch_of(&bench);
    journal_remove(batch, "thing", "a", 1);
    expect_commit(&bench, batch);
    expect_things(&bench, "");

    batch = batch_of(&bench);
    add_put(batch, "a", 0, 2);
    expect_commit(&bench, batch);
    expect_things(&bench, "a@1=2 ");
}

static void a_claim_has_one_holder(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);

    journal_claim(batch, "node/1", "t-1");
    expect_commit(&bench, batch);
    batch = batch_of(&bench);
    journal_claim(batch, "node/1", "t-1"); /* again, by the same */
    journal_claim(batch, "node/2", "t-1");
    expect_commit(&bench, batch);
    batch = batch_of(&bench);
    journal_claim(batch, "node/1", "t-2");
    expect_refusal(&bench, batch, ERROR_CONFLICT);

    batch = batch_of(&bench);
    journal_release(batch, "node/1", "t-2"); /* not the holder: nothing happens */
    journal_release(batch, "node/9", "t-2");
    expect_commit(&bench, batch);
    batch = batch_of(&bench);
    journal_claim(batch, "node/1", "t-2");
    expect_refusal(&bench, batch, ERROR_CONFLICT);

    batch = batch_of(&bench);
    journal_release(batch, "node/1", "t-1");
    expect_commit(&bench, batch);
    batch = batch_of(&bench);
    journal_claim(batch, "node/1", "t-2");
    expect_commit(&bench, batch);
}

static void one_batch_cannot_claim_for_two(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);

    journal_claim(batch, "node/1", "t-1");
    journal_claim(batch, "node/1", "t-2");
    expect_refusal(&bench, batch, ERROR_CONFLICT);
    batch = batch_of(&bench);
    journal_claim(batch, "node/1", "t-3"); /* and nothing of it stayed */
    expect_commit(&bench, batch);
}

static void a_batch_sees_what_it_did_itself(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);

    add_put(batch, "a", 0, 1);
    add_put(batch, "a", 1, 2);
    add_put(batch, "b", 0, 3);
    journal_remove(batch, "thing", "b", 1);
    journal_claim(batch, "node/1", "t-1");
    journal_release(batch, "node/1", "t-1");
    journal_claim(batch, "node/1", "t-2");
    expect_commit(&bench, batch);
    expect_things(&bench, "a@2=2 ");

    batch = batch_of(&bench);
    add_put(batch, "c", 0, 1);
    add_put(batch, "c", 0, 2);
    expect_refusal(&bench, batch, ERROR_CONFLICT);
    expect_things(&bench, "a@2=2 ");
}

static void a_batch_happens_whole_or_not_at_all(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);
    struct error err = { 0 };

    add_put(batch, "a", 0, 1);
    journal_claim(batch, "node/1", "t-1");
    add_event(batch, 1);
    expect_commit(&bench, batch);

    batch = batch_of(&bench);
    add_put(batch, "a", 1, 2);
    add_put(batch, "b", 0, 3);
    journal_release(batch, "node/1", "t-1");
    journal_claim(batch, "node/2", "t-1");
    add_event(batch, 2);
    add_put(batch, "b", 7, 4); /* the last one does not fit */
    expect_refusal(&bench, batch, ERROR_CONFLICT);

    expect_things(&bench, "a@1=1 ");
    batch = batch_of(&bench);
    journal_claim(batch, "node/1", "t-2");
    expect_refusal(&bench, batch, ERROR_CONFLICT);
    batch = batch_of(&bench);
    journal_claim(batch, "node/2", "t-2");
    add_event(batch, 3);
    expect_commit(&bench, batch);
    owned(json) json_t *events = events_of(&bench, 10, &err);
    assert_int_equal(json_array_size(events), 2);
    assert_int_equal(verify(&bench, &err), 0);
}

static void an_older_epoch_writes_no_more(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    uint64_t older = bench.epoch;
    struct journal_batch *batch = batch_of(&bench);

    add_put(batch, "a", 0, 1);
    expect_commit(&bench, batch);
    rest(&bench); /* the process of the older one lives on */
    begin_epoch(&bench);
    assert_true(bench.epoch > older);

    batch = journal_batch_new(older);
    add_put(batch, "a", 1, 2);
    expect_refusal(&bench, batch, ERROR_DENIED);
    batch = journal_batch_new(bench.epoch + 1);
    add_put(batch, "a", 1, 2);
    expect_refusal(&bench, batch, ERROR_DENIED);
    expect_things(&bench, "a@1=1 ");
    batch = batch_of(&bench);
    add_put(batch, "a", 1, 3);
    expect_commit(&bench, batch);
}

static void events_are_a_chain(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct error err = { 0 };

    for (int i = 1; i <= 5; i++) {
        struct journal_batch *batch = batch_of(&bench);

        add_event(batch, 10 * i);
        add_event(batch, 10 * i + 1);
        expect_commit(&bench, batch);
    }
    owned(json) json_t *last = events_of(&bench, 3, &err);
    assert_int_equal(json_array_size(last), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(last, i);
        int number = i == 0 ? 41 : 49 + (int)i;

        assert_int_equal(json_int_or(row, "seq", 0), 8 + i);
        assert_int_equal(json_int_or(row, "event/event", 0), number);
        assert_int_equal(json_int_or(row, "at", 0), 1000 * number);
        assert_string_equal(json_text_or(row, "event/text", ""), "Größe \"1\"\n");
    }
    owned(json) json_t *all = events_of(&bench, SIZE_MAX, &err);
    assert_int_equal(json_array_size(all), 10);
    owned(json) json_t *none = events_of(&bench, 0, &err);
    assert_int_equal(json_array_size(none), 0);
    for (size_t i = 1; i < 10; i++)
        assert_string_not_equal(json_text_or(json_array_get(all, i), "hash", ""),
                                json_text_or(json_array_get(all, i - 1), "hash", ""));
    assert_int_equal(verify(&bench, &err), 0);
}

static void events_are_read_from_a_number_on(void **state)
{
    static const struct {
        int64_t seq;
        size_t count;
        size_t found;
    } cases[] = { { 0, 3, 3 },  { 2, 100, 4 }, { 5, 2, 1 },       { 6, 1, 0 },
                  { 99, 5, 0 }, { 0, 100, 6 }, { 3, SIZE_MAX, 3 } };
    owned(bench) struct bench bench = open_bench(state);
    struct error err = { 0 };

    for (int i = 1; i <= 3; i++) {
        struct journal_batch *batch = batch_of(&bench);

        add_event(batch, 2 * i - 1);
        add_event(batch, 2 * i);
        expect_commit(&bench, batch);
    }
    rest(&bench);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json)
            json_t *rows = journal_events_after(bench.journal, cases[i].seq, cases[i].count, &err);

        assert_int_equal(json_array_size(rows), cases[i].found);
        for (size_t k = 0; k < cases[i].found; k++) {
            assert_int_equal(json_int_or(json_array_get(rows, k), "seq", 0),
                             cases[i].seq + (int64_t)k + 1);
            assert_int_equal(json_int_or(json_array_get(rows, k), "event/event", 0),
                             cases[i].seq + (int64_t)k + 1);
        }
    }
}

static void events_are_read_back_from_a_number(void **state)
{
    static const struct {
        int64_t seq;
        size_t count;
        int64_t first;
        size_t found;
    } cases[] = { { 7, 3, 4, 3 },  { 4, 2, 2, 2 },        { 4, 100, 1, 3 },
                  { 1, 5, 0, 0 },  { 99, 2, 5, 2 },       { 2, 1, 1, 1 },
                  { 99, 9, 1, 6 }, { 5, SIZE_MAX, 1, 4 }, { INT64_MAX, 1, 6, 1 } };
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);
    struct error err = { 0 };

    for (int i = 1; i <= 6; i++)
        add_event(batch, i);
    expect_commit(&bench, batch);
    rest(&bench);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json)
            json_t *rows = journal_events_before(bench.journal, cases[i].seq, cases[i].count, &err);

        assert_int_equal(json_array_size(rows), cases[i].found);
        for (size_t k = 0; k < cases[i].found; k++)
            assert_int_equal(json_int_or(json_array_get(rows, k), "event/event", 0),
                             cases[i].first + (int64_t)k);
    }
}

static void a_shut_gate_leaves_the_outcome_unknown(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);
    int asked = 0;

    journal_set_gate(bench.journal, shut, &asked);
    add_put(batch, "a", 0, 1);
    expect_refusal(&bench, batch, ERROR_UNKNOWN_OUTCOME);
    assert_int_equal(asked, 1);
    journal_set_gate(bench.journal, NULL, NULL);
    expect_things(&bench, "");
}

static int stop_at_b(void *context, const char *id, uint64_t rev, const json_t *value,
                     struct error *err)
{
    (void)rev;
    (void)value;
    ++*(int *)context;
    return text_equal(id, "b") ? error_set(err, ERROR_INVALID, "enough") : 0;
}

static void a_reader_can_stop(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);
    struct error err = { 0 };
    int seen = 0;

    add_put(batch, "a", 0, 1);
    add_put(batch, "b", 0, 2);
    add_put(batch, "c", 0, 3);
    expect_commit(&bench, batch);
    rest(&bench);
    assert_int_equal(journal_each(bench.journal, "thing", stop_at_b, &seen, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(seen, 2);
    assert_int_equal(journal_each(bench.journal, "other", stop_at_b, &seen, &err), 0);
    assert_int_equal(seen, 2);
}

static void a_file_keeps_everything(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);
    uint64_t older = bench.epoch;
    struct error err = { 0 };

    add_put(batch, "a", 0, 1);
    journal_claim(batch, "node/1", "t-1");
    add_event(batch, 1);
    expect_commit(&bench, batch);
    reopen(&bench);
    begin_epoch(&bench);
    assert_true(bench.epoch > older);
    expect_things(&bench, "a@1=1 ");
    batch = batch_of(&bench);
    journal_claim(batch, "node/1", "t-2");
    expect_refusal(&bench, batch, ERROR_CONFLICT);
    batch = batch_of(&bench);
    add_event(batch, 2); /* the chain goes on where it ended */
    expect_commit(&bench, batch);
    assert_int_equal(verify(&bench, &err), 0);
    owned(json) json_t *events = events_of(&bench, 9, &err);
    assert_int_equal(json_int_or(json_array_get(events, 1), "seq", 0), 2);
}

static void a_held_file_is_refused(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct error err = { 0 };

    assert_null(journal_sqlite_open(bench.path, &err));
    assert_string_equal(error_kind_name(err.kind), "conflict");
}

/* Changes the file with plain SQL while no process has it open. */
static void tamper(const struct bench *bench, const char *sql)
{
    sqlite3 *plain = NULL;

    assert_int_equal(sqlite3_open(bench->path, &plain), SQLITE_OK);
    assert_int_equal(sqlite3_exec(plain, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_changes(plain), 1);
    assert_int_equal(sqlite3_close(plain), SQLITE_OK);
}

/* NULL in bench->journal: it is refused. */
static void reopen_after(struct bench *bench, const char *sql)
{
    struct error err = { 0 };
    sqlite3 *plain = NULL;

    journal_close(bench->journal);
    assert_int_equal(sqlite3_open(bench->path, &plain), SQLITE_OK);
    assert_int_equal(sqlite3_exec(plain, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(plain), SQLITE_OK);
    bench->journal = journal_sqlite_open(bench->path, &err);
    if (!bench->journal)
        assert_int_equal(err.kind, ERROR_CORRUPT);
}

static void a_changed_story_is_found(void **state)
{
    static const struct {
        const char *sql;
        const char *says;
    } cases[] = {
        { "UPDATE event SET value = replace(value, '20', '21') WHERE seq = 2", "event 2 " },
        { "UPDATE event SET at_ms = at_ms + 1 WHERE seq = 2", "event 2 " },
        { "UPDATE event SET hash = replace(hash, substr(hash, 1, 1), 'x') WHERE seq = 3",
          "event 3 " },
        { "DELETE FROM event WHERE seq = 2", "event 3 " },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(bench) struct bench bench = open_bench(state);
        struct journal_batch *batch = batch_of(&bench);
        struct error err = { 0 };

        for (int number = 10; number <= 40; number += 10)
            add_event(batch, number);
        expect_commit(&bench, batch);
        journal_close(bench.journal);
        bench.journal = NULL;
        tamper(&bench, cases[i].sql);
        bench.journal = journal_sqlite_open(bench.path, &err);
        assert_non_null(bench.journal);
        if (verify(&bench, &err) == 0)
            fail_msg("not found: %s", cases[i].sql);
        assert_int_equal(err.kind, ERROR_CORRUPT);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].sql, err.text);
    }
}

/* The journal as it was before its rows had hashes: the same file, at the schema's second version.
 */
static void an_empty_hash_stands_for_the_older_schema_alone(void **state)
{
    static const char old[] = "UPDATE record SET hash = ''; UPDATE claim SET hash = '';"
                              "DROP TABLE IF EXISTS unhashed;"
                              "ALTER TABLE epoch DROP COLUMN commits; PRAGMA user_version = 2";
    owned(bench) struct bench bench = open_bench(state);
    owned(chars) char *tally = text_format("%s.tally", bench.path); /* which it did not have */
    struct journal_batch *batch = batch_of(&bench);
    struct error err = { 0 };

    add_put(batch, "a", 0, 1);
    add_put(batch, "b", 0, 2);
    journal_claim(batch, "node/1", "a");
    expect_commit(&bench, batch);
    unlink(tally);
    reopen_after(&bench, old);
    if (!bench.journal)
        fail_msg("%s", err.text);
    expect_things(&bench, "a@1=1 b@1=2 ");

    reopen_after(&bench, "UPDATE record SET value = '{\"number\":7}' WHERE id = 'b'");
    assert_null(bench.journal); /* the first open had given it its hash */
    reopen_after(&bench, "UPDATE record SET value = '{\"number\":2}', hash = '' WHERE id = 'b'");
    assert_null(bench.journal);
}

static void put_later(struct bench *bench, const char *id, uint64_t rev, int number)
{
    struct journal_batch *batch = batch_of(bench);

    add_put(batch, id, rev, number);
    journal_later(bench->journal, &batch);
    assert_null(batch);
}

static void what_was_put_off_is_written_with_what_comes_next(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct error err = { 0 };

    put_later(&bench, "a", 0, 1);
    put_later(&bench, "a", 1, 2);
    expect_things(&bench, "");
    put_now(&bench, "b", 0, 3);
    expect_things(&bench, "a@2=2 b@1=3 ");
    put_later(&bench, "b", 1, 4);
    assert_int_equal(journal_settle(bench.journal, &err), 0);
    expect_things(&bench, "a@2=2 b@2=4 ");
    assert_int_equal(journal_settle(bench.journal, &err), 0); /* nothing is left */
    put_later(&bench, "c", 0, 5);
    begin_epoch(&bench); /* the process died */
    put_now(&bench, "d", 0, 6);
    expect_things(&bench, "a@2=2 b@2=4 d@1=6 ");
}

static void what_was_gathered_is_written_whole_or_not_at_all(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct error err = { 0 };
    struct journal_batch *batch;

    journal_gather(bench.journal);
    assert_true(journal_is_gathering(bench.journal));
    put_now(&bench, "a", 0, 1);
    put_now(&bench, "b", 0, 2);
    expect_things(&bench, "");
    assert_int_equal(journal_settle(bench.journal, &err), 0);
    assert_false(journal_is_gathering(bench.journal));
    expect_things(&bench, "a@1=1 b@1=2 ");

    journal_gather(bench.journal);
    put_now(&bench, "a", 1, 3);
    put_now(&bench, "b", 7, 4); /* not its revision */
    assert_int_equal(journal_settle(bench.journal, &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    expect_things(&bench, "a@1=1 b@1=2 ");

    put_later(&bench, "b", 7, 5);
    batch = batch_of(&bench);
    add_put(batch, "a", 1, 6);
    expect_refusal(&bench, batch, ERROR_UNKNOWN_OUTCOME); /* of what others put off */
    expect_things(&bench, "a@1=1 b@1=2 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALL(a_put_names_the_revision_that_it_replaces),
        ALL(a_remove_names_the_revision_too),
        ALL(a_claim_has_one_holder),
        ALL(one_batch_cannot_claim_for_two),
        ALL(a_batch_sees_what_it_did_itself),
        ALL(a_batch_happens_whole_or_not_at_all),
        ALL(an_older_epoch_writes_no_more),
        ALL(events_are_a_chain),
        ALL(events_are_read_from_a_number_on),
        ALL(events_are_read_back_from_a_number),
        AT_ONCE(a_shut_gate_leaves_the_outcome_unknown),
        ALL(a_reader_can_stop),
        ALL(what_was_put_off_is_written_with_what_comes_next),
        ALL(what_was_gathered_is_written_whole_or_not_at_all),
        cmocka_unit_test_prestate(a_file_keeps_everything, sqlite_kind),
        cmocka_unit_test_prestate(a_held_file_is_refused, sqlite_kind),
        cmocka_unit_test_prestate(a_changed_story_is_found, sqlite_kind),
        cmocka_unit_test_prestate(an_empty_hash_stands_for_the_older_schema_alone, sqlite_kind),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
