/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Gangs that are stopped through their owner before the first of their pods is evicted, and go on
 * when their nodes are empty: order on the wire, both ways back, deaths in between, two moves.
 * Research holds nothing but gangs here, so each eviction that is counted is one of a gang's pod.
 */
#include "broker/service/service_parts.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"
#include "tests/cli/small_world.h"
#include "tests/support/sweep.h"

#include <string.h>

#define JOB_SETS "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ml/jobsets/"
#define JOBS "/apis/batch/v1/namespaces/ml/jobs/"
#define WORKFLOWS "/apis/argoproj.io/v1alpha1/namespaces/ml/workflows/"
#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta1/namespaces/ml/workloads/"

enum {
    LONG_MS = 45 * MINUTE_MS,
    SLICE_MS = 10,
    SAMPLE = 3, /* without SLUICE_SWEEP a death at one commit in so many */
};

static json_t *object_at(struct rehearsal *rehearsal, const char *path)
{
    const json_t *object = simulator_object(rehearsal->simulator, "research-a", path);

    assert_non_null(object);
    return json_deep_copy(object);
}

static const char *note_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(json_at(object, "metadata/annotations"), key));
}

/* An owner of so many pods of a whole node each, which take half a minute to stop. */
static void put_owner(struct rehearsal *rehearsal, const char *path, const char *kind,
                      const char *label, int pods)
{
    owned(json) json_t *container = json_make("{s:s, s:{s:{s:s}}}", "name", "main", "resources",
                                              "limits", "nvidia.com/gpu", "8");
    owned(json) json_t *pod = json_make(
        "{s:{s:{s:s}, s:{s:s}}, s:{s:i, s:[O]}}", "metadata", "labels", label,
        strrchr(path, '/') + 1, "annotations", "test.sluice.dev/stops-in", "20s", "spec",
        "terminationGracePeriodSeconds", 60, "containers", container);
    owned(json) json_t *owner = json_make("{s:s, s:{s:i, s:O}}", "kind", kind, "spec",
                                          "parallelism", pods, "template", pod);

    simulator_put_object(rehearsal->simulator, "research-a", path, owner);
}

static void put_job_set(struct rehearsal *rehearsal, const char *name, int pods)
{
    owned(chars) char *path = text_format(JOB_SETS "%s", name);

    put_owner(rehearsal, path, "JobSet", "jobset.sigs.k8s.io/jobset-name", pods);
}

/* The Workload that stands for the JobSet of its name. */
static void put_workload(struct rehearsal *rehearsal, const char *name)
{
    owned(chars) char *path = text_format(WORKLOADS "%s", name);
    owned(chars) char *above = text_format(JOB_SETS "%s", name);
    owned(json) json_t *owner = object_at(rehearsal, above);
    owned(json) json_t *workload = json_make(
        "{s:{s:[{s:s}]}, s:{s:b}}", "metadata", "ownerReferences", "uid",
        json_text_or(owner, "metadata/uid", ""), "spec", "active", true);

    simulator_put_object(rehearsal->simulator, "research-a", path, workload);
}

static const char machines[] =
    "seed: 7\n"
    "pools:\n"
    "  prod-a-east: {nodes: 6}\n"
    "  research-a-east: {nodes: 10}\n"
    "replicas: {chat-2x: {prod-a: 20}}\n"
    "latency: {api: 5ms..40ms, delete: 60s..120s, create: 60s..180s, join: 60s..180s,"
    " gpus: 20s..60s, pod_start: 10s..30s, pod_stop: 1s..20s}\n"
    "jobs: {backlog: 0}\n";

/* The small world without its Jobs; gangs: what is done with them. */
static struct rehearsal *begin(const char *folder, const char *gangs)
{
    const char *drain = strstr(small_config, "settle: 5s}");
    owned(chars) char *config = text_format("%.*ssettle: 5s, gangs: %s}%s",
                                            (int)(drain - small_config), small_config, gangs,
                                            drain + strlen("settle: 5s}"));

