/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every system call of the journal, from its opening over its commits to its closing, fails once,
 * is short once, is slow once, and is the first of those that fail from then on.  After each a
 * fresh open finds every commit that was acknowledged, and one more at most.
 *
 * The calls are caught here: a program's own function of such a name stands before the library's.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/journal/journal.h"
#include "tests/support/folder.h"
#include "tests/support/sweep.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    COMMITS = 12,
    CHECKPOINT_PAGES = 8,
    FDS = 1024,
    LIMIT_BYTES = 16384,
    SAMPLE = 2, /* without SLUICE_SWEEP one case in so many */
};

enum fault { NO_FAULT, FAILS, FULL, SHORT, SLOW, FAILS_ON, FULL_ON, FAULT_COUNT };

static const char *const fault_names[] = { "none", "fails",         "is full",        "is short",
                                           "slow", "fails from on", "is full from on" };

enum call {
    CALL_OPEN,
    CALL_PREAD,
    CALL_PWRITE,
    CALL_SYNC,
    CALL_TRUNCATE,
    CALL_UNLINK,
    CALL_LOCK,
    CALL_STAT,
    CALL_COUNT
};

static const char *const call_names[] = { "open",     "pread",  "pwrite", "fdatasync",
                                          "truncate", "unlink", "lock",   "stat" };

static struct {
    bool is_armed;
    enum fault fault;
    int at;    /* the call that it is for, counted from 1 */
    int calls; /* so far */
    int hits;
    enum call hit;      /* the first */
    const char *folder; /* of the journal */
    bool is_ours[FDS];  /* opened there */
    int of_kind[CALL_COUNT];
} disk;

/* What the call is to do; errno is set for a failure. */
static enum fault meet(enum call call)
{
    enum fault fault = disk.fault;
    bool goes_on = fault == FAILS_ON || fault == FULL_ON;

    if (!disk.is_armed)
        return NO_FAULT;
    disk.of_kind[call]++;
    if (++disk.calls != disk.at && !(goes_on && disk.calls > disk.at))
        return NO_FAULT;
    if (disk.hits++ == 0)
        disk.hit = call;
    if (fault == SLOW)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    if (fault == FAILS || fault == FAILS_ON || (fault == SHORT && call != CALL_PWRITE))
        errno = EIO;
    else
        errno = ENOSPC;
    if (fault == SLOW)
        return NO_FAULT;
    return fault == SHORT && (call == CALL_PWRITE || call == CALL_PREAD) ? SHORT : FAILS;
}

static bool is_ours(int fd)
{
    return fd >= 0 && fd < FDS && disk.is_ours[fd];
}

static bool is_there(const char *path)
{
    return disk.folder && strncmp(path, disk.folder, strlen(disk.folder)) == 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    enum fault fault = is_ours(fd) ? meet(CALL_PWRITE) : NO_FAULT;

    if (fault == FAILS)
        return -1;
    return syscall(SYS_pwrite64, fd, bytes, fault == SHORT ? size / 2 : size, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return pwrite64(fd, bytes, size, at);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t at)
{
    enum fault fault = is_ours(fd) ? meet(CALL_PREAD) : NO_FAULT;

    if (fault == FAILS)
        return -1;
    return syscall(SYS_pread64, fd, bytes, fault == SHORT ? size / 2 : size, at);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    return pread64(fd, bytes, size, at);
}

int fdatasync(int fd)
{
    return is_ours(fd) && meet(CALL_SYNC) == FAILS ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return is_ours(fd) && meet(CALL_SYNC) == FAILS ? -1 : (int)syscall(SYS_fsync, fd);
}

int ftruncate64(int fd, off64_t size)
{
    return is_ours(fd) && meet(CALL_TRUNCATE) == FAILS ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int unlink(const char *path)
{
    return is_there(path) && meet(CALL_UNLINK) == FAILS ? -1 : (int)syscall(SYS_unlink, path);
}

int fcntl64(int fd, int command, ...)
{
    va_list arguments;
    void *argument;

    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    if (is_ours(fd) && (command == F_SETLK || command == F_GETLK) && meet(CALL_LOCK) == FAILS)
        return -1;
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int fstat64(int fd, struct stat64 *status)
{
    return is_ours(fd) && meet(CALL_STAT) == FAILS ? -1 : (int)syscall(SYS_fstat, fd, status);
}

static int open_it(const char *path, int flags, mode_t mode)
{
    int fd;

    if (is_there(path) && meet(CALL_OPEN) == FAILS)
        return -1;
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fd >= 0 && fd < FDS)
        disk.is_ours[fd] = is_there(path);
    return fd;
}

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_it(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_it(path, flags, mode);
}

static sqlite3 *connection; /* of the journal, to make its checkpoints come soon */

static int note_connection(sqlite3 *sqlite, const char **message,
                           const struct sqlite3_api_routines *routines)
{
    const char *name = sqlite3_db_filename(sqlite, "main");

    (void)message;
    (void)routines;
    if (name && name[0] != '\0')
        connection = sqlite;
    return SQLITE_OK;
}

static int add_commit(struct journal *journal, uint64_t epoch, int number)
{
    struct journal_batch *batch = journal_batch_new(epoch);
    owned(json) json_t *event = json_make("{si}", "number", number);
    owned(json) json_t *value = json_make("{si}", "number", number);
    owned(chars) char *id = text_format("%03d", number);
    struct error err = { 0 };

    journal_put(batch, "thing", id, 0, value);
    journal_claim(batch, id, "holder");
    journal_event(batch, (struct wall_time){ number }, event);
    return journal_commit(journal, &batch, &err);
}

/* A process that dies leaves its files as they are at that moment. */
struct remains {
    struct text *files[3];
};

static const char *const endings[] = { "", "-wal", ".tally" };

static void collect(const char *path, struct remains *remains)
{
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        owned(chars) char *file = text_format("%s%s", path, endings[i]);

        remains->files[i] = access(file, F_OK) == 0 ? test_file_read(file) : NULL;
    }
}

static void put_back(const char *path, struct remains *remains)
{
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        owned(chars) char *file = text_format("%s%s", path, endings[i]);

        if (remains->files[i])
            test_file_write(file, remains->files[i]->chars, remains->files[i]->length);
        else
            unlink(file);
        text_free(remains->files[i]);
    }
}

