/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * T46: the tally beside a journal.  Commits that were acknowledged and are not there any more are
 * told; a tally that is itself behind or damaged refuses nothing.
 */
#include "base/log.h"
#include "tests/broker/torn_disk.h"
#include "tests/support/sweep.h"

enum { FLIP_STEP = 61, FLIP_SAMPLE = 16 }; /* bytes of the log; of them one in so many */

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
    assert_true(told > cases - cases / 50); /* a place that is not read may hold anything */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledged_commits_are_not_lost_without_a_word),
        cmocka_unit_test(an_older_copy_is_told_and_can_be_accepted),
        cmocka_unit_test(a_damaged_tally_is_none),
    };

    disk_in_memory();
    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
