/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Machines of one's own: what lists say of those that do not answer, the fence, which machine an
 * order takes, and reports that cannot be read.
 */
#include "tests/providers/own_scene.h"

static void a_machine_is_where_its_marker_says(void **state)
{
    static const struct {
        const char *report;
        int in_a, in_b;
        bool is_unfinished;
        enum error_kind trouble;
    } rows[] = {
        { PARKED, INSTANCE_PARKED, INSTANCE_PARKED, false, ERROR_NONE },
        { IN_A, INSTANCE_RUNNING, -1, false, ERROR_NONE },
        { REPORT("ok", "in", "b", "0000000b", ""), -1, INSTANCE_RUNNING, false, ERROR_NONE },
        { REPORT("ok", "joining", "a", "0000000a", "running=1\n"), INSTANCE_CREATING, -1, true,
          ERROR_NONE },
        { REPORT("ok", "joining", "a", "0000000a", "failed=kubeadm says no\n"), INSTANCE_CREATING,
          -1, true, ERROR_INVALID },
        { REPORT("ok", "leaving", "a", "0000000a", "running=1\n"), INSTANCE_DELETING, -1, false,
          ERROR_NONE },
        { REPORT("ok", "leaving", "a", "0000000a", ""), INSTANCE_OTHER, -1, false, ERROR_NONE },
        { REPORT("ok", "none", "", "", ""), INSTANCE_PARKED, INSTANCE_PARKED, false, ERROR_NONE },
        { REPORT("ok", "none", "", "", "kubelet=1\n"), INSTANCE_OTHER, INSTANCE_OTHER, false,
          ERROR_INVALID },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct scene scene;

        scene_open(&scene);
        scene.looks[0] = rows[i].report;
        scene.looks[1] = scene.looks[2] = PARKED;
        list(&scene, &scene.a);
        assert_int_equal(state_of(&scene, "gpu-1"), rows[i].in_a);
        if (rows[i].in_a >= 0) {
            assert_int_equal(scene.items[0].is_unfinished, rows[i].is_unfinished);
            assert_int_equal(scene.items[0].trouble.kind, rows[i].trouble);
            assert_string_equal(scene.items[0].provider_id, "ssh://gpu-1");
        }
        list(&scene, &scene.b);
        assert_int_equal(state_of(&scene, "gpu-1"), rows[i].in_b);
        scene_close(&scene);
    }
}

/* Without a marker the list of machines decides. */
static void a_machine_that_was_never_moved_is_in_its_first_group(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene);
    scene.looks[0] = scene.looks[2] = PARKED;
    scene.looks[1] = REPORT("ok", "none", "", "", "kubelet=1\n");
    list(&scene, &scene.b);
    assert_int_equal(state_of(&scene, "gpu-2"), INSTANCE_RUNNING);
    list(&scene, &scene.a);
    assert_int_equal(state_of(&scene, "gpu-2"), -1);
    scene_close(&scene);
}

static void a_silent_machine_is_never_missing(void **state)
{
    static const char *const silences[] = { NULL, "garbage\n",
                                            "sluice=1\nanswer=ok\nstate=parked\n",
                                            "sluice=1\nanswer=ok\nstate=odd\nend=1\n" };
    struct scene scene;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(silences); i++) {
        scene_open(&scene);
        scene.looks[0] = silences[i]; /* from the start: it may be in each pool */
        scene.looks[1] = scene.looks[2] = PARKED;
        list(&scene, &scene.a);
        assert_int_equal(state_of(&scene, "gpu-1"), INSTANCE_OTHER);
        assert_int_not_equal(scene.items[0].trouble.kind, ERROR_NONE);
        assert_true(scene.items[0].is_unplaced);
        list(&scene, &scene.b);
        assert_int_equal(state_of(&scene, "gpu-1"), INSTANCE_OTHER);
        assert_true(scene.items[0].is_unplaced);

        scene.looks[0] = IN_A;
        list(&scene, &scene.a);
        int64_t seen_ms = scene.items[0].seen_ms;

        scene.looks[0] = silences[i]; /* as it was seen last, and no newer */
        list(&scene, &scene.a);
        assert_int_equal(state_of(&scene, "gpu-1"), INSTANCE_RUNNING);
        assert_int_equal(scene.items[0].seen_ms, seen_ms);
        assert_false(scene.items[0].is_unplaced);
        scene_close(&scene);
    }
}