    return world_start(folder, config, machines, 6, 7);
}

static void settle(struct rehearsal *rehearsal)
{
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
}

static int64_t evictions_of(struct rehearsal *rehearsal)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);

    return json_int_or(report, "effects/evictions", -1);
}

static int64_t deletes_of(struct rehearsal *rehearsal)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);

    return json_int_or(report, "effects/pod_deletes", -1);
}

static bool is_stopped_by_us(struct rehearsal *rehearsal, const char *path)
{
    owned(json) json_t *object = object_at(rehearsal, path);

    return note_of(object, "sluice.dev/suspended-by") != NULL;
}

static bool is_suspended(struct rehearsal *rehearsal, const char *path)
{
    owned(json) json_t *object = object_at(rehearsal, path);

    return json_bool_or(object, "spec/suspend", false);
}

/* Runs until the owner carries our note, or until it does not. */
static void run_until(struct rehearsal *rehearsal, const char *path, bool is_stopped)
{
    for (int64_t ms = 0; ms < LONG_MS; ms += SLICE_MS) {
        if (is_stopped_by_us(rehearsal, path) == is_stopped)
            return;
        rehearsal_run(rehearsal, SLICE_MS);
    }
    fail_msg("%s was %s", path, is_stopped ? "never stopped" : "never resumed");
}

/* As it was before us: no note, and the member is absent again. */
static void expect_restored(struct rehearsal *rehearsal, const char *path)
{
    owned(json) json_t *object = object_at(rehearsal, path);

    assert_null(note_of(object, "sluice.dev/suspended-by"));
    assert_null(note_of(object, "sluice.dev/suspended-was"));
    assert_null(json_object_get(json_object_get(object, "spec"), "suspend"));
}

static void a_gang_is_stopped_as_a_whole_and_goes_on_afterwards(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
    owned(json) json_t *answer = NULL;

    (void)state;
    put_job_set(rehearsal, "train", 9);
    settle(rehearsal);
    answer = reclaim(rehearsal, 3);
    run_until(rehearsal, JOB_SETS "train", true);
    assert_int_equal(evictions_of(rehearsal), 0);
    run_until(rehearsal, JOB_SETS "train", false);
    rehearsal_run(rehearsal, LONG_MS);
    expect_rest(rehearsal, 9);
    expect_restored(rehearsal, JOB_SETS "train");
    assert_int_equal(evictions_of(rehearsal), 0);
    assert_int_equal(story_count(rehearsal, "gang_suspended"), 1);
    assert_int_equal(story_count(rehearsal, "gang_resumed"), 1);
}

static void who_wants_evictions_gets_them(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "evict");
    owned(json) json_t *answer = NULL;

    (void)state;
    put_job_set(rehearsal, "train", 9);
    settle(rehearsal);
    answer = reclaim(rehearsal, 3);
    rehearsal_run(rehearsal, LONG_MS);
    expect_rest(rehearsal, 9);
    assert_true(evictions_of(rehearsal) >= 2);
    assert_int_equal(story_count(rehearsal, "gang_suspended"), 0);
}

/* Pods that protect themselves, and those that want longer than the drain has, are not evicted: but
   they are no less a gang. */
