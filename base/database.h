/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * SQLite as a journal wants it: one connection, exclusive, WAL, one fsync a commit.  Exclusive
 * locking is not a preference: with a second connection the WAL-reset bug of SQLite before 3.51.3
 * can lose committed pages.
 */
#pragma once

#include "base/error.h"

#include <sqlite3.h>
#include <stdint.h>

struct database;

/* SHARED: another handle may have the file open.  For tests of what protects the journal if the
 * lock fails.
 */
enum database_lock { DATABASE_EXCLUSIVE, DATABASE_SHARED };

/* Identifies the program that owns the file, and defines its tables. */
struct database_schema {
    int32_t application_id;
    const char *const *migrations; /* SQL: from the tables of version i to those of i + 1 */
    int version;                   /* how many migrations there are */
};

/* Opens or makes the file, checks application id, the head of its log, quick_check and its tables,
   and brings the tables to schema->version by running migrations[i] (SQL) for each i from the
   stored version on, all in one transaction with the version number.  A newer or damaged file is
   ERROR_CORRUPT, a held one ERROR_CONFLICT.  path ":memory:" is a database in memory. */
struct database *database_open(const char *path, const struct database_schema *schema,
                               struct error *err) __attribute__((warn_unused_result));
struct database *database_open_with(const char *path, enum database_lock lock,
                                    const struct database_schema *schema, struct error *err)
    __attribute__((warn_unused_result));
void database_close(struct database *database);

/* On closing, the write-ahead log stays as it is, for a repair that looks for lost commits. */
void database_keep_log(struct database *database);

/* BEGIN IMMEDIATE, COMMIT, ROLLBACK.  A failed commit is ERROR_UNKNOWN_OUTCOME: nothing may be
   built on it. */
int database_begin(struct database *database, struct error *err)
    __attribute__((warn_unused_result));
int database_commit(struct database *database, struct error *err)
    __attribute__((warn_unused_result));
void database_rollback(struct database *database);

/* A prepared statement, kept and reused by its text (which must be a literal); reset and unbound.
   Aborts when the SQL is wrong. */
sqlite3_stmt *database_statement(struct database *database, const char *sql);

/* Steps once: 1 a row, 0 done, -1 error (a broken constraint is ERROR_CONFLICT). */
int database_step(struct database *database, sqlite3_stmt *statement, struct error *err)
    __attribute__((warn_unused_result));

/* Rows changed by the last statement. */
int64_t database_changes(const struct database *database);
int64_t database_last_row(const struct database *database);

static inline void owned_database(struct database **database)
{
    database_close(*database);
}
