/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases: nodes and their states.
 */
#include "tests/slurm/slurm_stage.h"

#define DRAINED SLURM_NODE_DRAIN

static void drain(struct stage *stage, const char *node, const char *reason)
{
    const struct slurm_blanks blanks = { .node = node, .state = "DRAIN", .reason = reason };

    if (!stage_ask(stage, SLURM_CHANGE_NODE, &blanks))
        fail_msg("%s", stage->err.text);
}

static void undrain(struct stage *stage, const char *node)
{
    const struct slurm_blanks blanks = { .node = node, .state = "UNDRAIN" };

    if (!stage_ask(stage, SLURM_CHANGE_NODE, &blanks))
        fail_msg("%s", stage->err.text);
}

void nodes_are_read(struct stage *stage)
{
    for (int i = 1; i <= 4; i++) {
        char name[8];

        text_print(name, sizeof name, "n%d", i);
        struct slurm_node node = stage_node(stage, name);
        owned(json) json_t *gpus = slurm_read_gpus(node.gres);

        assert_int_equal(node.states & (SLURM_NODE_IDLE | SLURM_NODE_DRAIN | SLURM_NODE_DYNAMIC),
                         SLURM_NODE_IDLE);
        assert_int_equal(json_object_size(gpus), 1);
        assert_string_equal(json_string_value(json_object_iter_value(json_object_iter(gpus))), "8");
        assert_true(node.slurmd_start_s > 0);
    }
}

void a_drain_has_reason_and_user(struct stage *stage)
{
    drain(stage, "n1", "sluice-leaving t-1: it's \"so\" it is");
    struct slurm_node node = stage_node(stage, "n1");

    assert_true(node.states & DRAINED);
    assert_string_equal(node.reason, "sluice-leaving t-1: it's \"so\" it is");
    stage_must(stage, "scontrol -o show node n1");
    assert_true(stage_said(stage, "Reason=sluice-leaving t-1: it's \"so\" it is [root@"));
}

void a_drain_needs_a_reason(struct stage *stage)
{
    assert_int_equal(stage_run(stage, "scontrol update NodeName=n1 State=DRAIN"), 1);
    assert_true(stage_said(stage, "You must specify a reason when DOWNING or DRAINING a node"));
    assert_false(stage_node(stage, "n1").states & DRAINED);
    if (stage->release < 2411)
        return;
    /* By REST it is done. */
    drain(stage, "n1", "first");
    assert_int_equal(stage_rest(stage, HTTP_POST, "/node/n1", "{\"state\":[\"DRAIN\"]}"), 200);
    assert_string_equal(stage_node(stage, "n1").reason, "first");
}

void a_drained_node_keeps_its_job(struct stage *stage)
{
    owned(chars) char *job = stage_submit(stage, SCRIPT_PLAIN, 600,
                                          "--nodelist=n1 --gpus=1 --time=20");

    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    drain(stage, "n1", "leaves");
    stage_pass(stage, 5 * SECOND_MS);
    struct slurm_node node = stage_node(stage, "n1");

    assert_int_equal(node.states & (DRAINED | SLURM_NODE_BUSY), DRAINED | SLURM_NODE_BUSY);
    assert_int_equal(stage_job(stage, job).state, SLURM_JOB_RUNNING);
}

void a_drained_node_gets_no_job(struct stage *stage)
{
    owned(chars) char *job = NULL;

    drain(stage, "n1", "leaves");
    job = stage_submit(stage, SCRIPT_PLAIN, 600, "--nodelist=n1 --gpus=1 --time=20");
    stage_pass(stage, 10 * SECOND_MS);
    assert_int_equal(stage_job(stage, job).state, SLURM_JOB_PENDING);
}

void a_second_reason_replaces_the_first(struct stage *stage)
{
    stage_must(stage, "scontrol update NodeName=n1 State=DRAIN Reason='a person: fan 3'");
    assert_string_equal(stage_node(stage, "n1").reason, "a person: fan 3");
    drain(stage, "n1", "sluice-leaving t-2");
    assert_string_equal(stage_node(stage, "n1").reason, "sluice-leaving t-2");
}

