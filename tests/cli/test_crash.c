/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The crash sweep: the service dies at each of its commits in turn, before the commit is written or
 * right after it, and another one goes on from the journal.  Half of the runs die a second time.
 * Every run must end with each node moved once and a referee that has nothing to say.  It is played
 * where all pods go when they are asked, and where some have to be forced.
 */
#include "tests/cli/dying.h"

static void a_death_at_any_commit_loses_nothing(void **state)
{
    struct span span;
    int64_t commits = play(false, NULL, &span);

    (void)state;
    print_message("%lld commits in an undisturbed run\n", (long long)commits);
    assert_true(commits > 20);
    sweep(false, 1, commits, 3);
}

/* What comes before the drain and after the machine's end is as in the sweep above.  For the time
   that it takes: of each second commit what it promised is not done, and of the others it is, and
   was not answered. */
static void a_death_among_forced_deletes_loses_nothing(void **state)
{
    struct span span;

    (void)state;
    play(true, NULL, &span);
    print_message("commits %lld to %lld\n", (long long)span.begin, (long long)span.end);
    assert_true(span.end - span.begin > 10);
    sweep(true, span.begin, span.end, 5);
}

static void a_full_disk_lets_nothing_out(void **state)
{
    (void)state;
    play_full_disk();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_at_any_commit_loses_nothing),
        cmocka_unit_test(a_death_among_forced_deletes_loses_nothing),
        cmocka_unit_test(a_full_disk_lets_nothing_out),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
