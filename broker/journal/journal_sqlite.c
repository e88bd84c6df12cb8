/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The journal in SQLite: one file, one connection, one fsync a commit.  What the design promises is
 * also a constraint of the tables: a claim's name is a primary key, a record's revision only grows.
 */
#include "base/database.h"
#include "base/json.h"
#include "broker/journal/journal_store.h"

#include <inttypes.h>
#include <stdio.h>
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

    /* What a row says, hashed: SQLite sees that a page hangs together, not that its text is what
       was written.  '': written before there were any. */
    "ALTER TABLE record ADD COLUMN hash TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE claim ADD COLUMN hash TEXT NOT NULL DEFAULT '';",

    /* A row here says that rows with hash '' may stand in the file: the next open fills them and
       takes it out.  From then on '' is damage. */
    "CREATE TABLE unhashed (one INTEGER PRIMARY KEY CHECK (one = 1)) STRICT;"
    "INSERT INTO unhashed VALUES (1);",
};

enum { ROW_HASH_SIZE = 17 };

struct store {
    struct journal journal;
    struct database *database;
    uint64_t epoch;
    int64_t last_seq;
    char hash[SHA256_TEXT_SIZE];
};

static void bind_text(sqlite3_stmt *statement, int at, const char *chars)
{
    require(sqlite3_bind_text(statement, at, chars, -1, SQLITE_TRANSIENT) == SQLITE_OK);
}

static void bind_int(sqlite3_stmt *statement, int at, int64_t number)
{
    require(sqlite3_bind_int64(statement, at, number) == SQLITE_OK);
}

static const char *column_text(sqlite3_stmt *statement, int at)
{
    return (const char *)sqlite3_column_text(statement, at) ?: "";
}

/* Against damage, not against forgers: 64 bits of it. */
static const char *hash_row(const char *name, const char *id, int64_t rev, const char *value,
                            char out[ROW_HASH_SIZE])
{
    owned(chars) char *joined = text_format("%s\n%s\n%" PRId64 "\n%s", name, id, rev, value);
    char hash[SHA256_TEXT_SIZE];

    crypto_sha256_text(joined, strlen(joined), hash);
    snprintf(out, ROW_HASH_SIZE, "%.16s", hash);
    return out;
}

/* Runs a statement that changes exactly one row. */
static int change_one(struct store *store, sqlite3_stmt *statement, const char *kind,
                      const char *id, struct error *err)
{
    if (database_step(store->database, statement, err) < 0)
        return error_context(err, "%s %s", kind, id);
    if (database_changes(store->database) != 1)
        return error_set(err, ERROR_CONFLICT, "%s %s is not at the expected revision", kind, id);
    return 0;
}

static int put(struct store *store, const struct journal_entry *entry, struct error *err)
{
    owned(chars) char *value = json_print(entry->value);
    char hash[ROW_HASH_SIZE];
    sqlite3_stmt *statement;

    if (entry->rev == 0) {
        statement = database_statement(store->database,
                                       "INSERT INTO record (kind, id, rev, value, hash)"
                                       " VALUES (?1, ?2, ?3, ?4, ?5)");
        bind_int(statement, 3, 1);
    } else {
        statement = database_statement(store->database,
                                       "UPDATE record SET rev = rev + 1, value = ?4, hash = ?5"
                                       " WHERE kind = ?1 AND id = ?2 AND rev = ?3");
        bind_int(statement, 3, (int64_t)entry->rev);
    }
    bind_text(statement, 1, entry->name);
    bind_text(statement, 2, entry->id);
    bind_text(statement, 4, value);
    bind_text(statement, 5, hash_row(entry->name, entry->id, (int64_t)entry->rev + 1, value, hash));
    return change_one(store, statement, entry->name, entry->id, err);
}

static int take_out(struct store *store, const struct journal_entry *entry, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        store->database, "DELETE FROM record WHERE kind = ?1 AND id = ?2 AND rev = ?3");

    bind_text(statement, 1, entry->name);
    bind_text(statement, 2, entry->id);
    bind_int(statement, 3, (int64_t)entry->rev);
    return change_one(store, statement, entry->name, entry->id, err);
}

static int claim(struct store *store, const struct journal_entry *entry, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        store->database, "INSERT INTO claim (name, holder, hash) VALUES (?1, ?2, ?3)"
                         " ON CONFLICT (name) DO UPDATE SET holder = holder WHERE holder = ?2");
    char hash[ROW_HASH_SIZE];

    bind_text(statement, 1, entry->name);
    bind_text(statement, 2, entry->id);
    bind_text(statement, 3, hash_row(entry->name, entry->id, 0, "", hash));
    if (database_step(store->database, statement, err) < 0)
        return -1;
    if (database_changes(store->database) != 1)
        return error_set(err, ERROR_CONFLICT, "%s is claimed by another holder", entry->name);
    return 0;
}

