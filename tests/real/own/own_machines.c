/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider `ssh` on a real sshd.  tests/real/machines starts it, and says where the files are.
 *
 * The test plays the broker: it lists, orders and removes, stores the progress, and repeats what
 * ended with no known outcome.  A door before the SSH client kills the connection of the n-th
 * command, some milliseconds after its start.
 */
#include "base/file.h"
#include "base/log.h"
#include "providers/common/provider.h"
#include "providers/ssh/own.h"
#include "tests/real/own/small_disk.h"
#include "tests/real/own/token_server.h"
#include "tests/support/folder.h"
#include "tests/support/sweep.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void on_passed(void *context, const struct ssh_answer *answer, const struct error *err)
{
    struct passage *passage = context;
    struct passage copy = *passage;

    timer_free(passage->timer);
    mem_free(passage);
    copy.done(copy.context, answer, err);
}

static void on_kill(void *context)
{
    struct passage *passage = context;
    struct error err = { 0 };

    ssh_cancel(passage->real);
    error_set(&err, ERROR_UNKNOWN_OUTCOME, "killed");
    on_passed(passage, NULL, &err);
}

static struct ssh_exec *door_run(struct ssh *ssh, const struct ssh_host *host,
                                 const struct ssh_request *request, ssh_done_fn done, void *context)
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

static void door_cancel(struct ssh_exec *exec)
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

static char *in(const struct bench *bench, const char *name)
{
    return text_format("%s/%s", bench->folder, name);
}

static struct text *read_file(const struct bench *bench, const char *name)
{
    owned(chars) char *path = in(bench, name);

    return file_exists(path) ? test_file_read(path) : text_new(1);
}

static struct own_pool pool_of(const struct bench *bench, const char *group, const char *join)
{
    return (struct own_pool){
        .group = group,
        .join = join,
        .kubeconfig = text_equal(join, "slurmd") ? NULL : bench->kubeconfig,
        .labels = "sluice.dev/ephemeral=true",
        .kubeadm_api = "v1beta4",
        .cri_socket = "unix:///run/containerd/containerd.sock",
        .script = text_equal(join, "script") ? bench->mover : NULL,
        .slurm_options = text_equal(join, "slurmd") ? "--conf-server slurm:6817 -Z" : NULL,
        .zone = "here",
    };
}

static void open_provider(struct bench *bench)
{
    struct error err = { 0 };

    bench->provider = provider_open(&bench->world, &ssh_kind,
                                    (const struct provider_account *)(const void *)&bench->account,
                                    &err);
    if (!bench->provider)
        fail_msg("%s", err.text);
}

static void bench_open(struct bench *bench)
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

static void bench_close(struct bench *bench)
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

static void pause_ms(struct bench *bench, int64_t ms)
{
    loop_run_until(bench->loop, loop_now(bench->loop) + ms);
}

static void note(struct bench *bench, const struct error *err)
{
    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    loop_stop(bench->loop);
}

static void on_done(void *context, const char *operation, const struct error *err)
{
    struct bench *bench = context;

    text_copy(bench->operation, sizeof bench->operation, operation);
    note(bench, err);
}

static void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct bench *bench = context;

    bench->is_listed = page && page->count == 1;
    if (bench->is_listed)
        bench->machine = page->items[0];
    note(bench, err);
}

static void await(struct bench *bench, int before)
{
    loop_run_until(bench->loop, loop_now(bench->loop) + PATIENCE_MS);
    assert_int_equal(bench->calls, before + 1);
}

static const struct pool_address *address(const struct own_pool *pool)
{
    return (const struct pool_address *)(const void *)pool;
}

static void list(struct bench *bench, const struct own_pool *pool)
{
    int before = bench->calls;

    provider_list(bench->provider, address(pool), NULL, on_page, bench);
    await(bench, before);
}