/* It is there, by the list of this moment, and cannot be read by its name. */
static void expect_silent(struct scene *scene)
{
    int64_t began_ms = loop_now(scene->loop);

    list(scene, &scene->a);
    assert_int_equal(state_of(scene, "gpu-1"), INSTANCE_OTHER);
    assert_true(scene->items[0].seen_ms >= began_ms);
    look(scene, "gpu-1");
    assert_int_equal(scene->err.kind, ERROR_TRANSIENT);
}

/* Only the power that is off makes a silent machine count as gone. */
static void the_fence_waits_and_believes_only_off(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene);
    scene.power = "On";
    scene.looks[0] = IN_A;
    scene.looks[1] = scene.looks[2] = PARKED;
    list(&scene, &scene.a);
    int64_t began_ms = loop_now(scene.loop);

    scene.looks[0] = NULL;
    assert_int_equal(remove_machine(&scene, "gpu-1"), ERROR_TRANSIENT);
    assert_int_equal(scene.resets, 0);
    list(&scene, &scene.a); /* as it was seen last, and no newer */
    assert_int_equal(state_of(&scene, "gpu-1"), INSTANCE_RUNNING);
    assert_true(scene.items[0].seen_ms < began_ms);
    loop_run_until(scene.loop, loop_now(scene.loop) + FENCE_MS);
    expect_silent(&scene); /* its fence can be asked to remove it */
    assert_int_equal(remove_machine(&scene, "gpu-1"), ERROR_NONE);
    assert_int_equal(scene.resets, 1);
    expect_silent(&scene); /* it is still on */
    scene.power = "PoweringOff";
    expect_silent(&scene);
    assert_int_equal(remove_machine(&scene, "gpu-1"), ERROR_TRANSIENT);
    scene.power = NULL; /* the controller is silent, too */
    expect_silent(&scene);
    assert_int_equal(remove_machine(&scene, "gpu-1"), ERROR_TRANSIENT);
    scene.power = "Off";
    list(&scene, &scene.a);
    assert_int_equal(state_of(&scene, "gpu-1"), INSTANCE_PARKED);
    look(&scene, "gpu-1"); /* so it counts as gone */
    assert_int_equal(scene.err.kind, ERROR_NONE);
    assert_int_equal(state_of(&scene, "gpu-1"), INSTANCE_PARKED);
    assert_int_equal(remove_machine(&scene, "gpu-1"), ERROR_NONE);
    assert_int_equal(scene.resets, 1);
    scene.looks[0] = IN_A; /* a person switched it on again */
    list(&scene, &scene.a);
    assert_int_equal(state_of(&scene, "gpu-1"), INSTANCE_RUNNING);
    scene_close(&scene);
}

/* Another key may be that of another machine, at work.  Also one silent look after it is not yet
   the silence of a machine that is dead. */
static void a_machine_that_is_heard_or_not_tried_is_not_switched_off(void **state)
{
    static const struct {
        enum error_kind silence; /* as in the scene */
        const struct error_cause *cause;
        enum error_kind told;
    } rows[] = {
        { ERROR_DENIED, NULL, ERROR_DENIED },
        { ERROR_NONE, NULL, ERROR_UNKNOWN_OUTCOME },
        { ERROR_TRANSIENT, &ssh_way, ERROR_TRANSIENT },
        { ERROR_UNKNOWN_OUTCOME, &ssh_heard, ERROR_UNKNOWN_OUTCOME },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct scene scene;

        scene_open(&scene);
        scene.power = "On";
        scene.silence = rows[i].silence;
        scene.cause = rows[i].cause;
        scene.looks[0] = IN_A;
        scene.looks[1] = scene.looks[2] = PARKED;
        list(&scene, &scene.a);
        scene.looks[0] = NULL;
        for (int k = 0; k < 3; k++) {
            assert_int_equal(remove_machine(&scene, "gpu-1"), rows[i].told);
            loop_run_until(scene.loop, loop_now(scene.loop) + FENCE_MS);
        }
        scene.silence = ERROR_TRANSIENT;
        scene.cause = NULL;
        assert_int_equal(remove_machine(&scene, "gpu-1"), ERROR_TRANSIENT);
        assert_int_equal(scene.resets, 0);
        list(&scene, &scene.a);
        assert_int_equal(state_of(&scene, "gpu-1"), INSTANCE_RUNNING);
        loop_run_until(scene.loop, loop_now(scene.loop) + FENCE_MS);
        assert_int_equal(remove_machine(&scene, "gpu-1"), ERROR_NONE);
        assert_int_equal(scene.resets, 1);
        scene_close(&scene);
    }
}

