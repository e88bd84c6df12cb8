/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * T46: a journal's files after a crash that tore its last write, or with bytes that changed.  A
 * tail that does not fit is cut off at a commit, never in the middle of one.  Everything else that
 * was changed is refused, because a service that believed it would act on it.
 */
#include "base/log.h"
#include "base/random.h"
#include "tests/broker/torn_disk.h"

/* The commit that stood whole before that place in the log. */
static int commit_before(const struct disk *disk, size_t at)
{
    int found = 0;

    for (int i = 0; i <= COMMITS; i++)
        if (disk->wal_sizes[i] <= at)
            found = i;
    return found;
}

static void expect_before(const struct disk *disk, size_t tear, size_t at)
{
    struct error err = { 0 };
    struct journal *journal;
    owned(chars) char *dump = NULL;
    uint64_t epoch;

    write_torn(disk, tear, at);
    if (at < disk->wal_sizes[0]) /* what was being written was not acknowledged */
        remove_tally(disk);
    else
        write_tally(disk, commit_before(disk, at));
    journal = journal_sqlite_open(disk->path, &err);
    if (!journal)
        fail_msg("%s at %zu: %s", tears[tear].name, at, err.text);
    if (journal_verify(journal, SIZE_MAX, &err) < 0)
        fail_msg("%s at %zu: %s", tears[tear].name, at, err.text);
    assert_int_equal(journal_begin_epoch(journal, &epoch, &err), 0); /* it can be written to */
    journal_close(journal);
    dump = dump_file(disk->path);
    if (!text_equal(dump, disk->dumps[commit_before(disk, at)]))
        fail_msg("%s at %zu of %zu:\n%s\nnot\n%s", tears[tear].name, at, disk->wal->length, dump,
                 disk->dumps[commit_before(disk, at)]);
}

static void a_torn_log_ends_at_the_commit_before_the_tear(void **state)
{
    struct disk disk;
    struct random random;

    (void)state;
    random_seed(&random, 46);
    open_disk(&disk);
    assert_true(disk.wal_sizes[COMMITS] > disk.wal_sizes[0] + COMMITS * 4096);
    for (size_t tear = 0; tear < COUNT_OF(tears); tear++) {
        for (int i = 1; i <= COMMITS; i++) { /* the first and the last byte of each commit */
            expect_before(&disk, tear, disk.wal_sizes[i - 1]);
            expect_before(&disk, tear, disk.wal_sizes[i] - 1);
        }
        for (int i = 0; i < 25; i++)
            expect_before(&disk, tear,
                          WAL_HEADER + random_below(&random, disk.wal->length - WAL_HEADER));
    }
    close_disk(&disk);
}

/* Its first bytes reach the disk before anything is committed to it: they are never torn. */
static void a_log_that_does_not_begin_as_one_is_refused(void **state)
{
    struct disk disk;

    (void)state;
    open_disk(&disk);
    for (size_t at = 0; at < WAL_HEADER; at++) {
        struct error err = { 0 };

        write_torn(&disk, FLIP, at);
        if (journal_sqlite_open(disk.path, &err))
            fail_msg("byte %zu of the log's head is believed", at);
        assert_string_equal(error_kind_name(err.kind), "corrupt");
        assert_non_null(strstr(err.text, "journal.db"));
    }
    /* A log in which nothing was ever committed may be as it likes. */
    for (size_t size = 0; size <= WAL_HEADER; size += 8) {
        struct error err = { 0 };
        struct journal *journal;

        remove_tally(&disk);
        test_file_write(disk.path, disk.file->chars, disk.file->length);
        test_file_write(disk.wal_path, "................................", size);
        journal = journal_sqlite_open(disk.path, &err);
        if (!journal)
            fail_msg("%zu bytes: %s", size, err.text);
        journal_close(journal);
    }
    close_disk(&disk);
}

static int ignore(void *context, const char *id, uint64_t rev, const json_t *value,
                  struct error *err)
{
    (void)context;
    (void)id;
    (void)rev;
    (void)value;
    (void)err;
    return 0;
}

/* -1: refused, in words. */
static int read_all(const char *path, struct error *err)
{
    struct journal *journal = journal_sqlite_open(path, err);
    int result;

    if (!journal)
        return -1;
    result = journal_each(journal, "thing", ignore, NULL, err) < 0 ? -1
             : journal_verify(journal, SIZE_MAX, err) < 0          ? -1
                                                                   : 0;
    journal_close(journal);
    return result;
}

/* Whichever byte of the file is another one: it is refused, or it did not matter. */
static void a_changed_byte_of_the_file_is_not_believed(void **state)
{
    struct disk disk;
    owned(text) struct text *whole = NULL;
    int refusals = 0;

    (void)state;
    open_disk(&disk);
    whole = test_file_read(disk.path); /* closed well: all is in the file */
    for (size_t at = 0; at < whole->length; at += at < 4096 ? 5 : 23) {
        struct error err = { 0 };
        owned(chars) char *dump = NULL;
        char byte = whole->chars[at];

        whole->chars[at] = (char)(byte ^ (1 << at % 7));
        unlink(disk.wal_path);
        test_file_write(disk.path, whole->chars, whole->length);
        whole->chars[at] = byte;
        if (read_all(disk.path, &err) < 0) {
            assert_true(err.text[0] != '\0');
            refusals++;
            continue;
        }
        dump = dump_file(disk.path);
        if (!text_equal(dump, disk.dumps[COMMITS]))
            fail_msg("byte %zu of %zu is believed:\n%s", at, whole->length, dump);
    }
    print_message("%d changes refused\n", refusals);
    assert_true(refusals > 100);
    close_disk(&disk);
}

/* One that was written before rows had hashes is brought up to date, and goes on. */
static void a_journal_of_an_older_version_is_taken_over(void **state)
{
    struct disk disk;
    struct error err = { 0 };
    struct journal *journal;
    sqlite3 *plain = NULL;
    uint64_t epoch;
    owned(chars) char *dump = NULL;

    (void)state;
    open_disk(&disk);
    assert_int_equal(sqlite3_open(disk.path, &plain), SQLITE_OK);
    assert_int_equal(sqlite3_exec(plain,
                                  "ALTER TABLE record DROP COLUMN hash;"
                                  "ALTER TABLE claim DROP COLUMN hash; DROP TABLE unhashed;"
                                  "ALTER TABLE epoch DROP COLUMN commits; PRAGMA user_version=1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(plain), SQLITE_OK);
    remove_tally(&disk);
    journal = journal_sqlite_open(disk.path, &err);
    if (!journal)
        fail_msg("%s", err.text);
    assert_int_equal(journal_begin_epoch(journal, &epoch, &err), 0);
    add_commit(journal, epoch, COMMITS + 1);
    journal_close(journal);
    dump = dump_file(disk.path);
    assert_non_null(strstr(dump, "thing common 17 "));
    assert_non_null(strstr(dump, "thing thing-3 1 {\"number\":3,"));
    assert_int_equal(read_all(disk.path, &err), 0);
    close_disk(&disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torn_log_ends_at_the_commit_before_the_tear),
        cmocka_unit_test(a_log_that_does_not_begin_as_one_is_refused),
        cmocka_unit_test(a_changed_byte_of_the_file_is_not_believed),
        cmocka_unit_test(a_journal_of_an_older_version_is_taken_over),
    };

    disk_in_memory();
    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