/* Lists until the machine is in that state; -1: until it is in no list of the pool. */
static void list_until(struct bench *bench, const struct own_pool *pool, int state)
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
static enum error_kind carry_out(struct bench *bench, const struct own_pool *pool,
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
static void leave(struct bench *bench, const struct own_pool *pool)
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

static void join(struct bench *bench, const struct own_pool *pool)
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

static void expect_steps(struct bench *bench, const char *steps)
{
    owned(text) struct text *seen = read_file(bench, "steps");
    owned(chars) char *path = in(bench, "steps");

    assert_string_equal(seen->chars, steps);
    test_file_write(path, "", 0);
}

#define KUBEADM_OUT "kubeadm reset\nrestart containerd\n"
#define K3S_OUT "k3s stop\nk3s kill all\n"

#define SLURMD_OUT "slurmd stop\n"

/* One way round: kubeadm, k3s, slurmd, kubeadm.  Returns how many commands it took. */
static int go_round(struct bench *bench)
{
    int before = bench->door.number;

    leave(bench, &bench->kubeadm);
    join(bench, &bench->k3s);
    leave(bench, &bench->k3s);
    join(bench, &bench->slurmd);
    leave(bench, &bench->slurmd);
    join(bench, &bench->kubeadm);
    expect_steps(bench,
                 KUBEADM_OUT "k3s start\n" K3S_OUT "slurmd start\n" SLURMD_OUT "kubeadm join\n");
    return bench->door.number - before;
}

/* Each secret half of a token: in no process, and in no file that the machine keeps. */
static void expect_no_secret(struct bench *bench)
{
    static const char *const files[] = {
        "processes",  "marker/marker",   "marker/parameters",    "marker/tool",
        "marker/log", "marker/step.log", "marker/script.errors", "marker/marker.new"
    };

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        owned(text) struct text *text = read_file(bench, files[i]);

        for (int at = 0; at < token_server_made(bench->tokens); at++)
            assert_null(strstr(text->chars, token_server_secret(bench->tokens, at)));
        if (i == 0)
            assert_non_null(strstr(text->chars, "kubeadm join --config /dev/stdin"));
    }
}

static void a_machine_goes_round(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    list_until(&bench, &bench.kubeadm, INSTANCE_RUNNING);
    list_until(&bench, &bench.k3s, -1);
    print_message("      %d commands\n", go_round(&bench));
    assert_int_equal(token_server_made(bench.tokens), 2);
    assert_int_equal(token_server_count(bench.tokens), 0);
    expect_no_secret(&bench);
    owned(text) struct text *config = read_file(&bench, "config");

    assert_non_null(strstr(config->chars, "value: \"ssh://gpu-1\""));
    bench_close(&bench);
}

/* Its state is on another disk now. */
static void use_folder(struct bench *bench, const char *folder, const char *marker)
{
    bench->account.folder = folder;
    mem_free(test_folder_write(folder, "marker", marker));
    provider_close(bench->provider);
    open_provider(bench);
}

/* Nothing is claimed on a full disk; with space the same order goes on. */
static void a_full_disk_is_named_by_a_join(void **state)
{
    const struct provider_order order = { .request_key = "00000bad" };
    const char *disk = getenv("SMALL_DISK");
    struct bench bench;

    (void)state;
    if (!disk)
        skip();
    bench_open(&bench);
    leave(&bench, &bench.kubeadm);

    owned(text) struct text *parked = read_file(&bench, "marker/marker");
    owned(chars) char *path = text_format("%s/marker", disk);
    owned(chars) char *words = text_format(
        "machine gpu-1: cannot write %s: its disk is full (0 KiB are free)", path);

    use_folder(&bench, disk, parked->chars);
    small_disk_fill(disk);
    assert_int_equal(carry_out(&bench, &bench.kubeadm, order), ERROR_DENIED);
    assert_string_equal(bench.err.text, words);
    small_disk_make_space(disk);
    assert_int_equal(carry_out(&bench, &bench.kubeadm, order), ERROR_NONE);
    list_until(&bench, &bench.kubeadm, INSTANCE_RUNNING);
    expect_steps(&bench, KUBEADM_OUT "kubeadm join\n");

    owned(text) struct text *joined = test_file_read(path);

    use_folder(&bench, bench.state, joined->chars);
    bench_close(&bench);
}

/* The n-th command is killed, for each n, at moments before and after it arrives; each second time
   a new process goes on, which remembers nothing. */
static void each_connection_may_be_killed(void **state)
{
    static const int64_t moments_ms[] = { 1, 90, 400 };
    struct sweep_part part = sweep_part(11);
    struct bench bench;
    int kills = 0;
    int commands;

    (void)state;
    bench_open(&bench);
    commands = go_round(&bench);
    for (size_t i = 0; i < COUNT_OF(moments_ms); i++)
        for (int at = 1; at <= commands; at++) {
            if (!sweep_plays(&part))
                continue;
            bench.door.kill_at = bench.door.number + at;
            bench.door.kill_ms = moments_ms[i];
            go_round(&bench);
            kills++;
            if (at % 2 == 0) {
                provider_close(bench.provider);
                open_provider(&bench);
            }
        }
    print_message("      %d ways round, each with a killed connection; %d tokens\n", kills,
                  token_server_made(bench.tokens));
    assert_int_equal(token_server_count(bench.tokens), 0);
    expect_no_secret(&bench);
    bench_close(&bench);
}

/* The machine loses its power before or after a step has taken effect, and before the marker says
   so: the next run begins with that step, and does not do it twice. */
