/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * machine_deployments KUBECONFIG NAMESPACE FROM TO: drives the provider of Cluster API on a real
 * management cluster.  The chosen one of the Machines of FROM leaves and is not replaced; TO gets
 * one more.  Then a removal loses its process between its two writes, and another writer makes the
 * pool smaller meanwhile.  Run by tests/real/cluster_api.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/world/http.h"
#include "clusters/kube/kube_config.h"
#include "clusters/kube/kube_session.h"
#include "providers/capi/capi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINES_MOST = 16,
    PATIENCE_MS = 5 * MINUTE_MS,
    STEP_MS = 250,
    WATCHED_MS = 40 * SECOND_MS
};

struct machines {
    struct instance items[MACHINES_MOST];
    size_t count;
};

struct play {
    struct world world;
    struct capi_account account;
    struct provider *provider;
    bool is_answered;
    struct error err;
    struct machines listed;
    char progress[160];
    int wrong; /* findings */
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "machine_deployments: %s: %s\n", what, why);
    exit(1);
}

static void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct play *play = context;

    play->is_answered = true;
    play->err = err ? *err : (struct error){ 0 };
    play->listed.count = 0;
    for (size_t i = 0; page && i < page->count && i < MACHINES_MOST; i++)
        play->listed.items[play->listed.count++] = page->items[i];
}

static void on_done(void *context, const char *operation, const struct error *err)
{
    struct play *play = context;

    play->is_answered = true;
    play->err = err ? *err : (struct error){ 0 };
    if (err && err->cause == &provider_goes_on)
        text_copy(play->progress, sizeof play->progress, operation);
}

static void on_finding(void *context, const struct finding *finding)
{
    static const char *const words[] = { "right", "doubtful", "wrong" };
    struct play *play = context;

    printf("  %s %s: %s\n", words[finding->verdict], finding->subject, finding->text);
    play->wrong += finding->verdict == FINDING_WRONG;
}

static void run_for(struct play *play, int64_t ms)
{
    loop_run_until(play->world.loop, loop_now(play->world.loop) + ms);
}

static void await(struct play *play)
{
    for (int i = 0; i < 1200 && !play->is_answered; i++)
        run_for(play, 50);
    if (!play->is_answered)
        fail("a call", "no answer within a minute");
    play->is_answered = false;
}

static void list(struct play *play, const struct capi_pool *pool)
{
    provider_list(play->provider, (const struct pool_address *)(const void *)pool, NULL, on_page,
                  play);
    await(play);
    if (play->err.kind != ERROR_NONE)
        fail("list", play->err.text);
}

static const struct instance *find(const struct machines *machines, const char *name)
{
    for (size_t i = 0; i < machines->count; i++)
        if (text_equal(machines->items[i].name, name))
            return &machines->items[i];
    return NULL;
}

static size_t running(const struct machines *machines)
{
    size_t count = 0;

    for (size_t i = 0; i < machines->count; i++)
        count += machines->items[i].state == INSTANCE_RUNNING;
    return count;
}

/* Until so many run, and no others are there. */
static double await_size(struct play *play, const struct capi_pool *pool, size_t wanted)
{
    int64_t began_ms = loop_now(play->world.loop);

    for (;;) {
        list(play, pool);
        if (play->listed.count == wanted && running(&play->listed) == wanted)
            return (double)(loop_now(play->world.loop) - began_ms) / 1000;
        if (loop_now(play->world.loop) - began_ms > PATIENCE_MS)
            fail(pool->machine_deployment, "it did not come to the size that was wanted");
        run_for(play, STEP_MS);
    }
}

typedef void (*order_fn)(struct provider *provider, const struct pool_address *pool,
                         const struct provider_order *order, provider_done_fn done, void *context);

