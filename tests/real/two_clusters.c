/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * two_clusters PROD.kubeconfig RESEARCH.kubeconfig SEED KILL_AT: moves one node between two real
 * control planes.  The cloud is the simulator's; a machine that it boots is registered in the real
 * API server, as a kubelet would do it, and is left there when the machine is gone.  The service
 * dies at its commit number KILL_AT (0: never) and is started again on the same journal.
 *
 * What it leaves is looked at without the service: nodes, machines, cordons, marks.
 */
#include "base/log.h"
#include "broker/journal/journal.h"
#include "broker/service/service.h"
#include "tests/conformance/ask.h"
#include "tests/real/mortal_http.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 100, MOVE_MS = 180 * SECOND_MS, CLUSTERS = 2 };

static const char config_format[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "journal: ':memory:'\n"
    "poll: 1s\n"
    "repack_nodes: 0\n"
    "ephemeral_label: sluice.dev/ephemeral=%s\n"
    "drain: {notice: 3s, deadline: 60s, settle: 1s}\n"
    "lead: {prior_p50: 20s, prior_p95: 40s}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: '%s'}\n"
    "  research-a: {role: research, kubeconfig: '%s'}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8,"
    " nodes: 5}\n"
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
    "  chat-2x: {queue: chat, namespace: %s, gpus: 2, clusters: {prod-a: {}}}\n";

static const char world_format[] =
    "seed: %lld\n"
    "pools: { prod-a-east: { nodes: 2 }, research-a-east: { nodes: 3 } }\n"
    "latency: { api: 1ms..10ms, delete: 1s..2s, create: 1s..2s, join: 1s..2s, gpus: 1s..2s,"
    " pod_start: 1s, pod_stop: 1s }\n";

struct run {
    const char *kubeconfigs[CLUSTERS]; /* in the order of the configuration */
    char name[32];                     /* of what this run makes, apart from other runs' */
    char *folder;
    char *config_path;
    struct loop *loop;
    struct http *http;
    struct http *mortal; /* the service's way out */
    struct random random;
    struct simulator *simulator;
    struct journal *journal;
    struct config *config;
    struct world world;
    struct service *service;
    struct kube_config *access[CLUSTERS];
    struct asker askers[CLUSTERS];
    struct map *posted; /* name of a node -> GPUs that the real one shows */
    int64_t commits;
    int64_t kill_at;
    bool is_dead;
    int deaths;
};

static void free_number(void *number)
{
    mem_free(number);
}

static int gate(void *context)
{
    struct run *run = context;

    if (run->is_dead)
        return -1;
    run->commits++;
    if (run->kill_at == 0 || run->commits != run->kill_at)
        return 0;
    run->is_dead = true;
    mortal_http_kill(run->mortal);
    loop_stop(run->loop);
    return -1;
}

static void write_config(struct run *run, int port)
{
    owned(chars) char *chars = text_format(config_format, run->name, run->kubeconfigs[0],
                                           run->kubeconfigs[1], port, port, run->name, run->name,
                                           run->name);

    mem_free(run->config_path);
    run->config_path = test_folder_write(run->folder, "sluice.yaml", chars);
}

static void open_cloud(struct run *run, long long seed)
{
    struct error err = { 0 };
    owned(chars) char *world = text_format(world_format, seed);
    owned(chars) char *world_path = test_folder_write(run->folder, "world.yaml", world);
    int port = 0;

    write_config(run, 1);
    run->simulator = simulator_new(run->loop, run->config_path, world_path, &err);
    if (!run->simulator || simulator_listen(run->simulator, 0, &port, &err) < 0)
        fail_msg("%s", err.text);
    write_config(run, port);
    run->config = config_read(run->config_path, &err);
    if (!run->config)
        fail_msg("%s", err.text);
}

static void open_run(struct run *run, long long seed)
{
    struct error err = { 0 };

    snprintf(run->name, sizeof run->name, "run%lld", seed);
    run->folder = test_folder_new();
    run->loop = loop_libevent_new(&err);
    run->http = run->loop ? http_curl_new(run->loop, NULL, &err) : NULL;
    if (!run->http)
        fail_msg("%s", err.text);
    run->mortal = mortal_http_new(run->http);
    run->posted = map_new(free_number);
    random_seed(&run->random, (uint64_t)seed);
    run->journal = journal_memory_new();
    journal_set_gate(run->journal, gate, run);
    open_cloud(run, seed);
    run->world = (struct world){ run->loop, run->mortal, &run->random, run->journal };
    for (size_t i = 0; i < CLUSTERS; i++) {
        run->access[i] = kube_config_read(run->kubeconfigs[i], NULL, NULL, &err);
        if (!run->access[i])
            fail_msg("%s", err.text);
        run->askers[i] = (struct asker){ run->loop, run->http, run->access[i], 0, NULL };
    }
}

static void close_run(struct run *run)
{
    service_close(run->service);
    http_free(run->mortal);
    simulator_free(run->simulator);
    http_free(run->http);
    journal_close(run->journal);
    config_free(run->config);
    for (size_t i = 0; i < CLUSTERS; i++) {
        kube_config_free(run->access[i]);
        json_decref(run->askers[i].body);
    }
    loop_free(run->loop);
    map_free(run->posted);
    mem_free(run->config_path);
    test_folder_free(run->folder);
}

static json_t *resources_of(int gpus)
{
    char count[16];

    snprintf(count, sizeof count, "%d", gpus);
    return json_make("{s:s, s:s, s:s, s:s}", "cpu", "192", "memory", "1800Gi", "pods", "110",
                     "nvidia.com/gpu", count);
}

static void post_node(struct run *run, struct asker *asker, const struct kube_node *node)
{
    json_t *labels = json_deep_copy(node->labels);
    json_t *taints = sim_node_has_taint(node, SIM_STARTING)
                         ? json_make("[{s:s, s:s}]", "key", SIM_STARTING, "effect", "NoSchedule")
                         : json_array();
    int *gpus = mem_new(sizeof *gpus);

    *gpus = node->gpus;
    map_set(run->posted, node->name, gpus);
    json_object_set_new(labels, "test.sluice.dev/run", json_string(run->name));
    ask_server(asker, HTTP_POST, NULL,
               json_make("{s:s, s:s, s:{s:s, s:o}, s:{s:s, s:o}, s:{s:o, s:o}}", "apiVersion", "v1",
                         "kind", "Node", "metadata", "name", node->name, "labels", labels, "spec",
                         "providerID", node->provider_id, "taints", taints, "status", "allocatable",
                         resources_of(node->gpus), "capacity", resources_of(node->gpus)),
               "/api/v1/nodes");
    ask_expect(asker, 201);
}

/* Ready is not enough: without its GPUs a node keeps its start-up taint. */
static void expect_starting(struct asker *asker, const char *node)
{
    size_t i;
    json_t *taint;
    bool is_starting = false;

    ask_server(asker, HTTP_GET, NULL, NULL, "/api/v1/nodes/%s", node);
    ask_expect(asker, 200);
    json_array_foreach(json_at(asker->body, "spec/taints"), i, taint)
    {
        is_starting |= text_equal(json_text_or(taint, "key", ""), SIM_STARTING);
    }
    assert_true(is_starting);
}

/* What the kubelets of the booted machines tell their API server. */
static void register_nodes(struct run *run)
{
    for (size_t i = 0; i < CLUSTERS; i++) {
        struct kube_cluster *cluster = &run->simulator->clusters[i];
        void *value;

        for (size_t at = 0; map_next(cluster->nodes, &at, NULL, &value);) {
            const struct kube_node *node = value;
            int *gpus = map_get(run->posted, node->name);

            if (!gpus && node->readiness == NODE_READY) {
                post_node(run, &run->askers[i], node);
                return; /* the loop ran: the map may have changed */
            }
            if (gpus && *gpus != node->gpus && node->machine) {
                *gpus = node->gpus;
                expect_starting(&run->askers[i], node->name);
                ask_server(&run->askers[i], HTTP_PATCH, "application/strategic-merge-patch+json",
                           json_make("{s:{s:o, s:o}}", "status", "allocatable",
                                     resources_of(node->gpus), "capacity",
                                     resources_of(node->gpus)),
                           "/api/v1/nodes/%s/status", node->name);
                return;
            }
        }
    }
}

/* The Deployment of production, and in research a Job of a pod for each node. */
static void post_work(struct run *run)
{
    json_t *gpus = json_make("{s:s}", "nvidia.com/gpu", "2");
    json_t *template = json_make("{s:{s:{s:s}}, s:{s:{s:s}, s:[{s:s, s:s, s:{s:o}}]}}", "metadata",
                                 "labels", "app", "chat-2x", "spec", "nodeSelector",
                                 "test.sluice.dev/run", run->name, "containers", "name", "main",
                                 "image", "registry.example/main:1", "resources", "limits", gpus);
    json_t *of_job = json_deep_copy(template);

    json_object_set_new(json_object_get(of_job, "spec"), "restartPolicy", json_string("Never"));
    for (size_t i = 0; i < CLUSTERS; i++) {
        ask_server(&run->askers[i], HTTP_POST, NULL,
                   json_make("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace",
                             "metadata", "name", run->name),
                   "/api/v1/namespaces");
        ask_expect(&run->askers[i], 201);
    }
    ask_server(&run->askers[0], HTTP_POST, NULL,
               json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:{s:{s:s}}, s:o}}", "apiVersion", "apps/v1",
                         "kind", "Deployment", "metadata", "name", "chat-2x", "spec", "replicas", 4,
                         "selector", "matchLabels", "app", "chat-2x", "template", template),
               "/apis/apps/v1/namespaces/%s/deployments", run->name);
    ask_expect(&run->askers[0], 201);
    ask_server(&run->askers[1], HTTP_POST, NULL,
               json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:i, s:o}}", "apiVersion", "batch/v1", "kind",
                         "Job", "metadata", "name", "train", "spec", "parallelism", 9,
                         "completions", 9, "template", of_job),
               "/apis/batch/v1/namespaces/%s/jobs", run->name);
    ask_expect(&run->askers[1], 201);
}

