/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Repairs of a journal's rows, ended at each step that SQLite takes: all or nothing is done, and a
 * row that could not be looked at is never taken for a damaged one.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/journal/journal.h"
#include "broker/journal/journal_rows.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <string.h>

static const char *const tables[] = {
    "CREATE TABLE record (kind TEXT, id TEXT, rev INTEGER, value TEXT, hash TEXT, PRIMARY KEY "
    "(kind, id)) STRICT;"
    "CREATE TABLE claim (name TEXT PRIMARY KEY, holder TEXT, hash TEXT) STRICT;"
    "CREATE TABLE unhashed (one INTEGER PRIMARY KEY) STRICT;"
    "INSERT INTO record VALUES ('transfer', 'a', 1, '{}', ''), ('transfer', 'b', 2, '{}', ''), "
    "('freeze', 'c', 1, '{}', '');"
    "INSERT INTO claim VALUES ('node/n1', 'a', ''), ('node/n2', 'b', '');"
    "INSERT INTO unhashed VALUES (1);",
};

/* SQLite ends what it does when it asks for the `at`-th time whether it may go on. */
struct end {
    long at;
    long asked;
};

static int may_not_go_on(void *context)
{
    struct end *end = context;

    return ++end->asked == end->at;
}

static sqlite3 *handle(struct database *database)
{
    return sqlite3_db_handle(database_statement(database, "SELECT one FROM unhashed"));
}

static struct database *open_rows(void)
{
    struct error err = { 0 };
    struct database *database = database_open(":memory:", &(struct database_schema){ 7, tables, 1 },
                                              &err);

    if (!database)
        fail_msg("%s", err.text);
    return database;
}

/* Each of them as a line. */
static struct text *dump(struct database *database)
{
    static const char question[] = "SELECT kind, id, rev, value, hash FROM record UNION ALL "
                                   "SELECT name, holder, 0, '', hash FROM claim UNION ALL "
                                   "SELECT 'unhashed', '', one, '', '' FROM unhashed ORDER BY 1, 2";
    sqlite3_stmt *row = database_statement(database, question);
    struct text *out = text_new(1 << 16);

    while (database_step(database, row, NULL) == 1)
        text_add(out, "%s %s %d %s %s\n", row_text(row, 0), row_text(row, 1),
                 sqlite3_column_int(row, 2), row_text(row, 3), row_text(row, 4));
    return out;
}

static void run_sql(struct database *database, const char *sql)
{
    assert_int_equal(sqlite3_exec(handle(database), sql, NULL, NULL, NULL), SQLITE_OK);
}

static int fill(struct database *database, struct error *err)
{
    return rows_fill_hashes(database, err);
}

static int set_aside(struct database *database, struct error *err)
{
    owned(json) json_t *found = json_array();

    return rows_set_aside(database, 5, found, err);
}

static int check(struct database *database, struct error *err)
{
    return rows_check(database, err);
}

/* err: NULL where it says that all is done. */
static void expect_all_or_none(const char *name, const struct error *err, const struct text *before,
                               const struct text *after, const struct text *whole)
{
    bool is_none = text_equal(after->chars, before->chars);
    bool is_all = text_equal(after->chars, whole->chars);
    bool is_right = !err ? is_all
                    : err->kind == ERROR_UNKNOWN_OUTCOME
                        ? is_all || is_none
                        : is_none && err->kind != ERROR_NONE && err->kind != ERROR_CORRUPT;

    if (!is_right)
        fail_msg("%s: %s (%s)\n%s", name, err ? err->text : "done",
                 err ? error_kind_name(err->kind) : "", after->chars);
}

static void nothing_is_done_by_half(void **state)
{
    static const struct {
        const char *name;
        const char *before; /* what happened to rows that have their hashes; NULL: they have none */
        int (*repair)(struct database *database, struct error *err);
        int result;           /* when nothing ends it */
        enum error_kind kind; /* of the error then */
    } rows[] = {
        { "hashes are filled in", NULL, fill, 0, ERROR_NONE },
        { "damaged rows are set aside",
          "UPDATE record SET value = '[]' WHERE id = 'a'; UPDATE record SET kind = 'hold' WHERE id "
          "= 'c'; UPDATE claim SET holder = 'z' WHERE name = 'node/n1'",
          set_aside, 0, ERROR_NONE },
        { "sound rows are checked", "SELECT 1", check, 0, ERROR_NONE },
        { "a damaged row is found", "UPDATE record SET rev = 9 WHERE id = 'c'", check, -1,
          ERROR_CORRUPT },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        owned(text) struct text *whole = NULL; /* as it is when nothing ends it */

        for (long at = LONG_MAX;; at = at == LONG_MAX ? 1 : at + 1) {
            owned(database) struct database *database = open_rows();
            struct end end = { at, 0 };
            struct error err = { 0 };

            if (rows[row].before) {
                assert_int_equal(rows_fill_hashes(database, &err), 0);
                run_sql(database, rows[row].before);
            }
            owned(text) struct text *before = dump(database);

            sqlite3_progress_handler(handle(database), 1, may_not_go_on, &end);
            int result = rows[row].repair(database, &err);
            sqlite3_progress_handler(handle(database), 0, NULL, NULL);
            owned(text) struct text *after = dump(database);

            assert_true(sqlite3_get_autocommit(handle(database)));
            if (!whole) {
                assert_int_equal(result, rows[row].result);
                assert_int_equal(err.kind, rows[row].kind);
                assert_true(end.asked > 20);
                whole = steal(&after);
                continue;
            }
            if (end.asked < at)
                break;
            expect_all_or_none(rows[row].name, result < 0 ? &err : NULL, before, after, whole);
        }
    }
}

static void what_is_set_aside_is_told_and_kept(void **state)
{
    owned(database) struct database *database = open_rows();
    owned(json) json_t *found = json_array();
    struct error err = { 0 };

    (void)state;
    assert_int_equal(rows_fill_hashes(database, &err), 0);
    assert_int_equal(rows_fill_hashes(database, &err), 0);
    run_sql(database, "UPDATE record SET value = '[]' WHERE id = 'b';"
                      "UPDATE claim SET holder = 'z' WHERE name = 'node/n2'");
    assert_int_equal(rows_check(database, &err), -1);
    assert_int_equal(err.kind, ERROR_CORRUPT);
    assert_int_equal(rows_set_aside(database, 5, found, &err), 0);
    assert_int_equal(json_array_size(found), 2);
    assert_int_equal(rows_check(database, &err), 0);

    owned(text) struct text *rows = dump(database);

    assert_non_null(strstr(rows->chars, JOURNAL_UNREADABLE " transfer b 5 1 {"));
    assert_null(strstr(rows->chars, "\ntransfer b 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_done_by_half),
        cmocka_unit_test(what_is_set_aside_is_told_and_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
