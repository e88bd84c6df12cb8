/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * SQLite with the settings of a journal.  Exclusive locking is asked for before WAL: SQLite then
 * keeps the index of the WAL in its own memory, and a second process is refused at its first read.
 */
#include "base/database.h"

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOG_HEAD_SIZE = 32, LOG_MAGIC = 0x377f0682 };

struct database {
    sqlite3 *sqlite;
    struct map *statements; /* by SQL */
    bool is_in_memory;
};

static enum error_kind kind_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERROR_CONFLICT;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
        return ERROR_DENIED;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ERROR_CORRUPT;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
        return ERROR_TRANSIENT;
    case SQLITE_IOERR:
        return ERROR_UNKNOWN_OUTCOME;
    default:
        return ERROR_BUG;
    }
}

static int fail(const struct database *database, int code, struct error *err)
{
    if ((code & 0xff) == SQLITE_BUSY)
        return error_set(err, ERROR_CONFLICT, "another process has it open");
    return error_set(err, kind_of(code), "%s (SQLite %d)", sqlite3_errmsg(database->sqlite), code);
}

static int run(struct database *database, const char *sql, struct error *err)
{
    int code = sqlite3_exec(database->sqlite, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? 0 : fail(database, code, err);
}

static void owned_statement(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}

/* The first column of the first row, as text; the caller frees it. */
static char *ask(struct database *database, const char *sql, struct error *err)
{
    owned(statement) sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database->sqlite, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code != SQLITE_ROW) {
        fail(database, code, err);
        return NULL;
    }

    const char *value = (const char *)sqlite3_column_text(statement, 0);

    return mem_copy_chars(value ? value : "");
}

static int ask_number(struct database *database, const char *sql, int64_t *ret_number,
                      struct error *err)
{
    owned(chars) char *value = ask(database, sql, err);

    if (!value)
        return -1;
    *ret_number = strtoll(value, NULL, 10);
    return 0;
}

static int expect(struct database *database, const char *sql, const char *want, struct error *err)
{
    owned(chars) char *value = ask(database, sql, err);

    if (!value)
        return -1;
    if (strcmp(value, want) != 0)
        return error_set(err, ERROR_CORRUPT, "%s says \"%.200s\" instead of \"%s\"", sql, value,
                         want);
    return 0;
}

/* A link in place of the file is refused, but its folder may be one: the administrator's choice. */
static int resolve(const char *path, char **ret_path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    owned(chars) char *folder = slash ? text_format("%.*s/", (int)(slash - path), path)
                                      : mem_copy_chars(".");
    char real[PATH_MAX];

    if (!realpath(folder, real))
        return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_DENIED, "%s", folder);
    *ret_path = text_format("%s/%s", real, slash ? slash + 1 : path);
    return 0;
}

/* A new file gets mode 0600; SQLite gives its WAL the same mode.  An existing file is not opened
   here: closing the descriptor would drop the locks that this process has on the file. */
static int make_file(const char *path, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0 && errno != EEXIST)
        return error_errno(err, ERROR_DENIED, "cannot make it");
    if (fd >= 0)
        close(fd);
    return 0;
}

static int open_file(struct database *database, const char *path, struct error *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW |
                      SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_FULLMUTEX;
    owned(chars) char *real = NULL;

    if (!database->is_in_memory && (resolve(path, &real, err) < 0 || make_file(real, err) < 0))
        return -1;

    int code = sqlite3_open_v2(real ? real : path, &database->sqlite, flags, NULL);

    require(database->sqlite); /* NULL only without memory */
    return code == SQLITE_OK ? 0 : fail(database, code, err);
}

/* Nothing in the file may run code or change the schema. */
static int restrict_file(struct database *database, struct error *err)
{
    static const struct {
        int option;
        int value;
    } options[] = {
        { SQLITE_DBCONFIG_DEFENSIVE, 1 },      { SQLITE_DBCONFIG_DQS_DML, 0 },
        { SQLITE_DBCONFIG_DQS_DDL, 0 },        { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
        { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 }, { SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(options); i++) {
        int code = sqlite3_db_config(database->sqlite, options[i].option, options[i].value, NULL);

        if (code != SQLITE_OK)
            return fail(database, code, err);
    }
    return 0;
}

static uint32_t word_at(const unsigned char *bytes, bool is_big)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof word);
    return is_big ? be32toh(word) : le32toh(word);
}

