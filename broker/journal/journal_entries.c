/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See journal_entries.h.
 */
#include "broker/journal/journal_entries.h"

#include "broker/journal/journal_rows.h"

/* Runs a statement that changes exactly one row. */
static int change_one(struct database *database, sqlite3_stmt *statement, const char *kind,
                      const char *id, struct error *err)
{
    if (database_step(database, statement, err) < 0)
        return error_context(err, "%s %s", kind, id);
    if (database_changes(database) != 1)
        return error_set(err, ERROR_CONFLICT, "%s %s is not at the expected revision", kind, id);
    return 0;
}

static int put(struct database *database, const struct journal_entry *entry, struct error *err)
{
    const char *value = entry->text;
    char hash[ROW_HASH_SIZE];
    sqlite3_stmt *statement;

    require(value && entry->becomes > 0);
    if (entry->rev == 0) {
        statement = database_statement(database, "INSERT INTO record (kind, id, rev, value, hash)"
                                                 " VALUES (?1, ?2, ?6, ?4, ?5)");
    } else {
        statement = database_statement(database, "UPDATE record SET rev = ?6, value = ?4, hash = ?5"
                                                 " WHERE kind = ?1 AND id = ?2 AND rev = ?3");
        row_bind_int(statement, 3, (int64_t)entry->rev);
    }
    row_bind(statement, 1, entry->name);
    row_bind(statement, 2, entry->id);
    row_bind(statement, 4, value);
    row_bind(statement, 5, row_hash(entry->name, entry->id, (int64_t)entry->becomes, value, hash));
    row_bind_int(statement, 6, (int64_t)entry->becomes);
    return change_one(database, statement, entry->name, entry->id, err);
}

static int take_out(struct database *database, const struct journal_entry *entry, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        database, "DELETE FROM record WHERE kind = ?1 AND id = ?2 AND rev = ?3");

    row_bind(statement, 1, entry->name);
    row_bind(statement, 2, entry->id);
    row_bind_int(statement, 3, (int64_t)entry->rev);
    return change_one(database, statement, entry->name, entry->id, err);
}

static int expect_absent(struct database *database, const struct journal_entry *entry,
                         struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        database, "SELECT 1 FROM record WHERE kind = ?1 AND id = ?2");
    int result;

    require(entry->rev == 0 && entry->becomes == 0);
    row_bind(statement, 1, entry->name);
    row_bind(statement, 2, entry->id);
    result = database_step(database, statement, err);
    if (result == 1) {
        sqlite3_reset(statement);
        return error_set(err, ERROR_CONFLICT, "%s %s exists", entry->name, entry->id);
    }
    return result;
}

static int claim(struct database *database, const struct journal_entry *entry, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        database, "INSERT INTO claim (name, holder, hash) VALUES (?1, ?2, ?3)"
                  " ON CONFLICT (name) DO UPDATE SET holder = holder WHERE holder = ?2");
    char hash[ROW_HASH_SIZE];

    row_bind(statement, 1, entry->name);
    row_bind(statement, 2, entry->id);
    row_bind(statement, 3, row_hash(entry->name, entry->id, 0, "", hash));
    if (database_step(database, statement, err) < 0)
        return -1;
    if (database_changes(database) != 1)
        return error_set(err, ERROR_CONFLICT, "%s is claimed by another holder", entry->name);
    return 0;
}

static int release(struct database *database, const struct journal_entry *entry, struct error *err)
{
    sqlite3_stmt *statement = database_statement(
        database, "DELETE FROM claim WHERE name = ?1 AND holder = ?2");

    row_bind(statement, 1, entry->name);
    row_bind(statement, 2, entry->id);
    return database_step(database, statement, err);
}

static int append(struct database *database, const struct journal_entry *entry, int64_t *seq,
                  char *hash, struct error *err)
{
    const char *value = entry->text;
    sqlite3_stmt *statement = database_statement(
        database, "INSERT INTO event (seq, at_ms, hash, value) VALUES (?1, ?2, ?3, ?4)");

    require(value && *seq >= 0);
    journal_chain(hash, entry->at, value, hash);
    row_bind_int(statement, 1, ++*seq);
    row_bind_int(statement, 2, entry->at.ms);
    row_bind(statement, 3, hash);
    row_bind(statement, 4, value);
    return database_step(database, statement, err) < 0 ? -1 : 0;
}

int entries_write(struct database *database, const struct journal_batch *batch, int64_t *seq,
                  char hash[SHA256_TEXT_SIZE], struct error *err)
{
    for (size_t i = 0; i < batch->entries.count; i++) {
        const struct journal_entry *entry = &batch->entries.items[i];
        int result = 0;

        switch (entry->operation) {
        case JOURNAL_PUT:
            result = put(database, entry, err);
            break;
        case JOURNAL_REMOVE:
            result = take_out(database, entry, err);
            break;
        case JOURNAL_ABSENT:
            result = expect_absent(database, entry, err);
            break;
        case JOURNAL_CLAIM:
            result = claim(database, entry, err);
            break;
        case JOURNAL_RELEASE:
            result = release(database, entry, err);
            break;
        case JOURNAL_EVENT:
            result = append(database, entry, seq, hash, err);
            break;
        }
        if (result < 0)
            return -1;
    }
    return 0;
}
