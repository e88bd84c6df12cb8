/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sbatch, for people: a job whose work is `--wrap='sleep SECONDS'`.  --gpus counts on each node
 * here.
 */
#include "tools/simulator/slurm/ctld_shell.h"

static int number_of(const struct ctld_shell *shell, const char *key, int otherwise)
{
    const char *value = ctld_word_value(shell, 1, key);

    return value ? (int)ctld_leading(value) : otherwise;
}

static bool has(const struct ctld_shell *shell, const char *word)
{
    for (size_t i = 1; i < shell->words.count; i++)
        if (text_equal(shell->words.items[i], word))
            return true;
    return false;
}

/* *ret_why: what sbatch says of a --gres that it does not understand. */
static bool describe(const struct ctld_shell *shell, struct ctld_job *job, const char **ret_why)
{
    const char *gres = ctld_word_value(shell, 1, "--gres");
    const char *work = ctld_word_value(shell, 1, "--wrap");
    const char *seconds = work ? strchr(work, ' ') : NULL;
    const char *line = ctld_word_value(shell, 1, "--line"); /* of the script: its --signal */

    job->work_ms = (seconds ? ctld_leading(seconds) : 60) * SECOND_MS;
    job->is_stubborn = work && text_starts_with(work, "stubborn");
    job->gpus = number_of(shell, "--gpus-per-node", number_of(shell, "--gpus", 0));
    job->limit_min = number_of(shell, "--time", 0);
    job->node_count = number_of(shell, "--nodes", 1);
    job->is_exclusive = has(shell, "--exclusive");
    job->may_requeue = !has(shell, "--no-requeue");
    if (job->is_exclusive)
        job->gpus = 8;
    text_copy(job->signal, sizeof job->signal, line ?: ctld_word_value(shell, 1, "--signal") ?: "");
    job->is_signal_hidden = !line;
    text_copy(job->wanted, sizeof job->wanted, ctld_word_value(shell, 1, "--nodelist") ?: "");
    text_copy(job->comment, sizeof job->comment, ctld_word_value(shell, 1, "--comment") ?: "");
    text_copy(job->account, sizeof job->account, ctld_word_value(shell, 1, "--account") ?: "");
    text_copy(job->partition, sizeof job->partition,
              ctld_word_value(shell, 1, "--partition") ?: "train");
    text_copy(job->name, sizeof job->name, ctld_word_value(shell, 1, "--job-name") ?: "wrap");
    text_copy(job->user, sizeof job->user, "person");
    if (gres)
        return ctld_gres_read(gres, shell->slurm->release, job, ret_why);
    return true;
}

/* Whether a node of its partition could ever take it.  Only slices are checked: any other job may
   wait for nodes that are still to come. */
static bool can_ever_start(const struct ctld_job *job)
{
    void *value;

    if (!job->want_count && !text_equal(job->partition, "slices"))
        return true;
    for (size_t i = 0; map_next(job->slurm->nodes, &i, NULL, &value);)
        if (ctld_is_meant(job, value) && ctld_gres_could(job, value))
            return true;
    return false;
}

/* Each component has one of the nodes that were named. */
static void name_node(struct ctld_job *job, int part)
{
    owned(chars) char *names = mem_copy_chars(job->wanted);
    char *at = names;

    for (int i = 0; i < part && at; i++) {
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    text_print(job->wanted, sizeof job->wanted, "%.*s", at ? (int)strcspn(at, ",") : 0, at ?: "");
}

void ctld_sbatch(struct ctld_shell *shell)
{
    const char *array = ctld_word_value(shell, 1, "--array");
    int parts = number_of(shell, "--components", 1); /* of a heterogeneous job, all alike */
    int first = shell->slurm->next_job;
    struct ctld_job asked = { .slurm = shell->slurm };
    const char *why = NULL;
    bool is_possible = true;
    int tasks = 1;
    int low = 1;

    if (array) {
        const char *dash = strchr(array, '-');

        low = (int)ctld_leading(array);
        tasks = dash ? (int)ctld_leading(dash + 1) - low + 1 : 1;
    }
    if (tasks < 1 || tasks > 1000 || parts < 1 || parts > CTLD_JOB_NODES) {
        ctld_say_error(shell, "sbatch: error: Batch job submission failed: Invalid job array "
                              "specification");
        return;
    }
    if (!describe(shell, &asked, &why)) {
        ctld_say_error(shell, "sbatch: error: %s", why);
        return;
    }
    for (int i = 0; i < tasks * parts; i++) {
        struct ctld_job *job = ctld_job_new(shell->slurm);

        (void)describe(shell, job, &why);
        if (array) { /* the last task has the array's number */
            job->array_id = first + tasks - 1;
            job->array_task = low + i;
        } else if (parts > 1) {
            job->het_id = first;
            job->het_offset = i;
            job->het_count = parts;
            name_node(job, i);
        }
        if (!can_ever_start(job)) {
            is_possible = false;
            job->why = "BadConstraints";
            ctld_job_end(job, CTLD_FAILED, false);
        }
    }
    if (!is_possible) {
        ctld_say_error(shell, "sbatch: error: Batch job submission failed: Requested node "
                              "configuration is not available");
        return;
    }
    text_add(shell->output->out, "Submitted batch job %d\n", array ? first + tasks - 1 : first);
    ctld_schedule_soon(shell->slurm);
}
