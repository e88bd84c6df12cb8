/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases: jobs.
 */
#include "clusters/slurm/slurm_script.h"
#include "tests/slurm/slurm_stage.h"

#include <stdlib.h>

static const char on_n1[] = "--nodelist=n1 --gpus=1 --time=20";

static char *running(struct stage *stage, const char *options)
{
    char *job = stage_submit(stage, SCRIPT_PLAIN, 600, options);

    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    return job;
}

static bool requeue(struct stage *stage, const char *job)
{
    const struct slurm_blanks blanks = { .job = job };

    return stage_ask(stage, SLURM_REQUEUE_JOB, &blanks);
}

void a_requeued_job_keeps_its_number(struct stage *stage)
{
    owned(chars) char *job = running(stage, on_n1);

    assert_int_equal(stage_job(stage, job).restarts, 0);
    if (!requeue(stage, job))
        fail_msg("%s", stage->err.text);
    stage_pass(stage, 1500);
    assert_int_equal(stage_job(stage, job).restarts, 1);
    assert_true(stage_job(stage, job).state != SLURM_JOB_RUNNING);
    stage_await_job(stage, job, SLURM_JOB_PENDING);
    assert_string_equal(stage_job(stage, job).nodes, "");
    assert_string_equal(stage_member(stage, job, "state_reason"), "BeginTime");
    stage_await_job(stage, job, SLURM_JOB_RUNNING); /* its credential's lifetime is over */
    assert_int_equal(stage_job(stage, job).restarts, 1);
}

void a_waiting_job_is_not_requeued(struct stage *stage)
{
    owned(chars) char *job = running(stage, on_n1);

    assert_true(requeue(stage, job));
    stage_await_job(stage, job, SLURM_JOB_PENDING);
    assert_false(requeue(stage, job));
    assert_int_equal(stage_run(stage, "scontrol requeue %s", job), 1);
    assert_true(stage_said(stage, "Job is pending execution"));
    assert_int_equal(stage_job(stage, job).restarts, 1);
}

void no_requeue_is_obeyed(struct stage *stage)
{
    owned(chars) char *job = running(stage, "--nodelist=n1 --gpus=1 --time=20 --no-requeue");

    assert_false(stage_job(stage, job).can_requeue);
    assert_false(requeue(stage, job));
    assert_int_equal(stage_run(stage, "scontrol requeue %s", job), 1);
    assert_true(stage_said(stage, "Requested operation is presently disabled"));
    assert_int_equal(stage_job(stage, job).state, SLURM_JOB_RUNNING);
}

void a_task_is_requeued_alone(struct stage *stage)
{
    owned(chars) char *array = stage_submit(stage, SCRIPT_PLAIN, 600,
                                            "--array=1-3 --nodelist=n1 --gpus=1 --time=20");
    owned(chars) char *first = text_format("%s_1", array);
    owned(chars) char *last = text_format("%s_3", array);

    stage_await_job(stage, first, SLURM_JOB_RUNNING);
    stage_await_job(stage, last, SLURM_JOB_RUNNING);
    if (!requeue(stage, last))
        fail_msg("%s", stage->err.text);
    stage_await_job(stage, last, SLURM_JOB_PENDING);
    assert_int_equal(stage_job(stage, last).restarts, 1);
    assert_int_equal(stage_job(stage, first).restarts, 0);
    assert_int_equal(stage_job(stage, first).state, SLURM_JOB_RUNNING);
}

/* This is why sluice names the task. */
void an_array_is_requeued_whole(struct stage *stage)
{
    owned(chars) char *array = stage_submit(stage, SCRIPT_PLAIN, 600,
                                            "--array=1-2 --nodelist=n1 --gpus=1 --time=20");
    owned(chars) char *first = text_format("%s_1", array);
    owned(chars) char *last = text_format("%s_2", array);

    stage_await_job(stage, first, SLURM_JOB_RUNNING);
    stage_await_job(stage, last, SLURM_JOB_RUNNING);
    assert_true(requeue(stage, array));
    stage_await_job(stage, first, SLURM_JOB_PENDING);
    stage_await_job(stage, last, SLURM_JOB_PENDING);
}

