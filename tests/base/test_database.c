/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a journal relies on: that committed rows stay, that no other process has the file, and that
 * a file which is not ours or too new is left alone.
 */
#include "base/database.h"
#include "base/memory.h"
#include "base/text.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { APPLICATION = 0x51c3, EXIT_REFUSED = 7 };

static const char *const migrations[] = {
    "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;",
    ("ALTER TABLE item ADD COLUMN size INTEGER NOT NULL DEFAULT 3;"
     "INSERT INTO item (name) VALUES ('migrated');"),
    "UPDATE item SET size = size * 10;",
};

static char path[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/sluice-test-%d.db", (int)getpid());
    return 0;
}

static int tear_down(void **state)
{
    static const char *const endings[] = { "", "-wal", "-shm", "-journal", ".link" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        owned(chars) char *name = text_format("%s%s", path, endings[i]);

        unlink(name);
    }
    return 0;
}

static struct database *open_at(int version)
{
    struct error err = { 0 };
    struct database *database = database_open(
        path, &(struct database_schema){ APPLICATION, migrations, version }, &err);

    if (!database)
        print_error("%s\n", err.text);
    assert_non_null(database);
    return database;
}

static enum error_kind refusal(const char *name, int version)
{
    struct error err = { 0 };
    struct database *database = database_open(
        name, &(struct database_schema){ APPLICATION, migrations, version }, &err);

    if (database)
        database_close(database);
    else
        assert_memory_equal(err.text, "database ", 9);
    return err.kind;
}

static int insert(struct database *database, const char *name, struct error *err)
{
    sqlite3_stmt *statement = database_statement(database, "INSERT INTO item (name) VALUES (?)");

    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    return database_step(database, statement, err);
}

static int64_t number(struct database *database, const char *sql)
{
    struct error err = { 0 };
    sqlite3_stmt *statement = database_statement(database, sql);

    assert_int_equal(database_step(database, statement, &err), 1);

    int64_t value = sqlite3_column_int64(statement, 0);

    assert_int_equal(database_step(database, statement, &err), 0);
    return value;
}

static void committed_rows_are_there_after_reopening(void **state)
{
    struct error err = { 0 };
    struct database *database = open_at(1);
    struct stat status;

    (void)state;
    assert_int_equal(database_begin(database, &err), 0);
    assert_int_equal(insert(database, "kept", &err), 0);
    assert_int_equal(database_changes(database), 1);
    assert_int_equal(database_last_row(database), 1);
    assert_int_equal(database_commit(database, &err), 0);
    assert_int_equal(database_begin(database, &err), 0);
    assert_int_equal(insert(database, "rolled back", &err), 0);
    database_rollback(database);
    database_rollback(database);
    database_close(database);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    database = open_at(1);
    assert_int_equal(number(database, "SELECT count(*) FROM item"), 1);
    assert_int_equal(number(database, "SELECT name = 'kept' FROM item"), 1);
    database_close(database);
}

static void the_settings_are_those_of_a_journal(void **state)
{
    static const struct {
        const char *sql;
        int64_t want;
    } cases[] = {
        { "PRAGMA synchronous", 2 },
        { "PRAGMA foreign_keys", 1 },
        { "PRAGMA trusted_schema", 0 },
        { "PRAGMA cell_size_check", 1 },
        { "PRAGMA application_id", APPLICATION },
        { "PRAGMA user_version", 1 },
    };
    struct database *database = open_at(1);
    sqlite3_stmt *statement = database_statement(database, "PRAGMA journal_mode");
    owned(chars) char *shm = text_format("%s-shm", path);
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(number(database, cases[i].sql), cases[i].want);
    assert_int_equal(database_step(database, statement, &err), 1);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "wal");
    assert_int_equal(database_step(database, statement, &err), 0);
    assert_int_equal(access(shm, F_OK), -1);
    database_close(database);
}

