/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The journal: what the broker promised.  Three things live in it:
 *
 *   records  (kind, id) -> JSON value with a revision; a write names the revision that it replaces
 *   claims   a name with one holder: two live transfers can never both claim a node, because the
 *            store itself refuses the second claim
 *   events   an append-only log for people and for audit, each event chained to the one before
 *
 * All writes are batches, and a batch happens whole or not at all.  Every batch carries the epoch
 * that journal_begin_epoch() gave; a write of an older epoch is refused.  Implementations: SQLite
 * (the service), memory (simulation); one test suite holds for all.
 *
 *     struct journal_batch *batch = journal_batch_new(epoch);
 *     journal_put(batch, "transfer", id, rev, value);
 *     journal_claim(batch, "node/4f1c", id);
 *     if (journal_commit(journal, &batch, err) < 0) ...
 *
 * A commit is accepted or refused at once.  It reaches the disk in the same call or later, in
 * order: see journal_write_by_thread().  Nothing that depends on it may leave the process before
 * that; journal_after() reports it.  A caller with many batches gathers them between
 * journal_gather() and journal_settle(), which writes them together.
 */
#pragma once

#include "broker/journal/journal_batch.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct journal;
struct loop;

/* Opens or makes the database; ERROR_CONFLICT when another process has it.  The file path.tally
   counts acknowledged commits.  When the journal has fewer commits, it is ERROR_CORRUPT, and its
   files stay as they are. */
struct journal *journal_sqlite_open(const char *path, struct error *err)
    __attribute__((warn_unused_result));

/* For a repair by an operator, while no service has the journal.  Rows that were changed after they
   were written are moved to JOURNAL_UNREADABLE (a claim as of the kind "claim"); each adds {kind,
   id, text} to found. */
int journal_sqlite_mend_rows(const char *path, struct wall_time at, json_t *found,
                             struct error *err) __attribute__((warn_unused_result));

/* For a repair by an operator, while no service has the journal: accepts its present content.
   Returns the number of acknowledged commits that are lost (0: none, or not known), -1: it cannot
   be opened for another reason. */
int64_t journal_sqlite_accept_loss(const char *path, struct error *err)
    __attribute__((warn_unused_result));

struct journal *journal_memory_new(void) __attribute__((returns_nonnull, warn_unused_result));

/* Tests: a second handle on the first one's data, as another process would have that no lock
   stopped.  For SQLite each handle on the file is opened so. */
struct journal *journal_memory_share(struct journal *journal)
    __attribute__((returns_nonnull, warn_unused_result));
struct journal *journal_sqlite_open_unlocked(const char *path, struct error *err)
    __attribute__((warn_unused_result));

void journal_close(struct journal *journal);

/* From now on a thread of the journal's own writes, so that a slow disk does not stop the loop.
   All commits that were accepted while it wrote are its next transaction.  Closing writes the
   rest.  A libevent loop, which outlives the journal. */
int journal_write_by_thread(struct journal *journal, struct loop *loop, struct error *err)
    __attribute__((warn_unused_result));

/* The same by a timer of any loop, for simulations: a write takes so long. */
int journal_write_slowly(struct journal *journal, struct loop *loop, int64_t delay_ms,
                         struct error *err) __attribute__((warn_unused_result));

/* Begins a new epoch: a service calls it once at its start, before it reads.  From its first commit
   on at the latest, the store itself refuses writes of an earlier epoch, through whichever handle
   (ERROR_DENIED; for commits that were accepted already JOURNAL_LOST).  If a process of an earlier
   epoch writes before that commit, this one is refused, because its data is old. */
int journal_begin_epoch(struct journal *journal, uint64_t *ret_epoch, struct error *err)
    __attribute__((warn_unused_result));

/* Reads, here and in journal_events(), see what is on the disk, and wait for the writing thread.  A
   caller that must not block calls them from within journal_after().  value is borrowed during the
   call of fn.  fn returns 0 to go on and -1 to stop. */
typedef int (*journal_record_fn)(void *context, const char *id, uint64_t rev, const json_t *value,
                                 struct error *err);
int journal_each(struct journal *journal, const char *kind, journal_record_fn fn, void *context,
                 struct error *err) __attribute__((warn_unused_result));

/* As journal_each(), for callers that load all records.  A record that fn cannot read
   (ERROR_CORRUPT) is remembered, and the others are read; fn has then changed nothing.  A record
   whose text is no JSON comes as that text, a string. */
int journal_load(struct journal *journal, const char *kind, journal_record_fn fn, void *context,
                 struct error *err) __attribute__((warn_unused_result));