static void steps_that_are_interrupted_are_resumed(void **state)
{
    static const char *const programs[] = {
        "kubeadm reset",
        "kubeadm join",
        "systemctl enable --now k3s-agent",
        "systemctl disable --now k3s-agent",
        "systemctl enable --now slurmd",
        "systemctl disable --now slurmd",
    };
    static const char *const whens[] = { "state/die", "state/die_after" };
    struct sweep_part part = sweep_part(3);
    struct bench bench;

    (void)state;
    bench_open(&bench);
    for (size_t i = 0; i < COUNT_OF(programs); i++)
        for (size_t k = 0; k < COUNT_OF(whens); k++) {
            if (!sweep_plays(&part))
                continue;

            owned(chars) char *words = text_format("%s\n", programs[i]);
            owned(chars) char *path = test_folder_write(bench.folder, whens[k], words);

            print_message("      %s, %s\n", programs[i], whens[k]);
            go_round(&bench);
            assert_false(file_exists(path)); /* it has died */
        }
    expect_no_secret(&bench);
    bench_close(&bench);
}

/* What a step that failed printed is told, without the token; the machine then leaves. */
static void a_step_that_fails_is_told_without_its_secret(void **state)
{
    struct bench bench;
    const struct provider_order order = { .request_key = "00000bad" };

    (void)state;
    bench_open(&bench);
    leave(&bench, &bench.kubeadm);
    mem_free(test_folder_write(bench.folder, "state/fail", ""));
    assert_int_equal(carry_out(&bench, &bench.kubeadm, order), ERROR_INVALID);
    assert_non_null(strstr(bench.err.text, "machine gpu-1: kubeadm, join, step join: "));
    for (int at = 0; at < token_server_made(bench.tokens); at++)
        assert_null(strstr(bench.err.text, token_server_secret(bench.tokens, at)));
    expect_no_secret(&bench);
    assert_int_equal(
        carry_out(&bench, &bench.kubeadm, (struct provider_order){ .instance = "gpu-1" }),
        ERROR_NONE);
    list_until(&bench, &bench.kubeadm, INSTANCE_PARKED);
    assert_int_equal(token_server_count(bench.tokens), 0);
    bench_close(&bench);
}

/* The steps fail while it is looked at, or after the look: the reason is told in full. */
static void a_run_that_ends_meanwhile_is_told_in_full(void **state)
{
    static const char joining[] =
        "state=joining\ngroup=a\nkey=00000bad\nkind=kubeadm\nstep=\nfailed=";
    static const char *const calls[] = { "2", "3" }; /* the first one is of the sweep */
    const struct provider_order order = { .request_key = "00000bad" };
    char log[301] = "";
    struct bench bench;

    (void)state;
    bench_open(&bench);
    memset(log, 'x', sizeof log - 1);
    owned(chars) char *folder = in(&bench, "ended");
    owned(chars) char *reason = text_format("kubeadm, join, step join: %s", log);
    owned(chars) char *told = text_format("machine gpu-1: %s", reason);
    owned(chars) char *ended = text_format("%s%s\n", joining, reason);

    mem_free(test_folder_write(folder, "lock", ""));
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        use_folder(&bench, folder, joining);
        mem_free(test_folder_write(bench.folder, "state/ended", ended));
        owned(chars) char *path = test_folder_write(bench.folder, "state/ends", calls[i]);

        assert_int_equal(carry_out(&bench, &bench.kubeadm, order), ERROR_INVALID);
        assert_string_equal(bench.err.text, told);
        assert_false(file_exists(path));
        assert_int_equal(token_server_made(bench.tokens), i);
    }
    bench_close(&bench);
}

/* The order ends with the steps begun, as when the service is killed: a list removes the token. */
static void a_token_of_an_order_that_ended_early_is_removed(void **state)
{
    struct bench bench;
    const struct provider_order order = { .request_key = "00000bac", .progress = bench.operation };

    (void)state;
    bench_open(&bench);
    leave(&bench, &bench.kubeadm);
    bench.operation[0] = '\0';
    for (int calls = bench.calls; token_server_count(bench.tokens) == 0; calls++) {
        provider_create(bench.provider, address(&bench.kubeadm), &order, on_done, &bench);
        await(&bench, calls);
    }
    list_until(&bench, &bench.kubeadm, INSTANCE_RUNNING);
    assert_int_equal(token_server_count(bench.tokens), 0);
    bench_close(&bench);
}

/* The shell that runs the steps is killed alone, as by a system without memory: its step goes on,
   and is not begun a second time beside it. */
static void a_step_outlives_its_shell_and_is_done_once(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    owned(chars) char *steps = in(&bench, "steps");

    leave(&bench, &bench.kubeadm); /* wherever the case before left it */
    join(&bench, &bench.kubeadm);
    test_file_write(steps, "", 0);
    mem_free(test_folder_write(bench.folder, "state/lose_shell", ""));
    leave(&bench, &bench.kubeadm);
    expect_steps(&bench, KUBEADM_OUT);
    bench_close(&bench);
}