static void lists_at_the_same_time_share_their_looks(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene);
    scene.looks[0] = IN_A;
    scene.looks[1] = scene.looks[2] = PARKED;
    provider_list(scene.provider, address(&scene.a), NULL, on_page, &scene);
    provider_list(scene.provider, address(&scene.b), NULL, on_page, &scene);
    loop_run_until(scene.loop, loop_now(scene.loop) + SECOND_MS);
    assert_int_equal(scene.calls, 2);
    assert_int_equal(scene.commands, MACHINES);
    loop_run_until(scene.loop, loop_now(scene.loop) + MINUTE_MS);
    provider_list(scene.provider, address(&scene.a), NULL, on_last_page, &scene);
    provider_list(scene.provider, address(&scene.b), NULL, on_last_page, &scene);
    loop_run_until(scene.loop, loop_now(scene.loop) + MINUTE_MS);
    assert_int_equal(scene.calls, 3); /* nothing comes after a close */
    scene_close(&scene);
}

static void without_a_fence_a_silent_machine_stays(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene);
    scene.looks[0] = scene.looks[1] = PARKED;
    scene.looks[2] = IN_A;
    list(&scene, &scene.a);
    scene.looks[2] = NULL;
    assert_int_equal(remove_machine(&scene, "gpu-3"), ERROR_TRANSIENT);
    loop_run_until(scene.loop, loop_now(scene.loop) + DAY_MS);
    assert_int_equal(remove_machine(&scene, "gpu-3"), ERROR_TRANSIENT);
    assert_int_equal(scene.resets, 0);
    list(&scene, &scene.a);
    assert_int_equal(state_of(&scene, "gpu-3"), INSTANCE_RUNNING);
    scene_close(&scene);
}

/* The choice is the progress, and is stored by the caller before the machine is claimed. */
static void an_order_chooses_first_and_claims_only_that_machine(void **state)
{
    struct scene scene;
    char chosen[64];

    (void)state;
    scene_open(&scene);
    scene.looks[0] = IN_A;
    scene.looks[1] = REPORT("ok", "none", "", "", "kubelet=1\n");
    scene.looks[2] = PARKED;
    assert_int_equal(create(&scene, ""), ERROR_TRANSIENT);
    assert_ptr_equal(scene.err.cause, &provider_goes_on);
    assert_string_equal(scene.operation, "gpu-3");
    assert_string_equal(scene.claimed, "");
    text_copy(chosen, sizeof chosen, scene.operation);
    scene.looks[0] = PARKED; /* a better one has come: the choice stays */
    scene.claims[2] = REPORT("ok", "joining", "a", "00000001", "");
    assert_int_equal(create(&scene, chosen), ERROR_TRANSIENT);
    assert_ptr_equal(scene.err.cause, &provider_goes_on);
    assert_string_equal(scene.claimed, "gpu-3");
    assert_string_equal(scene.operation, "gpu-3+"); /* it is claimed */
    scene_close(&scene);
}

/* After a start nothing is known of it, and the journal has the progress: whatever keeps it from
   answering, the order stays with it.  Its own answer that it is not ours ends that. */
