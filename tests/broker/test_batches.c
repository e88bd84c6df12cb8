/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What one transaction is: each record in it once, no more of it than a store's bound, and batches
 * that are never torn.
 */
#include "base/log.h"
#include "base/random.h"
#include "tests/broker/journal_bench.h"

#include <string.h>

/* "p0" puts over revision 0, "r1" removes revision 1; of record a, or of b after a capital. */
static struct journal_batch *batch_from(const char *ops, uint64_t epoch)
{
    struct journal_batch *batch = journal_batch_new(epoch);

    for (const char *at = ops; *at; at++) {
        bool is_b = *at == 'P' || *at == 'R';
        uint64_t rev;

        if (*at == ' ')
            continue;
        rev = (uint64_t)(at[1] - '0');
        if (*at == 'p' || *at == 'P')
            add_put(batch, is_b ? "b" : "a", rev, (int)(at - ops));
        else
            journal_remove(batch, "thing", is_b ? "b" : "a", rev);
        at++;
    }
    return batch;
}

static void describe(const struct journal_batch *batch, struct text *out)
{
    static const char *const names[] = { "put", "remove", "absent", "claim", "release", "event" };

    for (size_t i = 0; i < batch->entries.count; i++) {
        const struct journal_entry *entry = &batch->entries.items[i];

        text_add(out, "%s%s %s %d>%d", i ? ", " : "", names[entry->operation], entry->id,
                 (int)entry->rev, (int)entry->becomes);
        if (entry->value)
            text_add(out, "=%d", (int)json_int_or(entry->value, "number", -1));
    }
}

