/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases: slurmrestd and slurmctld.
 */
#include "tests/slurm/slurm_stage.h"
#include "tests/support/folder.h"

void the_release_is_told(struct stage *stage)
{
    stage_must(stage, "scontrol --version");
    assert_int_equal(slurm_read_release(stage->out->chars), stage->release);
    assert_int_equal(stage_rest(stage, HTTP_GET, "/ping", NULL), 200);
    assert_true(text_starts_with(
        json_text_or(stage->body,
                     stage->release < 2411 ? "meta/Slurm/release" : "meta/slurm/release", ""),
        stage->choice.release));
}

void the_description_has_what_is_asked(struct stage *stage)
{
    if (!stage_ask(stage, SLURM_LIST_NODES, NULL))
        fail_msg("%s", stage->err.text);
    assert_true(slurm_client_version(stage->client, SLURM_LIST_NODES) > 0);
    assert_true(slurm_client_version(stage->client, SLURM_LIST_JOBS) > 0);
    assert_int_equal(slurm_client_version(stage->client, SLURM_CHANGE_NODE) > 0,
                     stage->release >= 2411);
    assert_int_equal(slurm_client_version(stage->client, SLURM_CREATE_RESERVATION), 0);
    assert_int_equal(slurm_client_version(stage->client, SLURM_REQUEUE_JOB), 0);
}

void no_token_is_refused(struct stage *stage)
{
    assert_int_equal(stage_rest_as(stage, NULL, "/nodes"), 401);
    assert_string_equal(stage->out->chars, "Authentication failure");
}

/* The product itself, which knows by now what slurmrestd can do. */
static void ask_with_a_bad_token(struct stage *stage)
{
    char *good = stage->access.token;
    bool is_read;

    if (!stage_ask(stage, SLURM_LIST_NODES, NULL))
        fail_msg("%s", stage->err.text);
    stage->access.token = test_folder_write(stage->folder, "bad", "bad");
    is_read = stage_ask(stage, SLURM_LIST_NODES, NULL);
    mem_free(stage->access.token);
    stage->access.token = good;
    assert_false(is_read);
}

void a_bad_token_is_no_empty_list(struct stage *stage)
{
    stage_rest_as(stage, "bad", "/nodes");
    assert_true(stage->status != 200 ||
                json_array_size(json_object_get(stage->body, "errors")) > 0 ||
                !json_object_get(stage->body, "nodes"));
    ask_with_a_bad_token(stage);
    assert_int_equal(stage->err.kind, stage->release < 2411 ? ERROR_TRANSIENT : ERROR_DENIED);
}

void an_unknown_path_is_refused(struct stage *stage)
{
    assert_int_equal(stage_rest(stage, HTTP_GET, "/nope", NULL), 404);
    stage_rest(stage, HTTP_POST, "/node/n1", "{\"comment\": \"x\"}");
    assert_int_equal(stage->status, stage->release < 2411 ? 405 : 200);
}

void a_node_that_is_not_there_is_told_apart(struct stage *stage)
{
    stage_rest(stage, HTTP_GET, "/node/nope", NULL);
    assert_int_equal(stage->status, stage->release < 2411 ? 500 : 200);
    assert_int_equal(json_array_size(json_object_get(stage->body, "errors")), 1);
    assert_int_equal(json_object_get(stage->body, "nodes") != NULL, stage->release < 2411);
    stage_run(stage, "scontrol show node nope");
    assert_int_equal(stage->status, 1);
    assert_true(stage_said(stage, "Node nope not found"));
}

void a_job_that_is_not_there_is_told_apart(struct stage *stage)
{
    stage_rest(stage, HTTP_GET, "/job/9999", NULL);
    assert_int_equal(stage->status, stage->release < 2411 ? 500 : 404);
    assert_int_equal(
        json_int_or(json_array_get(json_object_get(stage->body, "errors"), 0), "error_number", 0),
        2017);
}

void a_restart_keeps_drains_and_jobs(struct stage *stage)
{
    owned(chars) char *job = stage_submit(stage, SCRIPT_PLAIN, 900,
                                          "--nodelist=n2 --gpus=1 --time=20");
    struct slurm_reservation one;

    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    stage_must(stage, "scontrol update NodeName=n1 State=DRAIN Reason='fan 3 is loud'");
    stage_must(stage,
               "scontrol create reservation ReservationName=keep Nodes=n1 StartTime=now+3600 "
               "Duration=60 Users=root Flags=MAINT,IGNORE_JOBS");
    stage_stop_ctld(stage);
    stage_start_ctld(stage);
    stage_await_node(stage, "n1", SLURM_NODE_DRAIN | SLURM_NODE_IDLE, SLURM_NODE_SILENT);
    assert_string_equal(stage_node(stage, "n1").reason, "fan 3 is loud");
    assert_int_equal(stage_job(stage, job).state, SLURM_JOB_RUNNING);
    assert_int_equal(stage_job(stage, job).restarts, 0);
    assert_true(stage_has_reservation(stage, "keep", &one));
}