/* `kubeadm join` waits for a child of its own: both are ended, and the machine can leave. */
static void a_step_that_hangs_is_ended(void **state)
{
    struct bench bench;
    const struct provider_order order = { .request_key = "00000bae" };

    (void)state;
    bench_open(&bench);
    bench.account.step_limit_ms = 2 * SECOND_MS;
    owned(chars) char *child = in(&bench, "child");
    owned(chars) char *steps = in(&bench, "steps");

    leave(&bench, &bench.kubeadm);
    mem_free(test_folder_write(bench.folder, "state/hang", ""));
    assert_int_equal(carry_out(&bench, &bench.kubeadm, order), ERROR_INVALID);
    assert_string_equal(bench.err.text,
                        "machine gpu-1: kubeadm, join, step join: it did not end within 2 s, and "
                        "was ended: waiting for the kubelet ");

    owned(text) struct text *pid = test_file_read(child);
    owned(chars) char *words = text_format("%s/%d/cmdline", getenv("SSHD_PROC") ?: "/proc",
                                           atoi(pid->chars));
    struct error err = { 0 };
    owned(text) struct text *left = file_read(words, 4096, &err);

    assert_true(!left || left->length == 0); /* it may not be reaped yet */
    assert_int_equal(
        carry_out(&bench, &bench.kubeadm, (struct provider_order){ .instance = "gpu-1" }),
        ERROR_NONE);
    list_until(&bench, &bench.kubeadm, INSTANCE_PARKED);
    assert_int_equal(token_server_count(bench.tokens), 0);
    test_file_write(steps, "", 0);
    bench_close(&bench);
}

static void a_script_that_prints_garbage_has_not_joined(void **state)
{
    static const char *const garbage[] = { "all fine, I think", "{\"done\": false, \"ok\": true}",
                                           "{\"undone\": true}", "{\"done\": \"true\"}", "" };
    struct bench bench;
    struct provider_order order = { 0 };

    (void)state;
    bench_open(&bench);
    owned(chars) char *steps = in(&bench, "steps");

    for (size_t i = 0; i < COUNT_OF(garbage); i++) {
        owned(chars) char *key = text_format("00000ba%zu", i);

        mem_free(test_folder_write(bench.folder, "state/garbage", garbage[i]));
        order.request_key = key;
        assert_int_equal(carry_out(&bench, &bench.script, order), ERROR_INVALID);
        assert_non_null(strstr(bench.err.text, "printed no JSON object"));
        assert_non_null(strstr(bench.err.text, garbage[i]));
        expect_no_secret(&bench);
        leave(&bench, &bench.script);
    }
    mem_free(test_folder_write(bench.folder, "state/boast", ""));
    order.request_key = "00000bae";
    assert_int_equal(carry_out(&bench, &bench.script, order), ERROR_INVALID);
    assert_non_null(strstr(bench.err.text, "(token)000")); /* no half of it is left */
    expect_no_secret(&bench);
    leave(&bench, &bench.script);
    test_file_write(steps, "", 0);
    order.request_key = "00000baf";
    assert_int_equal(carry_out(&bench, &bench.script, order), ERROR_NONE);
    leave(&bench, &bench.script);
    expect_steps(&bench, "script join c\nscript leave c\n");
    bench_close(&bench);
}

/* tests/real/kubeadm plays it with a real API server, and asks the rest itself. */
static void a_real_kubeadm_takes_the_token(void **state)
{
    struct bench bench;

    (void)state;
    if (!getenv("SSHD_KUBECONFIG"))
        skip();
    bench_open(&bench);
    list_until(&bench, &bench.kubeadm, INSTANCE_RUNNING);
    leave(&bench, &bench.kubeadm);
    join(&bench, &bench.kubeadm);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_goes_round),
        cmocka_unit_test(a_full_disk_is_named_by_a_join),
        cmocka_unit_test(each_connection_may_be_killed),
        cmocka_unit_test(steps_that_are_interrupted_are_resumed),
        cmocka_unit_test(a_step_that_fails_is_told_without_its_secret),
        cmocka_unit_test(a_run_that_ends_meanwhile_is_told_in_full),
        cmocka_unit_test(a_token_of_an_order_that_ended_early_is_removed),
        cmocka_unit_test(a_step_that_hangs_is_ended),
        cmocka_unit_test(a_step_outlives_its_shell_and_is_done_once),
        cmocka_unit_test(a_script_that_prints_garbage_has_not_joined),
        cmocka_unit_test(a_real_kubeadm_takes_the_token),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
