/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The journal in SQLite: one file, one connection, one fsync a commit.  What the design promises is
 * also a constraint of the tables: a claim's name is a primary key, a record's revision only grows.
 */
#include "base/database.h"
#include "base/file.h"
#include "base/input/json.h"
#include "base/log.h"
#include "broker/journal/journal_ahead.h"
#include "broker/journal/journal_entries.h"
#include "broker/journal/journal_rows.h"
#include "broker/journal/journal_store.h"
#include "broker/journal/journal_tally.h"

#include <inttypes.h>
#include <string.h>

enum { APPLICATION_ID = 0x736c7563 }; /* "sluc" */

static const char *const migrations[] = {
    "CREATE TABLE record ("
    " kind TEXT NOT NULL CHECK (kind <> ''),"
    " id TEXT NOT NULL CHECK (id <> ''),"
    " rev INTEGER NOT NULL CHECK (rev > 0),"
    " value TEXT NOT NULL,"
    " PRIMARY KEY (kind, id)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE claim ("
    " name TEXT PRIMARY KEY CHECK (name <> ''),"
    " holder TEXT NOT NULL CHECK (holder <> '')) STRICT, WITHOUT ROWID;"
    "CREATE TABLE event ("
    " seq INTEGER PRIMARY KEY CHECK (seq > 0),"
    " at_ms INTEGER NOT NULL,"
    " hash TEXT NOT NULL CHECK (length(hash) = 64),"
    " value TEXT NOT NULL) STRICT;"
    "CREATE TABLE epoch (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL) STRICT;"
    "INSERT INTO epoch VALUES (1, 0);",

    /* The hash of a row's content.  SQLite checks that a page is well formed, not that its text is
       the text that was written. '': the row is older than this column. */
    "ALTER TABLE record ADD COLUMN hash TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE claim ADD COLUMN hash TEXT NOT NULL DEFAULT '';",

    /* A row here says that rows with hash '' may be in the file: the next open fills them and
       removes this row.  From then on '' is damage. */
    "CREATE TABLE unhashed (one INTEGER PRIMARY KEY CHECK (one = 1)) STRICT;"
    "INSERT INTO unhashed SELECT 1 WHERE EXISTS (SELECT 1 FROM record)"
    " OR EXISTS (SELECT 1 FROM claim);",

    /* The number of commits; the tally beside the journal has the number that there must be. */
    "ALTER TABLE epoch ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;",
};

static const struct database_schema schema = { APPLICATION_ID, migrations,
                                               (int)COUNT_OF(migrations) };

struct store {
    struct journal journal;
    struct database *database;
    int tally; /* the file; -1: in memory, or none could be made */
    int64_t commits;
    uint64_t kept_epoch; /* as it stands in the file */
    uint64_t epoch;      /* which this handle began; 0: none */
    int64_t last_seq;
    char hash[SHA256_TEXT_SIZE];
};

/* In each transaction: refuses the commit if another handle has written since this handle read or
   wrote last.  The stored number, and not only a lock, refuses a replaced process. */
static int count_commit(struct store *store, struct error *err)
{
    sqlite3_stmt *statement = database_statement(store->database,
                                                 "UPDATE epoch SET number = ?1, commits = ?2"
                                                 " WHERE number = ?3 AND commits = ?4");

    row_bind_int(statement, 1, (int64_t)store->epoch);
    row_bind_int(statement, 2, store->commits + 1);
    row_bind_int(statement, 3, (int64_t)store->kept_epoch);
    row_bind_int(statement, 4, store->commits);
    if (database_step(store->database, statement, err) < 0)
        return -1;
    if (database_changes(store->database) != 1)
        return journal_refuse_old_epoch(err);
    return 0;
}

/* Writes the tally, before any caller learns of the commit.  A tally that cannot be written is
   behind, and refuses nothing. */
static void acknowledge(struct store *store)
{
    if (store->tally >= 0)
        (void)tally_write(store->tally, store->commits);
}

static int sqlite_commit(struct journal *journal, const struct journal_batch *batch,
                         struct error *err)
{
    struct store *store = (struct store *)journal;
    int64_t seq = store->last_seq;
    char hash[SHA256_TEXT_SIZE];

    if (batch->epoch != store->epoch)
        return journal_refuse_old_epoch(err);
    if (database_begin(store->database, err) < 0)
        return -1;
    text_copy(hash, sizeof hash, store->hash);
    if (count_commit(store, err) < 0 ||
        entries_write(store->database, batch, &seq, hash, err) < 0) {
        database_rollback(store->database);
        return -1;
    }
    if (database_commit(store->database, err) < 0)
        return -1;

    require(seq >= store->last_seq && store->kept_epoch <= store->epoch);
    store->last_seq = seq;
    text_copy(store->hash, sizeof store->hash, hash);
    store->kept_epoch = store->epoch;
    store->commits++;
    acknowledge(store);
    return 0;
}

