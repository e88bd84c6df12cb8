/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The stage: nodes and jobs as the product reads them, and waiting for them.
 */
#include "tests/slurm/slurm_stage.h"
#include "tests/support/folder.h"
#include "tools/simulator/model/simulator.h"
#include "tools/simulator/slurm/ctld_peek.h"

#include <stdlib.h>
#include <unistd.h>

enum { TRIES = 240, LOOK_MS = 500 };

/* ---- nodes ---- */

static bool find_node(struct stage *stage, const char *name, struct slurm_node *ret)
{
    size_t i;
    json_t *item;

    if (!stage_ask(stage, SLURM_LIST_NODES, NULL))
        fail_msg("%s", stage->err.text);
    json_array_foreach(stage->list, i, item)
        if (text_equal(json_text_or(item, "name", ""), name)) {
            if (slurm_read_node(item, ret, &stage->err) < 0)
                fail_msg("%s", stage->err.text);
            return true;
        }
    return false;
}

struct slurm_node stage_node(struct stage *stage, const char *name)
{
    struct slurm_node node;

    if (!find_node(stage, name, &node))
        fail_msg("node %s is not there", name);
    json_decref(node.features);
    node.features = NULL;
    return node;
}

bool stage_has_node(struct stage *stage, const char *name)
{
    struct slurm_node node;
    bool is = find_node(stage, name, &node);

    if (is)
        slurm_node_clear(&node);
    return is;
}

void stage_await_node(struct stage *stage, const char *name, unsigned set, unsigned unset)
{
    struct slurm_node node = { 0 };

    for (int i = 0; i < TRIES; i++) {
        node = stage_node(stage, name);
        if ((node.states & set) == set && !(node.states & unset))
            return;
        stage_pass(stage, LOOK_MS);
    }
    fail_msg("node %s stays %s", name, node.state_words);
}

/* ---- jobs ---- */

static json_t *find_job(struct stage *stage, const char *id)
{
    size_t i;
    json_t *item;

    if (!stage_ask(stage, SLURM_LIST_JOBS, NULL))
        fail_msg("%s", stage->err.text);
    json_array_foreach(stage->list, i, item) {
        struct slurm_job job;
        char printed[64];

        if (slurm_read_job(item, &job, &stage->err) < 0)
            fail_msg("%s", stage->err.text);
        text_print(printed, sizeof printed, "%lld", (long long)job.id);
        if (text_equal(printed, id))
            return item;
        slurm_job_print(&job, printed, sizeof printed);
        if (job.array_id && text_equal(printed, id))
            return item;
    }
    return NULL;
}

struct slurm_job stage_job(struct stage *stage, const char *id)
{
    const json_t *item = find_job(stage, id);
    struct slurm_job job;

    if (!item)
        fail_msg("job %s is not there", id);
    if (slurm_read_job(item, &job, &stage->err) < 0)
        fail_msg("%s", stage->err.text);
    return job;
}

const char *stage_member(struct stage *stage, const char *id, const char *key)
{
    const json_t *item = find_job(stage, id);

    return item ? json_text_or(item, key, "") : "";
}

void stage_await_job(struct stage *stage, const char *id, enum slurm_job_state state)
{
    struct slurm_job job = { 0 };

    for (int i = 0; i < TRIES; i++) {
        if (find_job(stage, id)) /* tasks that wait are one record without a number */
            job = stage_job(stage, id);
        if (job.id != 0 && job.state == state)
            return;
        stage_pass(stage, LOOK_MS);
    }
    fail_msg("job %s stays in state %d", id, (int)job.state);
}

static char *number_in(const struct stage *stage)
{
    const char *at = stage->out->chars + strcspn(stage->out->chars, "0123456789");

    return text_format("%.*s", (int)strspn(at, "0123456789"), at);
}

char *stage_submit(struct stage *stage, enum script script, int seconds, const char *options)
{
    if (stage->simulator) {
        stage_must(stage, "sbatch --wrap='%s %d' %s",
                   script == SCRIPT_STUBBORN ? "stubborn" : "sleep", seconds, options);
        return number_in(stage);
    }
    owned(chars) char *trap = script == SCRIPT_STUBBORN
                                  ? mem_copy_chars("trap \"\" TERM")
                                  : text_format("trap \"echo x >>%s/jobs/usr1.$SLURM_JOB_ID\" USR1",
                                                stage->choice.folder);

    stage_must(
        stage,
        "sbatch --parsable --chdir=/tmp --output=/dev/null %s --wrap='%s; i=0; while [ $i -lt "
        "%d ]; do sleep 1; i=$((i+1)); done'",
        options, trap, seconds);
    return number_in(stage);
}

