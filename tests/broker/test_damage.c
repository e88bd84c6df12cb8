/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * T46: a journal's files after a crash that tore its last write, or on a disk that forgets.  A tail
 * that does not fit is cut off at a commit, never in the middle of one; everything else that was
 * changed is refused, because whoever believed it would act on it.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "broker/journal/journal.h"
#include "tests/support/folder.h"
#include "tests/support/sweep.h"
#include "tests/support/unit.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMITS = 16, WAL_HEADER = 32, FRAME_SIZE = 24 + 4096 };
enum { FLIP_STEP = 61, FLIP_SAMPLE = 16 }; /* bytes of the log; of them one in so many */

/* What was on the disk when the process died, and what the journal held after each commit. */
struct disk {
    char *folder;
    char *path;
    char *wal_path;
    struct text *file; /* both as bytes */
    struct text *wal;
    char *tally_path;
    struct text *tallies[COMMITS + 1];
    size_t wal_sizes[COMMITS + 1];
    char *dumps[COMMITS + 1];
};

static int add_row(void *context, int count, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < count; i++)
        text_add(context, "%s ", values[i] ? values[i] : "-");
    text_add(context, "\n");
    return 0;
}

/* All that a file holds, as SQLite alone reads it; changes its log. */
static char *dump_file(const char *path)
{
    static const char *const questions[] = {
        "SELECT kind, id, rev, value FROM record ORDER BY kind, id",
        "SELECT name, holder FROM claim ORDER BY name",
        "SELECT seq, at_ms, hash, value FROM event ORDER BY seq",
    };
    struct text *out = text_new(1 << 20);
    sqlite3 *plain = NULL;

    assert_int_equal(sqlite3_open(path, &plain), SQLITE_OK);
    for (size_t i = 0; i < COUNT_OF(questions); i++)
        sqlite3_exec(plain, questions[i], add_row, out, NULL);
    assert_int_equal(sqlite3_close(plain), SQLITE_OK);
    return text_take(out);
}

/* Of copies: the journal itself goes on. */
static void note_state(struct disk *disk, int commit)
{
    owned(chars) char *copy = text_format("%s/copy.db", disk->folder);
    owned(chars) char *copy_wal = text_format("%s-wal", copy);
    owned(text) struct text *file = test_file_read(disk->path);
    owned(text) struct text *wal = test_file_read(disk->wal_path);

    test_file_write(copy, file->chars, file->length);
    test_file_write(copy_wal, wal->chars, wal->length);
    disk->tallies[commit] = test_file_read(disk->tally_path);
    disk->wal_sizes[commit] = wal->length;
    disk->dumps[commit] = dump_file(copy);
}

