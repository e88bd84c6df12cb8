/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plays the cases: on the simulator's Slurm of each release, or on a real one.  SLUICE_CASE=S33
 * plays one.
 */
#include "base/log.h"
#include "tests/slurm/slurm_stage.h"
#include "tests/support/golden.h"

#include <stdio.h>
#include <stdlib.h>

static struct stage_choice choice;

struct turn {
    const struct slurm_case *played;
    const char *release;
    char name[64];
};

static void play(void **state)
{
    const struct turn *turn = *state;
    struct stage_choice own = choice;
    struct stage *stage;

    own.release = turn->release;
    stage = stage_open(&own);
    turn->played->play(stage);
    stage_close(stage);
}

static const char moves[] =
    "\n## A move between real servers\n\n"
    "`tests/slurm/run moves` starts a real Slurm without nodes, a real sshd through which the "
    "service runs Slurm's\n"
    "commands, and a real API server with kwok. The cloud is the simulator's; a machine of "
    "research that it boots becomes\n"
    "a slurmd with eight fake GPUs under its name, one of production a Node. A person has drained "
    "one node, with a reason.\n"
    "A node goes to Kubernetes and another comes back; slurmctld stops for three seconds in the "
    "middle of the drain.\n"
    "\n"
    "There are 24 jobs. Five fill all nodes but one, in a partition that nothing preempts, so "
    "sluice spares these nodes. On\n"
    "the node that is left run a job that Slurm may not requeue, an array of three, a job that "
    "takes a checkpoint signal, and\n"
    "one half of a heterogeneous job, whose other half runs beside one of the five. The rest "
    "waits: jobs on one node and on\n"
    "two, arrays, a heterogeneous one. The first two groups run until they are released, so who "
    "is started how often does not\n"
    "depend on the machine's speed. The node is ordered away when the service has seen them. "
    "Looked at without the service:\n"
    "\n"
    "- each job of the node that left was started twice (both halves of the heterogeneous one), "
    "and is COMPLETED under its\n"
    "  own number; the one that Slurm may not requeue is CANCELLED, and the service said before "
    "that its work is lost;\n"
    "- each other job is COMPLETED, and was started once;\n"
    "- the job that takes the signal got it;\n"
    "- the person's drain and reason are there; no node drains for sluice, and no reservation is "
    "left.\n"
    "\n"
    "`fixed` moves a node of slurm.conf there and back, with a dozen such jobs. The service "
    "reaches "
    "Slurm by commands over SSH\n"
    "alone, without slurmrestd, and finds a node's machine in its Extra, where a boot script would "
    "note it. Kubernetes is\n"
    "simulated. While the node is away, it stays in slurm.conf, and waiting jobs would find room "
    "there. One more job may run\n"
    "on that node only. Each of these happens then:\n"
    "\n"
    "- slurmctld is restarted;\n"
    "- a slurmd starts under the node's name, as if by mistake, and ends again;\n"
    "- slurmctld reads its configuration again, now with Slurm's own `ReturnToService=0`, so it "
    "keeps the node DOWN.\n"
    "\n"
    "Before and after each of them the node is drained with sluice's reason and has no job, for 25 "
    "seconds each time. Then the\n"
    "node comes back, and sluice ends DOWN. The jobs end as above; the one that waited for the "
    "node "
    "runs there.\n"
    "\n"
    "`deaths` moves a node there and back again and again, with a smaller set of such jobs. In "
    "each move the service is killed\n"
    "at another point, before or right after one commit of its journal, and started again. "
    "Kubernetes is simulated, and the\n"
    "nodes that leave it are empty: its drain is played by [two_clusters](../real/README.md). A "
    "line for each move says in\n"
    "which step the service died; the end says how many points were left out.\n"
    "\n"
    "Found on the way:\n\n"
    "- A batch script without a trap for USR1 is ended by `checkpoint_signal: USR1`, and its job "
    "fails. Set it only\n"
    "  if every script takes the signal.\n"
    "- Slurm shows the node of a machine that is gone as idle until SlurmdTimeout has passed. As "
    "it "
    "drains, nothing\n"
    "  starts there.\n"
    "- `squeue --json` of 24.11 lists only jobs that live; REST and 22.05 list ended ones, too.\n"
    "- `sinfo -t idle` lists drained nodes, too.\n";

static void the_table_is_this_one(void **state)
{
    owned(text) struct text *out = text_new(64 << 10);

    (void)state;
    text_add(out, "%s",
             "# Slurm\n\n"
             "This page lists what sluice relies on in Slurm, and what it must not rely on. A case "
             "asks with\n"
             "sluice's own client (`clusters/slurm`). It runs on the simulator's Slurm 22.05 and "
             "24.11\n"
             "(`test_slurm_cases`, in `tools/test`), and on real ones (`tools/test slurm`): Debian "
             "12's 22.05.8,\n"
             "and 24.11.5 of Debian 13 in a folder of its own. `tests/slurm/server` starts them. "
             "So the tests show\n"
             "that the simulator is as strict as a real Slurm.\n\n"
             "To write this page again from the table (`slurm_table.c`), run `test_slurm_cases` "
             "with\n"
             "`SLUICE_ACCEPT_GOLDENS=1` in the environment.\n\n"
             "| case | what Slurm does | simulator | real | what was found besides |\n"
             "|---|---|---|---|---|\n");
    for (size_t i = 0; i < slurm_case_count; i++) {
        const struct slurm_case *it = &slurm_cases[i];
        const char *releases = it->release == 2411 ? "24.11" : "22.05, 24.11";

        text_add(out, "| %s | %s | %s | %s | %s |\n", it->id, it->what,
                 it->where & ON_SIMULATOR ? releases : "no", it->where & ON_REAL ? releases : "no",
                 it->note ?: "");
    }
    text_add(out, "%s", moves);
    golden_check("slurm/README.md", out->chars);
}

static bool is_played(const struct slurm_case *it, const char *release)
{
    const char *only = getenv("SLUICE_CASE");

    return it->where & (choice.folder ? ON_REAL : ON_SIMULATOR) &&
           (!it->release || (it->release == 2411) == text_equal(release, "24.11")) &&
           (!only || text_equal(only, it->id));
}

int main(int argc, char **argv)
{
    static const char *const releases[] = { "22.05", "24.11" };
    static struct turn turns[256];
    struct CMUnitTest tests[COUNT_OF(turns)];
    size_t count = 0;
    int failures;

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    if (argc != 1 && argc != 3) {
        fprintf(stderr, "usage: test_slurm_cases [RELEASE FOLDER_OF_A_REAL_SERVER]\n");
        return 64;
    }
    choice = (struct stage_choice){ argc > 1 ? argv[2] : NULL, NULL };
    if (argc == 1 && !getenv("SLUICE_CASE"))
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(the_table_is_this_one);
    for (size_t r = 0; r < COUNT_OF(releases); r++)
        for (size_t i = 0; i < slurm_case_count; i++) {
            struct turn *turn = &turns[count];

            if ((argc > 1 && !text_equal(argv[1], releases[r])) ||
                !is_played(&slurm_cases[i], releases[r]))
                continue;
            require(count + 1 < COUNT_OF(turns));
            *turn = (struct turn){ &slurm_cases[i], releases[r], "" };
            text_print(turn->name, sizeof turn->name, "%s %s", slurm_cases[i].id, releases[r]);
            tests[count++] =
                (struct CMUnitTest){ .name = turn->name, .test_func = play, .initial_state = turn };
        }
    failures = _cmocka_run_group_tests(choice.folder ? "real" : "simulator", tests, count, NULL,
                                       NULL);
    return failures;
}
