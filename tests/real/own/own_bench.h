/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One machine on a real sshd, and a test that plays the broker: it lists, orders and removes,
 * stores the progress, and repeats what ended with no known outcome.  A door before the SSH client
 * kills the connection of the n-th command, some milliseconds after its start.
 */
#pragma once

#include "base/file.h"
#include "providers/common/provider.h"
#include "providers/ssh/own.h"
#include "tests/real/own/token_server.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 60 * SECOND_MS, REPEATS = 40, PAUSE_MS = 300 };

/* ---- the door ---- */

struct door {
    struct ssh ssh; /* first */
    struct ssh *real;
    struct loop *loop;
    int number;  /* of the next command */
    int kill_at; /* of the command whose connection is killed; 0: none */
    int64_t kill_ms;
};

struct passage {
    struct ssh_exec exec; /* first */
    struct door *door;
    struct ssh_exec *real;
    struct timer *timer;
    ssh_done_fn done;
    void *context;
};

static inline void on_passed(void *context, const struct ssh_answer *answer,
                             const struct error *err)
{
    struct passage *passage = context;
    struct passage copy = *passage;

    timer_free(passage->timer);
    mem_free(passage);
    copy.done(copy.context, answer, err);
}

static inline void on_kill(void *context)
{
    struct passage *passage = context;
    struct error err = { 0 };

    ssh_cancel(passage->real);
    error_set(&err, ERROR_UNKNOWN_OUTCOME, "killed");
    on_passed(passage, NULL, &err);
}

static inline struct ssh_exec *door_run(struct ssh *ssh, const struct ssh_host *host,
                                        const struct ssh_request *request, ssh_done_fn done,
                                        void *context)
{
    struct door *door = (struct door *)ssh;
    struct passage *passage = mem_new(sizeof *passage);

    *passage = (struct passage){ { ssh }, door, NULL, NULL, done, context };
    passage->real = ssh_run(door->real, host, request, on_passed, passage);
    if (++door->number == door->kill_at) {
        passage->timer = timer_new(door->loop, on_kill, passage);
        timer_set(passage->timer, door->kill_ms);
    }
    return &passage->exec;
}

static inline void door_cancel(struct ssh_exec *exec)
{
    struct passage *passage = (struct passage *)exec;

    ssh_cancel(passage->real);
    timer_free(passage->timer);
    mem_free(passage);
}

static const struct ssh_verbs door_verbs = { door_run, door_cancel, NULL };

/* ---- the bench ---- */

struct bench {
    const char *folder;
    struct loop *loop;
    struct random random;
    struct world world;
    struct door door;
    struct token_server *tokens;
    struct own_account account;
    struct own_pool kubeadm, k3s, slurmd, script;
    struct provider *provider;
    int calls, orders;
    struct error err;
    char operation[128];
    struct instance machine; /* of the last list */
    bool is_listed;
    char *machines, *kubeconfig, *key, *state, *mover;
};

static inline char *in(const struct bench *bench, const char *name)
{
    return text_format("%s/%s", bench->folder, name);
}

static inline struct text *read_file(const struct bench *bench, const char *name)
{
    owned(chars) char *path = in(bench, name);

    return file_exists(path) ? test_file_read(path) : text_new(1);
}

static inline struct own_pool pool_of(const struct bench *bench, const char *group,
                                      const char *join)
{
    return (struct own_pool){
        .group = group,
        .join = join,
        .kubeconfig = text_equal(join, "slurmd") ? NULL : bench->kubeconfig,
        .labels = text_equal(join, "slurmd") ? NULL : "sluice.dev/ephemeral=true",
        .taints = text_equal(join, "kubeadm") || text_equal(join, "k3s")
                      ? "{key: nvidia.com/gpu, effect: NoSchedule}"
                      : NULL,
        .kubeadm_api = "v1beta4",
        .cri_socket = "unix:///run/containerd/containerd.sock",
        .script = text_equal(join, "script") ? bench->mover : NULL,
        .slurm_options = text_equal(join, "slurmd") ? "--conf-server slurm:6817 -Z" : NULL,
        .zone = "here",
    };
}

static inline void open_provider(struct bench *bench)
{
    struct error err = { 0 };

    bench->provider = provider_open(&bench->world, &ssh_kind,
                                    (const struct provider_account *)(const void *)&bench->account,
                                    &err);
    if (!bench->provider)
        fail_msg("%s", err.text);
}

static inline void bench_open(struct bench *bench)
{
    struct error err = { 0 };

    *bench = (struct bench){ .folder = getenv("SSHD_FOLDER") };
    assert_non_null(bench->folder);
    bench->loop = loop_libevent_new(&err);
    random_seed_system(&bench->random);
    bench->door = (struct door){ { &door_verbs }, ssh_new(bench->loop), bench->loop, 0, 0, 0 };
    bench->world = (struct world){ .loop = bench->loop,
                                   .http = http_curl_new(bench->loop, NULL, &err),
                                   .random = &bench->random,
                                   .ssh = &bench->door.ssh };
    bench->tokens = token_server_new(bench->loop, bench->folder);
    owned(text) struct text *host_key = read_file(bench, "host.pub");
    owned(chars) char *list = text_format(
        "gpu-1: {address: 127.0.0.1, group: a, host_key: '%.*s'}\n",
        (int)strcspn(host_key->chars, "\n"), host_key->chars);

    bench->machines = test_folder_write(bench->folder, "machines.yaml", list);
    bench->kubeconfig = getenv("SSHD_KUBECONFIG") ? mem_copy_chars(getenv("SSHD_KUBECONFIG"))
                                                  : in(bench, "kubeconfig");
    bench->key = in(bench, "user");
    bench->state = in(bench, "marker");
    bench->mover = in(bench, "bin/moved");
    bench->account = (struct own_account){
        .machines = bench->machines,
        .access = { .port = atoi(getenv("SSHD_PORT")),
                    .user = (char *)(uintptr_t) "root",
                    .key = bench->key },
        .folder = bench->state,
        .fence_after_ms = 5 * MINUTE_MS,
        .step_limit_ms = MINUTE_MS,
    };
    bench->kubeadm = pool_of(bench, "a", "kubeadm");
    bench->k3s = pool_of(bench, "b", "k3s");
    bench->script = pool_of(bench, "c", "script");
    bench->slurmd = pool_of(bench, "d", "slurmd");
    open_provider(bench);
}