static void start_service(struct run *run)
{
    struct error err = { 0 };

    service_close(run->service);
    mortal_http_revive(run->mortal);
    run->is_dead = false;
    run->service = service_open(&run->world, run->config, &err);
    if (!run->service)
        fail_msg("%s", err.text);
    service_start(run->service);
}

static void go_on(struct run *run)
{
    int64_t end_ms = loop_now(run->loop) + LOOK_MS;

    while (loop_now(run->loop) < end_ms && !run->is_dead)
        loop_run_until(run->loop, end_ms);
    if (run->is_dead) {
        run->deaths++;
        start_service(run);
    }
    register_nodes(run);
}

static json_t *schedules_for(int nodes)
{
    owned(chars) char *chars = text_format(
        "workloads:\n  chat-2x:\n    prod-a: %d\ncompute:\n  a3-megagpu-8g:\n    us-east5:\n"
        "      prod-a:\n        counts: [%d]\n",
        nodes * 4 - 4, nodes);

    return json_make("{s:s, s:s}", "day", chars, "night", chars);
}

/* Puts the schedules in force; until the service knows enough it says no. */
static void apply(struct run *run, int nodes)
{
    int64_t end_ms = loop_now(run->loop) + 60 * SECOND_MS;
    struct error err = { 0 };

    for (;;) {
        owned(json) json_t *schedules = schedules_for(nodes);
        owned(json) json_t *plan = service_apply(run->service, schedules, NULL, "test", &err);

        if (plan)
            return;
        if (loop_now(run->loop) >= end_ms)
            fail_msg("apply: %s", err.text);
        go_on(run);
    }
}