static void a_gang_that_is_not_evicted_is_stopped_all_the_same(void **state)
{
    static const struct {
        const char *protects;
        int64_t grace_s;
    } rows[] = { { "true", 60 }, { "false", 600 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
        owned(json) json_t *owner = NULL;

        put_job_set(rehearsal, "train", 10);
        owner = object_at(rehearsal, JOB_SETS "train");
        json_object_set_new(json_at(owner, "spec/template/spec"), "terminationGracePeriodSeconds",
                            json_integer(rows[i].grace_s));
        json_object_set_new(json_at(owner, "spec/template/metadata/annotations"),
                            "karpenter.sh/do-not-disrupt", json_string(rows[i].protects));
        simulator_put_object(rehearsal->simulator, "research-a", JOB_SETS "train", owner);
        settle(rehearsal);
        apply(rehearsal, 8, 8);
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(story_count(rehearsal, "gang_suspended"), 1);
        assert_int_equal(evictions_of(rehearsal), 0);
        assert_int_equal(deletes_of(rehearsal), 0);
        expect_rest(rehearsal, 8);
    }
}

static void a_workload_is_deactivated_and_its_job_is_left_to_kueue(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
    owned(json) json_t *answer = NULL;
    owned(json) json_t *workload = NULL;

    (void)state;
    put_job_set(rehearsal, "train", 9);
    put_workload(rehearsal, "train");
    settle(rehearsal);
    answer = reclaim(rehearsal, 3);
    run_until(rehearsal, WORKLOADS "train", true);
    assert_false(is_stopped_by_us(rehearsal, JOB_SETS "train"));
    run_until(rehearsal, WORKLOADS "train", false);
    rehearsal_run(rehearsal, LONG_MS);
    expect_rest(rehearsal, 9);
    workload = object_at(rehearsal, WORKLOADS "train");
    assert_true(json_bool_or(workload, "spec/active", false));
    assert_false(is_suspended(rehearsal, JOB_SETS "train"));
    assert_int_equal(evictions_of(rehearsal), 0);
}

static struct transfer *first_draining(struct rehearsal *rehearsal)
{
    const struct runner *runner = rehearsal->service->runner;

    for (size_t i = 0; i < runner->transfers.count; i++)
        if (runner->transfers.items[i]->state == TRANSFER_LIVE &&
            runner->transfers.items[i]->step == STEP_DRAIN)
            return runner->transfers.items[i];
    fail_msg("no transfer drains");
    return NULL;
}

/* Of two nodes that are taken from a gang one is kept: it still stands for the other. */
static void a_gang_goes_on_when_the_last_of_its_nodes_is_kept(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
    struct runner *runner;

    (void)state;
    put_job_set(rehearsal, "train", 10);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 8, 8);
    run_until(rehearsal, JOB_SETS "train", true);
    runner = rehearsal->service->runner;
    rehearsal_run(rehearsal, 2 * SECOND_MS);
    runner_withdraw(runner, first_draining(rehearsal), "test");
    rehearsal_run(rehearsal, 5 * SECOND_MS);
    assert_true(is_stopped_by_us(rehearsal, JOB_SETS "train"));
    runner_withdraw(runner, first_draining(rehearsal), "test");
    rehearsal_run(rehearsal, 5 * SECOND_MS);
    expect_restored(rehearsal, JOB_SETS "train");
    assert_int_equal(evictions_of(rehearsal), 0);
    assert_int_equal(story_count(rehearsal, "gang_resumed"), 1);
}

static void two_moves_stop_a_gang_once(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
    owned(json) json_t *first = NULL;
    owned(json) json_t *second = NULL;

    (void)state;
    put_job_set(rehearsal, "train", 10);
    settle(rehearsal);
    first = reclaim(rehearsal, 1);
    second = reclaim(rehearsal, 1);
    run_until(rehearsal, JOB_SETS "train", true);
    rehearsal_run(rehearsal, LONG_MS);
    expect_rest(rehearsal, 8);
    expect_restored(rehearsal, JOB_SETS "train");
    assert_int_equal(evictions_of(rehearsal), 0);
    assert_int_equal(story_count(rehearsal, "gang_suspended"), 1);
    assert_int_equal(story_count(rehearsal, "gang_resumed"), 1);
}

/* A service that dies after the patch has to find that it was sent. */
static void a_gang_is_written_down_before_it_is_stopped(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
    owned(json) json_t *answer = NULL;
    owned(json) json_t *rows = NULL;

    (void)state;
    put_job_set(rehearsal, "train", 10);
    settle(rehearsal);
    answer = reclaim(rehearsal, 1);
    while (!is_stopped_by_us(rehearsal, JOB_SETS "train"))
        rehearsal_run(rehearsal, 1);
    rows = sides_describe_stopped(rehearsal->service->runner);
    assert_int_equal(json_array_size(rows), 1);
}

