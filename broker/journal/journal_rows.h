/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rows of records and claims in SQLite, each with a hash of what was written.  Private to this
 * folder.
 */
#pragma once

#include "base/database.h"

#include <jansson.h>

enum { ROW_HASH_SIZE = 17 };

void row_bind(sqlite3_stmt *statement, int at, const char *chars);
void row_bind_int(sqlite3_stmt *statement, int at, int64_t number);

/* A column of the present row, borrowed until the next step; "" for NULL. */
const char *row_text(sqlite3_stmt *statement, int at) __attribute__((returns_nonnull));

/* The first 64 bits of a SHA-256: against damage, not against forgers.  Returns out. */
const char *row_hash(const char *name, const char *id, int64_t rev, const char *value,
                     char out[ROW_HASH_SIZE]);

/* Once in a journal's life: rows from before the hash column get their hashes, all or none. */
int rows_fill_hashes(struct database *database, struct error *err)
    __attribute__((warn_unused_result));

/* Moves each row that was changed after it was written to the kind JOURNAL_UNREADABLE, in one
   transaction, and adds {kind, id, text} to found. */
int rows_set_aside(struct database *database, int64_t at_ms, json_t *found, struct error *err)
    __attribute__((warn_unused_result));

/* Checks all rows: ERROR_CORRUPT names the first that was changed after it was written. */
int rows_check(struct database *database, struct error *err) __attribute__((warn_unused_result));
