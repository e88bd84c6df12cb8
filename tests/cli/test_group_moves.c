/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A production pool whose replicas take two nodes each, played with a LeaderWorkerSet and its
 * controller: it grows and shrinks by whole groups, whatever the guard lets through at once, and
 * the service may die at any commit of it.
 */
#include "tests/cli/stepwise.h"
#include "tests/support/sweep.h"
#include "tools/simulator/kube/kube_gangs.h"

static const char set_path[] =
    "/apis/leaderworkerset.x-k8s.io/v1/namespaces/serving/leaderworkersets/large";

/* The small world, in which the only workload takes two nodes a replica. */
static char *group_config(const char *settings)
{
    static const char was[] = "  chat-2x: {queue: chat, namespace: serving, gpus: 2, ";
    const char *at = strstr(small_config, was);

    require(at);
    return text_format("%.*s  large: {queue: chat, namespace: serving, gpus: 16, kind: "
                       "leaderworkerset, %s%s",
                       (int)(at - small_config), small_config, at + strlen(was), settings);
}

/* Its pods take a node each. */
static void put_set(struct rehearsal *rehearsal, int size)
{
    owned(json) json_t *set = json_make(
        "{s:s, s:s, s:{s:i, s:{s:i, s:{s:{s:i, s:[{s:s, s:{s:{s:s}}}]}}}}}", "apiVersion",
        "leaderworkerset.x-k8s.io/v1", "kind", "LeaderWorkerSet", "spec", "replicas", 3,
        "leaderWorkerTemplate", "size", size, "workerTemplate", "spec",
        "terminationGracePeriodSeconds", 30, "containers", "name", "main", "resources", "limits",
        "nvidia.com/gpu", "8");

    simulator_put_object(rehearsal->simulator, "prod-a", set_path, set);
}

static struct rehearsal *group_rehearsal(const char *folder, uint64_t seed, const char *settings,
                                         const char *faults)
{
    static const char was[] = "replicas: {chat-2x: {prod-a: 20}}\n";
    const char *at = strstr(small_machines, was);
    owned(chars) char *config = group_config(settings);
    owned(chars) char *world = NULL;
    struct rehearsal *rehearsal;

    require(at);
    world = text_format("seed: %d\n%.*s%s%s", (int)seed, (int)(at - small_machines), small_machines,
                        at + strlen(was), faults);
    rehearsal = world_start(folder, config, world, 6, seed);
    put_set(rehearsal, 2);
    return rehearsal;
}

static char *group_schedule(int replicas)
{
    return text_format(
        "workloads:\n  large:\n    prod-a: %d\ncompute:\n  a3-megagpu-8g:\n    us-east5:\n"
        "      prod-a:\n        counts: [%d]\n",
        replicas, 2 * replicas);
}

/* So many replicas by day and by night, of two nodes each. */
static void apply_groups(struct rehearsal *rehearsal, int by_day, int by_night)
{
    owned(chars) char *day = group_schedule(by_day);
    owned(chars) char *night = group_schedule(by_night);
    owned(json) json_t *schedules = json_make("{ss ss}", "day", day, "night", night);
    struct error err = { 0 };
    owned(json) json_t *plan = service_apply(rehearsal->service, schedules, NULL, "test", &err);

    if (!plan && !rehearsal->is_dead)
        fail_msg("%s", err.text);
}

/* Groups all of whose pods run on nodes that are there. */
static int serving_groups(const struct rehearsal *rehearsal)
{
    const struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "prod-a");
    int pods[16] = { 0 };
    int groups = 0;
    void *value;

    for (size_t i = 0; map_next(cluster->pods, &i, NULL, &value);) {
        const struct kube_pod *pod = value;
        const char *index = sim_pod_label(pod, "leaderworkerset.sigs.k8s.io/group-index");

        if (index && pod->is_ready && pod->deletion_ms == 0 && pod->node)
            pods[atoi(index) % 16]++;
    }
    for (size_t i = 0; i < COUNT_OF(pods); i++)
        groups += pods[i] == 2;
    return groups;
}