void a_heterogeneous_job_goes_as_one(struct stage *stage)
{
    owned(chars) char *leader = stage_submit_pair(stage);
    owned(chars) char *part = NULL;

    stage_await_job(stage, leader, SLURM_JOB_RUNNING);
    part = text_format("%lld", (long long)stage_job(stage, leader).id + 1);
    assert_int_equal(stage_job(stage, part).het_id, stage_job(stage, leader).id);
    assert_int_equal(stage_run(stage, "scontrol requeue %s", part), 1);
    assert_true(stage_said(stage, "Job not heterogeneous job leader"));
    if (!requeue(stage, leader))
        fail_msg("%s", stage->err.text);
    stage_await_job(stage, leader, SLURM_JOB_PENDING);
    stage_await_job(stage, part, SLURM_JOB_PENDING);
    assert_int_equal(stage_job(stage, part).restarts, 1);
}

void an_exclusive_job_leaves_both_nodes(struct stage *stage)
{
    owned(chars) char *job = running(stage, "--nodes=2 --exclusive --nodelist=n1,n2 --time=20");

    assert_string_equal(stage_job(stage, job).nodes, "n[1-2]");
    assert_int_equal(json_array_size(stage_job(stage, job).gres), 2);
    if (!requeue(stage, job))
        fail_msg("%s", stage->err.text);
    stage_await_job(stage, job, SLURM_JOB_PENDING);
    stage_await_node(stage, "n1", SLURM_NODE_IDLE, SLURM_NODE_BUSY | SLURM_NODE_COMPLETING);
    stage_await_node(stage, "n2", SLURM_NODE_IDLE, SLURM_NODE_BUSY | SLURM_NODE_COMPLETING);
}

void a_signal_reaches_the_script(struct stage *stage)
{
    owned(chars) char *array = stage_submit(stage, SCRIPT_PLAIN, 600,
                                            "--array=1-2 --nodelist=n1 --gpus=1 --time=20 "
                                            "--signal=B:USR1@60");
    owned(chars) char *first = text_format("%s_1", array);
    owned(chars) char *last = text_format("%s_2", array);
    const struct slurm_blanks blanks = {
        .node = "n1", .job = last, .signal = "USR1", .whom = "--batch"
    };
    const struct slurm_blanks other = {
        .node = "n2", .job = last, .signal = "USR1", .whom = "--batch"
    };

    stage_await_job(stage, first, SLURM_JOB_RUNNING);
    stage_await_job(stage, last, SLURM_JOB_RUNNING);
    stage_pass(stage, 2 * SECOND_MS);
    if (!stage_ask(stage, SLURM_SIGNAL_JOB, &blanks) ||
        !stage_ask(stage, SLURM_SIGNAL_JOB, &other)) /* it is not there, and not told */
        fail_msg("%s", stage->err.text);
    assert_int_equal(stage_signals(stage, last), 1);
    assert_int_equal(stage_signals(stage, first), 0);
    assert_int_equal(stage_job(stage, last).state, SLURM_JOB_RUNNING);
}

static int signals_by(struct stage *stage, const char *job, const char *node)
{
    const struct slurm_blanks blanks = {
        .node = node, .job = job, .signal = "USR1", .whom = "--batch"
    };

    if (!stage_ask(stage, SLURM_SIGNAL_JOB, &blanks)) /* also if it reaches nothing */
        fail_msg("%s", stage->err.text);
    return stage_signals(stage, job);
}

/* This is why sluice names the node of the batch script, and not the one that leaves. */
void a_leader_is_signalled_on_its_node(struct stage *stage)
{
    owned(chars) char *leader = stage_submit_pair(stage);
    owned(chars) char *wide = running(stage, "--nodes=2 --exclusive --nodelist=n3,n4 --time=20");

    stage_await_job(stage, leader, SLURM_JOB_RUNNING);
    stage_pass(stage, 2 * SECOND_MS);
    assert_string_equal(stage_job(stage, leader).host, "n1");
    assert_int_equal(signals_by(stage, leader, "n2"), 0);
    assert_int_equal(signals_by(stage, leader, "n1"), 1);
    assert_string_equal(stage_job(stage, wide).host, "n3");
    assert_int_equal(signals_by(stage, wide, "n4"), 1);
    assert_int_equal(signals_by(stage, wide, "n3"), 2);
    assert_int_equal(stage_job(stage, leader).state, SLURM_JOB_RUNNING);
}