/* The head of a write-ahead log as sqlite.org/fileformat2.html has it: the first 24 bytes add up to
   the last 8, in the order of bytes that the lowest bit of the first word names. */
static bool is_head_of_log(const unsigned char bytes[LOG_HEAD_SIZE])
{
    uint32_t magic = word_at(bytes, true);
    bool is_big = magic & 1;
    uint32_t sums[2] = { 0, 0 };

    if ((magic & ~UINT32_C(1)) != LOG_MAGIC)
        return false;
    for (size_t at = 0; at < LOG_HEAD_SIZE - 8; at += 8) {
        sums[0] += word_at(bytes + at, is_big) + sums[1];
        sums[1] += word_at(bytes + at + 4, is_big) + sums[0];
    }
    return sums[0] == word_at(bytes + LOG_HEAD_SIZE - 8, true) &&
           sums[1] == word_at(bytes + LOG_HEAD_SIZE - 4, true);
}

/* SQLite treats a log with an invalid head as absent, and drops all commits in it without an
   error.  A crash cannot produce such a log: its head is on the disk before the first commit
   follows it. */
static int check_log(const char *path, struct error *err)
{
    owned(chars) char *log = text_format("%s-wal", path);
    owned(fd) int fd = open(log, O_RDONLY | O_CLOEXEC);
    unsigned char head[LOG_HEAD_SIZE];
    struct stat status;

    if (fd < 0)
        return errno == ENOENT ? 0 : error_errno(err, ERROR_DENIED, "cannot read %s", log);
    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_DENIED, "cannot read %s", log);
    if (status.st_size <= LOG_HEAD_SIZE)
        return 0;
    if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head || !is_head_of_log(head))
        return error_set(err, ERROR_CORRUPT,
                         "%s is damaged at its head: what was committed to it would be lost", log);
    return 0;
}

static int set_up(struct database *database, struct error *err)
{
    if (restrict_file(database, err) < 0 ||
        expect(database, "PRAGMA journal_mode=WAL", database->is_in_memory ? "memory" : "wal",
               err) < 0)
        return -1;
    return run(database,
               "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF;"
               "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
               "PRAGMA journal_size_limit=67108864; PRAGMA wal_autocheckpoint=1000",
               err);
}

/* Refuses the database of another program, before anything is written to it.  An empty file is
   fine: the first migration sets the application ID. */
static int check_owner(struct database *database, enum database_lock lock, int32_t application_id,
                       struct error *err)
{
    int64_t id, tables;

    if ((lock == DATABASE_EXCLUSIVE && run(database, "PRAGMA locking_mode=EXCLUSIVE", err) < 0) ||
        ask_number(database, "PRAGMA application_id", &id, err) < 0 ||
        ask_number(database, "SELECT count(*) FROM sqlite_schema", &tables, err) < 0)
        return -1;
    if (id != application_id && (id != 0 || tables != 0))
        return error_set(err, ERROR_CORRUPT, "is the database of another program");
    return 0;
}

/* Migrates the tables to the version after `from`. */
static int migrate_once(struct database *database, const struct database_schema *schema, int from,
                        struct error *err)
{
    owned(chars) char *mark = text_format("PRAGMA application_id=%d; PRAGMA user_version=%d",
                                          (int)schema->application_id, from + 1);

    if (run(database, schema->migrations[from], err) < 0 || run(database, mark, err) < 0)
        return error_context(err, "bringing it to version %d", from + 1);
    return 0;
}

/* All steps in one transaction: a new file waits for the disk once. */
static int migrate(struct database *database, const struct database_schema *schema,
                   struct error *err)
{
    int64_t stored;

    if (ask_number(database, "PRAGMA user_version", &stored, err) < 0)
        return -1;
    if (stored < 0 || stored > schema->version)
        return error_set(err, ERROR_CORRUPT, "has version %lld, and we know %d at most",
                         (long long)stored, schema->version);
    if (stored == schema->version)
        return 0;
    if (database_begin(database, err) < 0)
        return -1;
    for (int i = (int)stored; i < schema->version; i++)
        if (migrate_once(database, schema, i, err) < 0) {
            database_rollback(database);
            return -1;
        }
    return database_commit(database, err);
}