static void suspend_by_hand(struct rehearsal *rehearsal, const char *path)
{
    const json_t *object = simulator_object(rehearsal->simulator, "research-a", path);

    json_object_set_new(json_object_get(object, "spec"), "suspend", json_true());
}

/* A Workflow's pods go on when it is suspended: they are evicted, and by whom it was stopped
   decides whether it is resumed. */
static void play_workflow(bool is_stopped_before)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
    owned(json) json_t *answer = NULL;

    put_owner(rehearsal, WORKFLOWS "eval", "Workflow", "workflows.argoproj.io/workflow", 10);
    settle(rehearsal);
    if (is_stopped_before)
        suspend_by_hand(rehearsal, WORKFLOWS "eval");
    answer = reclaim(rehearsal, 2);
    if (!is_stopped_before) {
        run_until(rehearsal, WORKFLOWS "eval", true);
        assert_int_equal(evictions_of(rehearsal), 0);
    }
    rehearsal_run(rehearsal, LONG_MS);
    expect_rest(rehearsal, 8);
    assert_int_equal(evictions_of(rehearsal), 2);
    assert_int_equal(story_count(rehearsal, "gang_suspended"), is_stopped_before ? 0 : 1);
    assert_int_equal(is_suspended(rehearsal, WORKFLOWS "eval"), is_stopped_before);
    assert_false(is_stopped_by_us(rehearsal, WORKFLOWS "eval"));
}

static void a_workflow_begins_no_step_while_its_pods_are_evicted(void **state)
{
    (void)state;
    play_workflow(false);
}

static void what_a_person_stopped_stays_stopped(void **state)
{
    (void)state;
    play_workflow(true);
}

/* Each fault of each exchange with the owner, both ways. */
static void an_answer_that_is_lost_is_looked_for(void **state)
{
    static const char *const faults[] = { "lost_answer", "http_500_after", "http_500", "http_429" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
        owned(json) json_t *answer = NULL;

        put_job_set(rehearsal, "train", 10);
        settle(rehearsal);
        simulator_fault_next(rehearsal->simulator, faults[i], "get_object");
        simulator_fault_next(rehearsal->simulator, faults[i], "patch_object");
        answer = reclaim(rehearsal, 1);
        run_until(rehearsal, JOB_SETS "train", true);
        simulator_fault_next(rehearsal->simulator, faults[i], "patch_object");
        rehearsal_run(rehearsal, LONG_MS);
        expect_rest(rehearsal, 7);
        expect_restored(rehearsal, JOB_SETS "train");
    }
}

/* An API server that has just started may deny for a moment what it allows after it. */
static void play_denials(const char *verb, int count, bool is_emergency)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
    owned(json) json_t *answer = NULL;

    put_job_set(rehearsal, "train", 10);
    settle(rehearsal);
    for (int i = 0; i < count; i++)
        simulator_fault_next(rehearsal->simulator, "http_403", verb);
    if (is_emergency)
        answer = reclaim(rehearsal, 2);
    else
        apply(rehearsal, 8, 8);
    run_until(rehearsal, JOB_SETS "train", true);
    rehearsal_run(rehearsal, LONG_MS);
    expect_restored(rehearsal, JOB_SETS "train");
    assert_int_equal(evictions_of(rehearsal), 0);
    assert_int_equal(story_count(rehearsal, "gang_suspended"), 1);
}

static void a_moment_without_the_right_is_waited_out(void **state)
{
    (void)state;
    play_denials("get_object", 1, true);
    play_denials("patch_object", 1, true);
    play_denials("get_object", 3, false);
    play_denials("patch_object", 3, false);
}

/* Who may not tell the owner evicts, and leaves nothing behind.  A right that is missing is asked
   for so seldom that few denials last for the whole patience. */