/* 24.11 cancels the job: this is why sluice sends no signal by REST. */
void an_unknown_signal_is_no_signal(struct stage *stage)
{
    owned(chars) char *job = running(stage, on_n1);
    owned(chars) char *path = text_format("/job/%s?signal=NOPE", job);

    assert_int_equal(stage_run(stage, "scancel --batch --signal=NOPE %s", job), 1);
    assert_true(stage_said(stage, "Unknown job signal: NOPE"));
    assert_int_equal(stage_job(stage, job).state, SLURM_JOB_RUNNING);
    if (stage->release < 2411) {
        assert_int_equal(stage_rest(stage, HTTP_DELETE, path, NULL), 400);
        assert_int_equal(stage_job(stage, job).state, SLURM_JOB_RUNNING);
        return;
    }
    assert_int_equal(stage_rest(stage, HTTP_DELETE, path, NULL), 200);
    assert_int_equal(json_array_size(json_object_get(stage->body, "errors")), 1);
    stage_await_job(stage, job, SLURM_JOB_ENDED);
}

/* Without a limit scancel would go on for a minute, and the job may run elsewhere by then. */
void a_signal_does_not_follow_its_job(struct stage *stage)
{
    owned(chars) char *job = running(stage, on_n1);
    const struct slurm_blanks blanks = {
        .node = "n1", .job = job, .signal = "USR1", .whom = "--batch"
    };

    if (!requeue(stage, job))
        fail_msg("%s", stage->err.text);
    stage_await_job(stage, job, SLURM_JOB_PENDING);
    (void)stage_ask(stage, SLURM_SIGNAL_JOB, &blanks);
    assert_int_equal(stage_run(stage, "timeout 4 scancel --batch --signal=USR1 %s", job), 124);
    assert_int_equal(stage_job(stage, job).state, SLURM_JOB_PENDING);
    assert_int_equal(stage_signals(stage, job), 0);
}

void a_signal_needs_its_job(struct stage *stage)
{
    const struct slurm_blanks blanks = {
        .node = "n1", .job = "9999", .signal = "USR1", .whom = "--batch"
    };

    assert_false(stage_ask(stage, SLURM_SIGNAL_JOB, &blanks));
    assert_int_equal(stage->err.kind, ERROR_NOT_FOUND);
    if (stage->release < 2411)
        return;
    assert_int_equal(stage_rest(stage, HTTP_DELETE, "/job/9999", NULL), 200);
    assert_int_equal(json_array_size(json_object_get(stage->body, "errors")), 0);
    assert_int_equal(
        json_int_or(json_array_get(json_object_get(stage->body, "status"), 0), "error/code", 0),
        2017);
}

void a_cancelled_job_is_gone(struct stage *stage)
{
    owned(chars) char *job = running(stage, "--nodelist=n1 --gpus=1 --time=20 --no-requeue");
    const struct slurm_blanks blanks = { .job = job };

    if (!stage_ask(stage, SLURM_CANCEL_JOB, &blanks))
        fail_msg("%s", stage->err.text);
    stage_await_job(stage, job, SLURM_JOB_ENDED);
    assert_int_equal(stage_run(stage, "scancel 9999"), 0);
    assert_string_equal(stage->out->chars, "");
}

void a_stubborn_job_is_still_there(struct stage *stage)
{
    owned(chars) char *job = stage_submit(stage, SCRIPT_STUBBORN, 600, on_n1);

    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    stage_pass(stage, 2 * SECOND_MS);
    assert_true(requeue(stage, job));
    stage_pass(stage, 1500);
    assert_int_equal(stage_job(stage, job).state, SLURM_JOB_COMPLETING);
    assert_string_equal(stage_job(stage, job).nodes, "n1");
    assert_true(stage_node(stage, "n1").states & SLURM_NODE_COMPLETING);
    stage_await_job(stage, job, SLURM_JOB_PENDING);
}

void jobs_are_newer_than_states(struct stage *stage)
{
    owned(chars) char *job = running(stage, on_n1);

    assert_string_equal(stage_job(stage, job).nodes, "n1");
    assert_true(stage_node(stage, "n1").states & SLURM_NODE_BUSY);
    stage_await_node(stage, "n1", SLURM_NODE_BUSY, 0);
}

static struct slurm_signal signal_in(struct stage *stage, const char *job)
{
    const struct slurm_blanks blanks = { .job = job };

    if (!stage_ask(stage, SLURM_READ_SCRIPT, &blanks) || !slurm_script_is_one(stage->out->chars))
        fail_msg("%s%s", stage->err.text, stage->out->chars);
    return slurm_script_signal(stage->out->chars);
}