void an_undrain_lets_it_serve(struct stage *stage)
{
    owned(chars) char *job = NULL;

    drain(stage, "n1", "leaves");
    undrain(stage, "n1");
    stage_await_node(stage, "n1", SLURM_NODE_IDLE, DRAINED | SLURM_NODE_SILENT);
    assert_string_equal(stage_node(stage, "n1").reason, stage->release < 2411 ? "" : "leaves");
    job = stage_submit(stage, SCRIPT_PLAIN, 600, "--nodelist=n1 --gpus=1 --time=20");
    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    assert_string_equal(stage_node(stage, "n1").reason, "");
}

void an_idle_node_is_not_resumed(struct stage *stage)
{
    const struct slurm_blanks blanks = { .node = "n1", .state = "RESUME" };

    assert_false(stage_ask(stage, SLURM_CHANGE_NODE, &blanks));
    assert_int_equal(stage_run(stage, "scontrol update NodeName=n1 State=RESUME"), 1);
    assert_true(stage_said(stage, "Invalid node state specified"));
}

void an_unknown_node_is_not_drained(struct stage *stage)
{
    const struct slurm_blanks blanks = { .node = "nope", .state = "DRAIN", .reason = "x" };

    assert_false(stage_ask(stage, SLURM_CHANGE_NODE, &blanks));
    assert_int_equal(stage->err.kind, ERROR_NOT_FOUND);
    assert_false(stage_ask_command(stage, SLURM_CHANGE_NODE, &blanks));
    assert_int_equal(stage->err.kind, ERROR_NOT_FOUND);
}

void future_does_not_last(struct stage *stage)
{
    drain(stage, "n1", "leaves");
    stage_must(stage, "scontrol update NodeName=n1 State=FUTURE");
    assert_false(stage_has_node(stage, "n1"));
    stage_must(stage, "scontrol reconfigure");
    stage_pass(stage, 6 * SECOND_MS);
    slurm_client_forget(stage->client);
    stage_await_node(stage, "n1", SLURM_NODE_IDLE, SLURM_NODE_SILENT);
    assert_string_equal(stage_node(stage, "n1").reason, stage->release < 2411 ? "" : "leaves");
}

void a_busy_node_is_not_future(struct stage *stage)
{
    owned(chars) char *job = stage_submit(stage, SCRIPT_PLAIN, 600,
                                          "--nodelist=n1 --gpus=1 --time=20");

    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    assert_int_equal(stage_run(stage, "scontrol update NodeName=n1 State=FUTURE"), 1);
    assert_true(stage_has_node(stage, "n1"));
}

void power_needs_power_saving(struct stage *stage)
{
    assert_int_equal(stage_run(stage, "scontrol update NodeName=n1 State=POWER_DOWN"), 1);
    assert_int_equal(stage_run(stage, "scontrol update NodeName=n1 State=POWER_UP"), 1);
    assert_true(stage_said(stage, "Invalid node state specified"));
}

/* This is why sluice never sets it. */
void down_ends_the_jobs(struct stage *stage)
{
    owned(chars) char *kept = stage_submit(stage, SCRIPT_PLAIN, 600,
                                           "--nodelist=n1 --gpus=1 --time=20");
    owned(chars) char *lost = stage_submit(stage, SCRIPT_PLAIN, 600,
                                           "--nodelist=n1 --gpus=1 --time=20 --no-requeue");

    stage_await_job(stage, kept, SLURM_JOB_RUNNING);
    stage_await_job(stage, lost, SLURM_JOB_RUNNING);
    stage_must(stage, "scontrol update NodeName=n1 State=DOWN Reason=x");
    stage_await_job(stage, lost, SLURM_JOB_ENDED);
    assert_int_equal(stage_job(stage, kept).restarts, 1);
    stage_await_node(stage, "n1", 0, SLURM_NODE_DOWN | SLURM_NODE_SILENT); /* slurmd is there */
}

