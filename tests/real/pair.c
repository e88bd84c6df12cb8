/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See pair.h.
 */
#include "tests/real/pair.h"

#include "base/map.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"

#include <stdio.h>

enum { LOOK_MS = 100, SETTLE_MS = 20 * MINUTE_MS }; /* on a busy machine; longer hangs */

static const char config_format[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "poll: 1s\n"
    "repack_nodes: 0\n"
    "ephemeral_label: sluice.dev/ephemeral=%s\n"
    "drain: {%s}\n"
    "join: {%s}\n"
    "lead: {prior_p50: 20s, prior_p95: 40s}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: '%s'}\n"
    "  research-a: {role: research, kubeconfig: '%s'}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8,"
    " nodes: %d}\n"
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
    "seed: 1\n"
    "pools: { prod-a-east: { nodes: 2 }, research-a-east: { nodes: %d } }\n"
    "latency: { api: 1ms..10ms, delete: 1s..2s, create: 1s..2s, join: 500ms..1s, gpus: 500ms..1s,"
    " pod_start: 1s, pod_stop: 1s }\n";

static void free_number(void *number)
{
    mem_free(number);
}

static void write_config(struct pair *pair, int port)
{
    owned(chars) char *chars = text_format(
        config_format, pair->name, pair->drain ?: "notice: 2s, deadline: 60s, settle: 1s",
        pair->join ?: "stable: 1s", pair->brokers[PROD], pair->brokers[RESEARCH],
        pair->movable + STATIC_NODES, port, port, pair->name, pair->name, pair->name);

    mem_free(test_folder_write(pair->folder, "sluice.yaml", chars));
}

static void open_cloud(struct pair *pair)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format(world_format, pair->movable + 1);
    owned(chars) char *world_path = test_folder_write(pair->folder, "world.yaml", chars);
    owned(chars) char *config_path = text_format("%s/sluice.yaml", pair->folder);
    int port = 0;

    write_config(pair, 1);
    pair->simulator = simulator_new(pair->loop, config_path, world_path, &err);
    if (!pair->simulator || simulator_listen(pair->simulator, 0, &port, &err) < 0)
        fail_msg("%s", err.text);
    write_config(pair, port);
}

static void open_pair(struct pair *pair)
{
    struct error err = { 0 };

    pair->folder = test_folder_new();
    pair->loop = loop_libevent_new(&err);
    pair->http = pair->loop ? http_curl_new(pair->loop, NULL, &err) : NULL;
    if (!pair->http)
        fail_msg("%s", err.text);
    pair->posted = map_new(free_number);
    open_cloud(pair);
    pair->service = mortal_service_new(pair->loop, pair->http, pair->folder);
    for (size_t i = 0; i < CLUSTERS; i++) {
        pair->access[i] = kube_config_read(pair->kubeconfigs[i], NULL, NULL, &err);
        if (!pair->access[i])
            fail_msg("%s", err.text);
        pair->askers[i] = (struct asker){ pair->loop, pair->http, pair->access[i], 0, NULL };
    }
}

static void close_pair(struct pair *pair)
{
    mortal_service_free(pair->service);
    simulator_free(pair->simulator);
    http_free(pair->http);
    for (size_t i = 0; i < CLUSTERS; i++) {
        kube_config_free(pair->access[i]);
        json_decref(pair->askers[i].body);
    }
    loop_free(pair->loop);
    map_free(pair->posted);
    test_folder_free(pair->folder);
}

static json_t *resources_of(int gpus)
{
    char count[16];

    snprintf(count, sizeof count, "%d", gpus);
    return json_make("{s:s, s:s, s:s, s:s}", "cpu", "192", "memory", "1800Gi", "pods", "110",
                     "nvidia.com/gpu", count);
}