/* How many live transfers go to the pool, and how many leave it. */
static void count_live(const struct rehearsal *rehearsal, int *to, int *from)
{
    const struct runner *runner = rehearsal->service->runner;

    *to = *from = 0;
    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];

        if (transfer->state != TRANSFER_LIVE)
            continue;
        *to += text_equal(transfer->target->name, "prod-a-east");
        *from += text_equal(transfer->source->name, "prod-a-east");
    }
}

/* Runs until so many groups serve on so many nodes and nothing is under way; never does a group
   that is wanted lose a node, and `least` groups serve all the time. */
static void run_to_groups(struct rehearsal *rehearsal, int groups, int least, int nodes)
{
    int64_t limit_ms = 3 * HOUR_MS;

    for (int64_t ms = 0; ms < limit_ms && !rehearsal->is_dead; ms += 15 * SECOND_MS) {
        rehearsal_run(rehearsal, 15 * SECOND_MS);
        if (serving_groups(rehearsal) < least)
            fail_msg("%d groups serve, at least %d were to", serving_groups(rehearsal), least);
        if (!rehearsal->is_dead && serving_groups(rehearsal) == groups &&
            nodes_of(rehearsal, "prod-a-east") == nodes && transfers_of(rehearsal, false) == 0)
            return;
    }
}

static void groups_move_whole(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = group_rehearsal(
        folder, 3, "guard: {in_flight: 3, in_flight_per_cluster: 3}\n", "");
    int to, from;
    int most = 0;

    (void)state;
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    assert_int_equal(serving_groups(rehearsal), 3);
    apply_groups(rehearsal, 5, 3);
    for (int i = 0; i < 115; i++) { /* three may be under way: a group begins where two may */
        rehearsal_run(rehearsal, MINUTE_MS);
        count_live(rehearsal, &to, &from);
        assert_true(to <= 3 && from == 0);
        assert_int_equal(transfers_of(rehearsal, true) % 2, 0);
        most = to > most ? to : most;
        assert_true(serving_groups(rehearsal) >= 3);
        assert_true(2 * json_int_or(simulator_object(rehearsal->simulator, "prod-a", set_path),
                                    "spec/replicas", 99) <=
                    nodes_of(rehearsal, "prod-a-east"));
    }
    assert_true(most >= 2);
    assert_int_equal(serving_groups(rehearsal), 5);
    expect_rest(rehearsal, 10);
    apply_groups(rehearsal, 2, 2);
    run_to_groups(rehearsal, 2, 2, 4);
    assert_int_equal(serving_groups(rehearsal), 2);
    expect_rest(rehearsal, 4);
}

/* A canary is one group, and not one node. */
static void a_wave_begins_with_a_group(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = group_rehearsal(folder, 5,
                                                                   "guard: {canary: true}\n", "");
    int to, from;

    (void)state;
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    apply_groups(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    count_live(rehearsal, &to, &from);
    assert_int_equal(to, 2);
    run_to_groups(rehearsal, 6, 3, 12);
    expect_rest(rehearsal, 12);
}

/* Three nodes are asked for: two whole groups are given. */
static void a_reclaim_takes_whole_groups(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = group_rehearsal(folder, 7, "", "");
    owned(json) json_t *answer = NULL;

    (void)state;
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    apply_groups(rehearsal, 3, 3);
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, 3);
    assert_int_equal(json_int_or(answer, "wanted_nodes", 0), 3);
    assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 4);
    rehearsal_run(rehearsal, 45 * MINUTE_MS);
    expect_rest(rehearsal, 10);
}

/* One node of a group is given up: another takes its place, and the first waits for it. */
static void a_node_that_does_not_come_is_replaced(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = group_rehearsal(
        folder, 9, "guard: {attempts: 2}\njoin: {deadline: 10m}\n", "faults: {never_joins: 0.4}\n");

    (void)state;
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    apply_groups(rehearsal, 5, 5);
    run_to_groups(rehearsal, 5, 3, 10);
    expect_rest(rehearsal, 10);
}

