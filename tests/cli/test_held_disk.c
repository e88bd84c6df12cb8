/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A disk whose syncs take as long as the test wants: `sluice serve` as a program, with a module
 * loaded into it that holds them.  No time is measured: what must not wait for the disk answers
 * while a sync is held, and what must wait does not.
 */
#include "tests/cli/programs.h"
#include "tests/real/held_disk.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct held_disk *disk;
static pid_t programs[2]; /* the simulator, the service */
static char *config;

static const char service[] = SLUICE_BUILD "/sluice";

static int64_t look(const int64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_SEQ_CST);
}

static void set(int64_t *number, int64_t value)
{
    __atomic_store_n(number, value, __ATOMIC_SEQ_CST);
}

static void map_disk(void)
{
    owned(chars) char *path = test_folder_write(folder, "disk", "");
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0 && ftruncate(fd, sizeof *disk) == 0);
    disk = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(disk != MAP_FAILED);
    close(fd);
    setenv(HELD_DISK, path, 1);
}

/* Only what is started here has the module. */
static pid_t start_held_service(void)
{
    const char *before = getenv("ASAN_OPTIONS");
    owned(chars) char *was = mem_copy_chars(before ? before : "");
    owned(chars) char *options = text_format("%s:verify_asan_link_order=0", was);
    pid_t pid;

    setenv("ASAN_OPTIONS", options, 1);
    setenv("LD_PRELOAD", SLUICE_BUILD "/held_disk.so", 1);
    pid = start_service();
    unsetenv("LD_PRELOAD");
    setenv("ASAN_OPTIONS", was, 1);
    return pid;
}

static int open_world(void **state)
{
    (void)state;
    folder = test_folder_new();
    config = text_format("%s/sluice.yaml", folder);
    map_disk();
    programs[0] = start_simulator();
    programs[1] = start_held_service();
    return await_service() ? 0 : -1;
}

static int close_world(void **state)
{
    int result = 0;

    (void)state;
    set(&disk->is_held, 0);
    for (size_t i = COUNT_OF(programs); i-- > 0;)
        if (end_program(programs[i]) != 0)
            result = -1;
    mem_free(config);
    if (result == 0)
        test_folder_free(folder);
    return result;
}

static void expect(int code, const char *line, const char *says)
{
    owned(chars) char *full = text_format("%s -c @/sluice.yaml", line);
    owned(said) struct said said = expect_code(folder, code, full);

    if (!strstr(said.out->chars, says) && !strstr(said.err->chars, says))
        fail_msg("sluice %s: lacks \"%s\":\n%s%s", line, says, said.out->chars, said.err->chars);
}

static void await_sync(void)
{
    for (int64_t end_ms = now_ms() + START_MS; !look(&disk->waiting); pause_a_little())
        if (now_ms() >= end_ms)
            fail_msg("nothing is written");
}

/* All that is begun is written. */
static void await_quiet(void)
{
    int64_t synced = -1;

    set(&disk->is_held, 0);
    for (int quiet = 0; quiet < 30; pause_a_little()) {
        quiet = look(&disk->synced) == synced ? quiet + 1 : 0;
        synced = look(&disk->synced);
    }
}

/* A command as a program of its own, because it may wait. */
static pid_t begin(const char *const *words)
{
    return start("command.log", words);
}

static bool has_ended(pid_t pid, int *ret_code)
{
    int status;

    if (waitpid(pid, &status, WNOHANG) != pid)
        return false;
    assert_true(WIFEXITED(status));
    *ret_code = WEXITSTATUS(status);
    return true;
}

static int await_end(pid_t pid)
{
    int code = -1;

    for (int64_t end_ms = now_ms() + START_MS; !has_ended(pid, &code); pause_a_little())
        if (now_ms() >= end_ms)
            fail_msg("the command does not end");
    return code;
}

static pid_t begin_freeze(void)
{
    return begin(
        (const char *[]){ service, "freeze", "--for", "1h", "--reason", "x", "-c", config, NULL });
}

