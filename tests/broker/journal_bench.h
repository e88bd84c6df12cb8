/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A journal of a test's own, of one of five kinds: on a file or in memory, written in the call of a
 * commit or later; or on a server that answers later.
 */
#pragma once

#include "base/input/json.h"
#include "base/text.h"
#include "base/world/loop.h"
#include "broker/journal/journal.h"
#include "tests/broker/remote_store.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

struct bench {
    const char *kind;
    char *folder;
    char *path; /* NULL: in memory */
    struct journal *journal;
    uint64_t epoch;
    struct loop *loop; /* NULL: what is committed is written at once */
    bool is_unlocked;  /* SQLite: others may open it too */
    bool is_second;    /* on the first one's store and loop */
};

static inline void at_rest(void *context, enum journal_fate fate)
{
    *(enum journal_fate *)context = fate;
}

/* Until all that was committed is written, or lost. */
static inline enum journal_fate rest(struct bench *bench)
{
    enum journal_fate fate = JOURNAL_FORGOTTEN;

    journal_after(bench->journal, at_rest, &fate);
    for (int i = 0; fate == JOURNAL_FORGOTTEN && i < 3000; i++)
        loop_run_until(bench->loop, loop_now(bench->loop) + 10);
    assert_int_not_equal(fate, JOURNAL_FORGOTTEN);
    return fate;
}

static inline json_t *events_of(struct bench *bench, size_t count, struct error *err)
{
    rest(bench);
    return journal_events(bench->journal, count, err);
}

static inline int verify(struct bench *bench, struct error *err)
{
    rest(bench);
    return journal_verify(bench->journal, SIZE_MAX, err);
}

static inline void begin_epoch(struct bench *bench)
{
    struct error err = { 0 };

    if (journal_begin_epoch(bench->journal, &bench->epoch, &err) < 0)
        fail_msg("%s", err.text);
}

static inline bool is_kind(const struct bench *bench, const char *kind)
{
    return text_equal(bench->kind, kind);
}

static inline struct loop *loop_of(const struct bench *bench)
{
    struct error err = { 0 };
    struct loop *loop;

    if (is_kind(bench, "slow") || is_kind(bench, "remote"))
        return loop_virtual_new((struct wall_time){ 0 });
    if (!is_kind(bench, "thread"))
        return NULL;
    loop = loop_libevent_new(&err);
    assert_non_null(loop);
    return loop;
}

/* first: NULL, or whose store it is to share. */
static inline struct journal *journal_of(struct bench *bench, const struct bench *first)
{
    struct error err = { 0 };

    if (is_kind(bench, "remote"))
        return remote_open(first ? remote_server(first->journal) : NULL, bench->loop);
    if (!bench->path)
        return first ? journal_memory_share(first->journal) : journal_memory_new();

    struct journal *journal = bench->is_unlocked ? journal_sqlite_open_unlocked(bench->path, &err)
                                                 : journal_sqlite_open(bench->path, &err);

    if (!journal)
        fail_msg("%s", err.text);
    return journal;
}

/* Where the kind says so. */
static inline void write_later(struct bench *bench)
{
    struct error err = { 0 };

    if (is_kind(bench, "slow"))
        assert_int_equal(journal_write_slowly(bench->journal, bench->loop, 2 * SECOND_MS, &err), 0);
    else if (is_kind(bench, "thread"))
        assert_int_equal(journal_write_by_thread(bench->journal, bench->loop, &err), 0);
}

static inline struct bench open_one(char *kind, bool is_unlocked)
{
    struct bench bench = { .kind = kind, .folder = test_folder_new(), .is_unlocked = is_unlocked };

    if (is_kind(&bench, "sqlite") || is_kind(&bench, "thread"))
        bench.path = text_format("%s/journal.db", bench.folder);
    bench.loop = loop_of(&bench);
    bench.journal = journal_of(&bench, NULL);
    write_later(&bench);
    begin_epoch(&bench);
    return bench;
}

static inline struct bench open_bench(void **state)
{
    return open_one(*state, false);
}