static void post_node(struct pair *pair, struct asker *asker, const struct kube_node *node)
{
    json_t *labels = json_deep_copy(node->labels);
    json_t *taints = sim_node_has_taint(node, SIM_STARTING)
                         ? json_make("[{s:s, s:s}]", "key", SIM_STARTING, "effect", "NoSchedule")
                         : json_array();
    int *gpus = mem_new(sizeof *gpus);

    *gpus = node->gpus;
    map_set(pair->posted, node->name, gpus);
    json_object_set_new(labels, "test.sluice.dev/run", json_string(pair->name));
    ask_server(asker, ASK_POST,
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

    ask_server(asker, ASK_GET, NULL, "/api/v1/nodes/%s", node);
    ask_expect(asker, 200);
    json_array_foreach(json_at(asker->body, "spec/taints"), i, taint) {
        is_starting |= text_equal(json_text_or(taint, "key", ""), SIM_STARTING);
    }
    assert_true(is_starting);
}

/* What the kubelets of the booted machines tell their API server. */
static void register_nodes(struct pair *pair)
{
    for (size_t i = 0; i < CLUSTERS; i++) {
        struct kube_cluster *cluster = &pair->simulator->clusters[i];
        void *value;

        for (size_t at = 0; map_next(cluster->nodes, &at, NULL, &value);) {
            const struct kube_node *node = value;
            int *gpus = map_get(pair->posted, node->name);

            if (!gpus && node->readiness == NODE_READY) {
                post_node(pair, &pair->askers[i], node);
                return; /* the loop ran: the map may have changed */
            }
            if (gpus && *gpus != node->gpus && node->machine) {
                *gpus = node->gpus;
                expect_starting(&pair->askers[i], node->name);
                ask_server(&pair->askers[i], ASK_STRATEGIC_PATCH,
                           json_make("{s:{s:o, s:o}}", "status", "allocatable",
                                     resources_of(node->gpus), "capacity",
                                     resources_of(node->gpus)),
                           "/api/v1/nodes/%s/status", node->name);
                return;
            }
        }
    }
}

static void post_namespace(struct pair *pair, struct asker *asker)
{
    ask_server(asker, ASK_POST,
               json_make("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
                         "name", pair->name),
               "/api/v1/namespaces");
    ask_expect(asker, 201);
}

static json_t *template_for(const char *label, const char *value)
{
    json_t *gpus = json_make("{s:s}", "nvidia.com/gpu", "2");

    return json_make("{s:{s:{s:s}}, s:{s:{s:s}, s:[{s:s, s:s, s:{s:o}}]}}", "metadata", "labels",
                     "app", "work", "spec", "nodeSelector", label, value, "containers", "name",
                     "main", "image", "registry.example/main:1", "resources", "limits", gpus);
}

static void post_deployment(struct pair *pair)
{
    struct asker *asker = &pair->askers[PROD];

    ask_server(asker, ASK_POST,
               json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:{s:{s:s}}, s:o}}", "apiVersion", "apps/v1",
                         "kind", "Deployment", "metadata", "name", "chat-2x", "spec", "replicas", 4,
                         "selector", "matchLabels", "app", "work", "template",
                         template_for("test.sluice.dev/run", pair->name)),
               "/apis/apps/v1/namespaces/%s/deployments", pair->name);
    ask_expect(asker, 201);
}

/* A Job that fills the node, and has no other. */
static void post_job(struct pair *pair, const char *node)
{
    struct asker *asker = &pair->askers[RESEARCH];
    json_t *template = template_for("kubernetes.io/hostname", node);

    json_object_set_new(json_object_get(template, "spec"), "restartPolicy", json_string("Never"));
    if (pair->stops_in)
        json_object_set_new(json_object_get(template, "metadata"), "annotations",
                            json_make("{s:s}", "test.sluice.dev/stops-in", pair->stops_in));
    ask_server(asker, ASK_POST,
               json_make("{s:s, s:s, s:{s:s}, s:{s:s, s:i, s:i, s:o}}", "apiVersion", "batch/v1",
                         "kind", "Job", "metadata", "name", node, "spec", "completionMode",
                         pair->is_indexed ? "Indexed" : "NonIndexed", "parallelism", PODS_PER_NODE,
                         "completions", PODS_PER_NODE, "template", template),
               "/apis/batch/v1/namespaces/%s/jobs", pair->name);
    ask_expect(asker, 201);
}

static void post_work(struct pair *pair)
{
    void *value;

    for (size_t i = 0; i < CLUSTERS; i++)
        post_namespace(pair, &pair->askers[i]);
    post_deployment(pair);
    for (size_t at = 0; map_next(pair->simulator->clusters[RESEARCH].nodes, &at, NULL, &value);)
        post_job(pair, ((const struct kube_node *)value)->name);
}

bool pair_go_on(struct pair *pair)
{
    bool is_dead = mortal_service_is_dead(pair->service);

    if (is_dead)
        mortal_service_start(pair->service);
    loop_run_until(pair->loop, loop_now(pair->loop) + LOOK_MS);
    register_nodes(pair);
    return is_dead;
}

void pair_order(struct pair *pair, int nodes)
{
    pair->moves += nodes;
    pair->moving = nodes;
}

static json_t *schedules_for(int nodes)
{
    owned(chars) char *chars = text_format(
        "workloads:\n  chat-2x:\n    prod-a: %d\ncompute:\n  a3-megagpu-8g:\n    us-east5:\n"
        "      prod-a:\n        counts: [%d]\n",
        (nodes - 1) * PODS_PER_NODE, nodes);

    return json_make("{s:{s:s, s:s}}", "schedules", "day", chars, "night", chars);
}

