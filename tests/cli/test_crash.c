/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The crash sweep: the service dies at each of its commits in turn, before the commit is written,
 * and another one goes on from the journal.  Half of the runs die a second time.  Every run must
 * end with each node moved once and a referee that has nothing to say.
 */
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"

enum { NODES = 2, LONG_MS = 45 * MINUTE_MS };

/* One run; kills at commit `first` after the reclaim, and `second` commits after the restart (0:
   not).  Returns how many commits an undisturbed run makes. */
static int64_t play(int64_t first, int64_t second)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 11, "");
    owned(json) json_t *answer = NULL;
    struct error err = { 0 };
    int64_t before;

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, NODES);
    before = rehearsal->commits;
    for (int64_t at = first; at > 0; at = at == first ? second : 0) {
        rehearsal_kill_at_commit(rehearsal, at);
        rehearsal_run(rehearsal, LONG_MS);
        if (!rehearsal->is_dead)
            break;
        rehearsal_kill(rehearsal);
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("after a death at commit %lld: %s", (long long)at, err.text);
    }
    rehearsal->kill_at = 0;
    rehearsal_run(rehearsal, LONG_MS);
    expect_rest(rehearsal, 6 + NODES);
    return rehearsal->commits - before;
}

static void a_death_at_any_commit_loses_nothing(void **state)
{
    int64_t commits = play(0, 0);

    (void)state;
    print_message("%lld commits in an undisturbed run\n", (long long)commits);
    assert_true(commits > 20);
    for (int64_t at = 1; at <= commits; at++)
        play(at, at % 2 == 0 ? 1 + at % 7 : 0);
}

static int room_for(void *commits)
{
    int64_t *left = commits;

    return *left > 0 ? (--*left, 0) : -1;
}

/* The disk is full: the service lives, its way out is open, and nothing goes out by it that the
   journal does not hold. */
static void a_full_disk_lets_nothing_out(void **state)
{
    (void)state;
    for (int64_t commits = 0; commits < 28; commits++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 11, "");
        owned(json) json_t *answer = NULL;
        struct error err = { 0 };
        int64_t left = commits;

        rehearsal_run(rehearsal, MINUTE_MS);
        apply(rehearsal, 6, 6);
        rehearsal_run(rehearsal, MINUTE_MS);
        answer = reclaim(rehearsal, NODES);
        journal_set_gate(rehearsal->journal, room_for, &left);
        rehearsal_run(rehearsal, LONG_MS);
        assert_true(rehearsal->service->runner->is_broken);
        rehearsal_run(rehearsal, MINUTE_MS); /* what was sent arrives */
        assert_int_equal(rehearsal_violations(rehearsal), 0);
        rehearsal_kill(rehearsal);
        journal_set_gate(rehearsal->journal, NULL, NULL);
        assert_int_equal(rehearsal_start(rehearsal, &err), 0);
        rehearsal_run(rehearsal, LONG_MS);
        expect_rest(rehearsal, 6 + NODES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_at_any_commit_loses_nothing),
        cmocka_unit_test(a_full_disk_lets_nothing_out),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
