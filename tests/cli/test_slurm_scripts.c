/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The checkpoint signal that a batch script names (#SBATCH --signal=): a job on a node that leaves
 * gets it before its requeue.  Its comment wins over its script, and this over the cluster's
 * signal.
 */
#include "tests/cli/slurm_jobs.h"
#include "tools/simulator/slurm/ctld_peek.h"

enum { LEAD_MS = MINUTE_MS, SLACK_MS = 20 * SECOND_MS };

enum shown { IN_SCRIPT, ON_COMMAND_LINE, LOST };

static const struct scene {
    const char *what, *signal; /* of --signal */
    enum shown shown;
    const char *comment, *keys; /* of the job, and of the cluster */
    const char *last;           /* the signal that it gets; "": none */
    int script, steps;          /* how many of them */
} scenes[] = {
    { "for the script", "B:USR1@60", IN_SCRIPT, "", "", "USR1", 1, 0 },
    { "a number", "B:10", IN_SCRIPT, "", "", "10", 1, 0 },
    { "for its steps", "USR1@60", IN_SCRIPT, "", "", "USR1", 0, 1 },
    { "rather than the cluster's", "SIGUSR1", IN_SCRIPT, "", "checkpoint_signal: USR1, ", "USR1", 0,
      1 },
    { "the comment's", "B:USR1", IN_SCRIPT, "sluice.dev/checkpoint-signal=USR2",
      "checkpoint_signal: HUP, ", "USR2", 1, 0 },
    { "none", "", IN_SCRIPT, "", "", "", 0, 0 },
    { "none but the cluster's", "", IN_SCRIPT, "", "checkpoint_signal: HUP, ", "HUP", 1, 0 },
    { "unknown", "B:NOPE", IN_SCRIPT, "", "checkpoint_signal: HUP, ", "HUP", 1, 0 },
    { "on the command line", "B:USR1", ON_COMMAND_LINE, "", "", "", 0, 0 },
    { "not to be read", "B:USR1", LOST, "", "", "", 0, 0 },
    { "not to be read, but the cluster's", "B:USR1", LOST, "", "checkpoint_signal: HUP, ", "HUP", 1,
      0 },
};

/* What was seen of the job, in wall time; 0: not yet. */
struct seen {
    int64_t signal_ms, requeue_ms;
    bool is_said; /* that its script cannot be read */
};

static struct seen watch_job(struct rehearsal *rehearsal, const struct transfer *transfer,
                             const struct ctld_job *job)
{
    struct seen seen = { 0 };

    for (int s = 0; s < 1800 && job->restarts == 0; s++) {
        rehearsal_run(rehearsal, SECOND_MS);
        seen.is_said |= strstr(transfer->waiting, "(its batch script cannot be read: ") != NULL;
        if (seen.signal_ms == 0 && job->signals + job->step_signals > 0)
            seen.signal_ms = loop_wall(rehearsal->loop).ms;
    }
    seen.requeue_ms = loop_wall(rehearsal->loop).ms;
    return seen;
}

/* The signal at its time, and the requeue when it had its time; without a signal at the deadline.
 */
static void expect_signal(const struct scene *scene, const struct ctld_job *job,
                          const struct seen *seen, int64_t due_ms)
{
    bool is_asked = scene->last[0] != '\0';

    if (job->signals != scene->script || job->step_signals != scene->steps ||
        !text_equal(job->last_signal, scene->last) || job->restarts != 1)
        fail_msg("%s: %d and %d signals, the last is %s", scene->what, job->signals,
                 job->step_signals, job->last_signal);
    if (is_asked)
        assert_in_range(seen->signal_ms, due_ms - LEAD_MS, due_ms - LEAD_MS + SLACK_MS);
    assert_in_range(seen->requeue_ms, is_asked ? seen->signal_ms + LEAD_MS - SECOND_MS : due_ms,
                    due_ms + SLACK_MS);
    assert_int_equal(seen->is_said, scene->shown == LOST);
}

static void play(const struct kind *kind, const struct scene *scene)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *keys = text_format("checkpoint_lead: 60s, %s", scene->keys);
    owned(rehearsal) struct rehearsal *rehearsal = open_with(kind, folder, 7, keys, true);
    const struct transfer *transfer;
    struct ctld_node *nodes[2];
    struct ctld_job *job;
    struct seen seen;
    int64_t due_ms;

    empty_two(rehearsal, nodes);
    job = start_on(rehearsal, nodes, 1);
    (void)start_on(rehearsal, nodes + 1, 1);
    text_copy(job->signal, sizeof job->signal, scene->signal);
    text_copy(job->comment, sizeof job->comment, scene->comment);
    job->is_signal_hidden = scene->shown == ON_COMMAND_LINE;
    job->has_lost_script = scene->shown == LOST;
    spare_others(rehearsal, job);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 7, 6);
    transfer = run_to(rehearsal, STEP_DRAIN);
    assert_string_equal(transfer->node, nodes[0]->name);
    due_ms = transfer->drain_due.ms;
    seen = watch_job(rehearsal, transfer, job);
    expect_signal(scene, job, &seen, due_ms);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

static void the_signal_of_a_script_is_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(scenes); i++)
        play(&kinds[i % COUNT_OF(kinds)], &scenes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_signal_of_a_script_is_sent) };

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