/* Opens, commits and closes with the fault in it, or dies where a call told of it.  Returns how
   many commits were acknowledged. */
static int live(const char *path)
{
    struct error err = { 0 };
    struct journal *journal;
    struct remains remains;
    int acknowledged = 0;
    bool is_well = true;
    uint64_t epoch;

    disk.is_armed = true;
    journal = journal_sqlite_open(path, &err);
    if (!journal) {
        disk.is_armed = false;
        return 0;
    }
    sqlite3_wal_autocheckpoint(connection, CHECKPOINT_PAGES);
    sqlite3_exec(connection, "PRAGMA journal_size_limit=16384", NULL, NULL, NULL);
    assert_int_equal(journal_begin_epoch(journal, &epoch, &err), 0);
    while (is_well && acknowledged < COMMITS) {
        is_well = add_commit(journal, epoch, acknowledged + 1) == 0;
        acknowledged += is_well;
    }
    if (is_well) {
        journal_close(journal);
        disk.is_armed = false;
        return acknowledged;
    }
    disk.is_armed = false;
    collect(path, &remains);
    journal_close(journal);
    put_back(path, &remains);
    return acknowledged;
}

static int count_one(void *context, const char *id, uint64_t rev, const json_t *value,
                     struct error *err)
{
    int *count = context;

    (void)rev;
    (void)err;
    assert_int_equal(atoi(id), ++*count);
    assert_int_equal(json_int_or(value, "number", 0), *count);
    return 0;
}

static void expect_all(const char *path, int acknowledged)
{
    struct error err = { 0 };
    struct journal *journal = journal_sqlite_open(path, &err);
    owned(json) json_t *events = NULL;
    uint64_t epoch;
    int count = 0;

    if (!journal)
        fail_msg("call %d (%s) %s: %s", disk.at, call_names[disk.hit], fault_names[disk.fault],
                 err.text);
    if (journal_each(journal, "thing", count_one, &count, &err) < 0 ||
        journal_verify(journal, SIZE_MAX, &err) < 0)
        fail_msg("call %d (%s) %s: %s", disk.at, call_names[disk.hit], fault_names[disk.fault],
                 err.text);
    events = journal_events(journal, SIZE_MAX, &err);
    assert_int_equal(json_array_size(events), count);
    if (count < acknowledged || count > acknowledged + 1)
        fail_msg("call %d (%s) %s: %d of %d acknowledged commits are there", disk.at,
                 call_names[disk.hit], fault_names[disk.fault], count, acknowledged);
    assert_int_equal(journal_begin_epoch(journal, &epoch, &err), 0);
    assert_int_equal(add_commit(journal, epoch, count + 1), 0); /* it can be written to */
    journal_close(journal);
}

static void play(enum fault fault, int at)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/journal.db", folder);
    int acknowledged;

    memset(disk.of_kind, 0, sizeof disk.of_kind);
    disk.folder = folder;
    disk.fault = fault;
    disk.at = at;
    disk.calls = disk.hits = 0;
    acknowledged = live(path);
    if (disk.hits == 0)
        assert_int_equal(acknowledged, COMMITS);
    if (fault == SLOW)
        assert_int_equal(acknowledged, COMMITS);
    expect_all(path, acknowledged);
    disk.folder = NULL;
}

static void every_call_of_the_journal_fails_once(void **state)
{
    struct sweep_part part = sweep_part(SAMPLE);
    int cases = 0;
    int hits[CALL_COUNT] = { 0 };
    int calls;

    (void)state;
    play(NO_FAULT, 0);
    calls = disk.calls;
    for (int kind = 0; kind < CALL_COUNT; kind++) {
        print_message("%s: %d  ", call_names[kind], disk.of_kind[kind]);
        assert_true(disk.of_kind[kind] > 0);
    }
    print_message("\n");
    for (int fault = FAILS; fault < FAULT_COUNT; fault++)
        for (int at = 1; at <= calls; at++) {
            if ((at + fault) % (int)part.every != (int)part.first)
                continue;
            cases++;
            play((enum fault)fault, at);
            hits[disk.hit] += disk.hits > 0;
        }
    print_message("sweep store: %d cases\n", cases);
    for (int kind = 0; kind < CALL_COUNT; kind++)
        assert_true(hits[kind] >= (FAULT_COUNT - 1) / (int)part.every);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_the_journal_fails_once),
    };

    /* A thousand small files, each synced many times, need no real disk. */
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    sqlite3_auto_extension((void (*)(void))note_connection);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
