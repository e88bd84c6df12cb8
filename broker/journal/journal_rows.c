/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See journal_rows.h.
 */
#include "broker/journal/journal_rows.h"

#include "base/crypto.h"
#include "base/input/json.h"
#include "base/text.h"
#include "broker/journal/journal.h"

#include <inttypes.h>
#include <string.h>

void row_bind(sqlite3_stmt *statement, int at, const char *chars)
{
    require(sqlite3_bind_text(statement, at, chars, -1, SQLITE_TRANSIENT) == SQLITE_OK);
}

void row_bind_int(sqlite3_stmt *statement, int at, int64_t number)
{
    require(sqlite3_bind_int64(statement, at, number) == SQLITE_OK);
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

/* Writes the hashes of the rows that the query `question` returns: kind and id, or name and holder;
   revision and value. */
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

/* Once in a journal's life: rows from before the hash column get their hashes, all or none. */
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

static const char all_rows[] = "SELECT kind, id, rev, value, hash, 'record' FROM record UNION ALL"
                               " SELECT name, holder, 0, '', hash, 'claim' FROM claim";

static bool is_as_written(sqlite3_stmt *row)
{
    char hash[ROW_HASH_SIZE];

    row_hash(row_text(row, 0), row_text(row, 1), sqlite3_column_int64(row, 2), row_text(row, 3),
             hash);
    return text_equal(row_text(row, 4), hash);
}

/* Rows that were changed after they were written: [{table, name, id, rev, value}]. */
static json_t *find_damaged(struct database *database, struct error *err)
{
    sqlite3_stmt *row = database_statement(database, all_rows);
    json_t *rows = json_array();
    int result;

    while ((result = database_step(database, row, err)) == 1)
        if (!is_as_written(row))
            json_array_append_new(rows, json_make("{ss ss ss sI ss}", "table", row_text(row, 5),
                                                  "name", row_text(row, 0), "id", row_text(row, 1),
                                                  "rev", (json_int_t)sqlite3_column_int64(row, 2),
                                                  "value", row_text(row, 3)));
    if (result == 0)
        return rows;
    json_decref(rows);
    return NULL;
}

/* Makes the record that stands for a damaged row. */
static json_t *make_unreadable(const char *kind, const char *id, const json_t *row, int64_t at_ms)
{
    return json_make("{ss ss sI sO ss sI}", "kind", kind, "id", id, "rev",
                     json_int_or(row, "rev", 0), "value", json_object_get(row, "value"), "why",
                     "it is not what was written", "at", (json_int_t)at_ms);
}

static int put_unreadable(struct database *database, const json_t *unreadable, struct error *err)
{
    sqlite3_stmt *put = database_statement(
        database, "INSERT INTO record (kind, id, rev, value, hash) VALUES (?1, ?2, 1, ?3, ?4)");
    owned(chars) char *name = text_format("%s %s %" PRId64, json_text_or(unreadable, "kind", ""),
                                          json_text_or(unreadable, "id", ""),
                                          json_int_or(unreadable, "at", 0));
    owned(chars) char *text = json_print(unreadable);
    char hash[ROW_HASH_SIZE];

    row_bind(put, 1, JOURNAL_UNREADABLE);
    row_bind(put, 2, name);
    row_bind(put, 3, text);
    row_bind(put, 4, row_hash(JOURNAL_UNREADABLE, name, 1, text, hash));
    return database_step(database, put, err) < 0 ? -1 : 0;
}

static int set_aside_one(struct database *database, const json_t *row, int64_t at_ms, json_t *found,
                         struct error *err)
{
    bool is_claim = text_equal(json_text_or(row, "table", ""), "claim");
    const char *name = json_text_or(row, "name", "");
    const char *id = json_text_or(row, "id", "");
    sqlite3_stmt *away = database_statement(
        database, is_claim ? "DELETE FROM claim WHERE name = ?1 AND holder = ?2"
                           : "DELETE FROM record WHERE kind = ?1 AND id = ?2");
    owned(chars) char *claim = text_format("%s of %s", name, id);
    owned(json) json_t *unreadable = make_unreadable(is_claim ? "claim" : name,
                                                     is_claim ? claim : id, row, at_ms);

    row_bind(away, 1, name);
    row_bind(away, 2, id);
    if (database_step(database, away, err) < 0 || put_unreadable(database, unreadable, err) < 0)
        return -1;
    json_array_append_new(found,
                          json_make("{sO sO sO}", "kind", json_object_get(unreadable, "kind"), "id",
                                    json_object_get(unreadable, "id"), "text",
                                    json_object_get(unreadable, "why")));
    return 0;
}

int rows_set_aside(struct database *database, int64_t at_ms, json_t *found, struct error *err)
{
    owned(json) json_t *rows = find_damaged(database, err);
    const json_t *row;
    size_t i;

    if (!rows || database_begin(database, err) < 0)
        return -1;
    json_array_foreach(rows, i, row) {
        if (set_aside_one(database, row, at_ms, found, err) < 0) {
            database_rollback(database);
            return -1;
        }
    }
    return database_commit(database, err);
}

/* Checks all rows before any is used.  A record with a damaged kind would never be read by its
   transfer, and a claim is never read again. */
int rows_check(struct database *database, struct error *err)
{
    sqlite3_stmt *row = database_statement(database, all_rows);
    int result;

    while ((result = database_step(database, row, err)) == 1) {
        owned(chars) char *name = text_format("%s %s", row_text(row, 0), row_text(row, 1));

        if (is_as_written(row))
            continue;
        sqlite3_reset(row);
        return error_set(
            err, ERROR_CORRUPT,
            "\"%.200s\" is not what was written: it is damaged (`sluice journal check` "
            "names all that is, `sluice journal repair` sets it aside)",
            name);
    }
    return result;
}