static int read_tail(struct store *store, struct error *err);
static int read_counts(struct store *store, struct error *err);

/* Stored with the first commit: a start does not wait for the disk.  The counts are read first: if
   another handle writes before that commit, they are old, and the commit is refused. */
static int sqlite_begin_epoch(struct journal *journal, uint64_t *ret_epoch, struct error *err)
{
    struct store *store = (struct store *)journal;
    uint64_t before = store->epoch;

    require(store->database);
    if (read_counts(store, err) < 0 || read_tail(store, err) < 0)
        return -1;
    store->epoch = (before > store->kept_epoch ? before : store->kept_epoch) + 1;
    *ret_epoch = store->epoch;
    return 0;
}

static int sqlite_list(struct journal *journal, struct ahead *ahead, struct error *err)
{
    struct store *store = (struct store *)journal;
    sqlite3_stmt *records = database_statement(store->database, "SELECT kind, id, rev FROM record");
    sqlite3_stmt *claims = database_statement(store->database, "SELECT name, holder FROM claim");
    int result;

    while ((result = database_step(store->database, records, err)) == 1)
        ahead_set_record(ahead, row_text(records, 0), row_text(records, 1),
                         (uint64_t)sqlite3_column_int64(records, 2));
    while (result == 0 && (result = database_step(store->database, claims, err)) == 1) {
        ahead_set_claim(ahead, row_text(claims, 0), row_text(claims, 1));
        result = 0;
    }
    return result;
}

static int sqlite_each(struct journal *journal, const char *kind, journal_record_fn fn,
                       void *context, struct error *err)
{
    struct store *store = (struct store *)journal;
    sqlite3_stmt *statement = database_statement(
        store->database, "SELECT id, rev, value FROM record WHERE kind = ?1 ORDER BY id");
    int result;

    row_bind(statement, 1, kind);
    while ((result = database_step(store->database, statement, err)) == 1) {
        const char *text = row_text(statement, 2);
        owned(chars) char *id = mem_copy_chars(row_text(statement, 0));
        uint64_t rev = (uint64_t)sqlite3_column_int64(statement, 1);
        owned(json) json_t *value = json_parse(text, (size_t)sqlite3_column_bytes(statement, 2),
                                               "journal", err);

        if (!value)
            value = json_text(text); /* its reader finds no object */
        if (fn(context, id, rev, value, err) < 0) {
            sqlite3_reset(statement);
            return error_context(err, "journal record %s %s", kind, id);
        }
    }
    return result;
}

static int sqlite_each_claim(struct journal *journal, journal_claim_fn fn, void *context,
                             struct error *err)
{
    struct store *store = (struct store *)journal;
    sqlite3_stmt *statement = database_statement(store->database,
                                                 "SELECT name, holder FROM claim ORDER BY name");
    int result;

    while ((result = database_step(store->database, statement, err)) == 1)
        if (fn(context, row_text(statement, 0), row_text(statement, 1), err) < 0) {
            sqlite3_reset(statement);
            return -1;
        }
    return result;
}

static json_t *sqlite_events_after(struct journal *journal, int64_t seq, size_t count,
                                   struct error *err)
{
    struct store *store = (struct store *)journal;
    sqlite3_stmt *statement = database_statement(
        store->database,
        "SELECT seq, at_ms, hash, value FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2");
    owned(json) json_t *rows = json_array();
    int result;

    row_bind_int(statement, 1, seq);
    row_bind_int(statement, 2, count < INT64_MAX ? (int64_t)count : INT64_MAX);
    while ((result = database_step(store->database, statement, err)) == 1) {
        json_t *event = json_parse(row_text(statement, 3),
                                   (size_t)sqlite3_column_bytes(statement, 3), "journal", err);

        if (!event) {
            sqlite3_reset(statement);
            return NULL;
        }
        json_array_append_new(rows, json_make("{sIsIssso}", "seq",
                                              (json_int_t)sqlite3_column_int64(statement, 0), "at",
                                              (json_int_t)sqlite3_column_int64(statement, 1),
                                              "hash", row_text(statement, 2), "event", event));
    }
    return result < 0 ? NULL : steal(&rows);
}

static json_t *sqlite_events(struct journal *journal, size_t count, struct error *err)
{
    int64_t last = ((struct store *)journal)->last_seq;
    bool is_part = (uint64_t)count < (uint64_t)last;

    return sqlite_events_after(journal, is_part ? last - (int64_t)count : 0, count, err);
}

static void sqlite_close(struct journal *journal)
{
    struct store *store = (struct store *)journal;

    if (store->tally >= 0)
        close(store->tally);
    database_close(store->database);
    mem_free(store);
}

static const struct journal_verbs sqlite_verbs = {
    .commit = sqlite_commit,
    .begin_epoch = sqlite_begin_epoch,
    .list = sqlite_list,
    .each = sqlite_each,
    .each_claim = sqlite_each_claim,
    .events = sqlite_events,
    .events_after = sqlite_events_after,
    .close = sqlite_close,
};