/* Repeats the order as the caller of a provider does; returns how many calls it took. */
static int carry_out(struct play *play, const struct capi_pool *pool, order_fn send,
                     const char *instance)
{
    play->progress[0] = '\0';
    for (int calls = 1; calls < 100; calls++) {
        owned(chars) char *progress = mem_copy_chars(play->progress);
        struct provider_order order = {
            .instance = instance,
            .request_key = "0a",
            .request_id = instance ? "11111111-2222-4333-8444-555555555555"
                                   : "11111111-2222-4333-8444-666666666666",
            .progress = progress,
        };

        send(play->provider, (const struct pool_address *)(const void *)pool, &order, on_done,
             play);
        await(play);
        if (play->err.kind == ERROR_NONE)
            return calls;
        if (play->err.kind != ERROR_TRANSIENT && play->err.kind != ERROR_CONFLICT &&
            play->err.kind != ERROR_THROTTLED)
            fail("an order", play->err.text);
        printf("  call %d: %s\n", calls, play->err.text);
        if (play->err.cause != &provider_goes_on)
            run_for(play, SECOND_MS);
    }
    fail("an order", play->err.text);
}

static void need_others(const struct play *play, const struct machines *before, const char *gone)
{
    for (size_t i = 0; i < before->count; i++) {
        bool is_there = find(&play->listed, before->items[i].name) != NULL;

        if (is_there == text_equal(before->items[i].name, gone))
            fail(before->items[i].name, is_there ? "it is still there" : "it is gone, too");
    }
}

/* A removal is not undone by the pool's own controller, and a repeat of it does nothing. */
static void need_it_stays_gone(struct play *play, const struct capi_pool *pool,
                               const struct machines *before, const char *gone)
{
    struct provider_order again = { .instance = gone, .request_id = "x", .progress = "" };
    int64_t until_ms = loop_now(play->world.loop) + WATCHED_MS;

    provider_remove(play->provider, (const struct pool_address *)(const void *)pool, &again,
                    on_done, play);
    await(play);
    if (play->err.kind != ERROR_NOT_FOUND)
        fail("a repeated removal", play->err.text);
    while (loop_now(play->world.loop) < until_ms) {
        list(play, pool);
        if (play->listed.count != before->count - 1)
            fail(pool->machine_deployment, "the machine was replaced");
        need_others(play, before, gone);
        run_for(play, STEP_MS);
    }
}

static void take_one(struct play *play, const struct capi_pool *pool)
{
    struct machines before;
    char chosen[INSTANCE_NAME_SIZE];
    int calls;
    double seconds;

    before = play->listed;
    text_copy(chosen, sizeof chosen, before.items[1].name);
    calls = carry_out(play, pool, provider_remove, chosen);
    seconds = await_size(play, pool, before.count - 1);
    need_others(play, &before, chosen);
    printf("%s: %s left after %d calls and %.1f s\n", pool->machine_deployment, chosen, calls,
           seconds);
    need_it_stays_gone(play, pool, &before, chosen);
    printf("%s: it was not replaced within %d s, and no other left\n", pool->machine_deployment,
           WATCHED_MS / SECOND_MS);
}

static void add_one(struct play *play, const struct capi_pool *pool)
{
    struct machines before;
    int calls;
    double seconds;

    list(play, pool);
    before = play->listed;
    calls = carry_out(play, pool, provider_create, NULL);
    seconds = await_size(play, pool, before.count + 1);
    for (size_t i = 0; i < play->listed.count; i++) {
        const struct instance *machine = &play->listed.items[i];

        if (machine->provider_id[0] == '\0')
            fail(machine->name, "it runs without a provider ID");
        if (!find(&before, machine->name))
            printf("%s: %s (%s) came after %d calls and %.1f s\n", pool->machine_deployment,
                   machine->name, machine->provider_id, calls, seconds);
    }
}

static void on_written(void *context, const json_t *body, const struct error *err)
{
    struct play *play = context;

    (void)body;
    play->is_answered = true;
    play->err = err ? *err : (struct error){ 0 };
}

