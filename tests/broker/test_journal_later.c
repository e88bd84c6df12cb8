/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Commits that are accepted now and written later, by a thread or by a timer: who hears of it, and
 * what becomes of them when the disk or the process fails.
 */
#include "base/log.h"
#include "tests/broker/journal_bench.h"

struct deaf {
    int fates[3];
    char text[128];
};

static void count_fate(void *context, enum journal_fate fate)
{
    ((struct deaf *)context)->fates[fate]++;
}

static void note_failure(void *context, const struct error *err)
{
    struct deaf *deaf = context;

    assert_int_equal(err->kind, ERROR_UNKNOWN_OUTCOME);
    assert_string_equal(deaf->text, ""); /* once */
    text_copy(deaf->text, sizeof deaf->text, err->text);
}

/* It was accepted, and could not be written: a caller that waits for it hears that, and nothing is
   accepted any more. */
static void a_write_that_fails_later_is_told(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct deaf deaf = { 0 };
    int asked = 0;

    put_now(&bench, "a", 0, 1);
    expect_things(&bench, "a@1=1 ");
    journal_on_failure(bench.journal, note_failure, &deaf);
    journal_set_gate(bench.journal, shut, &asked);
    put_now(&bench, "a", 1, 2); /* begins to be written */
    journal_after(bench.journal, count_fate, &deaf);
    put_now(&bench, "b", 0, 3);
    journal_after(bench.journal, count_fate, &deaf);
    assert_int_equal(deaf.fates[JOURNAL_KEPT] + deaf.fates[JOURNAL_LOST], 0);
    assert_int_equal(rest(&bench), JOURNAL_LOST);
    assert_int_equal(deaf.fates[JOURNAL_LOST], 2);
    assert_string_equal(deaf.text, "the journal does not answer");
    assert_int_equal(asked, 1);
    journal_set_gate(bench.journal, NULL, NULL);
    expect_refusal(&bench, batch_of(&bench), ERROR_UNKNOWN_OUTCOME);
    expect_things(&bench, "a@1=1 ");
    assert_int_equal(asked, 1);
}

static int count_write(void *context)
{
    ++*(int *)context;
    return 0;
}

/* What is committed while another write is under way is the next one, as a whole; each hears of its
   own end, in order. */
static void what_waits_is_written_together(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct deaf deaf = { 0 };
    struct deaf forgotten = { 0 };
    int writes = 0;

    journal_set_gate(bench.journal, count_write, &writes);
    for (int i = 1; i <= 20; i++) {
        put_now(&bench, "a", (uint64_t)i - 1, i);
        journal_after(bench.journal, count_fate, &deaf);
    }
    assert_int_equal(deaf.fates[JOURNAL_KEPT], 0);
    expect_things(&bench, "a@20=20 ");
    assert_int_equal(deaf.fates[JOURNAL_KEPT], 20);
    assert_int_equal(writes, 2);
    journal_after(bench.journal, count_fate, &deaf); /* nothing is open: at once */
    assert_int_equal(deaf.fates[JOURNAL_KEPT], 21);

    put_now(&bench, "a", 20, 21);
    journal_after(bench.journal, count_fate, &forgotten);
    journal_forget(bench.journal);
    assert_int_equal(forgotten.fates[JOURNAL_FORGOTTEN], 1);
    expect_things(&bench, "a@21=21 ");
    assert_int_equal(forgotten.fates[JOURNAL_KEPT], 0);
}

/* A service that ends writes what it accepted. */
static void closing_writes_what_waits(void **state)
{
    owned(bench) struct bench bench = open_bench(state);

    for (int i = 1; i <= 20; i++)
        put_now(&bench, "a", (uint64_t)i - 1, i);
    reopen(&bench);
    expect_things(&bench, "a@20=20 ");
}

/* A process that dies takes with it what was not written; what was accepted and not written claims
   nothing any more. */
static void what_was_not_written_dies_with_its_process(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);
    struct deaf deaf = { 0 };

    put_now(&bench, "a", 0, 1);
    expect_things(&bench, "a@1=1 ");
    journal_claim(batch, "node/1", "t-1");
    expect_commit(&bench, batch);
    put_now(&bench, "a", 1, 2);
    journal_after(bench.journal, count_fate, &deaf);
    begin_epoch(&bench);
    assert_int_equal(deaf.fates[JOURNAL_FORGOTTEN], 1);
    expect_things(&bench, "a@1=1 ");
    put_now(&bench, "a", 1, 3);
    batch = batch_of(&bench);
    journal_claim(batch, "node/1", "t-2");
    expect_commit(&bench, batch);
    expect_things(&bench, "a@2=3 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LATER(a_write_that_fails_later_is_told),
        LATER(what_waits_is_written_together),
        cmocka_unit_test_prestate(closing_writes_what_waits, thread_kind),
        cmocka_unit_test_prestate(what_was_not_written_dies_with_its_process, slow_kind),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
