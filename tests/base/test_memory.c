/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Secrets in memory: a program that hides them leaves no core, and shows itself again when told.
 */
#include "base/memory.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void what_is_hidden_is_not_dumped(void **state)
{
    pid_t child = fork();
    int status = 0;

    (void)state;
    if (child == 0) {
        struct rlimit limit = { 1, 1 };
        int wrong = 0;

        mem_hide();
        wrong |= prctl(PR_GET_DUMPABLE) != 0;
        wrong |= getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_cur != 0 || limit.rlim_max != 0;
        mem_show();
        wrong |= prctl(PR_GET_DUMPABLE) != 1;
        mem_hide();
        signal(SIGABRT, SIG_DFL);
        wrong ? _exit(1) : abort();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_false(WCOREDUMP(status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_hidden_is_not_dumped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