static size_t count_of(const struct run *run, bool all, const char *state)
{
    owned(json) json_t *answer = service_transfers(run->service, all);
    size_t i, count = 0;
    json_t *row;

    json_array_foreach(json_object_get(answer, "transfers"), i, row)
    {
        count += !state || text_equal(json_text_or(row, "state", ""), state);
    }
    return count;
}

/* Every node of the run as the real servers have it. */
static void check_nodes(struct run *run, size_t at, int wanted)
{
    struct asker *asker = &run->askers[at];
    size_t i;
    json_t *node;

    ask_server(asker, HTTP_GET, NULL, NULL, "/api/v1/nodes?labelSelector=test.sluice.dev/run=%s",
               run->name);
    ask_expect(asker, 200);
    assert_int_equal(json_array_size(json_at(asker->body, "items")), wanted);
    json_array_foreach(json_at(asker->body, "items"), i, node)
    {
        owned(chars) char *chars = json_print(node);
        const char *name = json_text_or(node, "metadata/name", "");
        const struct machine *machine = NULL;

        for (size_t p = 0; p < run->simulator->pool_count && !machine; p++)
            machine = sim_machine_find(&run->simulator->pools[p], name);
        if (!machine || machine->pool->cluster->index != at)
            fail_msg("%s has no machine there", name);
        assert_false(json_is_true(json_at(node, "spec/unschedulable")));
        if (strstr(chars, "sluice.dev/leaving") || strstr(chars, "sluice.dev/starting") ||
            strstr(chars, "sluice.dev/transfer\":\"1"))
            fail_msg("%s carries a mark: %s", name, chars);
    }
}