static int release(struct store *store, const struct journal_entry *entry, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        store->database, "DELETE FROM claim WHERE name = ?1 AND holder = ?2");

    bind_text(statement, 1, entry->name);
    bind_text(statement, 2, entry->id);
    return database_step(store->database, statement, err);
}

static int append(struct store *store, const struct journal_entry *entry, int64_t *seq, char *hash,
                  struct error *err)
{
    owned(chars) char *value = json_print(entry->value);
    sqlite3_stmt *statement = database_statement(
        store->database, "INSERT INTO event (seq, at_ms, hash, value) VALUES (?1, ?2, ?3, ?4)");

    journal_chain(hash, entry->at, value, hash);
    bind_int(statement, 1, ++*seq);
    bind_int(statement, 2, entry->at.ms);
    bind_text(statement, 3, hash);
    bind_text(statement, 4, value);
    return database_step(store->database, statement, err) < 0 ? -1 : 0;
}

static int write_entries(struct store *store, const struct journal_batch *batch, int64_t *seq,
                         char *hash, struct error *err)
{
    for (size_t i = 0; i < batch->entries.count; i++) {
        const struct journal_entry *entry = &batch->entries.items[i];
        int result = 0;

        switch (entry->operation) {
        case JOURNAL_PUT:
            result = put(store, entry, err);
            break;
        case JOURNAL_REMOVE:
            result = take_out(store, entry, err);
            break;
        case JOURNAL_CLAIM:
            result = claim(store, entry, err);
            break;
        case JOURNAL_RELEASE:
            result = release(store, entry, err);
            break;
        case JOURNAL_EVENT:
            result = append(store, entry, seq, hash, err);
            break;
        }
        if (result < 0)
            return -1;
    }
    return 0;
}

static int sqlite_commit(struct journal *journal, const struct journal_batch *batch,
                         struct error *err)
{
    struct store *store = (struct store *)journal;
    int64_t seq = store->last_seq;
    char hash[SHA256_TEXT_SIZE];

    if (batch->epoch != store->epoch)
        return error_set(err, ERROR_DENIED, "another broker has taken over this journal");
    if (database_begin(store->database, err) < 0)
        return -1;
    text_copy(hash, sizeof hash, store->hash);
    if (write_entries(store, batch, &seq, hash, err) < 0) {
        database_rollback(store->database);
        return -1;
    }
    if (database_commit(store->database, err) < 0)
        return -1;

    store->last_seq = seq;
    text_copy(store->hash, sizeof store->hash, hash);
    return 0;
}

static int sqlite_begin_epoch(struct journal *journal, uint64_t *ret_epoch, struct error *err)
{
    struct store *store = (struct store *)journal;
    sqlite3_stmt *statement = database_statement(
        store->database, "UPDATE epoch SET number = number + 1 RETURNING number");
    int result = database_step(store->database, statement, err);

    if (result < 0)
        return -1;
    require(result == 1);
    store->epoch = (uint64_t)sqlite3_column_int64(statement, 0);
    if (database_step(store->database, statement, err) < 0)
        return -1;
    *ret_epoch = store->epoch;
    return 0;
}

static int sqlite_each(struct journal *journal, const char *kind, journal_record_fn fn,
                       void *context, struct error *err)
{
    struct store *store = (struct store *)journal;
    sqlite3_stmt *statement = database_statement(
        store->database, "SELECT id, rev, value FROM record WHERE kind = ?1 ORDER BY id");
    int result;

    bind_text(statement, 1, kind);
    while ((result = database_step(store->database, statement, err)) == 1) {
        const char *text = column_text(statement, 2);
        owned(chars) char *id = mem_copy_chars(column_text(statement, 0));
        uint64_t rev = (uint64_t)sqlite3_column_int64(statement, 1);
        owned(json) json_t *value = json_parse(text, (size_t)sqlite3_column_bytes(statement, 2),
                                               "journal", err);

        if (!value || fn(context, id, rev, value, err) < 0) {
            sqlite3_reset(statement);
            return error_context(err, "journal record %s %s", kind, id);
        }
    }
    return result;
}

static json_t *sqlite_events(struct journal *journal, size_t count, struct error *err)
{
    struct store *store = (struct store *)journal;
    sqlite3_stmt *statement = database_statement(
        store->database, "SELECT seq, at_ms, hash, value FROM event WHERE seq > ?1 ORDER BY seq");
    owned(json) json_t *rows = json_array();
    int result;

    bind_int(statement, 1,
             (uint64_t)count < (uint64_t)store->last_seq ? store->last_seq - (int64_t)count : 0);
    while ((result = database_step(store->database, statement, err)) == 1) {
        json_t *event = json_parse(column_text(statement, 3),
                                   (size_t)sqlite3_column_bytes(statement, 3), "journal", err);

        if (!event) {
            sqlite3_reset(statement);
            return NULL;
        }
        json_array_append_new(rows, json_make("{sIsIssso}", "seq",
                                              (json_int_t)sqlite3_column_int64(statement, 0), "at",
                                              (json_int_t)sqlite3_column_int64(statement, 1),
                                              "hash", column_text(statement, 2), "event", event));
    }
    return result < 0 ? NULL : steal(&rows);
}

