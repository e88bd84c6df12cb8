/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See journal_rows.h.
 */
#include "broker/journal/journal_rows.h"

#include "base/crypto.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

void row_bind(sqlite3_stmt *statement, int at, const char *chars)
{
    require(sqlite3_bind_text(statement, at, chars, -1, SQLITE_TRANSIENT) == SQLITE_OK);
}

const char *row_text(sqlite3_stmt *statement, int at)
{
    return (const char *)sqlite3_column_text(statement, at) ?: "";
}

const char *row_hash(const char *name, const char *id, int64_t rev, const char *value,
                     char out[ROW_HASH_SIZE])
{
    owned(chars) char *joined = text_format("%s\n%s\n%" PRId64 "\n%s", name, id, rev, value);
    char hash[SHA256_TEXT_SIZE];

    crypto_sha256_text(joined, strlen(joined), hash);
    text_print(out, ROW_HASH_SIZE, "%.16s", hash);
    return out;
}

/* Runs a statement that has no rows to give. */
static int run(struct database *database, const char *sql, struct error *err)
{
    return database_step(database, database_statement(database, sql), err) < 0 ? -1 : 0;
}

/* Of the rows that the question gives: kind and id, or name and holder; revision and value. */
static int fill_table(struct database *database, const char *question, const char *answer,
                      struct error *err)
{
    sqlite3_stmt *rows = database_statement(database, question);
    sqlite3_stmt *update = database_statement(database, answer);
    int result;

    while ((result = database_step(database, rows, err)) == 1) {
        char hash[ROW_HASH_SIZE];

        row_hash(row_text(rows, 0), row_text(rows, 1), sqlite3_column_int64(rows, 2),
                 row_text(rows, 3), hash);
        row_bind(update, 1, hash);
        row_bind(update, 2, row_text(rows, 0));
        row_bind(update, 3, row_text(rows, 1));
        if (database_step(database, update, err) < 0) {
            sqlite3_reset(rows);
            return -1;
        }
    }
    return result;
}

static int fill_all(struct database *database, struct error *err)
{
    if (fill_table(database, "SELECT kind, id, rev, value FROM record WHERE hash = ''",
                   "UPDATE record SET hash = ?1 WHERE kind = ?2 AND id = ?3", err) < 0 ||
        fill_table(database, "SELECT name, holder, 0, '' FROM claim WHERE hash = ''",
                   "UPDATE claim SET hash = ?1 WHERE name = ?2 AND holder = ?3", err) < 0)
        return -1;
    return run(database, "DELETE FROM unhashed", err);
}

/* Once in a journal's life: rows from before there were hashes get theirs, all or none. */
int rows_fill_hashes(struct database *database, struct error *err)
{
    sqlite3_stmt *statement = database_statement(database, "SELECT one FROM unhashed");
    int result = database_step(database, statement, err);

    if (result == 1)
        sqlite3_reset(statement);
    if (result != 1)
        return result;
    if (database_begin(database, err) < 0)
        return -1;
    if (fill_all(database, err) < 0) {
        database_rollback(database);
        return error_context(err, "giving its rows their hashes");
    }
    return database_commit(database, err);
}

/* All rows, before anybody rests on one: a record whose kind is damaged would be asked for by
   nobody, and a claim is never read again, only run into. */
int rows_check(struct database *database, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        database, "SELECT kind, id, rev, value, hash FROM record UNION ALL"
                  " SELECT name, holder, 0, '', hash FROM claim");
    int result;

    while ((result = database_step(database, statement, err)) == 1) {
        owned(chars) char *name = text_format("%s %s", row_text(statement, 0),
                                              row_text(statement, 1));
        char hash[ROW_HASH_SIZE];

        row_hash(row_text(statement, 0), row_text(statement, 1), sqlite3_column_int64(statement, 2),
                 row_text(statement, 3), hash);
        if (text_equal(row_text(statement, 4), hash))
            continue;
        sqlite3_reset(statement);
        return error_set(
            err, ERROR_CORRUPT,
            "\"%.200s\" is not what was written: it is damaged (`sluice journal check` "
            "names all that is, `sluice journal repair` sets it aside)",
            name);
    }
    return result;
}