/* Another client, as `kubectl scale`. */
static void set_size(struct play *play, const struct capi_pool *pool, size_t replicas)
{
    struct error err = { 0 };
    struct kube_config *config = kube_config_read(play->account.kubeconfig, NULL, NULL, &err);
    struct kube_session *session;
    owned(chars) char *target = text_format("/apis/cluster.x-k8s.io/v1beta2/namespaces/%s/"
                                            "machinedeployments/%s/scale",
                                            pool->namespace, pool->machine_deployment);
    owned(json) json_t *body = json_make("{s:{s:i}}", "spec", "replicas", (int)replicas);
    struct kube_call call = {
        .verb = KUBE_PATCH,
        .target = target,
        .content_type = "application/merge-patch+json",
        .body = body,
        .timeout_ms = MINUTE_MS,
    };

    if (!config)
        fail(play->account.kubeconfig, err.text);
    session = kube_session_new(&play->world, "it", config);
    kube_send(session, &call, on_written, play);
    await(play);
    if (play->err.kind != ERROR_NONE)
        fail("another writer", play->err.text);
    kube_session_free(session);
}

static void open_provider(struct play *play)
{
    struct error err = { 0 };

    play->provider = provider_open(&play->world, &capi_kind,
                                   (const struct provider_account *)(const void *)&play->account,
                                   &err);
    if (!play->provider)
        fail(play->account.kubeconfig, err.text);
}

/* A Machine is marked, its order's progress is lost, and another writer makes the pool smaller: the
   marked one goes, and no second one. */
static void lose_a_process(struct play *play, const struct capi_pool *pool)
{
    struct machines before;
    char chosen[INSTANCE_NAME_SIZE];
    struct provider_order order = { .instance = chosen,
                                    .request_id = "11111111-2222-4333-8444-777777777777",
                                    .progress = "" };

    list(play, pool);
    before = play->listed;
    text_copy(chosen, sizeof chosen, before.items[before.count - 1].name);
    provider_remove(play->provider, (const struct pool_address *)(const void *)pool, &order,
                    on_done, play);
    await(play);
    if (play->err.cause != &provider_goes_on)
        fail("the mark", play->err.text);
    provider_close(play->provider);
    open_provider(play);
    set_size(play, pool, before.count - 1);
    provider_remove(play->provider, (const struct pool_address *)(const void *)pool, &order,
                    on_done, play);
    await(play);
    if (play->err.kind != ERROR_NONE && play->err.kind != ERROR_NOT_FOUND)
        fail("the repeated order", play->err.text);
    await_size(play, pool, before.count - 1);
    need_others(play, &before, chosen);
    need_it_stays_gone(play, pool, &before, chosen);
    printf("%s: %s left by another's write, and no second one\n", pool->machine_deployment, chosen);
}

static void inspect(struct play *play, const struct capi_pool *pool)
{
    printf("%s is inspected:\n", pool->machine_deployment);
    provider_inspect(play->provider, (const struct pool_address *)(const void *)pool, on_finding,
                     on_done, play);
    await(play);
    if (play->err.kind != ERROR_NONE)
        fail("inspect", play->err.text);
}

int main(int argc, char **argv)
{
    struct play play = { 0 };
    struct random random = { 0 };
    struct error err = { 0 };

    mem_setup();
    if (argc != 5) {
        fprintf(stderr, "usage: machine_deployments KUBECONFIG NAMESPACE FROM TO\n");
        return 64;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);

    struct capi_pool from = { .namespace = argv[2], .machine_deployment = argv[3], .zone = "" };
    struct capi_pool to = { .namespace = argv[2], .machine_deployment = argv[4], .zone = "" };

    play.world.loop = loop_libevent_new(&err);
    play.world.http = play.world.loop ? http_curl_new(play.world.loop, NULL, &err) : NULL;
    play.world.random = &random;
    if (!play.world.http)
        fail("libcurl", err.text);
    play.account.kubeconfig = argv[1];
    open_provider(&play);
    await_size(&play, &to, 3);
    await_size(&play, &from, 3);
    inspect(&play, &from);
    if (play.wrong > 0)
        fail(argv[3], "it was found unfit");
    take_one(&play, &from);
    add_one(&play, &to);
    lose_a_process(&play, &to);
    inspect(&play, &to);
    provider_close(play.provider);
    http_free(play.world.http);
    loop_free(play.world.loop);
    printf("machine_deployments: all as it should be\n");
    return 0;
}