#define GONE (SLURM_NODE_DOWN | SLURM_NODE_SILENT)

/* Of 24.11 a reason with slurmctld's own behind it. */
static void expect_reason(struct stage *stage, const char *node, const char *old,
                          const char *of_2411)
{
    stage_await_node(stage, node, GONE, SLURM_NODE_IDLE);
    assert_string_equal(stage_node(stage, node).reason, stage->release < 2411 ? old : of_2411);
}

/* A job takes away what 24.11 keeps of earlier cases. */
static void forget_reason(struct stage *stage, const char *node)
{
    owned(chars) char *options = text_format("--nodelist=%s --gpus=1 --time=20", node);
    owned(chars) char *job = stage_submit(stage, SCRIPT_PLAIN, 600, options);

    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    stage_must(stage, "scancel %s", job);
    stage_await_node(stage, node, SLURM_NODE_IDLE, SLURM_NODE_COMPLETING);
    assert_string_equal(stage_node(stage, node).reason, "");
}

/* n1 has no reason, n2 one that outlived its drain, and n3 drains. */
void a_dead_slurmd_has_a_reason(struct stage *stage)
{
    static const char *const nodes[] = { "n1", "n2", "n3" };

    forget_reason(stage, "n1");
    drain(stage, "n2", "fan 3");
    undrain(stage, "n2");
    stage_await_node(stage, "n2", SLURM_NODE_IDLE, DRAINED | SLURM_NODE_SILENT);
    drain(stage, "n3", "fan 3");
    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        stage_stop_slurmd(stage, nodes[i]);
    expect_reason(stage, "n1", "Not responding", "Not responding");
    expect_reason(stage, "n2", "Not responding", "fan 3 : Not responding");
    expect_reason(stage, "n3", "fan 3", "fan 3 : Not responding");
    assert_false(stage_node(stage, "n2").states & DRAINED);
    assert_true(stage_node(stage, "n3").states & DRAINED);
    for (size_t i = 0; i < COUNT_OF(nodes); i++) {
        stage_start_slurmd(stage, nodes[i]);
        stage_await_node(stage, nodes[i], SLURM_NODE_IDLE, GONE);
    }
    assert_string_equal(stage_node(stage, "n1").reason,
                        stage->release < 2411 ? "" : "Not responding");
    assert_string_equal(stage_node(stage, "n3").reason,
                        stage->release < 2411 ? "fan 3" : "fan 3 : Not responding");
}

/* With slurmd it would serve again at once: ReturnToService is 2. */
void a_person_sets_it_down(struct stage *stage)
{
    stage_stop_slurmd(stage, "n1");
    stage_await_node(stage, "n1", GONE, 0);
    stage_must(stage, "scontrol update NodeName=n1 State=DOWN Reason='bad PSU (anna)'");
    struct slurm_node node = stage_node(stage, "n1");

    assert_int_equal(node.states & (GONE | DRAINED | SLURM_NODE_IDLE), GONE);
    assert_string_equal(node.reason, "bad PSU (anna)");
    assert_string_equal(node.reason_by, stage->simulator ? "person" : "root");
    drain(stage, "n1", "fan 3");
    node = stage_node(stage, "n1");
    assert_int_equal(node.states & (GONE | DRAINED), GONE | DRAINED);
    assert_string_equal(node.reason, "fan 3");
    assert_string_equal(node.reason_by, "root");
    undrain(stage, "n1");
    node = stage_node(stage, "n1");
    assert_int_equal(node.states & (SLURM_NODE_DOWN | DRAINED), SLURM_NODE_DOWN);
    assert_string_equal(node.reason, "fan 3");
    stage_start_slurmd(stage, "n1");
    stage_await_node(stage, "n1", SLURM_NODE_IDLE, GONE);
}

