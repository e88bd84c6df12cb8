/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See real_jobs.h.
 */
#include "tests/slurm/real_jobs.h"

#include "base/map.h"
#include "base/text.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A row of sbatch: options of one job, or of the components of a heterogeneous one. */
static const struct job_kind {
    enum job_part part;
    int times, few;   /* how often it is submitted */
    int tasks, parts; /* it counts as so many jobs; each has so many records */
    int seconds;      /* after it was released, or requeued */
    bool is_kept;     /* Slurm may requeue it */
    bool is_asked;    /* it takes a signal for a checkpoint */
    const char *options;
} kinds[] = {
    { JOBS_THAT_STAY, 1, 3, 1, 1, 1, true, false, "-p urgent --nodes=2 --exclusive" },
    { JOBS_THAT_STAY, 3, 0, 1, 1, 1, true, false, "-p urgent --nodes=1 --exclusive" },
    { JOBS_THAT_STAY, 1, 0, 1, 1, 1, true, false, "-p urgent --gpus=7 --cpus-per-task=95" },
    /* The other half finds room beside the one before, where those below find none. */
    { JOBS_THAT_LEAVE, 1, 0, 1, 2, 5, true, false, "--gpus=1 : --gpus=1" },
    { JOBS_THAT_LEAVE, 1, 1, 1, 1, 5, false, false, "--gpus=3 --cpus-per-task=2 --no-requeue" },
    { JOBS_THAT_LEAVE, 1, 1, 3, 1, 5, true, false, "--gpus=1 --cpus-per-task=2 --array=1-3" },
    { JOBS_THAT_LEAVE, 1, 1, 1, 1, 5, true, true,
      "--gpus=1 --cpus-per-task=2 --comment=sluice.dev/checkpoint-signal=USR1" },
    { JOBS_THAT_WAIT, 3, 1, 1, 1, 15, true, false, "--gpus=4" },
    { JOBS_THAT_WAIT, 1, 1, 1, 2, 10, true, false, "--gpus=1 : --gpus=1" }, /* on two nodes */
    { JOBS_THAT_WAIT, 3, 0, 1, 1, 20, true, false, "--gpus=4 --signal=B:USR1@60" },
    { JOBS_THAT_WAIT, 1, 0, 1, 1, 10, true, false, "--gpus=8" },
    { JOBS_THAT_WAIT, 1, 0, 3, 1, 10, true, false, "--gpus=2 --array=1-3" },
    { JOBS_THAT_WAIT, 2, 1, 1, 1, 10, true, false, "--nodes=2 --exclusive" },
    { JOBS_THAT_INSIST, 1, 1, 1, 1, 5, true, false, "--gpus=1" },
};

/* work FILE SECONDS: on its first start until FILE is there ("-": at once), and then SECONDS. */
static const char script[] = "#!/bin/sh\n"
                             "trap 'echo $SLURM_JOB_ID >>%s/jobs/saved' USR1\n"
                             "[ -n \"$SLURM_RESTART_COUNT\" ] || [ \"$1\" = - ] ||\n"
                             "    while [ ! -e \"%s/jobs/$1\" ]; do sleep 1; done\n"
                             "i=0\n"
                             "while [ $i -lt $2 ]; do sleep 1; i=$((i + 1)); done\n";

struct real_jobs {
    const struct real_server *server;
    struct map *kinds; /* number of an sbatch -> its row */
    char *script;
    bool are_few;
    int round;
    int records, count; /* submitted so far */
};

struct real_jobs *real_jobs_new(const struct real_server *server, bool are_few)
{
    struct real_jobs *jobs = mem_new(sizeof *jobs);
    owned(chars) char *chars = text_format(script, server->folder, server->folder);
    owned(chars) char *folder = text_format("%s/jobs", server->folder);

    *jobs = (struct real_jobs){ .server = server, .kinds = map_new(NULL), .are_few = are_few };
    jobs->script = test_folder_write(folder, "work", chars);
    assert_int_equal(chmod(jobs->script, 0755), 0);
    return jobs;
}

void real_jobs_free(struct real_jobs *jobs)
{
    if (!jobs)
        return;
    map_free(jobs->kinds);
    mem_free(jobs->script);
    mem_free(jobs);
}

void real_jobs_begin(struct real_jobs *jobs)
{
    jobs->round++;
}

/* NODE: where it must run; NULL: anywhere. */
static char *command_of(const struct real_jobs *jobs, const struct job_kind *kind, const char *node)
{
    /* options that each component has */
    owned(chars) char *common = text_format("--time=60 --chdir=/tmp --output=/dev/null%s%s",
                                            node ? " --nodelist=" : "", node ?: "");
    const char *split = strstr(kind->options, " : ");
    owned(chars) char *file = kind->part >= JOBS_THAT_WAIT ? mem_copy_chars("-")
                                                           : text_format("go-%d", jobs->round);

    return text_format("sbatch --parsable %s %.*s%s%s%s %s %s %d", common,
                       split ? (int)(split - kind->options) : (int)strlen(kind->options),
                       kind->options, split ? " : " : "", split ? common : "",
                       split ? split + 2 : "", jobs->script, file, kind->seconds);
}