static void an_owner_that_refuses_is_evicted_in_time(void **state)
{
    static const struct {
        const char *fault;
        const char *verb;
        int count;
    } cases[] = {
        { "http_500", "patch_object", 100 },
        { "http_403", "patch_object", 4 },
        { "http_403", "get_object", 4 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
        owned(json) json_t *answer = NULL;

        put_job_set(rehearsal, "train", 10);
        settle(rehearsal);
        for (int k = 0; k < cases[i].count; k++)
            simulator_fault_next(rehearsal->simulator, cases[i].fault, cases[i].verb);
        answer = reclaim(rehearsal, 1);
        rehearsal_run(rehearsal, 10 * SECOND_MS);
        if (evictions_of(rehearsal) != 1)
            fail_msg("%s %s: not evicted", cases[i].fault, cases[i].verb);
        rehearsal_run(rehearsal, LONG_MS);
        expect_rest(rehearsal, 7);
        expect_restored(rehearsal, JOB_SETS "train");
    }
}

/* What a person, or the object's controller, writes into it. */
static void set(struct rehearsal *rehearsal, const char *path, const char *part, const char *member,
                int64_t number)
{
    const json_t *object = simulator_object(rehearsal->simulator, "research-a", path);

    if (!json_object_get(object, part))
        json_object_set_new((json_t *)(uintptr_t)object, part, json_object());
    json_object_set_new(json_object_get(object, part), member, json_integer(number));
}

static void put_job(struct rehearsal *rehearsal, const char *path, int pods, int limit)
{
    put_owner(rehearsal, path, "Job", "batch.kubernetes.io/job-name", pods);
    set(rehearsal, path, "spec", "backoffLimit", limit);
}

/* Tasks that do not need each other go one by one, but one failure over the limit would end all of
   them. */
static void a_bag_is_stopped_when_its_evictions_would_end_it(void **state)
{
    (void)state;
    for (int limit = 1; limit <= 2; limit++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
        bool is_stopped = limit < 2;

        put_job(rehearsal, JOBS "sweep", 10, limit);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 8, 8);
        rehearsal_run(rehearsal, LONG_MS);
        expect_rest(rehearsal, 8);
        expect_restored(rehearsal, JOBS "sweep");
        assert_int_equal(evictions_of(rehearsal), is_stopped ? 0 : 2);
        assert_int_equal(story_count(rehearsal, "gang_suspended"), is_stopped);
    }
}

/* What the first move was allowed, the second is not, while the first still drains. */
static void each_move_counts_what_a_bag_has_left(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
    owned(json) json_t *first = NULL;
    owned(json) json_t *second = NULL;

    (void)state;
    put_job(rehearsal, JOBS "sweep", 10, 1);
    settle(rehearsal);
    first = reclaim(rehearsal, 1);
    while (evictions_of(rehearsal) == 0)
        rehearsal_run(rehearsal, SLICE_MS);
    set(rehearsal, JOBS "sweep", "status", "failed", 1);
    second = reclaim(rehearsal, 1);
    run_until(rehearsal, JOBS "sweep", true);
    rehearsal_run(rehearsal, LONG_MS);
    expect_rest(rehearsal, 8);
    expect_restored(rehearsal, JOBS "sweep");
    assert_int_equal(evictions_of(rehearsal), 1);
}

