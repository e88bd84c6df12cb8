/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What clients order of jobs: "12" is a job, "12_3" a task of an array, "12+1" a component of a
 * heterogeneous job.  The plain number of an array means all its tasks.
 */
#include "tools/simulator/slurm/ctld.h"

#include <stdlib.h>

bool ctld_signal_is_known(const char *signal)
{
    static const char *const known[] = { "HUP",  "INT",  "QUIT", "KILL", "USR1", "USR2",
                                         "TERM", "CONT", "STOP", "TSTP", "URG",  "XCPU" };

    if (ctld_leading(signal) > 0)
        return true;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (text_equal(known[i], signal) ||
            (text_starts_with(signal, "SIG") && text_equal(known[i], signal + 3)))
            return true;
    return false;
}

static bool is_named(const struct ctld_job *job, int id, int task, int offset)
{
    if (task >= 0)
        return job->array_id == id && job->array_task == task;
    if (offset >= 0)
        return job->het_id == id && job->het_offset == offset;
    return job->array_id == id || job->id == id;
}

bool ctld_jobs_named(struct ctld *slurm, const char *which, ctld_job_list *ret)
{
    char *end;
    int id = (int)strtol(which, &end, 10);
    int task = *end == '_' ? (int)strtol(end + 1, &end, 10) : -1;
    int offset = *end == '+' ? (int)strtol(end + 1, &end, 10) : -1;

    if (end == which || *end != '\0')
        return false;
    for (size_t i = 0; i < slurm->jobs.count; i++)
        if (is_named(slurm->jobs.items[i], id, task, offset))
            *array_add(ret) = slurm->jobs.items[i];
    return ret->count > 0;
}

/* The other components go with their leader. */
static void add_components(struct ctld *slurm, ctld_job_list *jobs)
{
    size_t count = jobs->count;

    for (size_t i = 0; i < count; i++) {
        const struct ctld_job *leader = jobs->items[i];

        for (int k = 1; leader->het_id && k < leader->het_count; k++) {
            struct ctld_job *part = ctld_job_find(slurm, leader->id + k);

            if (part)
                *array_add(jobs) = part;
        }
    }
}

static enum ctld_errno may_requeue(const struct ctld_job *job)
{
    if (job->het_id && job->het_offset)
        return CTLD_ERROR_NOT_HET_LEADER;
    if (!job->may_requeue)
        return CTLD_ERROR_DISABLED;
    if (job->state == CTLD_PENDING)
        return CTLD_ERROR_PENDING;
    return job->is_completing ? CTLD_ERROR_DONE : CTLD_OK;
}

enum ctld_errno ctld_requeue(struct ctld *slurm, const char *which, bool holds)
{
    ctld_job_list jobs = { 0 };
    enum ctld_errno error = CTLD_OK;

    if (!ctld_jobs_named(slurm, which, &jobs)) {
        array_clear(&jobs);
        return CTLD_ERROR_INVALID_JOB;
    }
    for (size_t i = 0; i < jobs.count && error == CTLD_OK; i++)
        error = may_requeue(jobs.items[i]);
    if (error == CTLD_OK)
        add_components(slurm, &jobs);
    for (size_t i = 0; i < jobs.count && error == CTLD_OK; i++) {
        struct ctld_job *job = jobs.items[i];

        ctld_judge_job(job, "slurm_requeue");
        job->is_held = holds;
        if (ctld_job_is_over(job)) { /* it ended before, and starts again */
            job->state = CTLD_PENDING;
            job->restarts++;
            job->stamp++;
            job->eligible_ms = sim_now(slurm->sim) + CTLD_CREDENTIAL_MS;
            job->why = holds ? "JobHeldUser" : "BeginTime";
        } else {
            ctld_job_end(job, CTLD_CANCELLED, true);
        }
    }
    array_clear(&jobs);
    ctld_schedule_soon(slurm);
    return error;
}

enum ctld_errno ctld_hold(struct ctld *slurm, const char *which, bool holds)
{
    ctld_job_list jobs = { 0 };
    bool is_any = ctld_jobs_named(slurm, which, &jobs);

    for (size_t i = 0; i < jobs.count; i++) {
        jobs.items[i]->is_held = holds;
        if (jobs.items[i]->state == CTLD_PENDING)
            jobs.items[i]->why = holds ? "JobHeldUser" : "None";
    }
    array_clear(&jobs);
    ctld_schedule_soon(slurm);
    return is_any ? CTLD_OK : CTLD_ERROR_INVALID_JOB;
}

enum ctld_errno ctld_kill(struct ctld *slurm, const char *which, const char *signal, bool is_batch)
{
    ctld_job_list jobs = { 0 };
    bool is_end = text_equal(signal, "KILL") || text_equal(signal, "TERM");
    enum ctld_errno error = CTLD_OK;
    int live = 0;

    if (!ctld_jobs_named(slurm, which, &jobs)) {
        array_clear(&jobs);
        return CTLD_ERROR_INVALID_JOB;
    }
    for (size_t i = 0; i < jobs.count; i++) {
        struct ctld_job *job = jobs.items[i];

        if (ctld_job_is_over(job))
            continue;
        live++;
        ctld_judge_job(job, is_end && !is_batch ? "slurm_cancel" : "slurm_signal");
        if (is_end && !is_batch)
            ctld_job_end(job, CTLD_CANCELLED, false);
        else if (job->state == CTLD_RUNNING)
            ctld_job_signal(job, signal, is_batch);
        else
            error = CTLD_ERROR_TRANSITION;
    }
    array_clear(&jobs);
    return live ? error : CTLD_ERROR_DONE;
}
