/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A small simulated world for tests: two clusters, one reservation of six machines, and one
 * request at a time sent through the carrier in virtual time.
 */
#pragma once

#include "base/file.h"
#include "base/text.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"

#include <string.h>

struct bench {
    char *folder;
    struct loop *loop;
    struct simulator *simulator;
};

struct bench_answer {
    bool is_done;
    int status;
    enum error_kind error; /* ERROR_NONE: there was an answer */
    json_t *body;
    char *text;
    int64_t retry_after_ms;
    char flavor[16];
    char operation[256]; /* Azure-AsyncOperation, or Location */
};

static const char bench_config[] =
    "ephemeral_label: sluice.dev/ephemeral=true\n"
    "clusters:\n"
    "  prod: { role: production, kubeconfig: prod.kubeconfig }\n"
    "  lab: { role: research, kubeconfig: lab.kubeconfig }\n"
    "reservations:\n"
    "  east: { machine: a3-megagpu-8g, region: r, zone: zone-a, gpus_per_node: 8, nodes: 6 }\n"
    "pools:\n"
    "  prod-east: { cluster: prod, reservation: east, provider: g, project: acme, group: prod-grp,"
    " static_nodes: 1 }\n"
    "  lab-east: { cluster: lab, reservation: east, provider: g, project: acme, group: lab-grp }\n"
    "queues:\n"
    "  chat: { wait_target: 5s, percentile: 98, service: 10s, service_cv: 1 }\n"
    "workloads:\n"
    "  chat-model: { queue: chat, namespace: inference, gpus: 2, clusters: { prod: {} } }\n";

/* Six machines of which four are production's; latencies of one value, so that times are known. */
static const char bench_world[] =
    "seed: 7\n"
    "pools: { prod-east: { nodes: 4 }, lab-east: { nodes: 2 } }\n"
    "replicas: { chat-model: { prod: 4 } }\n"
    "latency: { api: 10ms, delete: 60s, create: 120s, join: 60s, gpus: 30s, pod_start: 20s,"
    " pod_stop: 5s }\n"
    "jobs: { backlog: 40, duration: 2h..4h }\n";

static inline void bench_open(struct bench *bench, const char *config, const char *world,
                              const char *demand)
{
    struct error err = { 0 };

    memset(bench, 0, sizeof *bench);
    bench->folder = test_folder_new();
    if (demand)
        mem_free(test_folder_write(bench->folder, "demand.csv", demand));

    owned(chars) char *config_path = test_folder_write(bench->folder, "sluice.yaml", config);
    owned(chars) char *world_path = test_folder_write(bench->folder, "world.yaml", world);

    bench->loop = loop_virtual_new((struct wall_time){ 1795600800000 }); /* 2026-11-25T10:00:00Z */
    bench->simulator = simulator_new(bench->loop, config_path, world_path, &err);
    if (!bench->simulator)
        fail_msg("%s", err.text);
}

static inline void bench_close(struct bench *bench)
{
    simulator_free(bench->simulator);
    loop_free(bench->loop);
    test_folder_free(bench->folder);
}

static inline void bench_wait(struct bench *bench, int64_t ms)
{
    loop_run_until(bench->loop, loop_now(bench->loop) + ms);
}

static inline void bench_done(void *context, const struct http_answer *answer,
                              const struct error *err)
{
    struct bench_answer *out = context;

    out->is_done = true;
    if (err) {
        out->error = err->kind;
        return;
    }
    out->status = answer->status;
    out->retry_after_ms = answer->retry_after_ms;
    out->text = mem_copy_chars(answer->body);
    out->body = json_loads(answer->body, 0, NULL);
    text_copy(out->flavor, sizeof out->flavor,
              http_header_find(answer->headers, answer->header_count, "Metadata-Flavor") ?: "");
    text_copy(out->operation, sizeof out->operation,
              http_header_find(answer->headers, answer->header_count, "Azure-AsyncOperation")
                      ?: http_header_find(answer->headers, answer->header_count, "Location")
                      ?: "");
}