static void a_second_opener_is_refused(void **state)
{
    struct database *database = open_at(1);
    struct error err = { 0 };
    int status;
    pid_t child;

    (void)state;
    assert_int_equal(refusal(path, 1), ERROR_CONFLICT);
    child = fork();
    if (child == 0) {
        struct database *second = database_open(
            path, &(struct database_schema){ APPLICATION, migrations, 1 }, &err);

        _exit(!second && err.kind == ERROR_CONFLICT ? EXIT_REFUSED : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_REFUSED);
    assert_int_equal(insert(database, "still ours", &err), 0);
    database_close(database);
    assert_int_equal(refusal(path, 1), ERROR_NONE);
}

static void a_broken_constraint_is_a_conflict(void **state)
{
    struct database *database = open_at(1);
    struct error err = { 0 };

    (void)state;
    assert_int_equal(insert(database, "one", &err), 0);
    assert_int_equal(insert(database, "one", &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(insert(database, NULL, &err), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(insert(database, "two", &err), 0);
    assert_int_equal(number(database, "SELECT count(*) FROM item"), 2);
    database_close(database);
}

static void migrations_run_in_order_and_once(void **state)
{
    struct database *database = open_at(1);
    struct error err = { 0 };

    (void)state;
    assert_int_equal(insert(database, "old", &err), 0);
    database_close(database);
    for (int i = 0; i < 2; i++) {
        database = open_at(3);
        assert_int_equal(number(database, "SELECT count(*) FROM item"), 2);
        assert_int_equal(number(database, "SELECT min(size) FROM item"), 30);
        assert_int_equal(number(database, "SELECT max(size) FROM item"), 30);
        assert_int_equal(number(database, "PRAGMA user_version"), 3);
        database_close(database);
    }
    assert_int_equal(refusal(path, 2), ERROR_CORRUPT);
    assert_int_equal(refusal(path, 3), ERROR_NONE);
}

static void a_failed_migration_leaves_the_version_before(void **state)
{
    static const char *const broken[] = {
        "CREATE TABLE a (x INTEGER);",
        "CREATE TABLE b (x INTEGER); INSERT INTO nowhere VALUES (1);",
    };
    struct error err = { 0 };
    struct database *database = database_open(
        path, &(struct database_schema){ APPLICATION, broken, 2 }, &err);

    (void)state;
    assert_null(database);
    database = database_open(path, &(struct database_schema){ APPLICATION, broken, 1 }, &err);
    assert_non_null(database);
    assert_int_equal(number(database, "SELECT count(*) FROM sqlite_schema"), 1);
    database_close(database);
}

static void write_file(const char *chars, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(write(fd, chars, size), size);
    close(fd);
}

static void a_foreign_or_damaged_file_is_refused(void **state)
{
    owned(chars) char *link = text_format("%s.link", path);
    char noise[8192];
    sqlite3 *foreign;

    (void)state;
    assert_int_equal(sqlite3_open(path, &foreign), SQLITE_OK);
    assert_int_equal(sqlite3_exec(foreign, "CREATE TABLE theirs (x)", NULL, NULL, NULL), 0);
    sqlite3_close(foreign);
    assert_int_equal(refusal(path, 1), ERROR_CORRUPT);
    memset(noise, 'x', sizeof noise);
    write_file(noise, sizeof noise);
    assert_int_equal(refusal(path, 1), ERROR_CORRUPT);
    write_file("", 0);
    assert_int_equal(refusal(path, 1), ERROR_NONE);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(refusal(link, 1), ERROR_DENIED);
    assert_int_equal(refusal("/tmp/no such folder/x.db", 1), ERROR_NOT_FOUND);
}

static void a_damaged_page_is_found_at_opening(void **state)
{
    struct database *database = open_at(1);
    struct error err = { 0 };
    char name[600];

    (void)state;
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 100; i++) {
        name[0] = (char)('A' + i % 26);
        name[1] = (char)('A' + i / 26);
        assert_int_equal(insert(database, name, &err), 0);
    }
    database_close(database);

    int fd = open(path, O_WRONLY);

    assert_int_equal(pwrite(fd, name, 64, 5 * 4096), 64);
    close(fd);
    assert_int_equal(refusal(path, 1), ERROR_CORRUPT);
}

static void statements_are_reused_and_reset(void **state)
{
    struct error err = { 0 };
    struct database *database = database_open(
        ":memory:", &(struct database_schema){ APPLICATION, migrations, 3 }, &err);
    static const char sql[] = "SELECT ?1 IS NULL";
    sqlite3_stmt *statement;

    (void)state;
    assert_non_null(database);
    statement = database_statement(database, sql);
    sqlite3_bind_int(statement, 1, 5);
    assert_int_equal(database_step(database, statement, &err), 1);
    assert_int_equal(sqlite3_column_int(statement, 0), 0);
    assert_ptr_equal(database_statement(database, sql), statement);
    assert_int_equal(database_step(database, statement, &err), 1);
    assert_int_equal(sqlite3_column_int(statement, 0), 1);
    database_close(database);
}

/* A commit that breaks a deferred constraint fails, and the transaction is over. */
static void a_failed_commit_has_an_unknown_outcome(void **state)
{
    static const char *const linked[] = {
        ("CREATE TABLE a (id INTEGER PRIMARY KEY);"
         "CREATE TABLE b (a INTEGER REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED);"),
    };
    struct error err = { 0 };
    struct database *database = database_open(
        path, &(struct database_schema){ APPLICATION, linked, 1 }, &err);

    (void)state;
    assert_non_null(database);
    assert_int_equal(database_begin(database, &err), 0);
    assert_int_equal(
        database_step(database, database_statement(database, "INSERT INTO b VALUES (1)"), &err), 0);
    assert_int_equal(database_commit(database, &err), -1);
    assert_int_equal(err.kind, ERROR_UNKNOWN_OUTCOME);
    assert_int_equal(database_begin(database, &err), 0);
    assert_int_equal(number(database, "SELECT count(*) FROM b"), 0);
    assert_int_equal(database_commit(database, &err), 0);
    database_close(database);
}

#define DATABASE_TEST(test)                                                                        \
    {                                                                                              \
#test, test, set_up, tear_down, NULL                                                       \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(committed_rows_are_there_after_reopening),
        DATABASE_TEST(the_settings_are_those_of_a_journal),
        DATABASE_TEST(a_second_opener_is_refused),
        DATABASE_TEST(a_broken_constraint_is_a_conflict),
        DATABASE_TEST(migrations_run_in_order_and_once),
        DATABASE_TEST(a_failed_migration_leaves_the_version_before),
        DATABASE_TEST(a_foreign_or_damaged_file_is_refused),
        DATABASE_TEST(a_damaged_page_is_found_at_opening),
        DATABASE_TEST(statements_are_reused_and_reset),
        DATABASE_TEST(a_failed_commit_has_an_unknown_outcome),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