/* A second handle on its store, with a newer epoch. */
static inline struct bench open_second(const struct bench *first)
{
    struct bench bench = *first;

    bench.is_second = true;
    bench.journal = journal_of(&bench, first);
    write_later(&bench);
    begin_epoch(&bench);
    return bench;
}

static inline void owned_bench(struct bench *bench)
{
    journal_close(bench->journal);
    if (bench->is_second)
        return;
    if (bench->loop)
        loop_free(bench->loop);
    mem_free(bench->path);
    test_folder_free(bench->folder);
}

static inline int commit(struct bench *bench, struct journal_batch *batch, struct error *err)
{
    int result = journal_commit(bench->journal, &batch, err);

    assert_null(batch);
    return result;
}

static inline void expect_commit(struct bench *bench, struct journal_batch *batch)
{
    struct error err = { 0 };

    if (commit(bench, batch, &err) < 0)
        fail_msg("%s: %s", bench->kind, err.text);
}

static inline void expect_refusal(struct bench *bench, struct journal_batch *batch,
                                  enum error_kind kind)
{
    struct error err = { 0 };

    assert_int_equal(commit(bench, batch, &err), -1);
    assert_string_equal(error_kind_name(err.kind), error_kind_name(kind));
    assert_true(err.text[0] != '\0');
}

static inline struct journal_batch *batch_of(const struct bench *bench)
{
    return journal_batch_new(bench->epoch);
}

static inline void add_put(struct journal_batch *batch, const char *id, uint64_t rev, int number)
{
    owned(json) json_t *value = json_make("{si}", "number", number);

    journal_put(batch, "thing", id, rev, value);
}

static inline void add_event(struct journal_batch *batch, int number)
{
    owned(json) json_t *event = json_make("{sisssfsn}", "event", number, "text", "Größe \"1\"\n",
                                          "hours", 0.1 * number, "none");

    journal_event(batch, (struct wall_time){ 1000 * number }, event);
}

static inline int list_one(void *context, const char *id, uint64_t rev, const json_t *value,
                           struct error *err)
{
    struct text *out = context;

    (void)err;
    text_add(out, "%s@%d=%d ", id, (int)rev, (int)json_int_or(value, "number", -1));
    return 0;
}

/* All things as "a@1=10 b@2=20 ". */
static inline void expect_things(struct bench *bench, const char *want)
{
    owned(text) struct text *got = text_new(4096);
    struct error err = { 0 };

    rest(bench);
    assert_int_equal(journal_each(bench->journal, "thing", list_one, got, &err), 0);
    assert_string_equal(got->chars, want);
}

static inline void reopen(struct bench *bench)
{
    struct error err = { 0 };

    journal_close(bench->journal);
    bench->journal = journal_sqlite_open(bench->path, &err);
    if (!bench->journal)
        fail_msg("%s", err.text);
}

static inline void put_now(struct bench *bench, const char *id, uint64_t rev, int number)
{
    struct journal_batch *batch = batch_of(bench);

    add_put(batch, id, rev, number);
    expect_commit(bench, batch);
}

static inline int shut(void *context)
{
    ++*(int *)context;
    return -1;
}

static char sqlite_kind[] __attribute__((unused)) = "sqlite"; /* at once */
static char memory_kind[] __attribute__((unused)) = "memory";
static char thread_kind[] __attribute__((unused)) = "thread"; /* SQLite, later */
static char slow_kind[] __attribute__((unused)) = "slow";     /* memory, later */
static char remote_kind[] __attribute__((unused)) = "remote"; /* a server, later */

/* clang-format off */
#define AT_ONCE(test)                                     \
    { #test " (sqlite)", test, NULL, NULL, sqlite_kind }, \
    { #test " (memory)", test, NULL, NULL, memory_kind }
#define LATER(test)                                       \
    { #test " (thread)", test, NULL, NULL, thread_kind }, \
    { #test " (slow)", test, NULL, NULL, slow_kind },     \
    { #test " (remote)", test, NULL, NULL, remote_kind }
#define ALL(test) AT_ONCE(test), LATER(test)
/* clang-format on */