void no_server_is_no_empty_list(struct stage *stage)
{
    stage_stop_ctld(stage);
    assert_false(stage_ask(stage, SLURM_LIST_NODES, NULL));
    assert_false(stage_ask(stage, SLURM_LIST_JOBS, NULL));
    assert_false(stage_ask(stage, SLURM_LIST_RESERVATIONS, NULL));
    stage_run(stage, "squeue --json");
    assert_int_equal(stage->status == 0, stage->release < 2411);
    stage_start_ctld(stage);
    for (int i = 0; i < 30 && !stage_ask(stage, SLURM_LIST_NODES, NULL); i++)
        stage_pass(stage, SECOND_MS);
    assert_int_equal(json_array_size(stage->list) >= 4, true);
}

/* There is no other way beside the socket: nothing goes by a command if slurmrestd does not do it.
 */
void a_socket_takes_tokens(struct stage *stage)
{
    const struct slurm_blanks leaves = { .node = "n1", .state = "DRAIN", .reason = "leaves" };
    const struct slurm_blanks stays = { .node = "n1", .state = "RESUME" };
    owned(chars) char *job = stage_submit(stage, SCRIPT_PLAIN, 600,
                                          "--nodelist=n2 --gpus=1 --time=20");

    stage_use_socket(stage, "rest/tokens");
    assert_int_equal(stage_rest_as(stage, NULL, "/nodes"), 401);
    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    assert_string_equal(stage_job(stage, job).nodes, "n2");
    assert_int_equal(stage_node(stage, "n1").states, SLURM_NODE_IDLE);
    if (stage->release < 2411) {
        assert_false(stage_ask(stage, SLURM_CHANGE_NODE, &leaves));
        assert_int_equal(stage->err.kind, ERROR_INVALID);
        return;
    }
    if (!stage_ask(stage, SLURM_CHANGE_NODE, &leaves))
        fail_msg("%s", stage->err.text);
    stage_await_node(stage, "n1", SLURM_NODE_DRAIN | SLURM_NODE_IDLE, 0);
    assert_string_equal(stage_node(stage, "n1").reason, "leaves");
    if (!stage_ask(stage, SLURM_CHANGE_NODE, &stays))
        fail_msg("%s", stage->err.text);
    stage_await_node(stage, "n1", SLURM_NODE_IDLE, SLURM_NODE_DRAIN | SLURM_NODE_SILENT);
}

void a_socket_knows_its_caller(struct stage *stage)
{
    const struct slurm_blanks blanks = { .node = "n1", .state = "DRAIN", .reason = "leaves" };
    owned(chars) char *job = stage_submit(stage, SCRIPT_PLAIN, 600,
                                          "--nodelist=n2 --gpus=1 --time=20");

    stage_use_socket(stage, "rest/local");
    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    assert_int_equal(stage_node(stage, "n1").states, SLURM_NODE_IDLE);
    assert_int_equal(stage_rest_as(stage, NULL, "/nodes"), 401); /* with a name */
    assert_int_equal(stage_rest_as(stage, "bad", "/nodes"), 401);
    assert_string_equal(stage->out->chars, "Authentication failure");
    assert_false(stage_ask(stage, SLURM_CHANGE_NODE, &blanks));
    assert_int_equal(stage->err.kind, stage->release < 2411 ? ERROR_INVALID : ERROR_DENIED);
    assert_false(stage_node(stage, "n1").states & SLURM_NODE_DRAIN);
}

/* 22.05 has no request that sluice would send. */
void a_cancel_needs_rights(struct stage *stage)
{
    owned(chars) char *job = stage_submit(stage, SCRIPT_PLAIN, 600,
                                          "--nodelist=n2 --gpus=1 --time=20");
    const struct slurm_blanks blanks = { .job = job };

    stage_use_socket(stage, "rest/local");
    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    assert_false(stage_ask(stage, SLURM_CANCEL_JOB, &blanks));
    assert_int_equal(stage->err.kind, stage->release < 2411 ? ERROR_INVALID : ERROR_TRANSIENT);
    if (stage->release < 2411) {
        assert_int_equal(stage_job(stage, job).state, SLURM_JOB_RUNNING);
        return;
    }
    assert_false(stage_ask(stage, SLURM_LIST_JOBS, NULL));
    assert_false(stage_ask(stage, SLURM_LIST_NODES, NULL));
    stage_stop_ctld(stage); /* it does not end by itself, and may forget that the job runs */
    stage_start_ctld(stage);
    stage_await_node(stage, "n2", 0, SLURM_NODE_SILENT | SLURM_NODE_DOWN);
}
