/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two handles on one store, as two processes have it when no lock stopped the second: what the
 * older one tries is refused by the store itself, at once, or when it is written.  Every case runs
 * on every kind of journal.
 */
#include "base/log.h"
#include "tests/broker/journal_bench.h"

#include <semaphore.h>
#include <string.h>

/* What each handle holds is what the other one has left; then the second takes over. */
struct pair {
    struct bench older;
    struct bench newer;
};

static void owned_pair(struct pair *pair)
{
    owned_bench(&pair->newer);
    owned_bench(&pair->older);
}

static struct pair take_over(void **state)
{
    struct pair pair = { .older = open_one(*state, true) };
    struct journal_batch *batch = batch_of(&pair.older);

    add_put(batch, "a", 0, 1);
    add_put(batch, "b", 0, 2);
    journal_claim(batch, "node/1", "t-1");
    add_event(batch, 1);
    expect_commit(&pair.older, batch);
    rest(&pair.older);
    pair.newer = open_second(&pair.older);
    assert_true(pair.newer.epoch > pair.older.epoch);
    return pair;
}

/* Refused at once, or accepted and lost; and nothing is accepted any more after that. */
static void expect_fenced(struct pair *pair, struct journal_batch *batch, const char *what)
{
    bool is_later = pair->older.loop != NULL;
    struct error err = { 0 };
    int result = commit(&pair->older, batch, &err);

    if (is_later && result < 0)
        fail_msg("%s: it was not accepted: %s", what, err.text);
    if (!is_later && result == 0)
        fail_msg("%s: the older one wrote it", what);
    if (is_later && rest(&pair->older) != JOURNAL_LOST)
        fail_msg("%s: the older one wrote it later", what);
    if (is_later)
        assert_int_equal(commit(&pair->older, batch_of(&pair->older), &err), -1);
    else
        assert_int_equal(err.kind, ERROR_DENIED);
    if (!strstr(err.text, "another broker has taken over"))
        fail_msg("%s: %s", what, err.text);
}

/* The newer one's first write. */
static void write_first(struct pair *pair)
{
    struct journal_batch *batch = batch_of(&pair->newer);
    struct error err = { 0 };

    journal_claim(batch, "node/1", "t-1"); /* still its holder's */
    journal_claim(batch, "node/2", "t-9"); /* and no holder's */
    add_put(batch, "a", 1, 7);
    journal_remove(batch, "thing", "b", 1);
    add_put(batch, "c", 0, 8);
    add_event(batch, 3);
    expect_commit(&pair->newer, batch);
    expect_things(&pair->newer, "a@2=7 c@1=8 ");
    assert_int_equal(verify(&pair->newer, &err), 0);
}

static void add_change(struct journal_batch *batch)
{
    add_put(batch, "a", 1, 9);
}

static void add_new(struct journal_batch *batch)
{
    add_put(batch, "c", 0, 9);
}

static void add_removal(struct journal_batch *batch)
{
    journal_remove(batch, "thing", "b", 1);
}

static void add_claim(struct journal_batch *batch)
{
    journal_claim(batch, "node/2", "t-2");
}

static void add_release(struct journal_batch *batch)
{
    journal_release(batch, "node/1", "t-1");
}

static void add_story(struct journal_batch *batch)
{
    add_event(batch, 2);
}

static void add_nothing(struct journal_batch *batch)
{
    (void)batch;
}

static const struct {
    const char *name;
    void (*add)(struct journal_batch *batch);
} tries[] = {
    { "a change", add_change }, { "a new record", add_new },  { "a removal", add_removal },
    { "a claim", add_claim },   { "a release", add_release }, { "an event", add_story },
    { "nothing", add_nothing },
};

/* Before the newer one has written anything: a store may refuse the older one from then on, or the
   newer one if the older one writes once more.  Both never write. */
static void one_of_two_handles_writes(void **state)
{
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        owned(pair) struct pair pair = take_over(state);
        struct journal_batch *batch = batch_of(&pair.older);
        struct error err = { 0 };
        bool was_older;
        bool was_newer;

        tries[i].add(batch);
        was_older = commit(&pair.older, batch, &err) == 0 && rest(&pair.older) == JOURNAL_KEPT;
        batch = batch_of(&pair.newer);
        add_put(batch, "d", 0, 4);
        add_event(batch, 4);
        was_newer = commit(&pair.newer, batch, &err) == 0 && rest(&pair.newer) == JOURNAL_KEPT;
        if (was_older == was_newer)
            fail_msg("%s: %s wrote", tries[i].name, was_older ? "both" : "neither");
        owned(bench) struct bench next = open_second(&pair.older); /* the next start */
        put_now(&next, "e", 0, 5);
        assert_int_equal(rest(&next), JOURNAL_KEPT);
        assert_int_equal(verify(&next, &err), 0);
        batch = batch_of(&pair.older);
        tries[i].add(batch);
        if (commit(&pair.older, batch, &err) == 0)
            assert_int_equal(rest(&pair.older), JOURNAL_LOST);
    }
}

