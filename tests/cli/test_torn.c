/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * T46 in the middle of a move: the power goes while a commit is written, and of the write-ahead log
 * only a part is on the disk, or something else.  The service that comes up on those files knows
 * all commits before that one and nothing of it, and ends the move; also when the disk had only
 * said that it wrote the last few, though what they promised was done.
 */
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"
#include "tests/support/sweep.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NODES = 2,
    LONG_MS = 45 * MINUTE_MS,
    COMMITS_MAX = 400,
    SAMPLE = 3, /* without SLUICE_SWEEP one commit in so many; prime to TEAR_COUNT */
};

/* How the log looks from there on. */
enum tear { CUT_OFF, FIRST_BYTE, LAST_BYTE, ZEROS, TEAR_COUNT };

struct tape {
    struct rehearsal *rehearsal;
    char *path;
    int64_t commits;
    int64_t last; /* the number of the commit at which the process dies; 0: it does not */
    /* before each commit */
    size_t sizes[COMMITS_MAX];  /* of the log */
    size_t events[COMMITS_MAX]; /* how many there were */
    struct text *tallies[COMMITS_MAX];
};

static size_t count_events(struct journal *journal)
{
    struct error err = { 0 };
    owned(json) json_t *events = journal_events(journal, 100000, &err);

    assert_non_null(events);
    return json_array_size(events);
}

static size_t size_of_log(const struct tape *tape)
{
    owned(chars) char *wal = text_format("%s-wal", tape->path);
    struct stat status;

    return stat(wal, &status) == 0 ? (size_t)status.st_size : 0;
}

static struct text *read_tally(const struct tape *tape)
{
    owned(chars) char *path = text_format("%s.tally", tape->path);

    return test_file_read(path);
}

/* A disk that forgot commits forgot also that they were counted. */
static void write_tally(const struct tape *tape, const struct text *tally)
{
    owned(chars) char *path = text_format("%s.tally", tape->path);

    test_file_write(path, tally->chars, tally->length);
}

static void forget_tallies(struct tape *tape)
{
    for (int64_t i = 0; i < tape->commits; i++)
        text_free(tape->tallies[i]);
    tape->commits = 0;
}

/* The commit is written, and nothing leaves the process any more. */
static int gate(void *context)
{
    struct tape *tape = context;

    if (tape->rehearsal->is_dead)
        return -1;
    assert_true(tape->commits < COMMITS_MAX);
    tape->sizes[tape->commits] = size_of_log(tape);
    tape->events[tape->commits] = count_events(tape->rehearsal->journal);
    tape->tallies[tape->commits] = read_tally(tape);
    if (++tape->commits != tape->last)
        return 0;
    tape->rehearsal->is_dead = true;
    loop_stop(tape->rehearsal->loop);
    return 0;
}

/* From now on the service's journal is that file. */
static void use_file(struct tape *tape)
{
    struct rehearsal *rehearsal = tape->rehearsal;
    struct error err = { 0 };

    rehearsal->journal = journal_sqlite_open(tape->path, &err);
    if (!rehearsal->journal)
        fail_msg("%s", err.text);
    journal_set_gate(rehearsal->journal, gate, tape);
    rehearsal->world.journal = rehearsal->journal;
}

static void start(struct tape *tape)
{
    struct error err = { 0 };

    use_file(tape);
    if (rehearsal_start(tape->rehearsal, &err) < 0)
        fail_msg("after commit %lld: %s", (long long)tape->last, err.text);
}

/* Ends the process and leaves its files torn in the commit after `torn` others. */
static void die(struct tape *tape, enum tear tear, int64_t torn)
{
    owned(chars) char *wal_path = text_format("%s-wal", tape->path);
    owned(text) struct text *file = NULL;
    owned(text) struct text *wal = NULL;
    size_t from = tape->sizes[torn];
    size_t to;

    rehearsal_kill(tape->rehearsal);
    file = test_file_read(tape->path); /* before SQLite closes them well */
    wal = test_file_read(wal_path);
    journal_close(tape->rehearsal->journal);
    to = torn + 1 < tape->commits ? tape->sizes[torn + 1] : wal->length;
    assert_true(to > from);
    if (tear == CUT_OFF)
        wal->length = from + (to - from) / 2;
    else if (tear == FIRST_BYTE)
        wal->chars[from] ^= 1;
    else if (tear == LAST_BYTE)
        wal->chars[to - 1] ^= 1;
    else
        memset(wal->chars + from, 0, wal->length - from);
    test_file_write(tape->path, file->chars, file->length);
    test_file_write(wal_path, wal->chars, wal->length);
    write_tally(tape, tape->tallies[torn]);
}

/* One move of NODES nodes, in which the process dies at its commit number `last` (0: it does not),
   and that one and `more` before it are torn.  Returns how many commits there were. */
static int64_t play(int64_t last, int64_t more, enum tear tear)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 11, "");
    owned(chars) char *path = text_format("%s/journal.db", folder);
    struct tape tape = { .rehearsal = rehearsal, .path = path };
    int64_t torn = last > more ? last - 1 - more : 0;
    int64_t commits;
    owned(json) json_t *answer = NULL;

    rehearsal_kill(rehearsal);
    journal_close(rehearsal->journal);
    start(&tape);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, NODES);
    forget_tallies(&tape);
    tape.last = last;
    rehearsal_run(rehearsal, LONG_MS);
    assert_int_equal(rehearsal->is_dead, last > 0);
    if (last > 0) {
        die(&tape, tear, torn);
        use_file(&tape);
        assert_int_equal(count_events(rehearsal->journal), tape.events[torn]);
        journal_close(rehearsal->journal);
        start(&tape);
        assert_string_equal(rehearsal->service->doubt, "");
        rehearsal_run(rehearsal, LONG_MS);
    }
    expect_rest(rehearsal, 6 + NODES);
    commits = tape.commits;
    forget_tallies(&tape);
    return commits;
}

static void a_commit_that_was_torn_never_was(void **state)
{
    struct sweep_part part = sweep_part(SAMPLE);
    int64_t commits = play(0, 0, CUT_OFF);

    (void)state;
    print_message("sweep death: torn, %lld commits in an undisturbed run\n", (long long)commits);
    assert_true(commits > 20);
    for (int64_t last = 1; last <= commits; last++)
        if (sweep_plays(&part))
            play(last, 0, (enum tear)(last % TEAR_COUNT));
}

static void commits_that_the_disk_lost_are_seen_in_the_world(void **state)
{
    struct sweep_part part = sweep_part(SAMPLE);
    int64_t commits = play(0, 0, CUT_OFF);

    (void)state;
    for (int64_t last = 2; last <= commits; last++)
        if (sweep_plays(&part))
            play(last, 1 + last % 6, (enum tear)(last % TEAR_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_that_was_torn_never_was),
        cmocka_unit_test(commits_that_the_disk_lost_are_seen_in_the_world),
    };

    /* Every run syncs a database many times: that needs no real disk. */
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