/* Ten Jobs of one pod each, in JobSets or not; two nodes leave. */
static void play_lone_jobs(int limit, bool is_in_sets, int suspensions)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");

    for (int i = 0; i < 10; i++) {
        owned(chars) char *path = text_format(JOBS "lone-%d", i);
        owned(chars) char *name = text_format("lone-%d", i);
        const json_t *job;

        put_job(rehearsal, path, 1, limit);
        if (!is_in_sets)
            continue;
        put_job_set(rehearsal, name, 0);
        job = simulator_object(rehearsal->simulator, "research-a", path);
        json_object_set_new(json_object_get(job, "metadata"), "ownerReferences",
                            json_make("[{s:s, s:s, s:s, s:b}]", "apiVersion",
                                      "jobset.x-k8s.io/v1alpha2", "kind", "JobSet", "name", name,
                                      "controller", true));
    }
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 8, 8);
    rehearsal_run(rehearsal, LONG_MS);
    expect_rest(rehearsal, 8);
    assert_int_equal(story_count(rehearsal, "gang_suspended"), suspensions);
    assert_int_equal(story_count(rehearsal, "gang_resumed"), suspensions);
    /* the simulator has no controller that would stop the Job of a JobSet */
    assert_int_equal(evictions_of(rehearsal), is_in_sets ? 2 : 2 - suspensions);
    for (int i = 0; i < 10; i++) {
        owned(chars) char *path = text_format(JOBS "lone-%d", i);

        expect_restored(rehearsal, path);
    }
}

static void one_pod_is_evicted_unless_that_ends_its_job(void **state)
{
    (void)state;
    play_lone_jobs(6, false, 0);
    play_lone_jobs(0, false, 2);
    play_lone_jobs(6, true, 0);
    play_lone_jobs(0, true, 2);
}

/* One run that dies before commit `first` and, `second` commits after the restart, again; returns
   how many commits an undisturbed one makes. */
static int64_t play(int64_t first, int64_t second)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = begin(folder, "suspend");
    owned(json) json_t *answer = NULL;
    struct error err = { 0 };
    int64_t before;

    put_job_set(rehearsal, "train", 10);
    settle(rehearsal);
    answer = reclaim(rehearsal, 2);
    before = rehearsal->commits;
    for (int64_t at = first; at > 0; at = at == first ? second : 0) {
        rehearsal_kill_at_commit(rehearsal, at);
        rehearsal_run(rehearsal, LONG_MS);
        if (!rehearsal->is_dead)
            break;
        rehearsal_kill(rehearsal);
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("after a death at commit %lld: %s", (long long)at, err.text);
    }
    rehearsal->kill_at = 0;
    rehearsal_run(rehearsal, LONG_MS);
    expect_rest(rehearsal, 8);
    expect_restored(rehearsal, JOB_SETS "train");
    assert_int_equal(evictions_of(rehearsal), 0);
    return rehearsal->commits - before;
}

static void a_death_at_any_commit_leaves_no_gang_stopped(void **state)
{
    struct sweep_part part = sweep_part(SAMPLE);
    int64_t commits = play(0, 0);

    (void)state;
    print_message("sweep death: gangs, %lld commits in an undisturbed run\n", (long long)commits);
    for (int64_t at = 1; at <= commits; at++)
        if (sweep_plays(&part))
            play(at, at % 2 == 0 ? 1 + at % 5 : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_is_stopped_as_a_whole_and_goes_on_afterwards),
        cmocka_unit_test(a_gang_that_is_not_evicted_is_stopped_all_the_same),
        cmocka_unit_test(who_wants_evictions_gets_them),
        cmocka_unit_test(a_workload_is_deactivated_and_its_job_is_left_to_kueue),
        cmocka_unit_test(a_gang_goes_on_when_the_last_of_its_nodes_is_kept),
        cmocka_unit_test(two_moves_stop_a_gang_once),
        cmocka_unit_test(a_gang_is_written_down_before_it_is_stopped),
        cmocka_unit_test(a_workflow_begins_no_step_while_its_pods_are_evicted),
        cmocka_unit_test(what_a_person_stopped_stays_stopped),
        cmocka_unit_test(an_answer_that_is_lost_is_looked_for),
        cmocka_unit_test(a_moment_without_the_right_is_waited_out),
        cmocka_unit_test(an_owner_that_refuses_is_evicted_in_time),
        cmocka_unit_test(a_bag_is_stopped_when_its_evictions_would_end_it),
        cmocka_unit_test(each_move_counts_what_a_bag_has_left),
        cmocka_unit_test(one_pod_is_evicted_unless_that_ends_its_job),
        cmocka_unit_test(a_death_at_any_commit_leaves_no_gang_stopped),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