static inline void bench_answer_clear(struct bench_answer *answer)
{
    json_decref(answer->body);
    mem_free(answer->text);
    memset(answer, 0, sizeof *answer);
}

static inline void owned_bench_answer(struct bench_answer *answer)
{
    bench_answer_clear(answer);
}

/* type: Content-Type, or NULL; bearer: the token. */
struct bench_request {
    enum http_method method;
    const char *path;
    const char *bearer;       /* NULL: no token */
    const char *type;         /* of the body; NULL: application/json */
    const char *body;         /* NULL: none */
    struct http_header extra; /* name NULL: none */
};

static inline struct bench_answer bench_ask(struct bench *bench, const struct bench_request *asked)
{
    struct bench_answer answer = { 0 };
    owned(chars) char *url = text_format("http://127.0.0.1:1%s", asked->path);
    owned(chars) char *authorization = text_format("Bearer %s", asked->bearer ? asked->bearer : "");
    const struct http_header headers[] = {
        { "Authorization", authorization },
        { "Content-Type", asked->type ? asked->type : "application/json" },
        asked->extra,
    };
    struct http_request request = {
        .method = asked->method,
        .url = url,
        .headers = headers,
        .header_count = asked->extra.name ? 3 : 2,
        .body = asked->body,
        .body_size = asked->body ? strlen(asked->body) : 0,
        .timeout_ms = 30000,
        .is_mutation = asked->method != HTTP_GET,
    };

    http_send(simulator_http(bench->simulator), &request, bench_done, &answer);
    assert_false(answer.is_done); /* never from inside http_send() */
    for (int i = 0; i < 100000 && !answer.is_done; i++)
        bench_wait(bench, 10);
    assert_true(answer.is_done);
    return answer;
}

/* Asks a cluster, with its token; the path is that of its API. */
static inline struct bench_answer bench_ask_cluster(struct bench *bench, const char *cluster,
                                                    const struct bench_request *asked)
{
    owned(chars) char *path = text_format("/clusters/%s%s", cluster, asked->path);
    owned(chars) char *bearer = text_format("sim-%s", cluster);
    struct bench_request request = *asked;

    request.path = path;
    request.bearer = bearer;
    return bench_ask(bench, &request);
}

static inline struct bench_answer bench_lab(struct bench *bench, const char *path)
{
    return bench_ask_cluster(bench, "lab",
                             &(struct bench_request){ .method = HTTP_GET, .path = path });
}

#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"

/* A cloud token by assertion. */
static inline char *bench_token(struct bench *bench)
{
    owned(bench_answer) struct bench_answer answer = bench_ask(
        bench, &(struct bench_request){ .method = HTTP_POST,
                                        .path = "/gcp/token",
                                        .type = "application/x-www-form-urlencoded",
                                        .body = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-"
                                                "type%3Ajwt-bearer&assertion=a.b.c" });

    assert_int_equal(answer.status, 200);
    return mem_copy_chars(json_text_or(answer.body, "access_token", ""));
}

#define GROUP_URL(group) "/gcp/compute/v1/projects/acme/zones/zone-a/instanceGroupManagers/" group

/* Asks about a group; `rest` begins with '/' or '?'. */
static inline struct bench_answer bench_cloud(struct bench *bench, enum http_method method,
                                              const char *path, const char *body)
{
    owned(chars) char *token = bench_token(bench);

    return bench_ask(bench, &(struct bench_request){
                                .method = method, .path = path, .bearer = token, .body = body });
}

/* The entry of a list whose member at `path` is `value`; NULL when there is none. */
static inline json_t *bench_find(const json_t *list, const char *array, const char *path,
                                 const char *value)
{
    size_t i;
    json_t *item;

    json_array_foreach(json_at(list, array), i, item)
        if (text_equal(json_text_or(item, path, NULL), value))
            return item;
    return NULL;
}

static inline bool bench_has_violation(struct bench *bench, const char *invariant)
{
    const struct referee *referee = simulator_referee(bench->simulator);

    for (size_t i = 0; i < referee_violation_count(referee); i++)
        if (text_equal(referee_violation(referee, i)->invariant, invariant))
            return true;
    return false;
}
