/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * crowd load KUBECONFIG NODES PODS: fills an API server with Nodes and with running pods on them,
 * as large as real ones are.  NODES is a file with a name and a provider ID on each line.
 * crowd stir KUBECONFIG NODES PODS SECONDS: each second ten pods get a new status, and each node
 * says every five minutes that it lives.
 *
 * No controller, scheduler or kubelet is wanted there: they would take the objects for abandoned.
 */
#include "base/array.h"
#include "base/file.h"
#include "base/input/json.h"
#include "base/text.h"
#include "base/world/http.h"
#include "clusters/kube/kube_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT = 48, TEAMS = 40, ANSWER_LIMIT = 1 << 20, NODES_LIMIT = 4 << 20 };
enum { TIMEOUT_MS = 60 * SECOND_MS, POD_STIRS_PER_S = 10, BEAT_S = 300 };

struct member {
    char *name;
    char *provider_id;
};

/* What is asked for number `i` of a kind of object. */
struct wish {
    enum http_method method;
    char *path;
    struct text *body;
};

struct crowd;
typedef struct wish (*wish_fn)(const struct crowd *crowd, int64_t i);

struct crowd {
    struct loop *loop;
    struct http *http;
    struct kube_config *access;
    char *bearer;
    ARRAY(struct member) nodes;
    int64_t pods;

    wish_fn wish; /* of the round under way */
    int64_t next, count, in_flight;
    int64_t stirs; /* so far */
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "crowd: %s: %s\n", what, why);
    exit(1);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err);