static void check_end(struct run *run)
{
    assert_int_equal(count_of(run, true, NULL), 1);
    assert_int_equal(count_of(run, true, "done"), 1);
    assert_int_equal(simulator_pool_running(run->simulator, "prod-a-east"), 3);
    assert_int_equal(simulator_pool_running(run->simulator, "research-a-east"), 2);
    assert_int_equal(run->simulator->machines_created, 1);
    assert_int_equal(run->simulator->machines_deleted, 1);
    check_nodes(run, 0, 3);
    check_nodes(run, 1, 2);
}

static void clean_up(struct run *run)
{
    for (size_t i = 0; i < CLUSTERS; i++) {
        const char *name;
        void *value;

        ask_server(&run->askers[i], HTTP_DELETE, NULL, NULL, "/api/v1/namespaces/%s", run->name);
        for (size_t at = 0; map_next(run->posted, &at, &name, &value);)
            ask_server(&run->askers[i], HTTP_DELETE, NULL, NULL, "/api/v1/nodes/%s", name);
    }
}

static struct run the_run;
static long long the_seed;

static void one_node_moves_once(void **state)
{
    struct run *run = &the_run;
    int64_t began_ms, end_ms, kill_at = run->kill_at;

    (void)state;
    run->kill_at = 0;
    open_run(run, the_seed);
    for (int i = 0; i < 5; i++)
        register_nodes(run);
    post_work(run);
    start_service(run);
    apply(run, 2);
    for (int i = 0; i < 30; i++)
        go_on(run);
    run->commits = 0;
    run->kill_at = kill_at;
    began_ms = loop_now(run->loop);
    end_ms = began_ms + MOVE_MS;
    apply(run, 3);
    while (count_of(run, false, NULL) > 0 || count_of(run, true, NULL) == 0) {
        if (loop_now(run->loop) >= end_ms) {
            owned(json) json_t *transfers = service_transfers(run->service, true);
            owned(chars) char *chars = json_print_pretty(transfers);

            fail_msg("the move does not end: %s", chars);
        }
        go_on(run);
    }
    printf("%" PRId64 " commits, %d deaths, %.1f s\n", run->commits, run->deaths,
           (double)(loop_now(run->loop) - began_ms) / SECOND_MS);
    check_end(run);
    clean_up(run);
    close_run(run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_node_moves_once) };
    long long kill_at = 0;

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    if (argc != 5 || !text_to_int(argv[3], 1, INT32_MAX, &the_seed) ||
        !text_to_int(argv[4], 0, INT32_MAX, &kill_at)) {
        fprintf(stderr, "usage: two_clusters PROD.kubeconfig RESEARCH.kubeconfig SEED KILL_AT\n");
        return 64;
    }
    the_run.kubeconfigs[0] = argv[1];
    the_run.kubeconfigs[1] = argv[2];
    the_run.kill_at = kill_at;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