static void submit(struct real_jobs *jobs, enum job_part part, const char *node)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct job_kind *kind = &kinds[i];
        int times = jobs->are_few ? kind->few : kind->times;

        for (int k = 0; kind->part == part && k < times; k++) {
            owned(chars) char *line = command_of(jobs, kind, node);
            owned(chars) char *said = real_server_run(jobs->server, line);
            size_t digits = strspn(said, "0123456789");

            if (digits == 0 || said[digits] != '\n')
                fail_msg("%s: %s", line, said);
            said[digits] = '\0';
            map_set(jobs->kinds, said, (void *)(uintptr_t)kind);
            jobs->count += kind->tasks;
            jobs->records += kind->tasks * kind->parts;
        }
    }
}

void real_jobs_submit(struct real_jobs *jobs, enum job_part part)
{
    submit(jobs, part, NULL);
}

void real_jobs_submit_on(struct real_jobs *jobs, const char *node)
{
    submit(jobs, JOBS_THAT_INSIST, node);
}

void real_jobs_release(const struct real_jobs *jobs)
{
    owned(chars) char *name = text_format("jobs/go-%d", jobs->round);

    mem_free(test_folder_write(jobs->server->folder, name, ""));
}

/* ---- looking ---- */

static int64_t number(const json_t *item, const char *key)
{
    const json_t *value = json_object_get(item, key);

    return json_is_object(value) ? json_int_or(value, "number", 0) : json_integer_value(value);
}

static const char *state_of(const json_t *job)
{
    const json_t *state = json_object_get(job, "job_state");

    return json_string_value(json_is_array(state) ? json_array_get(state, 0) : state) ?: "";
}

static json_t *all(const struct real_jobs *jobs)
{
    return real_server_list(jobs->server, "squeue --states=all --json", "jobs");
}

/* The row by which a record was submitted: its own, or that of its array or its leader. */
static const struct job_kind *kind_of(const struct real_jobs *jobs, const json_t *job)
{
    static const char *const keys[] = { "array_job_id", "het_job_id", "job_id" };

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        owned(chars) char *id = text_format("%" PRId64, number(job, keys[i]));
        const struct job_kind *kind = map_get(jobs->kinds, id);

        if (kind)
            return kind;
    }
    fail_msg("nobody submitted job %" PRId64, number(job, "job_id"));
    return NULL;
}

bool real_jobs_have_started(const struct real_jobs *jobs, enum job_part part)
{
    owned(json) json_t *list = all(jobs);
    int pending = 0;
    size_t i;
    json_t *job;

    json_array_foreach(list, i, job)
        pending += kind_of(jobs, job)->part == part && text_equal(state_of(job), "PENDING");
    return pending == 0;
}

bool real_jobs_have_ended(const struct real_jobs *jobs)
{
    owned(json) json_t *list = all(jobs);
    int ended = 0;
    size_t i;
    json_t *job;

    json_array_foreach(list, i, job)
        ended += text_equal(state_of(job), "COMPLETED") || text_equal(state_of(job), "CANCELLED") ||
                 text_equal(state_of(job), "PREEMPTED");
    return ended == jobs->records;
}

int real_jobs_check(const struct real_jobs *jobs, int *ret_requeued, int *ret_cancelled)
{
    owned(json) json_t *list = all(jobs);
    size_t i;
    json_t *job;

    *ret_requeued = *ret_cancelled = 0;
    assert_int_equal(json_array_size(list), jobs->records);
    json_array_foreach(list, i, job) {
        const struct job_kind *kind = kind_of(jobs, job);
        bool leaves = kind->part == JOBS_THAT_LEAVE;
        const char *wanted = leaves && !kind->is_kept ? "CANCELLED" : "COMPLETED";
        int restarts = leaves && kind->is_kept ? 1 : 0;

        if (!text_equal(state_of(job), wanted) || number(job, "restart_cnt") != restarts)
            fail_msg("job %" PRId64 " (%s) is %s, and was started again %" PRId64
                     " times; %s and %d are right",
                     number(job, "job_id"), kind->options, state_of(job),
                     number(job, "restart_cnt"), wanted, restarts);
        *ret_requeued += restarts;
        *ret_cancelled += leaves && !kind->is_kept;
    }
    return jobs->count;
}

void real_jobs_check_saved(const struct real_jobs *jobs)
{
    owned(chars) char *path = text_format("%s/jobs/saved", jobs->server->folder);
    owned(text) struct text *saved = test_file_read(path);
    const char *id;
    void *value;

    for (size_t at = 0; map_next(jobs->kinds, &at, &id, &value);) {
        owned(chars) char *line = text_format("%s\n", id);
        const char *found = strstr(saved->chars, line);

        if (!((const struct job_kind *)value)->is_asked)
            continue;
        if (!found || (found != saved->chars && found[-1] != '\n'))
            fail_msg("job %s was not asked to save its work: %s", id, saved->chars);
    }
}
