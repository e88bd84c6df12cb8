/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A management cluster of Cluster API in the simulator, the provider on it, and another writer.
 */
#pragma once

#include "base/file.h"
#include "base/input/json.h"
#include "base/world/world.h"
#include "clusters/kube/kube_config.h"
#include "clusters/kube/kube_session.h"
#include "providers/capi/capi.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAPI_ITEMS_MOST = 16 };

static const struct capi_pool capi_place = { .namespace = "infra",
                                             .machine_deployment = "gpu",
                                             .zone = "r-a" };

struct capi_bench {
    char folder[64];
    struct loop *loop;
    struct simulator *simulator;
    struct random random;
    struct world world;
    struct provider *provider;
    struct kube_session *admin; /* another writer, who may do all */
    int calls;
    struct error err;
    char progress[160];
    struct instance items[CAPI_ITEMS_MOST];
    size_t count;
    char next[64];
    struct error shortfall;
    json_t *answer; /* the other writer's */
    struct text *findings;
};

static inline const struct pool_address *capi_address(const struct capi_pool *pool)
{
    return (const struct pool_address *)(const void *)pool;
}

static inline void capi_write_file(const struct capi_bench *it, const char *name, const char *chars)
{
    struct error err = { 0 };
    owned(chars) char *path = text_format("%s/%s", it->folder, name);

    if (file_write(path, chars, strlen(chars), 0600, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void capi_write_kubeconfig(const struct capi_bench *it, const char *user)
{
    owned(chars) char *name = text_format("%s.kubeconfig", user);
    owned(chars) char *file = text_format(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\n"
        "clusters: [{name: it, cluster: {server: 'http://127.0.0.1:1/capi/mgmt'}}]\n"
        "users: [{name: it, user: {token: %s-mgmt}}]\n"
        "contexts: [{name: it, context: {cluster: it, user: it}}]\n",
        user);

    capi_write_file(it, name, file);
}

static inline void capi_open_provider(struct capi_bench *it)
{
    owned(chars) char *path = text_format("%s/sim.kubeconfig", it->folder);
    struct capi_account account = { .kubeconfig = path };
    struct error err = { 0 };

    it->provider = provider_open(&it->world, &capi_kind,
                                 (const struct provider_account *)(const void *)&account, &err);
    if (!it->provider)
        fail_msg("%s", err.text);
}

/* pool: the pool's own keys in sluice.yaml */
static inline void capi_bench_open(struct capi_bench *it, const char *pool, const char *world)
{
    struct error err = { 0 };

    *it = (struct capi_bench){ .folder = "/tmp/sluice-capi-XXXXXX" };
    assert_non_null(mkdtemp(it->folder));
    owned(chars) char *config = text_format(
        "clusters:\n  lab: {role: research, kubeconfig: lab.kubeconfig}\n"
        "reservations:\n"
        "  main: {machine: a3, region: r, zone: r-a, gpus_per_node: 8, nodes: 10}\n"
        "providers:\n  mgmt: {kind: capi, kubeconfig: sim.kubeconfig}\n"
        "pools:\n  lab-main: {cluster: lab, reservation: main, provider: mgmt, %s}\n"
        "queues: {}\nworkloads: {}\n",
        pool);
    capi_write_file(it, "sluice.yaml", config);
    capi_write_file(it, "world.yaml", world);
    capi_write_kubeconfig(it, "sim");
    capi_write_kubeconfig(it, "admin");
    owned(chars) char *config_path = text_format("%s/sluice.yaml", it->folder);
    owned(chars) char *world_path = text_format("%s/world.yaml", it->folder);
    owned(chars) char *admin_path = text_format("%s/admin.kubeconfig", it->folder);
    it->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    it->simulator = simulator_new(it->loop, config_path, world_path, &err);
    if (!it->simulator)
        fail_msg("%s", err.text);
    it->world = (struct world){ it->loop, simulator_http(it->simulator), &it->random, NULL, NULL };
    struct kube_config *admin = kube_config_open(admin_path, NULL, NULL, &err);
    if (!admin)
        fail_msg("%s", err.text);
    it->admin = kube_session_new(&it->world, "admin", admin);
    it->findings = text_new(1 << 16);
    capi_open_provider(it);
}

static inline void capi_bench_close(struct capi_bench *it)
{
    static const char *const files[] = { "sluice.yaml", "world.yaml", "sim.kubeconfig",
                                         "admin.kubeconfig" };

    provider_close(it->provider);
    kube_session_free(it->admin);
    simulator_free(it->simulator);
    loop_free(it->loop);
    json_decref(it->answer);
    text_free(it->findings);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        owned(chars) char *path = text_format("%s/%s", it->folder, files[i]);
        unlink(path);
    }
    rmdir(it->folder);
}

static inline void capi_run(struct capi_bench *it, int64_t ms)
{
    loop_run_until(it->loop, loop_now(it->loop) + ms);
}

static inline void capi_note(struct capi_bench *it, const struct error *err)
{
    it->calls++;
    it->err = err ? *err : (struct error){ 0 };
}

/* The answer to one call; the others are counted too. */
static inline enum error_kind capi_answer(struct capi_bench *it)
{
    int before = it->calls;

    for (int i = 0; i < 1200 && it->calls == before; i++)
        capi_run(it, 50);
    assert_true(it->calls > before);
    return it->err.kind;
}

static inline void capi_on_page(void *context, const struct instance_page *page,
                                const struct error *err)
{
    struct capi_bench *it = context;

    assert_true(!page != !err);
    capi_note(it, err);
    for (size_t i = 0; page && i < page->count; i++) {
        assert_true(it->count < CAPI_ITEMS_MOST);
        it->items[it->count++] = page->items[i];
    }
    text_copy(it->next, sizeof it->next, page && page->next ? page->next : "");
    it->shortfall = page && page->shortfall ? *page->shortfall : (struct error){ 0 };
}

static inline void capi_on_done(void *context, const char *operation, const struct error *err)
{
    struct capi_bench *it = context;

    capi_note(it, err);
    if (err && err->cause == &provider_goes_on) {
        assert_true(operation[0] != '\0');
        text_copy(it->progress, sizeof it->progress, operation);
    }
}

/* All pages. */
static inline enum error_kind capi_list_all(struct capi_bench *it, const struct capi_pool *pool)
{
    it->count = 0;
    it->next[0] = '\0';
    do {
        owned(chars) char *page = it->next[0] != '\0' ? mem_copy_chars(it->next) : NULL;

        provider_list(it->provider, capi_address(pool), page, capi_on_page, it);
        if (capi_answer(it) != ERROR_NONE)
            return it->err.kind;
    } while (it->next[0] != '\0');
    return ERROR_NONE;
}

static inline const struct instance *capi_find(struct capi_bench *it, const char *name)
{
    assert_int_equal(capi_list_all(it, &capi_place), ERROR_NONE);
    for (size_t i = 0; i < it->count; i++)
        if (text_equal(it->items[i].name, name))
            return &it->items[i];
    return NULL;
}

static inline enum error_kind capi_remove_once(struct capi_bench *it, const char *name,
                                               const char *request_id)
{
    owned(chars) char *progress = mem_copy_chars(it->progress);

    provider_remove(it->provider, capi_address(&capi_place),
                    &(struct provider_order){
                        .instance = name, .request_id = request_id, .progress = progress },
                    capi_on_done, it);
    return capi_answer(it);
}

static inline enum error_kind capi_create_once(struct capi_bench *it, const char *request_id)
{
    owned(chars) char *progress = mem_copy_chars(it->progress);

    provider_create(it->provider, capi_address(&capi_place),
                    &(struct provider_order){
                        .request_key = "0a", .request_id = request_id, .progress = progress },
                    capi_on_done, it);
    return capi_answer(it);
}

static inline void capi_on_admin(void *context, const json_t *body, const struct error *err)
{
    struct capi_bench *it = context;

    json_decref(it->answer);
    it->answer = body ? json_deep_copy(body) : NULL;
    capi_note(it, err);
}

/* What another client does; path below the namespace; takes body. */
static inline enum error_kind capi_admin(struct capi_bench *it, enum kube_verb verb,
                                         const char *path, json_t *body)
{
    owned(json) json_t *own = body;
    owned(chars) char *target = text_format("/apis/cluster.x-k8s.io/v1beta2/namespaces/infra/%s",
                                            path);
    struct kube_call call = {
        .verb = verb,
        .target = target,
        .content_type = verb == KUBE_PATCH ? "application/merge-patch+json" : NULL,
        .body = own,
        .timeout_ms = MINUTE_MS,
    };

    kube_send(it->admin, &call, capi_on_admin, it);
    return capi_answer(it);
}

/* spec.replicas of the pool */
static inline int capi_wanted(struct capi_bench *it)
{
    struct error kept = it->err;

    assert_int_equal(capi_admin(it, KUBE_READ, "machinedeployments/gpu", NULL), ERROR_NONE);
    it->err = kept;
    return (int)json_int_or(it->answer, "spec/replicas", -1);
}

/* The mark of a Machine; "": none. */
static inline const char *capi_marked(struct capi_bench *it, const char *name)
{
    owned(chars) char *path = text_format("machines/%s", name);

    assert_int_equal(capi_admin(it, KUBE_READ, path, NULL), ERROR_NONE);
    return json_string_value(json_object_get(json_at(it->answer, "metadata/annotations"),
                                             "cluster.x-k8s.io/delete-machine"))
               ?: "";
}