/* The records that journal_load() could not read, borrowed.  Set them aside before anything is
   written under their keys. */
struct journal_aside {
    char *kind;
    char *id;
    uint64_t rev;
    json_t *value;
    char *why;
};
const struct journal_aside *journal_asides(const struct journal *journal, size_t *ret_count);
void journal_asides_clear(struct journal *journal);

/* Moves the record to the kind JOURNAL_UNREADABLE, with an event: {kind, id, rev, value, why, at}.
   Its claims stay.  Returns the new record, owned. */
#define JOURNAL_UNREADABLE "unreadable"
json_t *journal_put_aside(struct journal_batch *batch, const struct journal_aside *aside,
                          struct wall_time at) __attribute__((returns_nonnull, warn_unused_result));

/* All claims, by name.  fn as of journal_each(). */
typedef int (*journal_claim_fn)(void *context, const char *name, const char *holder,
                                struct error *err);
int journal_each_claim(struct journal *journal, journal_claim_fn fn, void *context,
                       struct error *err) __attribute__((warn_unused_result));

/* The last `count` events, oldest first: an array of {seq, at, hash, event}. */
json_t *journal_events(struct journal *journal, size_t count, struct error *err)
    __attribute__((warn_unused_result));

/* The first `count` events after that with the number `seq` (0: from the first on), as above. */
json_t *journal_events_after(struct journal *journal, int64_t seq, size_t count, struct error *err)
    __attribute__((warn_unused_result));

/* The last `count` events before that with the number `seq`, oldest first, as above. */
json_t *journal_events_before(struct journal *journal, int64_t seq, size_t count, struct error *err)
    __attribute__((warn_unused_result));

/* Recomputes the chain of the last `count` events; ERROR_CORRUPT names the first event that does
 * not fit. */
int journal_verify(struct journal *journal, size_t count, struct error *err)
    __attribute__((warn_unused_result));

/* Takes and frees the batch (in any case; *batch is NULL afterwards).  Errors: ERROR_CONFLICT
   (revision or claim), ERROR_DENIED (epoch), ERROR_INVALID (more than one transaction of the store
   holds: some 100,000 nodes at once), ERROR_UNKNOWN_OUTCOME (the store failed while committing,
   now or before: nothing may be built on it), others: not written. */
int journal_commit(struct journal *journal, struct journal_batch **batch, struct error *err)
    __attribute__((warn_unused_result));

/* Gathers the batch, a small one, and frees it: it is written with the next commit, or never if the
   process ends before.  For facts that can be read again, such as answers. */
void journal_later(struct journal *journal, struct journal_batch **batch);

/* Until journal_settle() a commit only gathers its batch.  Nothing that depends on the commit may
   be done before. */
void journal_gather(struct journal *journal);

/* Writes all gathered batches, and ends the gathering; nothing to write is fine.  It is one
   transaction, whole or not at all.  Over 20,000 rows it is several, in order, each of whole
   batches.  Errors as of journal_commit(): the batches after a refused one are not written. */
int journal_settle(struct journal *journal, struct error *err) __attribute__((warn_unused_result));

/* Calls fn once: when all that was committed so far is on the disk (in this call, if it is), when
   it is lost because the journal failed, or when the waiting caller ends. */
enum journal_fate { JOURNAL_KEPT, JOURNAL_LOST, JOURNAL_FORGOTTEN };
typedef void (*journal_after_fn)(void *context, enum journal_fate fate);
void journal_after(struct journal *journal, journal_after_fn fn, void *context);

/* How many commits were accepted since the journal was opened here: as long as it stays the same,
   so do the records. */
uint64_t journal_commits(const struct journal *journal);

/* Milliseconds since the write under way began; 0: there is none. */
int64_t journal_write_ms(const struct journal *journal);

/* A write failed after its commit was accepted (in this call, if it did); nothing is written after
 * that. */
typedef void (*journal_failure_fn)(void *context, const struct error *err);
void journal_on_failure(struct journal *journal, journal_failure_fn fn, void *context);

/* The caller that gave functions to the two above ends: waiting functions are called with
   JOURNAL_FORGOTTEN. */
void journal_forget(struct journal *journal);

/* For assertions: code that acts outside must not be gathering. */
bool journal_is_gathering(const struct journal *journal);

/* Tests: called before each write; returning -1 fails it, as a dead disk or a dead process
   would. */
typedef int (*journal_gate_fn)(void *context);
void journal_set_gate(struct journal *journal, journal_gate_fn gate, void *context);