static void send(struct crowd *crowd, struct wish wish)
{
    owned(chars) char *url = text_format("%s%s", crowd->access->server, wish.path);
    struct http_header headers[] = {
        { "Accept", "application/json" },
        { "Authorization", crowd->bearer },
        { "Content-Type", wish.method == HTTP_PATCH ? "application/strategic-merge-patch+json"
                                                    : "application/json" },
    };
    struct http_request request = {
        .method = wish.method,
        .url = url,
        .headers = headers,
        .header_count = COUNT_OF(headers),
        .body = wish.body->chars,
        .body_size = wish.body->length,
        .tls = &crowd->access->tls,
        .is_mutation = true,
        .is_repeatable = true,
        .timeout_ms = TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    crowd->in_flight++;
    http_send(crowd->http, &request, on_answer, crowd);
    mem_free(wish.path);
    text_free(wish.body);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct crowd *crowd = context;

    if (err)
        fail("request", err->text);
    if (answer->status != 200 && answer->status != 201 && answer->status != 409)
        fail("answer", answer->body);
    crowd->in_flight--;
    if (crowd->next < crowd->count)
        send(crowd, crowd->wish(crowd, crowd->next++));
    else if (crowd->in_flight == 0)
        loop_stop(crowd->loop);
}

/* All of one kind, side by side; says how long it took. */
static void make_all(struct crowd *crowd, const char *what, int64_t count, wish_fn wish)
{
    int64_t began_ms = loop_now(crowd->loop);

    crowd->wish = wish;
    crowd->count = count;
    for (crowd->next = 0; crowd->next < count && crowd->next < IN_FLIGHT;)
        send(crowd, wish(crowd, crowd->next++));
    loop_run(crowd->loop);
    printf("%lld %s in %.1f s\n", (long long)count, what,
           (double)(loop_now(crowd->loop) - began_ms) / SECOND_MS);
    fflush(stdout);
}

static struct wish wish_for(enum http_method method, char *path)
{
    return (struct wish){ method, path, text_new(1 << 16) };
}

static struct wish team_wish(const struct crowd *crowd, int64_t i)
{
    struct wish wish = wish_for(HTTP_POST, text_format("/api/v1/namespaces"));

    (void)crowd;
    text_add(wish.body, "{\"metadata\":{\"name\":\"team-%lld\"}}", (long long)i);
    return wish;
}

/* 30 labels, 11 conditions, 20 images: about 8 kB as the server shows it. */
static struct wish node_wish(const struct crowd *crowd, int64_t i)
{
    const struct member *node = &crowd->nodes.items[i];
    struct wish wish = wish_for(HTTP_POST, text_format("/api/v1/nodes"));
    static const char size[] = "{\"cpu\":\"192\",\"memory\":\"1800Gi\",\"pods\":\"110\","
                               "\"nvidia.com/gpu\":\"8\"}";

    text_add(wish.body, "{\"metadata\":{\"name\":\"%s\",\"labels\":{", node->name);
    for (int label = 0; label < 30; label++)
        text_add(wish.body, "\"topology.example.com/label-%d\":\"value-of-rack-%lld\",", label,
                 (long long)i / 16);
    text_add(wish.body,
             "\"sluice.dev/ephemeral\":\"true\",\"kubernetes.io/hostname\":\"%s\"}},\"spec\":{"
             "\"providerID\":\"%s\"},\"status\":{\"allocatable\":%s,\"capacity\":%s,"
             "\"conditions\":[",
             node->name, node->provider_id, size, size);
    for (int condition = 0; condition < 10; condition++)
        text_add(wish.body,
                 "{\"type\":\"Kind%d\",\"status\":\"False\",\"reason\":\"KubeletHasNone\","
                 "\"message\":\"kubelet has sufficient memory available\"},",
                 condition);
    text_add(wish.body, "{\"type\":\"Ready\",\"status\":\"True\"}],\"images\":[");
    for (int image = 0; image < 20; image++)
        text_add(wish.body,
                 "%s{\"names\":[\"registry.example/team/image-%d@sha256:0123456789abcdef\"],"
                 "\"sizeBytes\":1234567}",
                 image > 0 ? "," : "", image);
    text_add(wish.body, "]}}");
    return wish;
}

/* Ten on each node where there are ten times as many; eight of ten with a GPU. */
static struct wish pod_wish(const struct crowd *crowd, int64_t i)
{
    struct wish wish = wish_for(
        HTTP_POST, text_format("/api/v1/namespaces/team-%lld/pods", (long long)i % TEAMS));
    size_t node = (size_t)i % crowd->nodes.count;

    text_add(wish.body, "{\"metadata\":{\"name\":\"worker-%lld-x7k2p\",\"labels\":{", (long long)i);
    for (int label = 0; label < 7; label++)
        text_add(wish.body, "\"app.kubernetes.io/label-%d\":\"set-%lld\",", label,
                 (long long)i / 20);
    text_add(wish.body,
             "\"apps.kubernetes.io/pod-index\":\"%lld\"},\"ownerReferences\":[{\"apiVersion\":"
             "\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"set-%lld\",\"uid\":"
             "\"5f6a1c2e-0000-4000-8000-%012lld\",\"controller\":true}]},\"spec\":{\"nodeName\":"
             "\"%s\",\"containers\":[{\"name\":\"main\",\"image\":\"registry.example/main:1\","
             "\"env\":[",
             (long long)i % 20, (long long)i / 20, (long long)i / 20,
             crowd->nodes.items[node].name);
    for (int variable = 0; variable < 20; variable++)
        text_add(wish.body, "%s{\"name\":\"VARIABLE_%d\",\"value\":\"some value of it\"}",
                 variable > 0 ? "," : "", variable);
    text_add(wish.body, "]%s}]}}",
             (size_t)i / crowd->nodes.count % 10 < 8
                 ? ",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}"
                 : "");
    return wish;
}

static struct wish status_wish(const struct crowd *crowd, int64_t i)
{
    static const char *const conditions[] = { "PodReadyToStartContainers", "Initialized",
                                              "ContainersReady", "PodScheduled" };
    struct wish wish = wish_for(HTTP_PATCH,
                                text_format("/api/v1/namespaces/team-%lld/pods/worker-%lld-x7k2p/"
                                            "status",
                                            (long long)i % TEAMS, (long long)i));

    text_add(wish.body, "{\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-11-17T12:12:06Z\","
                        "\"hostIP\":\"10.1.2.3\",\"podIP\":\"10.0.0.1\",\"conditions\":[");
    for (size_t at = 0; at < COUNT_OF(conditions); at++)
        text_add(wish.body,
                 "{\"type\":\"%s\",\"status\":\"True\",\"lastTransitionTime\":"
                 "\"2026-11-17T12:12:06Z\"},",
                 conditions[at]);
    text_add(wish.body,
             "{\"type\":\"Ready\",\"status\":\"True\",\"message\":\"%lld\"}],\"containerStatuses\":"
             "[{\"name\":\"main\",\"image\":\"registry.example/main:1\",\"imageID\":\"\",\"ready\":"
             "true,\"started\":true,\"restartCount\":0,\"state\":{\"running\":{}}}]}}",
             (long long)crowd->stirs);
    return wish;
}

static struct wish beat_wish(const struct crowd *crowd, int64_t i)
{
    struct wish wish = wish_for(HTTP_PATCH,
                                text_format("/api/v1/nodes/%s/status", crowd->nodes.items[i].name));

    text_add(wish.body,
             "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"message\":"
             "\"%lld\"}]}}",
             (long long)crowd->stirs);
    return wish;
}

static void stir_for(struct crowd *crowd, int64_t seconds)
{
    int64_t nodes = (int64_t)crowd->nodes.count;
    int64_t began_ms = loop_now(crowd->loop);
    int64_t pods_done = 0, nodes_done = 0, now_ms;

    crowd->next = crowd->count = 0;
    while ((now_ms = loop_now(crowd->loop) - began_ms) < seconds * SECOND_MS) {
        for (; pods_done < now_ms * POD_STIRS_PER_S / SECOND_MS; pods_done++, crowd->stirs++)
            send(crowd, status_wish(crowd, pods_done * 7919 % crowd->pods));
        for (; nodes_done < now_ms * nodes / (BEAT_S * (int64_t)SECOND_MS); nodes_done++)
            send(crowd, beat_wish(crowd, nodes_done % nodes));
        loop_run_until(crowd->loop, loop_now(crowd->loop) + 50);
    }
    printf("%lld pods and %lld nodes changed in %lld s\n", (long long)pods_done,
           (long long)nodes_done, (long long)seconds);
}

static void read_nodes(struct crowd *crowd, const char *path)
{
    struct error err = { 0 };
    owned(text) struct text *text = file_read(path, NODES_LIMIT, &err);
    const char *at = text ? text->chars : "";

    if (!text)
        fail(path, err.text);
    while (*at) {
        size_t line = strcspn(at, "\n");
        size_t name = strcspn(at, " \n");

        if (name >= line)
            fail(path, "a name and a provider ID were expected on each line");
        *array_add(&crowd->nodes) = (struct member){
            text_format("%.*s", (int)name, at),
            text_format("%.*s", (int)(line - name - 1), at + name + 1),
        };
        at += line + (at[line] == '\n');
    }
    if (crowd->nodes.count == 0)
        fail(path, "it is empty");
}

static void open_crowd(struct crowd *crowd, const char *kubeconfig)
{
    struct error err = { 0 };

    crowd->access = kube_config_read(kubeconfig, NULL, NULL, &err);
    if (!crowd->access)
        fail(kubeconfig, err.text);
    crowd->bearer = text_format("Bearer %s", crowd->access->token);
    crowd->loop = loop_libevent_new(&err);
    crowd->http = crowd->loop ? http_curl_new(crowd->loop, NULL, &err) : NULL;
    if (!crowd->http)
        fail("libcurl", err.text);
}

static void close_crowd(struct crowd *crowd)
{
    http_free(crowd->http);
    loop_free(crowd->loop);
    kube_config_free(crowd->access);
    for (size_t i = 0; i < crowd->nodes.count; i++) {
        mem_free(crowd->nodes.items[i].name);
        mem_free(crowd->nodes.items[i].provider_id);
    }
    array_clear(&crowd->nodes);
    mem_free(crowd->bearer);
}

int main(int argc, char **argv)
{
    bool is_load = argc == 5 && text_equal(argv[1], "load");
    bool is_stir = argc == 6 && text_equal(argv[1], "stir");
    struct crowd crowd = { 0 };
    long long pods = 0, seconds = 0;

    mem_setup();
    if ((!is_load && !is_stir) || !text_to_int(argv[4], 1, 1000000, &pods) ||
        (is_stir && !text_to_int(argv[5], 1, 3600, &seconds))) {
        fprintf(stderr, "usage: crowd load KUBECONFIG NODES PODS\n"
                        "       crowd stir KUBECONFIG NODES PODS SECONDS\n");
        return 64;
    }
    open_crowd(&crowd, argv[2]);
    read_nodes(&crowd, argv[3]);
    crowd.pods = pods;
    if (is_load) {
        make_all(&crowd, "namespaces", TEAMS, team_wish);
        make_all(&crowd, "nodes", (int64_t)crowd.nodes.count, node_wish);
        make_all(&crowd, "pods", pods, pod_wish);
        make_all(&crowd, "pods running", pods, status_wish);
    } else {
        stir_for(&crowd, seconds);
    }
    close_crowd(&crowd);
    return 0;
}