static void add_commit(struct journal *journal, uint64_t epoch, int number)
{
    struct journal_batch *batch = journal_batch_new(epoch);
    owned(json) json_t *event = json_make("{ss si}", "event", "step", "number", number);
    owned(chars) char *mine = text_format("thing-%d", number);
    owned(chars) char *name = text_format("node/%d", number);
    owned(json) json_t *value = json_make("{si ss}", "number", number, "text", "waits for a node");
    struct error err = { 0 };

    journal_put(batch, "thing", mine, 0, value);
    journal_put(batch, "thing", "common", (uint64_t)number - 1, value);
    journal_claim(batch, name, mine);
    journal_event(batch, (struct wall_time){ 1000 * number }, event);
    if (journal_commit(journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
}

static void open_disk(struct disk *disk)
{
    struct error err = { 0 };
    struct journal *journal;
    uint64_t epoch;

    *disk = (struct disk){ .folder = test_folder_new() };
    disk->path = text_format("%s/journal.db", disk->folder);
    disk->wal_path = text_format("%s-wal", disk->path);
    disk->tally_path = text_format("%s.tally", disk->path);
    journal = journal_sqlite_open(disk->path, &err);
    assert_non_null(journal);
    assert_int_equal(journal_begin_epoch(journal, &epoch, &err), 0);
    note_state(disk, 0);
    for (int i = 1; i <= COMMITS; i++) {
        add_commit(journal, epoch, i);
        note_state(disk, i);
    }
    disk->file = test_file_read(disk->path);
    disk->wal = test_file_read(disk->wal_path);
    journal_close(journal);
}

static void close_disk(struct disk *disk)
{
    for (int i = 0; i <= COMMITS; i++) {
        mem_free(disk->dumps[i]);
        text_free(disk->tallies[i]);
    }
    text_free(disk->file);
    text_free(disk->wal);
    mem_free(disk->path);
    mem_free(disk->wal_path);
    mem_free(disk->tally_path);
    test_folder_free(disk->folder);
}

/* The commit that stood whole before that place in the log. */
static int commit_before(const struct disk *disk, size_t at)
{
    int found = 0;

    for (int i = 0; i <= COMMITS; i++)
        if (disk->wal_sizes[i] <= at)
            found = i;
    return found;
}

static void cut(char *wal, size_t *size, size_t at)
{
    (void)wal;
    *size = at;
}

static void flip(char *wal, size_t *size, size_t at)
{
    (void)size;
    wal[at] ^= (char)(1 << at % 8);
}

/* A file system that had grown the file, and not written what is in it. */
static void blank(char *wal, size_t *size, size_t at)
{
    memset(wal + at, 0, *size - at);
}

/* One sector of the write is missing, what follows came through. */
static void drop(char *wal, size_t *size, size_t at)
{
    memset(wal + at, 0x5a, *size - at < 512 ? *size - at : 512);
}

static const struct {
    const char *name;
    void (*tear)(char *wal, size_t *size, size_t at);
} tears[] = { { "cut", cut }, { "flip", flip }, { "blank", blank }, { "drop", drop } };

enum { FLIP = 1 };

/* As before anything was acknowledged. */
static void remove_tally(const struct disk *disk)
{
    unlink(disk->tally_path);
}

/* As it was when that commit had been acknowledged. */
static void write_tally(const struct disk *disk, int commit)
{
    test_file_write(disk->tally_path, disk->tallies[commit]->chars, disk->tallies[commit]->length);
}

static void write_torn(const struct disk *disk, size_t tear, size_t at)
{
    size_t size = disk->wal->length;
    char *wal = mem_new_array(size, 1);

    memcpy(wal, disk->wal->chars, size);
    tears[tear].tear(wal, &size, at);
    test_file_write(disk->path, disk->file->chars, disk->file->length);
    test_file_write(disk->wal_path, wal, size);
    mem_free(wal);
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

/* The journal opens, and its tally is right afterwards. */
static void expect_open(const struct disk *disk)
{
    struct error err = { 0 };
    struct journal *journal = journal_sqlite_open(disk->path, &err);
    owned(text) struct text *tally = NULL;

    if (!journal)
        fail_msg("%s", err.text);
    journal_close(journal);
    tally = test_file_read(disk->tally_path);
    assert_int_equal(tally->length, disk->tallies[COMMITS]->length);
    assert_memory_equal(tally->chars, disk->tallies[COMMITS]->chars, tally->length);
}

/* The log lost what was acknowledged, and beside it stands how much that was. */
static bool is_loss_told(const struct disk *disk, size_t tear, size_t at)
{
    struct error err = { 0 };
    struct journal *journal;
    owned(chars) char *dump = NULL;

    write_torn(disk, tear, at);
    write_tally(disk, COMMITS);
    journal = journal_sqlite_open(disk->path, &err);
    if (!journal) {
        assert_string_equal(error_kind_name(err.kind), "corrupt");
        if (!strstr(err.text, at < WAL_HEADER ? "damaged at its head" : "were acknowledged"))
            fail_msg("%s at %zu: %s", tears[tear].name, at, err.text);
        return true;
    }
    journal_close(journal);
    dump = dump_file(disk->path);
    if (!text_equal(dump, disk->dumps[COMMITS]))
        fail_msg("%s at %zu of %zu: acknowledged commits are lost without a word", tears[tear].name,
                 at, disk->wal->length);
    return false;
}

/* SQLite reads a log until the first frame that does not fit, and is content with what it has. */
static void acknowledged_commits_are_not_lost_without_a_word(void **state)
{
    struct sweep_part part = sweep_part(FLIP_SAMPLE);
    struct disk disk;
    int told = 0;
    int cases = 0;

    (void)state;
    open_disk(&disk);
    for (size_t at = 0; at < disk.wal->length; at += FLIP_STEP) {
        if (!sweep_plays(&part))
            continue;
        told += is_loss_told(&disk, FLIP, at);
        cases++;
    }
    for (size_t tear = 0; tear < COUNT_OF(tears); tear++)
        for (size_t at = WAL_HEADER; at < disk.wal->length; at += FRAME_SIZE, cases++)
            told += is_loss_told(&disk, tear, at);
    print_message("sweep log: damaged in %d places, %d losses told\n", cases, told);
    assert_true(told > cases - cases / 50); /* a place that nobody reads may be as it likes */
    close_disk(&disk);
}

/* An older copy stands in the journal's place: refused with numbers, left as it is, and taken when
   a person says so. */
static void an_older_copy_is_told_and_can_be_accepted(void **state)
{
    struct disk disk;
    struct error err = { 0 };
    struct journal *journal;
    owned(text) struct text *before = NULL;
    owned(text) struct text *after = NULL;
    owned(chars) char *dump = NULL;

    (void)state;
    open_disk(&disk);
    write_torn(&disk, 0, disk.wal_sizes[COMMITS - 5]); /* cut between two commits */
    write_tally(&disk, COMMITS);
    before = test_file_read(disk.wal_path);
    for (int i = 0; i < 2; i++) { /* nothing is changed by looking */
        assert_null(journal_sqlite_open(disk.path, &err));
        if (!strstr(err.text, "has 11 commits, and 16 were acknowledged") ||
            !strstr(err.text, "5 are lost"))
            fail_msg("%s", err.text);
    }
    after = test_file_read(disk.wal_path);
    assert_int_equal(after->length, before->length);
    assert_memory_equal(after->chars, before->chars, before->length);

    assert_int_equal(journal_sqlite_accept_loss(disk.path, &err), 5);
    assert_int_equal(journal_sqlite_accept_loss(disk.path, &err), 0);
    journal = journal_sqlite_open(disk.path, &err);
    if (!journal)
        fail_msg("%s", err.text);
    journal_close(journal);
    dump = dump_file(disk.path);
    assert_string_equal(dump, disk.dumps[COMMITS - 5]);
    close_disk(&disk);
}

/* A tally that is behind, missing, cut or damaged refuses nothing. */
static void a_damaged_tally_is_none(void **state)
{
    struct disk disk;
    owned(text) struct text *tally = NULL;

    (void)state;
    open_disk(&disk);
    tally = test_file_read(disk.tally_path);
    for (int commit = 0; commit < COMMITS; commit++) {
        write_tally(&disk, commit);
        expect_open(&disk);
    }
    for (size_t at = 0; at < tally->length; at++) {
        tally->chars[at] ^= 1;
        test_file_write(disk.tally_path, tally->chars, tally->length);
        expect_open(&disk);
        tally->chars[at] ^= 1;
        test_file_write(disk.tally_path, tally->chars, at);
        expect_open(&disk);
    }
    remove_tally(&disk);
    expect_open(&disk);
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
        cmocka_unit_test(acknowledged_commits_are_not_lost_without_a_word),
        cmocka_unit_test(an_older_copy_is_told_and_can_be_accepted),
        cmocka_unit_test(a_damaged_tally_is_none),
        cmocka_unit_test(a_changed_byte_of_the_file_is_not_believed),
        cmocka_unit_test(a_journal_of_an_older_version_is_taken_over),
    };

    /* A thousand small files, each synced many times, need no real disk. */
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