static inline void bench_close(struct bench *bench)
{
    provider_close(bench->provider);
    token_server_free(bench->tokens);
    http_free(bench->world.http);
    ssh_free(bench->door.real);
    loop_free(bench->loop);
    mem_free(bench->machines);
    mem_free(bench->kubeconfig);
    mem_free(bench->key);
    mem_free(bench->state);
    mem_free(bench->mover);
}

static inline void pause_ms(struct bench *bench, int64_t ms)
{
    loop_run_until(bench->loop, loop_now(bench->loop) + ms);
}

static inline void note(struct bench *bench, const struct error *err)
{
    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    loop_stop(bench->loop);
}

static inline void on_done(void *context, const char *operation, const struct error *err)
{
    struct bench *bench = context;

    text_copy(bench->operation, sizeof bench->operation, operation);
    note(bench, err);
}

static inline void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct bench *bench = context;

    bench->is_listed = page && page->count == 1;
    if (bench->is_listed)
        bench->machine = page->items[0];
    note(bench, err);
}

static inline void await(struct bench *bench, int before)
{
    loop_run_until(bench->loop, loop_now(bench->loop) + PATIENCE_MS);
    assert_int_equal(bench->calls, before + 1);
}

static const struct pool_address *address(const struct own_pool *pool)
{
    return (const struct pool_address *)(const void *)pool;
}

static inline void list(struct bench *bench, const struct own_pool *pool)
{
    int before = bench->calls;

    provider_list(bench->provider, address(pool), NULL, on_page, bench);
    await(bench, before);
}

/* Lists until the machine is in that state; -1: until it is in no list of the pool. */
static inline void list_until(struct bench *bench, const struct own_pool *pool, int state)
{
    for (int i = 0; i < REPEATS * 5; i++) {
        list(bench, pool);
        if (bench->is_listed ? (int)bench->machine.state == state : state < 0)
            return;
        if (bench->is_listed && bench->machine.trouble.kind == ERROR_INVALID && state >= 0)
            fail_msg("%s", bench->machine.trouble.text);
        pause_ms(bench, PAUSE_MS);
    }
    fail_msg("never %d: %d, %s", state, (int)bench->machine.state, bench->machine.trouble.text);
}

/* As the broker: keeps the progress, and repeats what may have happened. */
static inline enum error_kind carry_out(struct bench *bench, const struct own_pool *pool,
                                        struct provider_order order)
{
    char progress[128] = "";

    for (int i = 0; i < REPEATS; i++) {
        int before = bench->calls;

        order.progress = progress;
        if (order.instance)
            provider_remove(bench->provider, address(pool), &order, on_done, bench);
        else
            provider_create(bench->provider, address(pool), &order, on_done, bench);
        await(bench, before);
        if (bench->err.cause == &provider_goes_on)
            text_copy(progress, sizeof progress, bench->operation);
        else if (bench->err.kind != ERROR_TRANSIENT && bench->err.kind != ERROR_UNKNOWN_OUTCOME &&
                 bench->err.kind != ERROR_NO_CAPACITY) /* for minutes the broker waits for one */
            return bench->err.kind;
        else
            pause_ms(bench, PAUSE_MS);
    }
    return bench->err.kind;
}

/* The machine leaves, whatever is killed.  As the broker: one that the list shows neither leaving
   nor gone is asked again. */
static inline void leave(struct bench *bench, const struct own_pool *pool)
{
    for (int i = 0; i < REPEATS; i++) {
        enum error_kind kind = carry_out(bench, pool,
                                         (struct provider_order){ .instance = "gpu-1" });

        if (kind != ERROR_NONE && kind != ERROR_NOT_FOUND)
            fail_msg("%s", bench->err.text);
        do {
            pause_ms(bench, PAUSE_MS);
            list(bench, pool);
        } while (bench->machine.state == INSTANCE_DELETING);
        if (bench->machine.state == INSTANCE_PARKED)
            return;
    }
    fail_msg("it does not leave: %s", bench->machine.trouble.text);
}

static inline void join(struct bench *bench, const struct own_pool *pool)
{
    char key[REQUEST_KEY_SIZE];
    enum error_kind kind;

    text_print(key, sizeof key, "%08x", 0xabc00000u + (unsigned)++bench->orders);
    kind = carry_out(bench, pool, (struct provider_order){ .request_key = key });
    if (kind != ERROR_NONE && kind != ERROR_CONFLICT)
        fail_msg("%s: %s", error_kind_name(kind), bench->err.text);
    list_until(bench, pool, INSTANCE_RUNNING);
    assert_string_equal(bench->machine.request_key, key);
}

static inline void expect_steps(struct bench *bench, const char *steps)
{
    owned(text) struct text *seen = read_file(bench, "steps");
    owned(chars) char *path = in(bench, "steps");

    assert_string_equal(seen->chars, steps);
    test_file_write(path, "", 0);
}