static void a_record_is_one_row_of_its_batch(void **state)
{
    static const struct {
        const char *ops;
        const char *want; /* "": refused */
    } cases[] = {
        { "p0", "put a 0>1=0" },
        { "p0 p1", "put a 0>2=3" },
        { "p3 p4 p5", "put a 3>6=6" },
        { "p3 r4", "remove a 3>0" },
        { "r3 p0", "put a 3>1=3" },
        { "r3 p0 p1 r2", "remove a 3>0" },
        { "p0 r1", "absent a 0>0" },
        { "p0 r1 p0", "put a 0>1=6" },
        { "p0 P4 p1 P5", "put a 0>2=6, put b 4>6=9" },
        { "P4 p0 R5", "remove b 4>0, put a 0>1=3" },
        { "p0 p0", "" },
        { "p3 p3", "" },
        { "p3 p5", "" },
        { "p0 P1 p2 P2", "" },
        { "r3 r3", "" },
        { "r3 r0", "" },
        { "p0 r1 r0", "" },
        { "p0 r1 p1", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(journal_batch) struct journal_batch *batch = batch_from(cases[i].ops, 1);
        owned(text) struct text *got = text_new(1000);
        struct error err = { 0 };

        if (journal_batch_fold(batch, &err) == 0)
            describe(batch, got);
        else
            assert_int_equal(err.kind, ERROR_CONFLICT);
        if (!text_equal(got->chars, cases[i].want))
            fail_msg("%s: %s, not %s (%s)", cases[i].ops, got->chars, cases[i].want, err.text);
    }
}

static void what_is_no_record_keeps_its_place_and_number(void **state)
{
    owned(journal_batch) struct journal_batch *batch = journal_batch_new(1);
    struct error err = { 0 };

    (void)state;
    add_event(batch, 1);
    add_put(batch, "a", 0, 5);
    journal_claim(batch, "node/1", "a");
    add_event(batch, 2);
    add_put(batch, "a", 1, 6);
    journal_release(batch, "node/1", "a");
    journal_claim(batch, "node/1", "b");
    add_event(batch, 3);
    assert_int_equal(journal_batch_fold(batch, &err), 0);
    assert_int_equal(batch->entries.count, 7);
    assert_int_equal(batch->entries.items[0].operation, JOURNAL_EVENT);
    assert_int_equal(batch->entries.items[1].becomes, 2);
    assert_int_equal(batch->entries.items[3].at.ms, 2000);
    assert_string_equal(batch->entries.items[5].id, "b");
    assert_int_equal(batch->entries.items[6].at.ms, 3000);
}

/* Where b is at revision 2. */
static struct journal *begun_journal(void)
{
    struct journal *journal = journal_memory_new();
    struct journal_batch *batch;
    struct error err = { 0 };
    uint64_t epoch;

    assert_int_equal(journal_begin_epoch(journal, &epoch, &err), 0);
    batch = batch_from("P0 P1", epoch);
    assert_int_equal(journal_commit(journal, &batch, &err), 0);
    return journal;
}

/* Whether its store takes it, and what is there then. */
static char *outcome(const char *ops, bool is_folded)
{
    struct journal *journal = begun_journal();
    owned(journal_batch) struct journal_batch *batch = batch_from(ops, 1);
    owned(text) struct text *out = text_new(1000);
    struct error err = { 0 };
    bool fits = (!is_folded || journal_batch_fold(batch, &err) == 0) &&
                journal->verbs->commit(journal, batch, &err) == 0;

    text_add(out, "%s ", fits ? "taken" : "refused");
    assert_int_equal(journal_each(journal, "thing", list_one, out, &err), 0);
    journal_close(journal);
    return mem_copy_chars(out->chars);
}

/* Whatever a batch says, it is accepted and does the same entry by entry and folded. */
static void folding_changes_nothing(void **state)
{
    struct random random;
    int taken = 0;

    (void)state;
    random_seed(&random, 17);
    for (int round = 0; round < 5000; round++) {
        owned(text) struct text *ops = text_new(64);
        uint64_t count = 1 + random_below(&random, 6);

        for (uint64_t i = 0; i < count; i++)
            text_add(ops, "%c%d ", "pppPPPrR"[random_below(&random, 8)],
                     (int)random_below(&random, 4));
        owned(chars) char *plain = outcome(ops->chars, false);
        owned(chars) char *folded = outcome(ops->chars, true);
        if (!text_equal(plain, folded))
            fail_msg("%s: %s, folded %s", ops->chars, plain, folded);
        taken += text_starts_with(plain, "taken");
    }
    assert_true(taken > 200);
}

static void what_was_put_twice_has_its_last_value_and_revision(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch = batch_of(&bench);
    struct error err = { 0 };

    add_put(batch, "gone", 0, 1);
    journal_remove(batch, "thing", "gone", 1);
    add_put(batch, "a", 0, 1);
    add_put(batch, "a", 1, 2);
    add_put(batch, "a", 2, 3);
    expect_commit(&bench, batch);
    expect_things(&bench, "a@3=3 ");

    journal_gather(bench.journal);
    put_now(&bench, "a", 3, 4);
    batch = batch_of(&bench);
    journal_remove(batch, "thing", "a", 4);
    expect_commit(&bench, batch);
    put_now(&bench, "a", 0, 5);
    assert_int_equal(journal_settle(bench.journal, &err), 0);
    expect_things(&bench, "a@1=5 ");
    put_now(&bench, "a", 1, 6);
    expect_things(&bench, "a@2=6 ");

    batch = batch_of(&bench);
    add_put(batch, "a", 0, 7); /* it exists */
    journal_remove(batch, "thing", "a", 1);
    expect_refusal(&bench, batch, ERROR_CONFLICT);
    expect_things(&bench, "a@2=6 ");
}

enum { ROWS = 8, BYTES = 1000 };

static struct bench open_narrow(void **state)
{
    struct bench bench = open_bench(state);

    bench.journal->bound = (struct journal_bound){ .rows = ROWS, .bytes = BYTES };
    return bench;
}

/* Of so many rows, none of which is folded. */
static struct journal_batch *rows(const struct bench *bench, int count)
{
    struct journal_batch *batch = batch_of(bench);

    add_put(batch, "few", 0, count);
    for (int i = 1; i < count; i++)
        add_event(batch, i);
    return batch;
}

static struct journal_batch *bytes_of(const struct bench *bench, const char *id, size_t count)
{
    owned(chars) char *filling = mem_new(count + 1);
    owned(json) json_t *value = NULL;
    struct journal_batch *batch = batch_of(bench);

    memset(filling, 'x', count);
    value = json_make("{ss}", "text", filling);
    journal_put(batch, "thing", id, 0, value);
    return batch;
}

static struct journal_batch *bytes(const struct bench *bench, size_t count)
{
    return bytes_of(bench, "long", count);
}

static void a_batch_over_the_bound_is_refused(void **state)
{
    owned(bench) struct bench bench = open_narrow(state);
    struct error err = { 0 };

    expect_refusal(&bench, rows(&bench, ROWS + 1), ERROR_INVALID);
    expect_refusal(&bench, bytes(&bench, BYTES - 19), ERROR_INVALID);
    expect_things(&bench, "");
    assert_int_equal(commit(&bench, rows(&bench, ROWS + 1), &err), -1);
    assert_string_equal(err.text,
                        "9 rows at once: the journal writes 8 at most in one transaction");

    expect_commit(&bench, rows(&bench, ROWS));        /* and it goes on */
    expect_commit(&bench, bytes(&bench, BYTES - 20)); /* "thing", "long", {"text":"..."} */
    expect_things(&bench, "few@1=8 long@1=-1 ");
}

/* By the caller that commits it, and nothing of others is lost by it. */
static void a_batch_over_the_bound_is_refused_while_others_are_gathered(void **state)
{
    owned(bench) struct bench bench = open_narrow(state);
    struct error err = { 0 };

    journal_gather(bench.journal);
    put_now(&bench, "a", 0, 1);
    expect_refusal(&bench, rows(&bench, ROWS + 1), ERROR_INVALID);
    expect_refusal(&bench, bytes(&bench, BYTES - 19), ERROR_INVALID);
    put_now(&bench, "b", 0, 2);
    assert_int_equal(journal_settle(bench.journal, &err), 0);
    expect_things(&bench, "a@1=1 b@1=2 ");
}

/* A bound is for what is written: puts of one record are one row. */
static void a_batch_is_measured_as_it_is_written(void **state)
{
    owned(bench) struct bench bench = open_narrow(state);
    struct error err = { 0 };

    for (int is_gathered = 0; is_gathered < 2; is_gathered++) {
        struct journal_batch *batch = batch_of(&bench);

        for (int i = 0; i <= ROWS; i++)
            add_put(batch, is_gathered ? "b" : "a", (uint64_t)i, i);
        if (is_gathered)
            journal_gather(bench.journal);
        expect_commit(&bench, batch);
    }
    assert_int_equal(journal_settle(bench.journal, &err), 0);
    expect_things(&bench, "a@9=8 b@9=8 ");
}

static int count_write(void *context)
{
    ++*(int *)context;
    return 0;
}

/* In order, each batch whole. */
static void what_is_gathered_over_the_bound_is_several_transactions(void **state)
{
    owned(bench) struct bench bench = open_narrow(state);
    struct error err = { 0 };
    int writes = 0;

    journal_set_gate(bench.journal, count_write, &writes);
    journal_gather(bench.journal);
    for (int i = 1; i <= 20; i++) {
        struct journal_batch *batch = batch_of(&bench);

        add_put(batch, "a", (uint64_t)i - 1, i);
        add_event(batch, i);
        add_event(batch, 100 + i);
        expect_commit(&bench, batch);
    }
    assert_int_equal(writes, 0);
    assert_int_equal(journal_settle(bench.journal, &err), 0);
    expect_things(&bench, "a@20=20 ");
    assert_int_equal(writes, 10); /* of 3 rows two fit 8 */
    assert_int_equal(verify(&bench, &err), 0);
    owned(json) json_t *events = events_of(&bench, 100, &err);
    assert_int_equal(json_array_size(events), 40);
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(json_int_or(json_array_get(events, i), "event/event", 0),
                         i / 2 + 1 + i % 2 * 100);
}

/* However many bytes a turn has, by whichever door they came. */
static void what_is_gathered_over_the_bytes_is_several_transactions(void **state)
{
    owned(bench) struct bench bench = open_narrow(state);
    struct error err = { 0 };
    int writes = 0;

    journal_set_gate(bench.journal, count_write, &writes);
    journal_gather(bench.journal);
    for (int i = 0; i < 8; i++) {
        char id[] = { (char)('a' + i), '\0' };
        struct journal_batch *batch = bytes_of(&bench, id, 400);

        if (i % 2 == 0)
            expect_commit(&bench, batch);
        else
            journal_later(bench.journal, &batch);
    }
    assert_int_equal(writes, 0);
    assert_int_equal(journal_settle(bench.journal, &err), 0);
    expect_things(&bench, "a@1=-1 b@1=-1 c@1=-1 d@1=-1 e@1=-1 f@1=-1 g@1=-1 h@1=-1 ");
    assert_int_equal(writes, 4); /* of 417 bytes two fit 1000 */
}

struct hearing {
    int writes; /* begun so far */
    int at[20]; /* how many, when the fate of each was told */
    int told;
};

static int count_begun(void *context)
{
    ((struct hearing *)context)->writes++;
    return 0;
}

static void hear(void *context, enum journal_fate fate)
{
    struct hearing *hearing = context;

    assert_int_equal(fate, JOURNAL_KEPT);
    hearing->at[hearing->told++] = hearing->writes;
}

/* The first is written at once, alone; the others by eights, and each hears of its own. */
static void what_waits_over_the_bound_is_several_transactions(void **state)
{
    owned(bench) struct bench bench = open_narrow(state);
    struct hearing hearing = { 0 };

    journal_set_gate(bench.journal, count_begun, &hearing);
    for (int i = 1; i <= 20; i++) {
        char id[8];

        text_print(id, sizeof id, "r%02d", i);
        put_now(&bench, id, 0, i);
        journal_after(bench.journal, hear, &hearing);
    }
    assert_int_equal(rest(&bench), JOURNAL_KEPT);
    assert_int_equal(hearing.told, 20);
    assert_int_equal(hearing.writes, 4);
    for (int i = 0; i < 20; i++)
        assert_int_equal(hearing.at[i], 1 + (i + 7) / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_one_row_of_its_batch),
        cmocka_unit_test(what_is_no_record_keeps_its_place_and_number),
        cmocka_unit_test(folding_changes_nothing),
        ALL(what_was_put_twice_has_its_last_value_and_revision),
        ALL(a_batch_over_the_bound_is_refused),
        ALL(a_batch_over_the_bound_is_refused_while_others_are_gathered),
        ALL(a_batch_is_measured_as_it_is_written),
        ALL(what_is_gathered_over_the_bound_is_several_transactions),
        ALL(what_is_gathered_over_the_bytes_is_several_transactions),
        LATER(what_waits_over_the_bound_is_several_transactions),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