void a_script_is_read(struct stage *stage)
{
    const struct slurm_blanks missing = { .job = "9999" };
    owned(chars) char *plain = running(stage, on_n1);
    owned(chars) char *hidden = running(
        stage, "--array=1-2 --nodelist=n1 --gpus=1 --time=20 --signal=B:USR1@60");
    owned(chars) char *task = text_format("%s_1", hidden);
    owned(chars) char *shown = stage_submit_line(stage, "B:USR2@60");

    assert_string_equal(signal_in(stage, plain).name, "");
    assert_string_equal(signal_in(stage, task).name, "");
    assert_string_equal(signal_in(stage, shown).name, "USR2");
    assert_false(signal_in(stage, shown).is_for_steps);
    assert_true(stage_ask(stage, SLURM_READ_SCRIPT, &missing));
    assert_false(slurm_script_is_one(stage->out->chars));
}

void a_signal_reaches_the_steps(struct stage *stage)
{
    owned(chars) char *job = stage_submit_line(stage, "USR1@60");
    const struct slurm_blanks by_number = { .node = "n1", .job = job, .signal = "10" };

    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    stage_pass(stage, 4 * SECOND_MS);
    assert_true(signal_in(stage, job).is_for_steps);
    if (!stage_ask(stage, SLURM_SIGNAL_JOB, &by_number))
        fail_msg("%s", stage->err.text);
    assert_int_equal(stage_step_signals(stage, job), 1);
    assert_int_equal(stage_signals(stage, job), 0);
    assert_int_equal(stage_job(stage, job).state, SLURM_JOB_RUNNING);
}

static bool comment(struct stage *stage, const char *job, const char *words)
{
    const struct slurm_blanks blanks = { .job = job, .comment = words };

    return stage_ask(stage, SLURM_COMMENT_JOB, &blanks);
}

void an_admin_comment_is_shown(struct stage *stage)
{
    static const char words[] = "sluice: node n1 leaves at 2026-11-17T12:00:00Z to pool p (t-1)";
    owned(chars) char *job = running(stage, on_n1);

    assert_string_equal(stage_job(stage, job).admin_comment ?: "", "");
    if (!comment(stage, job, words))
        fail_msg("%s", stage->err.text);
    assert_string_equal(stage_job(stage, job).admin_comment ?: "", words);
    assert_true(requeue(stage, job));
    stage_await_job(stage, job, SLURM_JOB_PENDING);
    assert_string_equal(stage_job(stage, job).admin_comment ?: "", words);
    if (!comment(stage, job, ""))
        fail_msg("%s", stage->err.text);
    assert_string_equal(stage_job(stage, job).admin_comment ?: "", "");
    assert_false(comment(stage, "999999", words));
}

static bool is_listed(struct stage *stage, const char *job)
{
    const struct slurm_blanks none = { 0 };
    owned(json) json_t *body = NULL;
    const json_t *item;
    size_t i;

    if (stage_ask_command(stage, SLURM_LIST_JOBS, &none))
        body = json_parse_foreign(stage->out->chars, stage->out->length, "the list", &stage->err);
    if (!body)
        fail_msg("%s", stage->err.text);
    json_array_foreach(json_object_get(body, "jobs"), i, item)
        if (json_int_or(item, "job_id", 0) == strtoll(job, NULL, 10))
            return true;
    return false;
}

void the_list_has_what_holds_nodes(struct stage *stage)
{
    owned(chars) char *runs = running(stage, on_n1);
    owned(chars) char *ends = stage_submit(stage, SCRIPT_STUBBORN, 600, on_n1);
    owned(chars) char *waits = stage_submit(stage, SCRIPT_PLAIN, 600,
                                            "--nodelist=n1 --exclusive --time=20");

    stage_await_job(stage, ends, SLURM_JOB_RUNNING);
    stage_pass(stage, 2 * SECOND_MS);
    assert_true(is_listed(stage, runs));
    assert_true(is_listed(stage, ends));
    assert_int_equal(is_listed(stage, waits), stage->release < 2411);
    assert_true(requeue(stage, ends));
    stage_pass(stage, 1500);
    assert_true(is_listed(stage, ends));
    assert_int_equal(stage_job(stage, ends).state, SLURM_JOB_COMPLETING);
    if (stage->simulator)
        return;
    stage_must(stage, "scontrol suspend %s", runs);
    assert_true(is_listed(stage, runs));
    stage_must(stage, "scontrol resume %s", runs);
}