static void a_claimed_machine_is_left_only_if_it_says_so(void **state)
{
    static const struct {
        const char *look;
        enum error_kind silence, kind;
    } rows[] = {
        { NULL, ERROR_TRANSIENT, ERROR_UNKNOWN_OUTCOME },
        { NULL, ERROR_DENIED, ERROR_UNKNOWN_OUTCOME },
        { NULL, ERROR_NONE, ERROR_UNKNOWN_OUTCOME },
        { "garbage\n", ERROR_NONE, ERROR_UNKNOWN_OUTCOME },
        { REPORT("ok", "joining", "a", "00000002", ""), ERROR_NONE, ERROR_TRANSIENT },
        { IN_A, ERROR_NONE, ERROR_TRANSIENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct scene scene;

        scene_open(&scene);
        scene.looks[0] = scene.looks[1] = PARKED;
        scene.looks[2] = rows[i].look;
        scene.silence = rows[i].silence;
        assert_int_equal(create(&scene, "gpu-3+"), rows[i].kind);
        assert_ptr_not_equal(scene.err.cause, &provider_goes_on);
        assert_string_equal(scene.claimed, "");
        scene_close(&scene);
    }
}

static void what_stops_an_order_is_told(void **state)
{
    static const struct {
        const char *look, *claim;
        enum error_kind silence, kind;
        const char *says;
    } rows[] = {
        { PARKED, REPORT("taken", "joining", "a", "00000002", ""), ERROR_NONE, ERROR_TRANSIENT,
          "why" },
        { PARKED, "sluice=1\nanswer=folder\ntext=No space left on device\nstate=parked\nend=1\n",
          ERROR_NONE, ERROR_DENIED, "machine gpu-3: No space left on device" },
        { PARKED, "all is well\n", ERROR_NONE, ERROR_CORRUPT, "no report of sluice's script" },
        { PARKED, NULL, ERROR_UNKNOWN_OUTCOME, ERROR_UNKNOWN_OUTCOME, "machine gpu-3: no answer" },
        { NULL, NULL, ERROR_DENIED, ERROR_DENIED, "machine gpu-3: no answer" },
        { NULL, NULL, ERROR_TRANSIENT, ERROR_TRANSIENT, "machine gpu-3: no answer" },
        { IN_A, NULL, ERROR_NONE, ERROR_TRANSIENT, "it is not parked any more" },
        { REPORT("ok", "joining", "a", "00000001", "failed=kubeadm, join: no route\n"), NULL,
          ERROR_NONE, ERROR_INVALID, "machine gpu-3: kubeadm, join: no route" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct scene scene;

        scene_open(&scene);
        scene.looks[2] = rows[i].look;
        scene.claims[2] = rows[i].claim;
        scene.silence = rows[i].silence;
        assert_int_equal(create(&scene, "gpu-3"), rows[i].kind);
        assert_ptr_not_equal(scene.err.cause, &provider_goes_on);
        if (!strstr(scene.err.text, rows[i].says))
            fail_msg("%s", scene.err.text);
        scene_close(&scene);
    }
}

static void without_a_parked_machine_there_is_no_capacity(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene);
    scene.looks[0] = IN_A;
    scene.looks[1] = REPORT("ok", "in", "b", "0000000b", "");
    assert_int_equal(create(&scene, ""), ERROR_NO_CAPACITY);
    assert_non_null(
        strstr(scene.err.text, "no machine is parked; 1 do not answer: no answer of gpu-3"));
    scene_close(&scene);
}

static void doctor_reports_what_joining_lacks(void **state)
{
    static const struct {
        const char *look, *examination;
        const char *finds[6]; /* of gpu-3 */
    } rows[] = {
        { PARKED,
          "arch=x86_64\nswap=0\nclock=yes\ndisk=90000000\nkubeadm=v1.33.1\ncontainerd=1.7\n"
          "gpus=8\nend=1\n",
          { "0 machine: machine gpu-3 answers: x86_64, 8 GPUs, parked",
            "1 fence: 2 of 3 machines have no fence" } },
        { IN_A,
          "arch=x86_64\nswap=1\nclock=no\ndisk=2048\ngpus=7\nend=1\n",
          { "0 machine: machine gpu-3 answers: x86_64, 7 GPUs, in",
            "2 programs: machine gpu-3 has no kubeadm",
            "2 programs: machine gpu-3 has no containerd", "2 swap: machine gpu-3 has swap",
            "1 clock: machine gpu-3 does not follow", "2 disk: machine gpu-3 has 2 MiB left" } },
        { PARKED,
          "arch=x86_64\ngpus=8\n",
          { "1 machine: machine gpu-3 cannot be examined: its answer is not whole" } },
        { REPORT("ok", "none", "", "", "kubelet=1\n"),
          NULL,
          { "2 marker: machine gpu-3 is in a cluster (its kubelet runs, is enabled or has "
            "options), "
            "and nothing says in which",
            "1 machine: machine gpu-3 cannot be examined: no answer" } },
        { NULL, NULL, { "2 machine: machine gpu-3: no answer of gpu-3" } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct scene scene;
        owned(text) struct text *findings = text_new(TEXT_UNBOUNDED);

        scene_open(&scene);
        scene.a.join = "kubeadm";
        scene.a.kubeconfig = "/nowhere";
        scene.findings = findings;
        scene.looks[2] = rows[i].look;
        scene.examination = rows[i].examination;
        provider_inspect(scene.provider, address(&scene.a), on_found, on_done, &scene);
        await(&scene, 0);
        assert_int_equal(scene.err.kind, ERROR_NONE);
        for (size_t k = 0; k < COUNT_OF(rows[i].finds) && rows[i].finds[k]; k++)
            if (!strstr(findings->chars, rows[i].finds[k]))
                fail_msg("no \"%s\" in:\n%s", rows[i].finds[k], findings->chars);
        scene_close(&scene);
    }
}

/* A program without its unit cannot be started. */
static void doctor_reports_units_that_joining_lacks(void **state)
{
    static const struct {
        const char *join, *examination, *find;
    } rows[] = {
        { "k3s", "k3s=v1.33.1\nkillall=/k3s-killall.sh\nk3s-agent.service=yes\nend=1\n", NULL },
        { "k3s", "k3s=v1.33.1\nkillall=/k3s-killall.sh\nk3s-agent.service=\nend=1\n",
          "2 programs: machine gpu-3 has no unit k3s-agent.service" },
        { "k3s", "k3s=v1.33.1\nkillall=\nk3s-agent.service=yes\nend=1\n",
          "2 programs: machine gpu-3 has no k3s-killall.sh" },
        { "slurmd", "slurmd=slurm 24.11\nslurmd.service=yes\nend=1\n", NULL },
        { "slurmd", "slurmd=slurm 24.11\nslurmd.service=\nend=1\n",
          "2 programs: machine gpu-3 has no unit slurmd.service" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct scene scene;
        owned(text) struct text *findings = text_new(TEXT_UNBOUNDED);

        scene_open(&scene);
        scene.a.join = rows[i].join;
        scene.findings = findings;
        scene.looks[2] = PARKED;
        scene.examination = rows[i].examination;
        provider_inspect(scene.provider, address(&scene.a), on_found, on_done, &scene);
        await(&scene, 0);
        if (!strstr(findings->chars, rows[i].find ?: "0 machine: machine gpu-3 answers") ||
            (!rows[i].find && strstr(findings->chars, "programs:")))
            fail_msg("%s: %s", rows[i].find, findings->chars);
        scene_close(&scene);
    }
}

/* Each prefix of a report is none, and so is each with a wrong line. */
static void only_a_whole_report_is_one(void **state)
{
    static const char whole[] = "Welcome!\n" IN_A;
    struct own_report report;

    (void)state;
    for (size_t length = 0; length < strlen(whole) - 1; length++) {
        owned(chars) char *part = text_format("%.*s", (int)length, whole);

        assert_int_equal(own_report_read(part, length, &report, NULL), -1);
    }
    assert_int_equal(own_report_read(whole, strlen(whole), &report, NULL), 0);
    assert_int_equal(report.state, OWN_IN);
    assert_string_equal(report.key, "0000000a");
    assert_int_equal(own_report_read(REPORT("ok", "in", "a", "0000000a0", ""),
                                     strlen(REPORT("ok", "in", "a", "0000000a0", "")), &report,
                                     NULL),
                     -1); /* a key that is cut would be another one */
    assert_int_equal(own_report_read("sluice=1\nanswer=ok\0state=in\nend=1\n", 35, &report, NULL),
                     -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_where_its_marker_says),
        cmocka_unit_test(a_machine_that_was_never_moved_is_in_its_first_group),
        cmocka_unit_test(a_silent_machine_is_never_missing),
        cmocka_unit_test(the_fence_waits_and_believes_only_off),
        cmocka_unit_test(a_machine_that_is_heard_or_not_tried_is_not_switched_off),
        cmocka_unit_test(lists_at_the_same_time_share_their_looks),
        cmocka_unit_test(without_a_fence_a_silent_machine_stays),
        cmocka_unit_test(an_order_chooses_first_and_claims_only_that_machine),
        cmocka_unit_test(a_claimed_machine_is_left_only_if_it_says_so),
        cmocka_unit_test(what_stops_an_order_is_told),
        cmocka_unit_test(without_a_parked_machine_there_is_no_capacity),
        cmocka_unit_test(doctor_reports_what_joining_lacks),
        cmocka_unit_test(doctor_reports_units_that_joining_lacks),
        cmocka_unit_test(only_a_whole_report_is_one),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