/* As a person who asks again while the answer is no, or none. */
int pair_apply(struct pair *pair)
{
    int64_t end_ms = loop_now(pair->loop) + SETTLE_MS;
    int deaths = 0;

    for (;;) {
        owned(json) json_t *plan = mortal_service_ask(pair->service, HTTP_POST, "/v1/apply",
                                                      schedules_for(2 + pair->moves));

        if (plan)
            return deaths;
        if (loop_now(pair->loop) >= end_ms)
            fail_msg("%s: the schedules are not taken", pair->folder);
        deaths += pair_go_on(pair);
    }
}

json_t *pair_items(struct pair *pair, size_t at, const char *before, const char *after)
{
    ask_server(&pair->askers[at], ASK_GET, NULL, "%s%s%s", before, pair->name, after);
    ask_expect(&pair->askers[at], 200);
    return json_incref(json_at(pair->askers[at].body, "items"));
}

json_t *pair_live(struct pair *pair)
{
    owned(json) json_t *answer = mortal_service_ask(pair->service, HTTP_GET, "/v1/transfers", NULL);

    return json_incref(json_object_get(answer, "transfers"));
}

int pair_count(struct pair *pair, const char *state, char step[24])
{
    owned(json) json_t *answer = mortal_service_ask(pair->service, HTTP_GET,
                                                    "/v1/transfers?all=true", NULL);
    size_t i;
    json_t *row;
    int count = 0;

    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        count += !state || text_equal(json_text_or(row, "state", ""), state);
        if (text_equal(json_text_or(row, "state", ""), "live"))
            text_copy(step, 24, json_text_or(row, "step", ""));
    }
    return answer ? count : -1;
}

int pair_follow(struct pair *pair, char step[24])
{
    int64_t end_ms = loop_now(pair->loop) + MOVE_MS;
    char now[24] = "";
    int deaths = pair_apply(pair);

    text_copy(step, 24, deaths > 0 ? "apply" : "end");
    while (pair_count(pair, "done", now) < pair->moves - pair->forgotten) {
        int machines = simulator_pool_running(pair->simulator, "prod-a-east") +
                       simulator_pool_running(pair->simulator, "research-a-east");

        assert_in_range(machines, pair->movable + STATIC_NODES - pair->moving,
                        pair->movable + STATIC_NODES);
        if (loop_now(pair->loop) >= end_ms)
            fail_msg("the move does not end: %s/serve.log", pair->folder);
        if (pair_go_on(pair)) {
            deaths++;
            text_copy(step, 24, now[0] != '\0' ? now : "apply");
        }
    }
    assert_int_equal(pair_count(pair, NULL, now), pair->moves - pair->forgotten);
    return deaths;
}

/* Whether all that was posted runs somewhere. */
static bool is_settled(struct pair *pair)
{
    size_t bound[CLUSTERS] = { 0 };

    for (size_t at = 0; at < CLUSTERS; at++) {
        owned(json) json_t *pods = pair_items(pair, at, "/api/v1/namespaces/", "/pods");
        size_t i;
        json_t *pod;

        json_array_foreach(pods, i, pod) {
            bound[at] += json_at(pod, "spec/nodeName") &&
                         !json_at(pod, "metadata/deletionTimestamp");
        }
    }
    return bound[PROD] == PODS_PER_NODE &&
           bound[RESEARCH] == (size_t)(pair->movable + 1) * PODS_PER_NODE;
}

void pair_begin(struct pair *pair)
{
    int64_t end_ms;

    open_pair(pair);
    for (int i = 0; i < pair->movable + STATIC_NODES; i++)
        register_nodes(pair);
    post_work(pair);
    mortal_service_start(pair->service);
    pair_apply(pair);
    for (end_ms = loop_now(pair->loop) + SETTLE_MS; !is_settled(pair); pair_go_on(pair))
        assert_true(loop_now(pair->loop) < end_ms);
}

static void clean_up(struct pair *pair)
{
    for (size_t i = 0; i < CLUSTERS; i++) {
        ask_server(&pair->askers[i], ASK_DELETE, NULL, "/api/v1/namespaces/%s", pair->name);
        ask_server(&pair->askers[i], ASK_DELETE, NULL,
                   "/api/v1/nodes?labelSelector=test.sluice.dev/run=%s", pair->name);
    }
}

void pair_end(struct pair *pair)
{
    clean_up(pair);
    close_pair(pair);
}
