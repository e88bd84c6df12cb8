/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * T48: two brokers where there should be one.  On one journal the second is refused, or, should it
 * get in, the first writes and does nothing more; on one fleet with a journal each, no node is
 * moved by both.
 */
#include "base/file.h"
#include "broker/journal/journal.h"
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"
#include "tests/support/sweep.h"
#include "tools/simulator/model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONG_MS = 4 * HOUR_MS, START_MS = 120000 };

/* A second broker in the same world. */
struct other {
    struct random random;
    struct world world;
    struct service *service;
};

static void open_other(struct other *other, struct rehearsal *rehearsal, struct journal *journal)
{
    struct error err = { 0 };

    random_seed(&other->random, random_mix(rehearsal->seed, "other", 0, 0));
    other->world = rehearsal->world;
    other->world.random = &other->random;
    other->world.http = simulator_http(rehearsal->simulator);
    other->world.journal = journal;
    other->service = service_open(&other->world, rehearsal->config, &err);
    if (!other->service)
        fail_msg("%s", err.text);
    service_start(other->service);
}

/* The first one's way out, with what it changes counted. */
static struct http *open_way;
static int changes;

/* Conditions of nodes and Events are words: no machine or pod changes by them, and no commit
   is waited for. */
static bool is_only_said(const char *url)
{
    return (strstr(url, "/nodes/") && strstr(url, "/status")) || strstr(url, "/events");
}

static struct http_exchange *counted_send(struct http *http, const struct http_request *request,
                                          http_done_fn done, void *context)
{
    (void)http;
    changes += request->is_mutation && !is_only_said(request->url);
    return http_send(open_way, request, done, context);
}

static void counted_cancel(struct http_exchange *exchange)
{
    http_cancel(open_way, exchange);
}

static const struct http_verbs counted_verbs = { .send = counted_send, .cancel = counted_cancel };

static int count_commit(void *context)
{
    ++*(int64_t *)context;
    return 0;
}

/* The second takes the journal over after so many commits of a move; returns how many there are. */
static int64_t take_over(int64_t after)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 48, "");
    struct http counted = { &counted_verbs };
    struct other other = { 0 };
    owned(json) json_t *answer = NULL;
    struct error err = { 0 };
    int64_t commits = 0;

    rehearsal_kill(rehearsal);
    open_way = rehearsal->door;
    rehearsal->world.http = &counted;
    assert_int_equal(rehearsal_start(rehearsal, &err), 0);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, 2);
    journal_set_gate(rehearsal->journal, count_commit, &commits);
    for (int64_t ms = 0; ms < HOUR_MS && (after == 0 || commits < after); ms += 20)
        rehearsal_run(rehearsal, 20);
    if (after > 0) {
        open_other(&other, rehearsal, journal_memory_share(rehearsal->journal));
        changes = 0;
        rehearsal_run(rehearsal, HOUR_MS); /* until the first one breaks, which stops the loop, */
        rehearsal_run(rehearsal, HOUR_MS); /* and what the second makes of it */
        assert_int_equal(changes, 0);
        assert_true(service_is_broken(rehearsal->service));
        assert_false(service_is_broken(other.service));
    }
    rehearsal_kill(rehearsal); /* a dead end already: expect_rest() asks the second */
    rehearsal->service = other.service;
    if (after > 0)
        expect_rest(rehearsal, 8);
    rehearsal->service = NULL;
    service_close(other.service);
    journal_close(other.world.journal);
    rehearsal->world.http = rehearsal->door;
    return commits;
}

static void who_lost_the_journal_does_nothing_more(void **state)
{
    int64_t commits = take_over(0);

    (void)state;
    assert_true(commits > 20);
    for (int64_t after = 1; after < commits; after += 4)
        take_over(after);
}

static bool has_moved(const struct service *service, const char *uid)
{
    for (size_t i = 0; i < service->runner->transfers.count; i++)
        if (service->runner->transfers.items[i]->state != TRANSFER_UNDONE &&
            text_equal(service->runner->transfers.items[i]->node_uid, uid))
            return true;
    return false;
}

static bool is_at_rest(const struct service *service)
{
    for (size_t i = 0; i < service->runner->transfers.count; i++)
        if (service->runner->transfers.items[i]->state == TRANSFER_LIVE)
            return false;
    return true;
}

