/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider `ssh` on a real sshd.  tests/real/machines starts it, and says where the files are.
 */
#include "base/log.h"
#include "tests/real/own/own_bench.h"
#include "tests/real/own/small_disk.h"
#include "tests/support/sweep.h"

#include <sys/stat.h>
#include <unistd.h>

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

/* What a cluster's tool reads is gone with it. */
static void expect_gone(struct bench *bench, const char *name)
{
    owned(chars) char *path = in(bench, name);

    assert_false(file_exists(path));
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
    expect_gone(&bench, "root/etc/rancher/k3s/config.yaml.d/sluice.yaml");
    expect_gone(&bench, "root/etc/systemd/system/k3s-agent.service.env");
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

/* Nothing runs on the machine: an order says why, in the words of what should have begun it. */
static void expect_no_start(struct bench *bench, struct provider_order order)
{
    mem_free(test_folder_write(bench->folder, "state/no_start", ""));
    assert_int_equal(carry_out(bench, &bench->kubeadm, order), ERROR_INVALID);
    if (!text_starts_with(bench->err.text,
                          "machine gpu-1: the steps did not start: Failed to connect to bus") ||
        !strstr(bench->err.text, "Connection refused"))
        fail_msg("%s", bench->err.text);
    for (int at = 0; at < token_server_made(bench->tokens); at++)
        assert_null(strstr(bench->err.text, token_server_secret(bench->tokens, at)));
}

static void a_run_that_cannot_start_is_told(void **state)
{
    const struct provider_order order = { .request_key = "00000bad" };
    struct bench bench;

    (void)state;
    bench_open(&bench);
    expect_no_start(&bench, (struct provider_order){ .instance = "gpu-1" });
    leave(&bench, &bench.kubeadm);
    expect_no_start(&bench, order);
    assert_int_equal(carry_out(&bench, &bench.kubeadm, order), ERROR_NONE);
    list_until(&bench, &bench.kubeadm, INSTANCE_RUNNING);
    expect_steps(&bench, KUBEADM_OUT "kubeadm join\n");
    expect_no_secret(&bench);
    bench_close(&bench);
}

/* Its token is not replaced meanwhile. */
static void a_run_that_starts_slowly_is_begun_once(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    leave(&bench, &bench.kubeadm);
    mem_free(test_folder_write(bench.folder, "state/slow_start", ""));
    join(&bench, &bench.kubeadm);
    assert_int_equal(token_server_made(bench.tokens), 1);
    expect_steps(&bench, KUBEADM_OUT "kubeadm join\n");
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

/* The order ends with the steps begun, as when the service is killed: a list removes the token.  A
   cluster that does not is not asked again by each list. */
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
    token_server_refuse(bench.tokens, true);
    list_until(&bench, &bench.kubeadm, INSTANCE_RUNNING);
    for (int i = 0; i < 3; i++) {
        list(&bench, &bench.kubeadm);
        assert_int_equal(bench.machine.state, INSTANCE_RUNNING);
    }
    assert_int_equal(token_server_refused(bench.tokens), 1);
    assert_int_equal(token_server_count(bench.tokens), 1);
    token_server_refuse(bench.tokens, false);
    provider_close(bench.provider);
    open_provider(&bench);
    list(&bench, &bench.kubeadm);
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
    static const char *const garbage[] = { "all fine, I think",
                                           "{\"done\": false, \"ok\": true}",
                                           "{\"undone\": true}",
                                           "{\"done\": \"true\"}",
                                           "{garbage,\"done\":true}",
                                           "{\"steps\":[{\"done\":true}],\"done\":false}",
                                           "" };
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
        cmocka_unit_test(a_run_that_cannot_start_is_told),
        cmocka_unit_test(a_run_that_starts_slowly_is_begun_once),
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