static void sqlite_close(struct journal *journal)
{
    struct store *store = (struct store *)journal;

    database_close(store->database);
    mem_free(store);
}

static const struct journal_verbs sqlite_verbs = {
    .commit = sqlite_commit,
    .begin_epoch = sqlite_begin_epoch,
    .each = sqlite_each,
    .events = sqlite_events,
    .close = sqlite_close,
};

/* Where the chain of events stands. */
static int read_tail(struct store *store, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        store->database, "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1");
    int result = database_step(store->database, statement, err);

    text_copy(store->hash, sizeof store->hash, journal_chain_start);
    if (result == 1) {
        store->last_seq = sqlite3_column_int64(statement, 0);
        text_copy(store->hash, sizeof store->hash, column_text(statement, 1));
        sqlite3_reset(statement);
    }
    return result < 0 ? -1 : 0;
}

/* Runs a statement that has no rows to give. */
static int run(struct store *store, const char *sql, struct error *err)
{
    return database_step(store->database, database_statement(store->database, sql), err) < 0 ? -1
                                                                                             : 0;
}

/* Of the rows that the question gives: kind and id, or name and holder; revision and value. */
static int fill_table(struct store *store, const char *question, const char *answer,
                      struct error *err)
{
    sqlite3_stmt *rows = database_statement(store->database, question);
    sqlite3_stmt *update = database_statement(store->database, answer);
    int result;

    while ((result = database_step(store->database, rows, err)) == 1) {
        char hash[ROW_HASH_SIZE];

        hash_row(column_text(rows, 0), column_text(rows, 1), sqlite3_column_int64(rows, 2),
                 column_text(rows, 3), hash);
        bind_text(update, 1, hash);
        bind_text(update, 2, column_text(rows, 0));
        bind_text(update, 3, column_text(rows, 1));
        if (database_step(store->database, update, err) < 0) {
            sqlite3_reset(rows);
            return -1;
        }
    }
    return result;
}

static int fill_all(struct store *store, struct error *err)
{
    if (fill_table(store, "SELECT kind, id, rev, value FROM record WHERE hash = ''",
                   "UPDATE record SET hash = ?1 WHERE kind = ?2 AND id = ?3", err) < 0 ||
        fill_table(store, "SELECT name, holder, 0, '' FROM claim WHERE hash = ''",
                   "UPDATE claim SET hash = ?1 WHERE name = ?2 AND holder = ?3", err) < 0)
        return -1;
    return run(store, "DELETE FROM unhashed", err);
}

/* Once in a journal's life: rows from before there were hashes get theirs, all or none. */
static int fill_hashes(struct store *store, struct error *err)
{
    sqlite3_stmt *statement = database_statement(store->database, "SELECT one FROM unhashed");
    int result = database_step(store->database, statement, err);

    if (result == 1)
        sqlite3_reset(statement);
    if (result != 1)
        return result;
    if (database_begin(store->database, err) < 0)
        return -1;
    if (fill_all(store, err) < 0) {
        database_rollback(store->database);
        return error_context(err, "giving its rows their hashes");
    }
    return database_commit(store->database, err);
}

/* All rows, before anybody rests on one: a record whose kind is damaged would be asked for by
   nobody, and a claim is never read again, only run into. */
static int check_rows(struct store *store, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        store->database, "SELECT kind, id, rev, value, hash FROM record UNION ALL"
                         " SELECT name, holder, 0, '', hash FROM claim");
    int result;

    while ((result = database_step(store->database, statement, err)) == 1) {
        owned(chars) char *name = text_format("%s %s", column_text(statement, 0),
                                              column_text(statement, 1));
        char hash[ROW_HASH_SIZE];

        hash_row(column_text(statement, 0), column_text(statement, 1),
                 sqlite3_column_int64(statement, 2), column_text(statement, 3), hash);
        if (text_equal(column_text(statement, 4), hash))
            continue;
        sqlite3_reset(statement);
        return error_set(err, ERROR_CORRUPT, "\"%.200s\" is not what was written: it is damaged",
                         name);
    }
    return result;
}

struct journal *journal_sqlite_open(const char *path, struct error *err)
{
    struct store *store = mem_new(sizeof *store);

    store->journal.verbs = &sqlite_verbs;
    store->database = database_open(path, APPLICATION_ID, migrations, (int)COUNT_OF(migrations),
                                    err);
    if (!store->database || fill_hashes(store, err) < 0 || check_rows(store, err) < 0 ||
        read_tail(store, err) < 0) {
        sqlite_close(&store->journal);
        return NULL;
    }
    return &store->journal;
}