/* The controller of LeaderWorkerSets stands still: no node leaves with a group on it. */
static void nodes_wait_for_the_groups_on_them(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = group_rehearsal(folder, 15, "", "");
    json_t *template;
    json_t *worker;
    int to, from;

    (void)state;
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    template = json_at(simulator_object(rehearsal->simulator, "prod-a", set_path),
                       "spec/leaderWorkerTemplate");
    worker = json_incref(json_object_get(template, "workerTemplate"));
    json_object_del(template, "workerTemplate");
    apply_groups(rehearsal, 2, 2);
    rehearsal_run(rehearsal, 20 * MINUTE_MS);
    count_live(rehearsal, &to, &from);
    assert_true(to == 0 && from == 0);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 6);
    assert_int_equal(serving_groups(rehearsal), 3);
    json_object_set_new(template, "workerTemplate", worker);
    sim_gangs_soon(rehearsal->simulator, sim_cluster(rehearsal->simulator, "prod-a"));
    run_to_groups(rehearsal, 2, 2, 4);
    expect_rest(rehearsal, 4);
}

/* What the plan counts and what the groups ask for differ: nothing is scaled or taken. */
static void a_group_of_other_gpus_is_left_alone(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = group_rehearsal(folder, 13, "", "");
    owned(json) json_t *status = NULL;
    owned(chars) char *text = NULL;

    (void)state;
    put_set(rehearsal, 1);
    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    apply_groups(rehearsal, 2, 2);
    rehearsal_run(rehearsal, 30 * MINUTE_MS);
    status = service_status(rehearsal->service);
    text = json_print(status);
    assert_non_null(strstr(text, "the 1 pods of a group ask for 8 GPUs, and workload large has "
                                 "gpus: 16: correct one of the two"));
    assert_int_equal(
        json_int_or(simulator_object(rehearsal->simulator, "prod-a", set_path), "spec/replicas", 0),
        3);
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), 6);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* One group comes and two go, and the service dies on the way; returns its commits. */
static int64_t play(int64_t kill_at, bool is_after)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = group_rehearsal(folder, 11, "", "");
    int64_t before;
    struct error err = { 0 };

    rehearsal_run(rehearsal, 3 * MINUTE_MS);
    before = rehearsal->commits;
    if (kill_at > 0 && is_after)
        rehearsal_kill_after_commit(rehearsal, kill_at);
    else if (kill_at > 0)
        rehearsal_kill_at_commit(rehearsal, kill_at);
    for (int step = 0; step < 2; step++) {
        int replicas = step == 0 ? 4 : 2;

        if (!rehearsal->is_dead)
            apply_groups(rehearsal, replicas, replicas);
        run_to_groups(rehearsal, replicas, 2, 2 * replicas);
        if (rehearsal->is_dead) {
            rehearsal_kill(rehearsal);
            if (rehearsal_start(rehearsal, &err) < 0)
                fail_msg("after a death at commit %lld: %s", (long long)kill_at, err.text);
            rehearsal_run(rehearsal, MINUTE_MS);
            apply_groups(rehearsal, replicas, replicas);
            run_to_groups(rehearsal, replicas, 2, 2 * replicas);
        }
        assert_int_equal(serving_groups(rehearsal), replicas);
        expect_rest(rehearsal, 2 * replicas);
    }
    return rehearsal->commits - before;
}

static void a_death_at_any_commit_leaves_whole_groups(void **state)
{
    int64_t commits = play(0, false);
    struct sweep_part part = sweep_part(7);

    (void)state;
    assert_true(commits > 30);
    for (int64_t at = 1; at <= commits; at++)
        for (int is_after = 0; is_after < 2; is_after++)
            if (sweep_plays(&part))
                play(at, is_after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_move_whole),
        cmocka_unit_test(a_wave_begins_with_a_group),
        cmocka_unit_test(a_reclaim_takes_whole_groups),
        cmocka_unit_test(a_node_that_does_not_come_is_replaced),
        cmocka_unit_test(nodes_wait_for_the_groups_on_them),
        cmocka_unit_test(a_group_of_other_gpus_is_left_alone),
        cmocka_unit_test(a_death_at_any_commit_leaves_whole_groups),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