/* Without spaces and quotes, which SQLite may write differently when it alters a table, or in
   another release. */
static char *schema_of(struct database *database, struct error *err)
{
    return ask(database,
               "SELECT group_concat(replace(replace(replace(sql, ' ', ''), '\n', ''), '\"', ''),"
               " ';') FROM (SELECT sql FROM sqlite_schema ORDER BY name)",
               err);
}

/* Our callers' statements need exactly the tables of the migrations: this runs the same migrations
   in memory, to compare. */
static int check_schema(struct database *database, const struct database_schema *schema,
                        struct error *err)
{
    owned(database) struct database *fresh = mem_new(sizeof *fresh);
    owned(chars) char *found = schema_of(database, err);
    owned(chars) char *wanted = NULL;

    fresh->statements = map_new(NULL);
    fresh->is_in_memory = true;
    if (!found || open_file(fresh, ":memory:", err) < 0 || migrate(fresh, schema, err) < 0)
        return -1;
    wanted = schema_of(fresh, err);
    if (!wanted)
        return -1;
    if (strcmp(found, wanted) != 0)
        return error_set(err, ERROR_CORRUPT, "its tables are not as they were made");
    return 0;
}

static void finalize(void *statement)
{
    sqlite3_finalize(statement);
}

struct database *database_open(const char *path, const struct database_schema *schema,
                               struct error *err)
{
    return database_open_with(path, DATABASE_EXCLUSIVE, schema, err);
}

struct database *database_open_with(const char *path, enum database_lock lock,
                                    const struct database_schema *schema, struct error *err)
{
    owned(database) struct database *database = mem_new(sizeof *database);

    database->statements = map_new(finalize);
    database->is_in_memory = strcmp(path, ":memory:") == 0;
    if (open_file(database, path, err) < 0 ||
        check_owner(database, lock, schema->application_id, err) < 0 ||
        (!database->is_in_memory && check_log(path, err) < 0) || set_up(database, err) < 0 ||
        expect(database, "PRAGMA quick_check(1)", "ok", err) < 0 ||
        migrate(database, schema, err) < 0 || check_schema(database, schema, err) < 0) {
        error_context(err, "database %s", path);
        return NULL;
    }
    return steal(&database);
}

void database_close(struct database *database)
{
    if (!database)
        return;
    map_free(database->statements);
    require(sqlite3_close(database->sqlite) == SQLITE_OK);
    mem_free(database);
}

void database_keep_log(struct database *database)
{
    require(sqlite3_db_config(database->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) ==
            SQLITE_OK);
}

int database_begin(struct database *database, struct error *err)
{
    if (run(database, "BEGIN IMMEDIATE", err) == 0)
        return 0;
    database_rollback(database); /* what failed may have begun */
    return -1;
}

int database_commit(struct database *database, struct error *err)
{
    int code = sqlite3_exec(database->sqlite, "COMMIT", NULL, NULL, NULL);

    if (code == SQLITE_OK)
        return 0;
    error_set(err, ERROR_UNKNOWN_OUTCOME, "cannot commit: %s (SQLite %d)",
              sqlite3_errmsg(database->sqlite), code);
    database_rollback(database);
    return -1;
}

void database_rollback(struct database *database)
{
    /* An error may have ended the transaction already. */
    if (!sqlite3_get_autocommit(database->sqlite))
        sqlite3_exec(database->sqlite, "ROLLBACK", NULL, NULL, NULL);
}

sqlite3_stmt *database_statement(struct database *database, const char *sql)
{
    sqlite3_stmt *statement = map_get(database->statements, sql);

    if (!statement) {
        int code = sqlite3_prepare_v3(database->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                      &statement, NULL);

        require(code == SQLITE_OK && statement);
        map_set(database->statements, sql, statement);
        return statement;
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return statement;
}

int database_step(struct database *database, sqlite3_stmt *statement, struct error *err)
{
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW)
        return 1;
    if (code != SQLITE_DONE)
        fail(database, code, err);
    /* At rest a statement holds neither locks nor a view of the past. */
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? 0 : -1;
}

int64_t database_changes(const struct database *database)
{
    return sqlite3_changes64(database->sqlite);
}

int64_t database_last_row(const struct database *database)
{
    return sqlite3_last_insert_rowid(database->sqlite);
}