/* After it has: what the older one knows of revisions and of the chain is of the past. */
static void the_older_handle_writes_nothing_over_the_newer_ones(void **state)
{
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        owned(pair) struct pair pair = take_over(state);
        struct journal_batch *batch = batch_of(&pair.older);
        struct error err = { 0 };

        write_first(&pair);
        tries[i].add(batch);
        expect_fenced(&pair, batch, tries[i].name);
        expect_things(&pair.newer, "a@2=7 c@1=8 ");
        put_now(&pair.newer, "a", 2, 10);
        expect_things(&pair.newer, "a@3=10 c@1=8 ");
        assert_int_equal(verify(&pair.newer, &err), 0);
    }
}

/* The thread that writes stands still before it does. */
static int wait_for_takeover(void *context)
{
    assert_int_equal(sem_wait(context), 0);
    return 0;
}

/* What was accepted before the takeover and is written after it; also what was put off. */
static void what_the_older_one_queued_is_refused_when_it_is_written(void **state)
{
    for (int is_put_off = 0; is_put_off < 2; is_put_off++) {
        owned(bench) struct bench older = open_one(*state, true);
        struct error err = { 0 };
        struct journal_batch *batch;
        sem_t taken_over;

        if (!older.loop && !is_put_off)
            continue; /* written in the call */
        assert_int_equal(sem_init(&taken_over, 0, 0), 0);
        put_now(&older, "a", 0, 1);
        rest(&older);
        if (is_kind(&older, "thread"))
            journal_set_gate(older.journal, wait_for_takeover, &taken_over);
        batch = batch_of(&older);
        add_put(batch, "a", 1, 2);
        journal_claim(batch, "node/1", "t-1");
        add_event(batch, 1);
        if (is_put_off)
            journal_later(older.journal, &batch);
        else
            expect_commit(&older, batch);

        owned(bench) struct bench newer = open_second(&older);
        put_now(&newer, "b", 0, 3);
        rest(&newer);
        assert_int_equal(sem_post(&taken_over), 0);
        bool was_written = journal_settle(older.journal, &err) == 0 && rest(&older) == JOURNAL_KEPT;
        if (was_written)
            fail_msg("the older one wrote after the takeover");
        expect_things(&newer, "a@1=1 b@1=3 ");
        batch = batch_of(&newer);
        journal_claim(batch, "node/1", "t-2");
        expect_commit(&newer, batch);
        assert_int_equal(rest(&newer), JOURNAL_KEPT);
        sem_destroy(&taken_over);
    }
}

/* The newer one takes the store as the older one left it, to the last commit. */
static void the_newer_handle_begins_where_the_older_one_ended(void **state)
{
    owned(pair) struct pair pair = { .older = open_one(*state, true) };
    struct journal_batch *batch;
    struct error err = { 0 };

    pair.newer = open_second(&pair.older);
    begin_epoch(&pair.older); /* takes it back */
    batch = batch_of(&pair.older);
    add_put(batch, "a", 0, 1);
    journal_claim(batch, "node/1", "t-1");
    add_event(batch, 1);
    expect_commit(&pair.older, batch);
    rest(&pair.older);

    begin_epoch(&pair.newer);
    batch = batch_of(&pair.newer);
    journal_claim(batch, "node/1", "t-2");
    expect_refusal(&pair.newer, batch, ERROR_CONFLICT);
    batch = batch_of(&pair.newer);
    add_put(batch, "a", 1, 2);
    add_event(batch, 2);
    expect_commit(&pair.newer, batch);
    expect_things(&pair.newer, "a@2=2 ");
    assert_int_equal(verify(&pair.newer, &err), 0);
}

/* A request that was under way when its process died arrives under the next one. */
static void a_request_of_a_dead_process_is_refused_when_it_arrives(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct journal_batch *batch;

    put_now(&bench, "a", 0, 1);
    rest(&bench);
    put_now(&bench, "a", 1, 2);
    begin_epoch(&bench);
    loop_run_until(bench.loop, loop_now(bench.loop) + SECOND_MS);
    expect_things(&bench, "a@1=1 ");
    batch = batch_of(&bench);
    add_put(batch, "a", 1, 3);
    expect_commit(&bench, batch);
    expect_things(&bench, "a@2=3 ");
}

/* The server wrote it, and its answer is lost. */
static void an_answer_that_is_lost_breaks_the_journal(void **state)
{
    owned(bench) struct bench bench = open_bench(state);
    struct error err = { 0 };

    put_now(&bench, "a", 0, 1);
    rest(&bench);
    ((struct remote *)bench.journal)->loses_answers = true;
    put_now(&bench, "a", 1, 2);
    assert_int_equal(rest(&bench), JOURNAL_LOST);
    assert_int_equal(commit(&bench, batch_of(&bench), &err), -1);
    assert_int_equal(err.kind, ERROR_UNKNOWN_OUTCOME);
    ((struct remote *)bench.journal)->loses_answers = false;
    begin_epoch(&bench); /* the next process reads what is there */
    expect_things(&bench, "a@2=2 ");
    put_now(&bench, "a", 2, 3);
    expect_things(&bench, "a@3=3 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALL(one_of_two_handles_writes),
        ALL(the_older_handle_writes_nothing_over_the_newer_ones),
        ALL(what_the_older_one_queued_is_refused_when_it_is_written),
        ALL(the_newer_handle_begins_where_the_older_one_ended),
        cmocka_unit_test_prestate(a_request_of_a_dead_process_is_refused_when_it_arrives,
                                  remote_kind),
        cmocka_unit_test_prestate(an_answer_that_is_lost_breaks_the_journal, remote_kind),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