/* Both want the same, at the same moment or one later, in the course of a window or at once. */
static void two_brokers_on_one_fleet_move_no_node_twice(void **state)
{
    static const int64_t later_ms[] = { 0, 20, 30 * SECOND_MS, 30 * MINUTE_MS };
    struct sweep_part part = sweep_part(2);

    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        if (!sweep_plays(&part))
            continue;

        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, seed, "");
        owned(json) json_t *schedules = small_schedules(9, 6);
        owned(json) json_t *plan = NULL;
        struct journal *journal = journal_memory_new();
        struct other other;
        struct error err = { 0 };

        open_other(&other, rehearsal, journal);
        /* An intent may be in either journal. */
        simulator_set_witness(rehearsal->simulator, NULL, NULL);
        rehearsal_run(rehearsal, (seed % 2 ? 2 : 125) * MINUTE_MS);
        plan = service_apply(other.service, schedules, NULL, "test", &err);
        assert_non_null(plan);
        rehearsal_run(rehearsal, later_ms[seed / 2 % COUNT_OF(later_ms)]);
        apply(rehearsal, 9, 6);
        rehearsal_run(rehearsal, LONG_MS);
        for (size_t i = 0; i < other.service->runner->transfers.count; i++) {
            const struct transfer *theirs = other.service->runner->transfers.items[i];

            if (theirs->state != TRANSFER_UNDONE && has_moved(rehearsal->service, theirs->node_uid))
                fail_msg("seed %d: %s was moved by both", (int)seed, theirs->node);
        }
        assert_true(is_at_rest(other.service));
        expect_rest(rehearsal, 9);
        service_close(other.service);
        journal_close(journal);
    }
}

static pid_t serve(const char *folder, const char *log)
{
    owned(chars) char *config = text_format("%s/sluice.yaml", folder);
    owned(chars) char *path = text_format("%s/%s", folder, log);
    pid_t pid;

    unlink(path); /* what an earlier one said there counts no more */
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no service behind */
        dup2(fd, 1);
        dup2(fd, 2);
        execl(SLUICE_BUILD "/sluice", "sluice", "serve", "-c", config, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static bool log_says(const char *folder, const char *log, const char *what)
{
    owned(chars) char *path = text_format("%s/%s", folder, log);
    owned(text) struct text *text = file_read(path, 1 << 20, NULL);

    return text && strstr(text->chars, what);
}

static void await_log(const char *folder, const char *log, const char *what)
{
    for (int ms = 0; ms < START_MS; ms += 20) {
        if (log_says(folder, log, what))
            return;
        nanosleep(&(struct timespec){ .tv_nsec = 20 * 1000000L }, NULL);
    }
    fail_msg("%s never says %s", log, what);
}

static int exit_code_of(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A folder in which a service finds all that it needs to begin; its clusters do not answer. */
static char *place(void)
{
    char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 48, "");
    const char *journal = strstr(small_config, "':memory:'");
    owned(chars) char *config = text_format("%.*ssluice.db%s", (int)(journal - small_config),
                                            small_config, journal + strlen("':memory:'"));

    mem_free(test_folder_write(folder, "sluice.yaml", config));
    return folder;
}

/* The lock file may have been taken away by who tidied up; the database has a lock of its own.  A
   process that stands still keeps both, one that was killed neither. */
static void a_second_process_on_one_journal_ends_at_once(void **state)
{
    static const struct {
        bool is_lock_removed;
        bool stands_still;
        const char *says;
    } rows[] = {
        { false, false, "another sluice serves this journal" },
        { false, true, "another sluice serves this journal" },
        { true, false, "another process has it open" },
        { true, true, "another process has it open" },
    };
    owned(test_folder) char *folder = place();
    owned(chars) char *lock = text_format("%s/sluice.db.lock", folder);
    pid_t first;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        first = serve(folder, "first.log");
        await_log(folder, "first.log", "serving");
        if (rows[i].is_lock_removed)
            assert_int_equal(unlink(lock), 0);
        if (rows[i].stands_still)
            kill(first, SIGSTOP);
        assert_int_equal(exit_code_of(serve(folder, "second.log")), 75);
        assert_true(log_says(folder, "second.log", rows[i].says));
        assert_false(log_says(folder, "second.log", "serving"));
        kill(first, SIGCONT);
        kill(first, i % 2 ? SIGKILL : SIGTERM);
        assert_int_equal(exit_code_of(first), i % 2 ? -1 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_lost_the_journal_does_nothing_more),
        cmocka_unit_test(two_brokers_on_one_fleet_move_no_node_twice),
        cmocka_unit_test(a_second_process_on_one_journal_ends_at_once),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