static void what_is_asked_does_not_wait_for_the_disk(void **state)
{
    int64_t synced;
    pid_t freeze;
    int code;

    (void)state;
    await_quiet();
    set(&disk->is_held, 1);
    freeze = begin_freeze();
    await_sync();
    synced = look(&disk->synced);
    for (int i = 0; i < 5; i++) { /* each would hang */
        expect(0, "status", "CLUSTER");
        expect(0, "transfers", "");
        expect(0, "departures", "");
        expect(0, "plan --in-force", "Plan:");
    }
    assert_int_equal(look(&disk->synced), synced);
    assert_true(look(&disk->waiting));
    assert_false(has_ended(freeze, &code)); /* it is not promised before it is kept */
    set(&disk->is_held, 0);
    assert_int_equal(await_end(freeze), 0);
    expect(0, "status", "FROZEN");
    expect(0, "events", "freeze");
    expect(0, "unfreeze", "the freeze is over");
}

/* Also while it is written what the reclaim leads to. */
static void a_reclaim_waits_for_one_sync(void **state)
{
    pid_t reclaim;
    int code;
    int64_t synced;

    (void)state;
    await_quiet();
    synced = look(&disk->synced);
    set(&disk->allowed, 0);
    set(&disk->is_held, 1);
    reclaim = begin((const char *[]){ service, "reclaim", "--to", "prod-a", "--nodes", "2",
                                      "--reason", "x", "-c", config, NULL });
    await_sync();
    assert_int_equal(look(&disk->synced), synced);
    assert_false(has_ended(reclaim, &code));
    set(&disk->allowed, 1);
    assert_int_equal(await_end(reclaim), 0);
    await_sync(); /* of the move */
    assert_int_equal(look(&disk->synced), synced + 1);
    set(&disk->is_held, 0);
}

/* Of a journal that was there: it is read, and what is to be written is written later. */
static void a_start_waits_for_no_sync(void **state)
{
    int64_t synced;

    (void)state;
    await_quiet();
    assert_int_equal(end_program(programs[1]), 0);
    synced = look(&disk->synced);
    set(&disk->allowed, 0);
    set(&disk->is_held, 1);
    programs[1] = start_held_service();
    assert_true(await_service());
    print_message("%lld syncs until the service answers\n",
                  (long long)(look(&disk->synced) - synced));
    assert_int_equal(look(&disk->synced), synced);
    set(&disk->is_held, 0);
}

/* What was accepted is written before the process ends. */
static void an_end_waits_for_what_is_being_written(void **state)
{
    pid_t freeze;
    int code;

    (void)state;
    await_quiet();
    set(&disk->allowed, 0);
    set(&disk->is_held, 1);
    freeze = begin_freeze();
    await_sync();
    kill(programs[1], SIGTERM);
    for (int i = 0; i < 10; i++, pause_a_little())
        assert_false(has_ended(programs[1], &code));
    set(&disk->is_held, 0);
    assert_int_equal(await_end(programs[1]), 0);
    assert_int_not_equal(await_end(freeze), 0); /* it was not told that it is kept */
    programs[1] = start_held_service();
    assert_true(await_service());
    expect(0, "status", "FROZEN");
}

/* The one who waits is not told that it is done, and the service ends with the reason. */
static void a_failed_sync_ends_the_service(void **state)
{
    owned(chars) char *path = text_format("%s/service.log", folder);
    owned(text) struct text *log = NULL;
    struct error err;

    (void)state;
    await_quiet();
    expect(0, "unfreeze", "the freeze is over");
    await_quiet();
    set(&disk->fails, 1);
    assert_int_not_equal(await_end(begin_freeze()), 0);
    assert_int_equal(await_end(programs[1]), EXIT_ERROR);
    set(&disk->fails, 0);
    log = file_read(path, SAID_LIMIT, &err);
    assert_non_null(log);
    if (!strstr(log->chars, "journal_broken") || !strstr(log->chars, "disk I/O error"))
        fail_msg("%s", log->chars);
    programs[1] = start_held_service();
    assert_true(await_service());
    expect(0, "freeze --for 1h --reason again", "frozen until");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_does_not_wait_for_the_disk),
        cmocka_unit_test(a_reclaim_waits_for_one_sync),
        cmocka_unit_test(a_start_waits_for_no_sync),
        cmocka_unit_test(an_end_waits_for_what_is_being_written),
        cmocka_unit_test(a_failed_sync_ends_the_service),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, open_world, close_world);
}
