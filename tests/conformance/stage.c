/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The stage: the world of a case, raw requests, waiting.
 */
#include "tests/conformance/ask.h"
#include "tests/conformance/conformance.h"
#include "tests/support/folder.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 2 * MINUTE_MS, LOOK_MS = 50 };

static const char config[] =
    "clusters:\n"
    "  prod: {role: production, kubeconfig: prod.kubeconfig}\n"
    "  lab: {role: research, kubeconfig: lab.kubeconfig}\n"
    "reservations:\n"
    "  main: {machine: a3-megagpu-8g, region: r, zone: r-a, gpus_per_node: 8, nodes: 4}\n"
    "providers:\n"
    "  google: {kind: gcp}\n"
    "pools:\n"
    "  prod-main: {cluster: prod, reservation: main, provider: google, project: p, group: g-prod}\n"
    "  lab-main: {cluster: lab, reservation: main, provider: google, project: p, group: g-lab}\n"
    "queues:\n"
    "  chat: {wait_target: 2s, service: 20s}\n"
    "workloads:\n"
    "  chat-8x: {queue: chat, gpus: 8, clusters: {prod: {}}}\n";

static const char quiet_world[] =
    "seed: 5\n"
    "pools: { prod-main: { nodes: 1 } }\n"
    "latency: { api: 1ms..5ms, delete: 1s, create: 1s, join: 1s, gpus: 1s, pod_start: 500ms,"
    " pod_stop: 1s }\n";

static void ignore(void *context)
{
    (void)context;
}

static char *open_simulator(struct stage *stage)
{
    struct error err = { 0 };
    owned(chars) char *config_path = test_folder_write(stage->folder, "sluice.yaml", config);
    owned(chars) char *world_path = test_folder_write(stage->folder, "world.yaml", quiet_world);

    stage->loop = loop_virtual_new((struct wall_time){ 1795600800000 });
    stage->simulator = simulator_new(stage->loop, config_path, world_path, &err);
    if (!stage->simulator || simulator_write_kubeconfigs(stage->simulator, stage->folder,
                                                         "http://127.0.0.1:1", &err) < 0)
        fail_msg("%s", err.text);
    stage->http = simulator_http(stage->simulator);
    return text_format("%s/prod.kubeconfig", stage->folder);
}

static char *open_real(struct stage *stage)
{
    struct error err = { 0 };

    stage->loop = loop_libevent_new(&err);
    stage->http = stage->loop ? http_curl_new(stage->loop, NULL, &err) : NULL;
    if (!stage->http)
        fail_msg("%s", err.text);
    return mem_copy_chars(stage->choice.kubeconfig);
}

/* What every node gets on both sides. */
static void ensure_daemons(struct stage *stage)
{
    stage_ask(stage, ASK_GET, NULL,
              "/apis/apps/v1/namespaces/kube-system/daemonsets/gpu-device-plugin");
    if (stage->status == 200)
        return;
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s, s:s}, s:{s:{s:{s:s}}, s:{s:{s:{s:s}},"
                        " s:{s:[{s:s}], s:[{s:s, s:s}]}}}}",
                        "apiVersion", "apps/v1", "kind", "DaemonSet", "metadata", "name",
                        "gpu-device-plugin", "namespace", "kube-system", "spec", "selector",
                        "matchLabels", "app", "gpu-device-plugin", "template", "metadata", "labels",
                        "app", "gpu-device-plugin", "spec", "tolerations", "operator", "Exists",
                        "containers", "name", "main", "image", "registry.example/main:1"),
              "/apis/apps/v1/namespaces/kube-system/daemonsets");
    stage_expect(stage, 201);
}

struct stage *stage_open(const struct stage_choice *choice, const char *name)
{
    struct stage *stage = mem_new(sizeof *stage);
    struct error err = { 0 };
    char tail[7];

    stage->choice = *choice;
    stage->folder = test_folder_new();

    owned(chars) char *kubeconfig = choice->kubeconfig ? open_real(stage) : open_simulator(stage);
    owned(chars) char *path = mem_copy_chars(choice->broker ?: kubeconfig);
    const struct kube_cluster_settings own = { .kubeconfig = path };
    const struct cluster_settings settings = { .name = "stage",
                                               .kind = &cluster_kubernetes,
                                               .own = &own };

    random_seed(&stage->random, (uint64_t)loop_wall(stage->loop).ms);
    stage->world = (struct world){ stage->loop, stage->http, &stage->random, NULL, NULL };
    stage->access = kube_config_read(kubeconfig, NULL, NULL, &err);
    stage->cluster = stage->access ? cluster_open(&stage->world, &settings, &err) : NULL;
    if (!stage->cluster)
        fail_msg("%s", err.text);
    cluster_watch(stage->cluster, ignore, NULL);

    random_hex(&stage->random, tail, sizeof tail);
    stage->namespace = text_format("%s-%s", name, tail);
    for (char *at = stage->namespace; *at; at++)
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    if (choice->kubeconfig)
        ensure_daemons(stage);
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
                        "name", stage->namespace),
              "/api/v1/namespaces");
    stage_expect(stage, 201);
    return stage;
}