/* Reads the last event's number and hash. */
static int read_tail(struct store *store, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        store->database, "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1");
    int result = database_step(store->database, statement, err);

    text_copy(store->hash, sizeof store->hash, journal_chain_start);
    if (result == 1) {
        store->last_seq = sqlite3_column_int64(statement, 0);
        text_copy(store->hash, sizeof store->hash, row_text(statement, 1));
        sqlite3_reset(statement);
    }
    return result < 0 ? -1 : 0;
}

static int read_counts(struct store *store, struct error *err)
{
    sqlite3_stmt *statement = database_statement(store->database,
                                                 "SELECT number, commits FROM epoch");
    int result = database_step(store->database, statement, err);

    if (result < 0)
        return -1;
    if (result == 0)
        return error_set(err, ERROR_CORRUPT, "it has no epoch");
    store->kept_epoch = (uint64_t)sqlite3_column_int64(statement, 0);
    store->commits = sqlite3_column_int64(statement, 1);
    sqlite3_reset(statement);
    return 0;
}

/* Without comparing the tally of acknowledged commits. */
static struct store *open_store(const char *path, enum database_lock lock, struct error *err)
{
    struct store *store = mem_new(sizeof *store);

    store->journal.verbs = &sqlite_verbs;
    store->tally = -1;
    store->journal.bound = (struct journal_bound)JOURNAL_BOUND_OF_DISK;
    store->database = database_open_with(path, lock, &schema, err);
    if (!store->database || rows_fill_hashes(store->database, err) < 0 ||
        rows_check(store->database, err) < 0 || read_counts(store, err) < 0 ||
        read_tail(store, err) < 0) {
        sqlite_close(&store->journal);
        return NULL;
    }
    return store;
}

static int fail_loss(const char *path, int64_t there, int64_t acknowledged, struct error *err)
{
    return error_set(err, ERROR_CORRUPT,
                     "%s: has %" PRId64 " commits, and %" PRId64
                     " were acknowledged (%s.tally): %" PRId64
                     " are lost, by a damaged write-ahead log or an older copy in its place. Put "
                     "the newest copy there, or accept the loss: sluice journal repair",
                     path, there, acknowledged, path, acknowledged - there);
}

/* A journal that was never counted has no tally yet. */
static int check_tally(struct store *store, const char *path, struct error *err)
{
    int64_t acknowledged = tally_read(path);

    if (acknowledged > store->commits)
        return fail_loss(path, store->commits, acknowledged, err);
    if (acknowledged < 0 && store->commits > 0)
        log_warn("journal_tally", FIELD_TEXT("journal", path),
                 FIELD_TEXT("text", acknowledged == TALLY_MISSING
                                        ? "there is no .tally beside it: commits that were lost "
                                          "before this start cannot be seen"
                                        : "the .tally beside it cannot be read: commits that were "
                                          "lost before this start cannot be seen"));
    return 0;
}

static bool is_file(const char *path)
{
    return !text_equal(path, ":memory:");
}

static struct journal *open_journal(const char *path, enum database_lock lock, struct error *err)
{
    struct store *store = open_store(path, lock, err);

    if (!store)
        return NULL;
    if (is_file(path) && check_tally(store, path, err) < 0) {
        database_keep_log(store->database); /* there may be more in it than SQLite reads */
        sqlite_close(&store->journal);
        return NULL;
    }
    if (is_file(path))
        store->tally = tally_open(path, err);
    if (is_file(path) && store->tally < 0) {
        sqlite_close(&store->journal);
        return NULL;
    }
    if (store->tally >= 0)
        acknowledge(store);
    return &store->journal;
}

struct journal *journal_sqlite_open(const char *path, struct error *err)
{
    return open_journal(path, DATABASE_EXCLUSIVE, err);
}

struct journal *journal_sqlite_open_unlocked(const char *path, struct error *err)
{
    return open_journal(path, DATABASE_SHARED, err);
}

int journal_sqlite_mend_rows(const char *path, struct wall_time at, json_t *found,
                             struct error *err)
{
    owned(database) struct database *database = database_open(path, &schema, err);

    if (!database || rows_fill_hashes(database, err) < 0)
        return -1;
    return rows_set_aside(database, at.ms, found, err);
}

int64_t journal_sqlite_accept_loss(const char *path, struct error *err)
{
    struct store *store = open_store(path, DATABASE_EXCLUSIVE, err);
    int64_t acknowledged = store ? tally_read(path) : 0;
    int64_t lost = -1;

    if (!store)
        return -1;
    store->tally = tally_open(path, err);
    if (store->tally >= 0 && !tally_write(store->tally, store->commits))
        error_errno(err, ERROR_TRANSIENT, "%s.tally: cannot write it", path);
    else if (store->tally >= 0)
        lost = acknowledged > store->commits ? acknowledged - store->commits : 0;
    sqlite_close(&store->journal);
    return lost;
}