/* slurmctld restarts meanwhile. */
void a_drained_record_waits_for_its_slurmd(struct stage *stage)
{
    stage_run(stage, "scontrol delete NodeName=d6"); /* of a case that failed */
    stage_start_slurmd(stage, "d6");
    stage_pass(stage, 5 * SECOND_MS);
    stage_await_node(stage, "d6", SLURM_NODE_IDLE | SLURM_NODE_DYNAMIC, GONE);
    stage_must(stage, "scontrol update NodeName=d6 State=DRAIN Reason='fan 3' Comment='kept'");
    stage_stop_slurmd(stage, "d6");
    expect_reason(stage, "d6", "fan 3", "fan 3 : Not responding");
    stage_stop_ctld(stage);
    stage_start_ctld(stage);
    slurm_client_forget(stage->client);
    stage_await_node(stage, "d6", SLURM_NODE_DOWN | DRAINED | SLURM_NODE_DYNAMIC, 0);
    stage_start_slurmd(stage, "d6");
    stage_await_node(stage, "d6", SLURM_NODE_IDLE | DRAINED, GONE);
    assert_string_equal(stage_node(stage, "d6").reason,
                        stage->release < 2411 ? "fan 3" : "fan 3 : Not responding");
    assert_string_equal(stage_node(stage, "d6").comment, "kept");
    stage_stop_slurmd(stage, "d6");
    stage_must(stage, "scontrol delete NodeName=d6");
}

void a_dynamic_node_is_deleted(struct stage *stage)
{
    const struct slurm_blanks blanks = { .node = "d7" };

    stage_run(stage, "scontrol delete NodeName=d7"); /* of a case that failed */
    stage_must(stage, "scontrol create NodeName=d7 CPUs=96 State=CLOUD");
    assert_int_equal(stage_rest(stage, HTTP_GET, "/node/d7", NULL), 200);
    assert_true(stage_said(stage, "POWERED_DOWN"));
    assert_true(stage_said(stage, "DYNAMIC_NORM"));
    assert_int_equal(stage_has_node(stage, "d7"), stage->release >= 2411);
    if (!stage_ask(stage, SLURM_DELETE_NODE, &blanks))
        fail_msg("%s", stage->err.text);
    assert_false(stage_has_node(stage, "d7"));
    assert_false(stage_ask(stage, SLURM_DELETE_NODE, &blanks));
    assert_int_equal(stage->err.kind, ERROR_NOT_FOUND);
}

void a_node_of_the_configuration_stays(struct stage *stage)
{
    const struct slurm_blanks blanks = { .node = "n1" };

    assert_false(stage_ask(stage, SLURM_DELETE_NODE, &blanks));
    assert_true(stage_has_node(stage, "n1"));
}

void a_node_made_twice(struct stage *stage)
{
    stage_run(stage, "scontrol delete NodeName=d8");
    stage_must(stage, "scontrol create NodeName=d8 CPUs=96 State=CLOUD");
    if (stage->release < 2411) {
        stage_must(stage, "scontrol create NodeName=d8 CPUs=96 State=CLOUD");
        stage_must(stage, "scontrol delete NodeName=d8");
        return;
    }
    assert_int_equal(stage_run(stage, "scontrol create NodeName=d8 CPUs=96 State=CLOUD"), 1);
    assert_true(stage_said(stage, "Node already exists in the node table"));
    assert_false(stage_has_node(stage, "d8"));
}

void a_comment_is_read(struct stage *stage)
{
    stage_must(stage, "scontrol update NodeName=n1 Comment='a b=c' Extra='gce://p/z/m-1'");
    struct slurm_node node = stage_node(stage, "n1");

    assert_string_equal(node.comment, "a b=c");
    assert_string_equal(node.extra, "gce://p/z/m-1");
    stage_run(stage, "scontrol update NodeName=n1 Nonsense=1");
    assert_int_equal(stage->status, 1);
    assert_true(stage_said(stage, "Update of this parameter is not supported: Nonsense=1"));
}