/* A real server outlives the case: what was posted is taken away, and not waited for. */
static void clean_real(struct stage *stage)
{
    size_t i;
    json_t *pod;

    stage_continue_controllers(stage);
    stage_calm(stage);
    stage_ask(stage, ASK_GET, NULL, "/api/v1/namespaces/%s/pods", stage->namespace);

    owned(json) json_t *list = json_incref(stage->body);

    json_array_foreach(json_at(list, "items"), i, pod) {
        const char *name = json_text_or(pod, "metadata/name", "");

        if (json_at(pod, "metadata/finalizers"))
            stage_ask(stage, ASK_MERGE_PATCH, json_make("{s:{s:[]}}", "metadata", "finalizers"),
                      "/api/v1/namespaces/%s/pods/%s", stage->namespace, name);
        stage_ask(stage, ASK_DELETE, NULL, "/api/v1/namespaces/%s/pods/%s?gracePeriodSeconds=0",
                  stage->namespace, name);
    }
    stage_ask(stage, ASK_DELETE, NULL, "/api/v1/namespaces/%s", stage->namespace);
    for (i = 0; i < stage->node_count; i++) {
        stage_ask(stage, ASK_MERGE_PATCH, json_make("{s:{s:[]}}", "metadata", "finalizers"),
                  "/api/v1/nodes/%s", stage->nodes[i]);
        stage_ask(stage, ASK_DELETE, NULL, "/api/v1/nodes/%s", stage->nodes[i]);
    }
}

void stage_close(struct stage *stage)
{
    if (stage->choice.kubeconfig)
        clean_real(stage);
    cluster_close(stage->cluster);
    kube_config_free(stage->access);
    if (stage->simulator)
        simulator_free(stage->simulator);
    else
        http_free(stage->http);
    loop_free(stage->loop);
    for (size_t i = 0; i < stage->node_count; i++)
        mem_free(stage->nodes[i]);
    mem_free(stage->namespace);
    json_decref(stage->body);
    test_folder_free(stage->folder);
    mem_free(stage);
}

int stage_ask(struct stage *stage, enum ask_verb verb, json_t *body, const char *path, ...)
{
    struct asker asker = { stage->loop, stage->http, stage->access, 0, NULL };
    va_list arguments;

    va_start(arguments, path);
    stage->status = ask_server_list(&asker, verb, body, path, arguments);
    va_end(arguments);
    json_decref(stage->body);
    stage->body = asker.body;
    return stage->status;
}

void stage_expect(const struct stage *stage, int status)
{
    ask_expect(&(struct asker){ .status = stage->status, .body = stage->body }, status);
}

void stage_run(struct stage *stage, int64_t duration_ms)
{
    int64_t end_ms = loop_now(stage->loop) + duration_ms;

    while (loop_now(stage->loop) < end_ms)
        loop_run_until(stage->loop, end_ms);
}

void stage_await(struct stage *stage, const char *what, stage_look_fn look, const void *context)
{
    int64_t end_ms = loop_now(stage->loop) + PATIENCE_MS;

    while (!look(stage, context)) {
        if (loop_now(stage->loop) >= end_ms) {
            owned(chars) char *chars = stage->body ? json_print(stage->body) : NULL;

            fail_msg("never came: %s; %s; last answer %d %.1500s", what,
                     cluster_trouble(stage->cluster), stage->status, chars ?: "");
        }
        stage_run(stage, LOOK_MS);
    }
}

static void signal_controllers(struct stage *stage, int signal)
{
    if (stage->choice.controllers && kill(stage->choice.controllers, signal) < 0)
        fail_msg("the controller manager %d is not there", (int)stage->choice.controllers);
}

/* Those of the simulator are a tenth of a second behind: what follows at once is before them. */
void stage_hold_controllers(struct stage *stage)
{
    if (stage->choice.kubeconfig && !stage->choice.controllers)
        skip();
    signal_controllers(stage, SIGSTOP);
}

void stage_continue_controllers(struct stage *stage)
{
    signal_controllers(stage, SIGCONT);
}

#define FLOW "/apis/flowcontrol.apiserver.k8s.io/v1/"

/* A priority level without a share has one seat, and no queue.  Administrators are never held. */
void stage_overload(struct stage *stage)
{
    if (stage->simulator) {
        simulator_fault_next(stage->simulator, "http_429", "evict_pod");
        return;
    }
    if (!stage->choice.broker)
        skip();
    stage_ask(stage, ASK_POST,
              json_make("{s:{s:s}, s:{s:s, s:{s:i, s:i, s:i, s:{s:s}}}}", "metadata", "name",
                        stage->namespace, "spec", "type", "Limited", "limited",
                        "nominalConcurrencyShares", 0, "lendablePercent", 0,
                        "borrowingLimitPercent", 0, "limitResponse", "type", "Reject"),
              FLOW "prioritylevelconfigurations");
    stage_expect(stage, 201);
    stage_ask(stage, ASK_POST,
              json_make("{s:{s:s}, s:{s:{s:s}, s:i, s:[{s:[{s:s, s:{s:s}}],"
                        " s:[{s:[s], s:[s], s:[s], s:[s]}]}]}}",
                        "metadata", "name", stage->namespace, "spec", "priorityLevelConfiguration",
                        "name", stage->namespace, "matchingPrecedence", 2, "rules", "subjects",
                        "kind", "User", "user", "name", "broker", "resourceRules", "verbs",
                        "create", "apiGroups", "", "resources", "pods/eviction", "namespaces",
                        stage->namespace),
              FLOW "flowschemas");
    stage_expect(stage, 201);
}

void stage_calm(struct stage *stage)
{
    if (stage->simulator)
        return;
    stage_ask(stage, ASK_DELETE, NULL, FLOW "flowschemas/%s", stage->namespace);
    stage_ask(stage, ASK_DELETE, NULL, FLOW "prioritylevelconfigurations/%s", stage->namespace);
}
