/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cluster whose API server is a script: the kubeconfig in a folder of its own, the virtual loop,
 * and what the verbs answered.
 */
#pragma once

#include "base/file.h"
#include "base/input/json.h"
#include "base/world/world.h"
#include "clusters/kube_cluster.h"
#include "tests/clusters/scripted_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SERVER "https://kube.example:6443/prod"

struct bench {
    struct loop *loop;
    struct scripted_http *script;
    struct random random;
    struct world world;
    struct cluster *cluster;
    char folder[64];

    int calls; /* of the verb's done */
    struct error err;
    char *body;
    int news;
};

static inline void bench_write(const char *folder, const char *name, const char *chars)
{
    struct error err = { 0 };
    owned(chars) char *path = text_format("%s/%s", folder, name);
    if (file_write(path, chars, strlen(chars), 0600, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void bench_remove_folder(const char *folder)
{
    static const char *const names[] = { "config",   "token",   "ca.pem",
                                         "cert.pem", "key.pem", "ca.crt" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *path = text_format("%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static inline void bench_open(struct bench *bench, const struct script_step *steps, size_t count)
{
    struct error err = { 0 };
    *bench = (struct bench){ .folder = "/tmp/sluice-test-XXXXXX" };
    assert_non_null(mkdtemp(bench->folder));
    bench_write(bench->folder, "token", "first\n");
    bench_write(bench->folder, "config",
                "current-context: it\n"
                "contexts: [{name: it, context: {cluster: c, user: u}}]\n"
                "clusters: [{name: c, cluster: {server: '" SERVER "/'}}]\n"
                "users: [{name: u, user: {tokenFile: token}}]\n");
    bench->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    bench->script = scripted_http_new(bench->loop, steps, count);
    random_seed(&bench->random, 7);
    bench->world = (struct world){ bench->loop, &bench->script->http, &bench->random, NULL, NULL };

    owned(chars) char *path = text_format("%s/config", bench->folder);
    const struct kube_cluster_settings own = { .kubeconfig = path };
    const struct cluster_settings settings = { .name = "east",
                                               .kind = &cluster_kubernetes,
                                               .own = &own };
    bench->cluster = cluster_open(&bench->world, &settings, &err);
    if (!bench->cluster)
        fail_msg("%s", err.text);
}

static inline void bench_close(struct bench *bench)
{
    cluster_close(bench->cluster);
    assert_int_equal(bench->script->in_flight, 0);
    http_free(&bench->script->http);
    loop_free(bench->loop);
    mem_free(bench->body);
    bench_remove_folder(bench->folder);
}

static inline void bench_done(void *context, const json_t *body, const struct error *err)
{
    struct bench *bench = context;
    assert_true(!body != !err);
    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    mem_free(bench->body);
    bench->body = body ? json_print(body) : NULL;
}

static inline void bench_news(void *context)
{
    ((struct bench *)context)->news++;
}