char *stage_submit_pair(struct stage *stage)
{
    if (stage->simulator) {
        stage_must(stage, "sbatch --wrap='sleep 600' --components=2 --nodelist=n1,n2 --gpus=1 "
                          "--time=20");
        return number_in(stage);
    }
    stage_must(stage,
               "printf '#!/bin/sh\\ntrap \"echo x >>%s/jobs/usr1.$SLURM_JOB_ID\" USR1\\ni=0\\n"
               "while [ $i -lt 600 ]; do sleep 1; i=$((i+1)); done\\n' >%s/jobs/pair; "
               "sbatch --parsable --chdir=/tmp --output=/dev/null --nodelist=n1 --gpus=1 --time=20 "
               ": --nodelist=n2 --gpus=1 --time=20 %s/jobs/pair",
               stage->choice.folder, stage->choice.folder, stage->choice.folder);
    return number_in(stage);
}

char *stage_submit_line(struct stage *stage, const char *line)
{
    if (stage->simulator) {
        stage_must(stage, "sbatch --wrap='sleep 600' --line=%s --nodelist=n1 --gpus=1 --time=20",
                   line);
        return number_in(stage);
    }
    stage_must(stage,
               "printf '#!/bin/sh\\n#SBATCH --signal=%s\\nsrun sh -c '\\''trap \"echo x "
               ">>%s/jobs/step.$SLURM_JOB_ID\" USR1; i=0; while [ $i -lt 600 ]; do sleep 1; "
               "i=$((i+1)); done'\\''\\n' >%s/jobs/line; sbatch --parsable --chdir=/tmp "
               "--output=/dev/null --nodelist=n1 --gpus=1 --time=20 %s/jobs/line",
               line, stage->choice.folder, stage->choice.folder, stage->choice.folder);
    return number_in(stage);
}

/* A line of two characters for each. */
static int lines_of(struct stage *stage, const char *name, int64_t job)
{
    owned(chars) char *path = text_format("%s/jobs/%s.%lld", stage->choice.folder, name,
                                          (long long)job);

    stage_pass(stage, 2500);
    if (access(path, F_OK) != 0)
        return 0;

    owned(text) struct text *lines = test_file_read(path);

    return (int)lines->length / 2;
}

int stage_signals(struct stage *stage, const char *id)
{
    struct slurm_job job = stage_job(stage, id);

    return stage->simulator ? sim_slurm_signals(stage->simulator, "lab", (int)job.id)
                            : lines_of(stage, "usr1", job.id);
}

int stage_step_signals(struct stage *stage, const char *id)
{
    struct slurm_job job = stage_job(stage, id);

    return stage->simulator ? sim_slurm_step_signals(stage->simulator, "lab", (int)job.id)
                            : lines_of(stage, "step", job.id);
}

/* ---- reservations ---- */

bool stage_has_reservation(struct stage *stage, const char *name, struct slurm_reservation *ret)
{
    size_t i;
    json_t *item;

    if (!stage_ask(stage, SLURM_LIST_RESERVATIONS, NULL))
        fail_msg("%s", stage->err.text);
    json_array_foreach(stage->list, i, item) {
        if (slurm_read_reservation(item, ret, &stage->err) < 0)
            fail_msg("%s", stage->err.text);
        if (text_equal(ret->name, name))
            return true;
    }
    return false;
}

/* ---- slurmd and slurmctld ---- */

/* tests/slurm/server WHAT FOLDER MORE */
static void control(struct stage *stage, const char *what, const char *more)
{
    owned(chars) char *line = text_format("%s/tests/slurm/server %s '%s' %s", SLUICE_SOURCE, what,
                                          stage->choice.folder, more);

    assert_int_equal(system(line), 0);
}

void stage_stop_slurmd(struct stage *stage, const char *node)
{
    if (stage->simulator)
        sim_slurm_slurmd(stage->simulator, "lab", node, false);
    else
        control(stage, "leave", node);
}

void stage_start_slurmd(struct stage *stage, const char *node)
{
    owned(chars) char *number = text_format("%s 12%s", node, node + 1);

    if (stage->simulator)
        sim_slurm_slurmd(stage->simulator, "lab", node, true);
    else
        control(stage, node[0] == 'd' ? "join" : "again", node[0] == 'd' ? number : node);
}

void stage_stop_ctld(struct stage *stage)
{
    if (stage->simulator)
        simulator_slurm_restart(stage->simulator, "lab", HOUR_MS);
    else
        control(stage, "ctld", "stop");
}

void stage_start_ctld(struct stage *stage)
{
    if (stage->simulator)
        simulator_slurm_restart(stage->simulator, "lab", SECOND_MS);
    else
        control(stage, "ctld", "start");
    for (int i = 0; i < TRIES; i++) {
        stage_pass(stage, SECOND_MS);
        if (stage_run(stage, "scontrol ping") == 0)
            break;
    }
    stage_pass(stage, 3 * SECOND_MS);
    slurm_client_forget(stage->client);
}
