/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * kueue ADMIN.kubeconfig BROKER.kubeconfig SEED: the service, as the second user, beside Kueue's
 * real controller.  The research cluster is real, production and the cloud are the simulator's;
 * what boots there for research is registered in the real API server.
 *
 * A gang of two nodes and a job of one run on all that research can lend; then production wants two
 * nodes.  A third party looks at the real server ten times a second, at what follows first and at
 * what causes it last: what it sees holds in whatever order the answers came.
 */
#include "base/log.h"
#include "broker/service/service_parts.h"
#include "broker/transfer/runner.h"
#include "tests/conformance/ask.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 100, LONG_MS = 6 * MINUTE_MS, NODE_GPUS = 8, LENT_NODES = 3 };

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"

static const char config_format[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "journal: ':memory:'\n"
    "poll: 1s\n"
    "repack_nodes: 0\n"
    "ephemeral_label: sluice.dev/ephemeral=%s\n"
    "drain: {notice: 2s, deadline: 60s, settle: 1s}\n"
    "join: {stable: 1s}\n"
    "lead: {prior_p50: 20s, prior_p95: 40s}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}\n"
    "  research-a: {role: research, kubeconfig: '%s'}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8,"
    " nodes: 6}\n"
    "providers:\n"
    "  google: {kind: gcp, endpoint: 'http://127.0.0.1:%d/gcp',"
    " metadata: 'http://127.0.0.1:%d/gcp'}\n"
    "pools:\n"
    "  prod-a-east: {cluster: prod-a, reservation: east, provider: google, project: p,"
    " group: %s-prod, static_nodes: 1}\n"
    "  research-a-east: {cluster: research-a, reservation: east, provider: google, project: p,"
    " group: %s-lab, static_nodes: 1}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {prod-a: {}}}\n"
    "quotas:\n"
    "  lent: {cluster: research-a, cluster_queue: %s, flavor: %s%s}\n";

static const char world_format[] =
    "seed: %lld\n"
    "pools: { prod-a-east: { nodes: 2 }, research-a-east: { nodes: 4 } }\n"
    "latency: { api: 1ms..10ms, delete: 1s..2s, create: 1s..2s, join: 1s..2s, gpus: 2s..3s,"
    " pod_start: 1s, pod_stop: 1s }\n";

struct run {
    char name[32]; /* of what this run makes, apart from other runs' */
    char *folder;
    struct loop *loop;
    struct http *http;
    struct random random;
    struct simulator *simulator;
    struct journal *journal;
    struct config *config;
    struct world world;
    struct service *service;
    struct kube_config *access;
    struct asker lab;   /* the real research cluster, as others see it */
    struct map *posted; /* name of a node -> GPUs that the real one shows */
    /* What the third party saw last. */
    int64_t quota;
    bool is_active; /* the gang's Workload */
    int closed;     /* nodes with a cordon */
    int usable;     /* GPUs of movable nodes that are Ready, open and have no start-up taint */
    int leaving;    /* pods of the gang with a deletionTimestamp */
    int running;    /* and those that run */
};

static const char *admin, *broker; /* kubeconfigs of the same cluster */
static long long seed;

static json_t *ask_lab(struct run *run, const char *path, ...)
    __attribute__((format(printf, 2, 3)));

static json_t *ask_lab(struct run *run, const char *path, ...)
{
    va_list arguments;

    va_start(arguments, path);
    ask_server_list(&run->lab, ASK_GET, NULL, path, arguments);
    va_end(arguments);
    ask_expect(&run->lab, 200);
    return run->lab.body;
}

static void post_lab(struct run *run, const char *path, json_t *object)
{
    ask_server(&run->lab, ASK_POST, object, "%s", path);
    ask_expect(&run->lab, 201);
}

/* ---- machines: what their kubelets tell the real server ---- */

static json_t *resources_of(int gpus)
{
    char count[16];

    snprintf(count, sizeof count, "%d", gpus);
    return json_make("{s:s, s:s, s:s, s:s}", "cpu", "192", "memory", "1800Gi", "pods", "110",
                     SIM_GPU, count);
}

static void post_node(struct run *run, const struct kube_node *node)
{
    json_t *taints = sim_node_has_taint(node, SIM_STARTING)
                         ? json_make("[{s:s, s:s}]", "key", SIM_STARTING, "effect", "NoSchedule")
                         : json_array();
    int *gpus = mem_new(sizeof *gpus);

    *gpus = node->gpus;
    map_set(run->posted, node->name, gpus);
    post_lab(run, "/api/v1/nodes",
             json_make("{s:s, s:s, s:{s:s, s:O}, s:{s:s, s:o}, s:{s:o, s:o}}", "apiVersion", "v1",
                       "kind", "Node", "metadata", "name", node->name, "labels", node->labels,
                       "spec", "providerID", node->provider_id, "taints", taints, "status",
                       "allocatable", resources_of(node->gpus), "capacity",
                       resources_of(node->gpus)));
}

static void register_nodes(struct run *run)
{
    struct kube_cluster *lab = sim_cluster(run->simulator, "research-a");
    void *value;

    for (size_t i = 0; map_next(lab->nodes, &i, NULL, &value);) {
        const struct kube_node *node = value;
        int *gpus = map_get(run->posted, node->name);

        if (!gpus && node->readiness == NODE_READY) {
            post_node(run, node);
            return; /* the loop ran: the map may have changed */
        }
        if (gpus && *gpus != node->gpus && node->machine) {
            *gpus = node->gpus;
            ask_server(&run->lab, ASK_STRATEGIC_PATCH,
                       json_make("{s:{s:o, s:o}}", "status", "allocatable",
                                 resources_of(node->gpus), "capacity", resources_of(node->gpus)),
                       "/api/v1/nodes/%s/status", node->name);
            return;
        }
    }
}

/* ---- the third party ---- */

static int64_t quota_of(const json_t *queue)
{
    const json_t *group = json_array_get(json_at(queue, "spec/resourceGroups"), 0);
    const json_t *flavor = json_array_get(json_object_get(group, "flavors"), 0);
    const json_t *row = json_array_get(json_object_get(flavor, "resources"), 0);
    long long quota;

    assert_true(text_to_int(json_text_or(row, "nominalQuota", ""), 0, INT32_MAX, &quota));
    return quota;
}

static void look_at_pods(struct run *run)
{
    const json_t *pod;
    size_t i;

    run->leaving = run->running = 0;
    json_array_foreach(json_at(ask_lab(run,
                                       "/api/v1/namespaces/%s/pods?labelSelector="
                                       "batch.kubernetes.io/job-name=train",
                                       run->name),
                               "items"),
                       i, pod) {
        owned(chars) char *chars = json_print(pod);

        run->leaving += json_at(pod, "metadata/deletionTimestamp") != NULL;
        run->running += text_equal(json_text_or(pod, "status/phase", ""), "Running") &&
                        !json_at(pod, "metadata/deletionTimestamp");
        if (strstr(chars, "EvictionByEvictionAPI"))
            fail_msg("a pod of the gang was evicted: %s", chars);
    }
}

static void look_at_workload(struct run *run)
{
    const json_t *workload;
    size_t i;

    json_array_foreach(json_at(ask_lab(run, KUEUE "/namespaces/%s/workloads", run->name), "items"),
                       i, workload) {
        if (text_starts_with(json_text_or(workload, "metadata/name", ""), "job-train-"))
            run->is_active = json_bool_or(workload, "spec/active", true);
    }
}

static void look_at_nodes(struct run *run)
{
    const json_t *node;
    size_t i;

    run->closed = run->usable = 0;
    json_array_foreach(
        json_at(ask_lab(run, "/api/v1/nodes?labelSelector=sluice.dev/ephemeral=%s", run->name),
                "items"),
        i, node) {
        owned(chars) char *taints = json_print(json_at(node, "spec/taints") ?: json_null());
        bool is_closed = json_bool_or(node, "spec/unschedulable", false);
        long long gpus = 0;

        (void)text_to_int(
            json_string_value(json_object_get(json_at(node, "status/allocatable"), SIM_GPU)) ?: "",
            0, 64, &gpus);
        run->closed += is_closed;
        if (!is_closed && !strstr(taints, SIM_STARTING))
            run->usable += (int)gpus;
    }
}

static void look(struct run *run)
{
    look_at_pods(run);
    look_at_workload(run);
    look_at_nodes(run);
    run->quota = quota_of(ask_lab(run, KUEUE "/clusterqueues/%s", run->name));
}

static void go_on(struct run *run)
{
    int64_t end_ms = loop_now(run->loop) + LOOK_MS;

    while (loop_now(run->loop) < end_ms)
        loop_run_until(run->loop, end_ms);
    register_nodes(run);
}

typedef bool (*sight_fn)(const struct run *run);

/* Looks until it is so; `always` holds at each look. */
static void await(struct run *run, const char *what, sight_fn is_so, sight_fn always)
{
    int64_t end_ms = loop_now(run->loop) + LONG_MS;

    do {
        go_on(run);
        look(run);
        if (loop_now(run->loop) >= end_ms || (always && !always(run))) {
            owned(json) json_t *transfers = service_transfers(run->service, true);
            owned(json) json_t *status = service_status(run->service);
            owned(chars) char *story = json_print_pretty(transfers);
            owned(chars) char *state = json_print_pretty(status);

            fail_msg("%s: quota %lld, workload %s, %d closed, %d GPUs usable, %d leave, %d run\n"
                     "%s\n%s",
                     what, (long long)run->quota, run->is_active ? "active" : "not active",
                     run->closed, run->usable, run->leaving, run->running, story, state);
        }
    } while (!is_so(run));
}

/* ---- opening and closing ---- */

static void open_world(struct run *run, const char *more)
{
    struct error err = { 0 };
    owned(chars) char *world = text_format(world_format, seed);
    owned(chars) char *world_path = test_folder_write(run->folder, "world.yaml", world);
    owned(chars) char *path = NULL;
    int port = 1;

    for (int i = 0; i < 2; i++) { /* the simulator reads it before it knows its port */
        owned(chars) char *chars = text_format(config_format, run->name, broker, port, port,
                                               run->name, run->name, run->name, run->name, more);

        mem_free(path);
        path = test_folder_write(run->folder, "sluice.yaml", chars);
        if (i > 0)
            break;
        run->simulator = simulator_new(run->loop, path, world_path, &err);
        if (!run->simulator || simulator_listen(run->simulator, 0, &port, &err) < 0)
            fail_msg("%s", err.text);
    }

    owned(chars) char *url = text_format("http://127.0.0.1:%d", port);

    if (simulator_write_kubeconfigs(run->simulator, run->folder, url, &err) < 0 ||
        !(run->config = config_read(path, &err)))
        fail_msg("%s", err.text);
}

static void open_run(struct run *run, const char *name, const char *more)
{
    struct error err = { 0 };

    *run = (struct run){ .is_active = true };
    snprintf(run->name, sizeof run->name, "%s%lld", name, seed);
    run->folder = test_folder_new();
    run->loop = loop_libevent_new(&err);
    run->http = run->loop ? http_curl_new(run->loop, NULL, &err) : NULL;
    run->access = run->http ? kube_config_read(admin, NULL, NULL, &err) : NULL;
    if (!run->access)
        fail_msg("%s", err.text);
    run->lab = (struct asker){ run->loop, run->http, run->access, 0, NULL };
    run->posted = map_new(mem_free);
    random_seed(&run->random, (uint64_t)seed);
    run->journal = journal_memory_new();
    open_world(run, more);
    run->world = (struct world){ run->loop, run->http, &run->random, run->journal, NULL };
    for (int i = 0; i < LENT_NODES + 1; i++)
        register_nodes(run);
}

static void start_service(struct run *run)
{
    struct error err = { 0 };

    run->service = service_open(&run->world, run->config, &err);
    if (!run->service)
        fail_msg("%s", err.text);
    service_start(run->service);
}

static void close_run(struct run *run)
{
    const char *name;
    void *value;

    service_close(run->service);
    ask_server(&run->lab, ASK_DELETE, NULL, "/api/v1/namespaces/%s", run->name);
    for (size_t i = 0; map_next(run->posted, &i, &name, &value);)
        ask_server(&run->lab, ASK_DELETE, NULL, "/api/v1/nodes/%s", name);
    simulator_free(run->simulator);
    http_free(run->http);
    journal_close(run->journal);
    config_free(run->config);
    kube_config_free(run->access);
    json_decref(run->lab.body);
    loop_free(run->loop);
    map_free(run->posted);
    test_folder_free(run->folder);
}

/* ---- what the researchers have ---- */

static void post_queue(struct run *run, int gpus)
{
    owned(chars) char *queues = text_format(KUEUE "/namespaces/%s/localqueues", run->name);

    post_lab(run, "/api/v1/namespaces",
             json_make("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
                       "name", run->name));
    post_lab(run, KUEUE "/resourceflavors",
             json_make("{s:s, s:s, s:{s:s}, s:{s:{s:s}}}", "apiVersion", "kueue.x-k8s.io/v1beta2",
                       "kind", "ResourceFlavor", "metadata", "name", run->name, "spec",
                       "nodeLabels", "sluice.dev/ephemeral", run->name));
    post_lab(run, KUEUE "/clusterqueues",
             json_make("{s:s, s:s, s:{s:s}, s:{s:s, s:{}, s:[{s:[s], s:[{s:s, s:[{s:s, s:i}]}]}]}}",
                       "apiVersion", "kueue.x-k8s.io/v1beta2", "kind", "ClusterQueue", "metadata",
                       "name", run->name, "spec", "cohortName", run->name, "namespaceSelector",
                       "resourceGroups", "coveredResources", SIM_GPU, "flavors", "name", run->name,
                       "resources", "name", SIM_GPU, "nominalQuota", gpus));
    post_lab(run, queues,
             json_make("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "kueue.x-k8s.io/v1beta2",
                       "kind", "LocalQueue", "metadata", "name", "team", "spec", "clusterQueue",
                       run->name));
}

/* A Job of so many pods that need each other, each of them a whole node. */
static void post_job(struct run *run, const char *name, int pods)
{
    owned(chars) char *path = text_format("/apis/batch/v1/namespaces/%s/jobs", run->name);
    json_t *container = json_make("{s:s, s:s, s:{s:{s:i}, s:{s:i}}}", "name", "main", "image",
                                  "registry.example/main:1", "resources", "limits", SIM_GPU,
                                  NODE_GPUS, "requests", SIM_GPU, NODE_GPUS);
    json_t *template = json_make("{s:{s:{s:s}}, s:{s:s, s:[o]}}", "metadata", "annotations",
                                 "test.sluice.dev/stops-in", "8s", "spec", "restartPolicy", "Never",
                                 "containers", container);

    post_lab(run, path,
             json_make("{s:s, s:s, s:{s:s, s:{s:s}}, s:{s:b, s:i, s:i, s:s, s:o}}", "apiVersion",
                       "batch/v1", "kind", "Job", "metadata", "name", name, "labels",
                       "kueue.x-k8s.io/queue-name", "team", "spec", "suspend", 1, "parallelism",
                       pods, "completions", pods, "completionMode", "Indexed", "template",
                       template));
}

/* So many nodes for production, by day and by night; until the service knows enough it says no. */
static void want(struct run *run, int nodes)
{
    owned(chars) char *chars = text_format(
        "workloads:\n  chat-2x:\n    prod-a: %d\ncompute:\n  a3-megagpu-8g:\n    us-east5:\n"
        "      prod-a:\n        counts: [%d]\n",
        nodes * 4 - 4, nodes);
    int64_t end_ms = loop_now(run->loop) + LONG_MS;
    struct error err = { 0 };

    for (;;) {
        owned(json) json_t *schedules = json_make("{s:s, s:s}", "day", chars, "night", chars);
        owned(json) json_t *plan = service_apply(run->service, schedules, NULL, "test", &err);

        if (plan)
            return;
        if (loop_now(run->loop) >= end_ms)
            fail_msg("apply: %s", err.text);
        go_on(run);
    }
}

/* ---- the play ---- */

static bool has_whole_quota(const struct run *run)
{
    return run->quota == LENT_NODES * NODE_GPUS;
}

static bool runs(const struct run *run)
{
    return run->running == 2;
}

static bool is_put_aside(const struct run *run)
{
    return !run->is_active;
}

/* No pod of the gang leaves but with the whole of it; and that only when both nodes of the move
   are closed, after Kueue was told that there is less to give. */
static bool has_order(const struct run *run)
{
    bool shrank = run->quota == (LENT_NODES - 2) * NODE_GPUS;

    return (run->leaving == 0 || !run->is_active) &&
           (run->is_active || (run->closed == 2 && shrank));
}

static bool is_back(const struct run *run)
{
    return run->is_active && run->closed == 0 && run->running == 2 && has_whole_quota(run);
}

static bool is_gone(const struct run *run)
{
    return simulator_pool_running(run->simulator, "prod-a-east") == 4 && run->closed == 0 &&
           run->is_active && run->quota == (LENT_NODES - 2) * NODE_GPUS;
}

/* Quota was read after the nodes: on the way back it is never more than what can be used. */
static bool fits(const struct run *run)
{
    return run->quota <= run->usable;
}

/* The move goes back in the middle of its drain: the gang runs again, on its old nodes. */
static void play_withdrawal(struct run *run)
{
    struct runner *runner = run->service->runner;

    want(run, 4);
    await(run, "the gang to be put aside", is_put_aside, has_order);
    want(run, 2);
    for (size_t i = 0; i < runner->transfers.count; i++)
        if (runner->transfers.items[i]->state == TRANSFER_LIVE)
            runner_withdraw(runner, runner->transfers.items[i], "test");
    await(run, "all to be as before", is_back, NULL);
    assert_int_equal(simulator_pool_running(run->simulator, "research-a-east"), 4);
}

/* Who wrote the quota, and in which version. */
static void expect_version(struct run *run)
{
    const json_t *entry;
    size_t i;
    bool is_there = false;

    ask_lab(run, KUEUE "/clusterqueues/%s", run->name);
    assert_string_equal(json_text_or(run->lab.body, "spec/cohortName", ""), run->name);
    json_array_foreach(json_at(run->lab.body, "metadata/managedFields"), i, entry) {
        if (text_equal(json_text_or(entry, "manager", ""), "sluice")) {
            is_there = true;
            assert_string_equal(json_text_or(entry, "apiVersion", ""), "kueue.x-k8s.io/v1beta2");
        }
    }
    assert_true(is_there);
}

static void a_gang_leaves_whole_and_quota_follows_the_nodes(void **state)
{
    struct run run;

    (void)state;
    open_run(&run, "kueue", "");
    post_queue(&run, 0); /* nothing is admitted until the service says what there is */
    post_job(&run, "train", 2);
    start_service(&run);
    want(&run, 2);
    await(&run, "the quota to be what there is", has_whole_quota, fits);
    await(&run, "the gang to run", runs, NULL);
    post_job(&run, "next", 1);
    play_withdrawal(&run);

    want(&run, 4);
    await(&run, "the gang to be put aside", is_put_aside, has_order);
    await(&run, "both nodes to be production's", is_gone, NULL);
    assert_int_equal(run.running, 0); /* it waits in its queue: there is no room */

    want(&run, 2);
    await(&run, "both nodes to be back, and the gang on them", is_back, fits);
    expect_version(&run);
    close_run(&run);
}

/* What is promised to a team is more than the nodes that always stay: no node is lent away. */
static void a_promise_that_static_nodes_cannot_keep_holds_all_nodes(void **state)
{
    struct run run;
    owned(json) json_t *status = NULL;
    owned(chars) char *warnings = NULL;

    (void)state;
    open_run(&run, "promise", ", reserved: true");
    post_queue(&run, 2 * NODE_GPUS);
    start_service(&run);
    want(&run, 3);
    for (int i = 0; i < 100; i++) {
        go_on(&run);
        look(&run);
        assert_int_equal(run.closed, 0);
        assert_int_equal(run.quota, 2 * NODE_GPUS);
    }
    status = service_status(run.service);
    warnings = json_print(json_object_get(status, "warnings"));
    if (!strstr(warnings, "reserves 16 GPUs") || !strstr(warnings, "the static nodes have 8"))
        fail_msg("%s", warnings);
    assert_int_equal(simulator_pool_running(run.simulator, "research-a-east"), 4);
    close_run(&run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_leaves_whole_and_quota_follows_the_nodes),
        cmocka_unit_test(a_promise_that_static_nodes_cannot_keep_holds_all_nodes),
    };

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    if (argc != 4 || !text_to_int(argv[3], 1, INT32_MAX, &seed)) {
        fprintf(stderr, "usage: real_kueue ADMIN.kubeconfig BROKER.kubeconfig SEED\n");
        return 64;
    }
    admin = argv[1];
    broker = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
