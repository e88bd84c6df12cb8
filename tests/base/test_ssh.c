/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pinned host keys, the settings of a host, and the machines of a simulation.  tests/real/ssh plays
 * the client on a real sshd.
 */
#include "base/crypto.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/ssh_keys.h"
#include "base/world/ssh_settings.h"
#include "tests/support/unit.h"

#include <string.h>

/* As ssh-keygen made them, and ssh-keygen -lf shows them. */
#define ED25519 "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILLYeqPn2zEamG0SdiP7ldy/I4KmmU8LS2UpN3LRA390"
#define ED25519_PRINT "SHA256:z7SXIW/UXBJ+aHrafSJn4oNaqVX99cq3Ot+BD53jeJY"
#define ECDSA                                                                                      \
    "ecdsa-sha2-nistp256 "                                                                         \
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBA211z4IxVpB79h1sbSCkz8tAVQ7hC0YpX+P9SKB" \
    "Vp1+9LLfiIFqfqXj58EMrF9HOk2h+XGNOc7p8q4E8hn7zI0="
#define ECDSA_PRINT "SHA256:OK4x2AkntcSchSzooXdXV1ShoXoJb4/z7HbMEe67fGY"

static void pinned_keys_are_read_or_refused(void **state)
{
    static const struct {
        const char *pinned;
        const char *says; /* NULL: taken */
        const char *prints;
        const char *types; /* the first of them */
    } rows[] = {
        { ED25519, NULL, ED25519_PRINT, "ssh-ed25519,ecdsa-sha2-nistp256" },
        { ECDSA " root@gpu-1\n", NULL, ECDSA_PRINT, "ecdsa-sha2-nistp256,ssh-ed25519" },
        { "\n " ED25519 " a comment\r\n\n" ECDSA, NULL, ED25519_PRINT " or " ECDSA_PRINT,
          "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384" },
        { ECDSA "," ED25519, NULL, ECDSA_PRINT " or " ED25519_PRINT, "ssh-ed25519" },
        { "", "empty", "", "" },
        { " ,\n", "empty", "", "" },
        { "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB", "type \"ssh-rsa\"", "", "" },
        { "gpu-1 " ED25519, "type \"gpu-1\"", "", "" },
        { "ssh-ed25519", "no such key", "", "" },
        { "ssh-ed25519 !", "no such key", "", "" },
        { "ssh-ed25519 AAAA", "no such key", "", "" },
        { "ecdsa-sha2-nistp256 "
          "AAAAC3NzaC1lZDI1NTE5AAAAILLYeqPn2zEamG0SdiP7ldy/I4KmmU8LS2UpN3LRA390",
          "no such key", "", "" },
        { ED25519 ",ssh-ed25519 AAAA", "no such key", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(text) struct text *prints = text_new(TEXT_UNBOUNDED);
        owned(text) struct text *types = text_new(TEXT_UNBOUNDED);
        struct error err = { 0 };
        int result = ssh_keys_check(rows[i].pinned, &err);

        assert_int_equal(result, rows[i].says ? -1 : 0);
        assert_int_equal(err.kind, rows[i].says ? ERROR_INVALID : ERROR_NONE);
        assert_true(!rows[i].says || strstr(err.text, rows[i].says));
        ssh_keys_add_fingerprints(rows[i].pinned, prints);
        ssh_keys_add_types(rows[i].pinned, types);
        if (!rows[i].says)
            assert_string_equal(prints->chars, rows[i].prints);
        assert_true(text_starts_with(types->chars, rows[i].types));
    }
}

static void only_the_same_bytes_are_the_same_key(void **state)
{
    owned(text) struct text *key = crypto_decode_base64(strchr(ED25519, ' ') + 1, NULL);

    (void)state;
    assert_non_null(key);
    assert_true(ssh_keys_hold(ED25519, key->chars, key->length));
    assert_true(ssh_keys_hold(ECDSA "," ED25519, key->chars, key->length));
    assert_false(ssh_keys_hold(ECDSA, key->chars, key->length));
    assert_false(ssh_keys_hold(ED25519, key->chars, key->length - 1));
    assert_false(ssh_keys_hold(ED25519, key->chars, 0));
    assert_false(ssh_keys_hold("", key->chars, 0));
    key->chars[key->length - 1] ^= 1;
    assert_false(ssh_keys_hold(ED25519, key->chars, key->length));
}

static char *writable(const char *chars)
{
    return (char *)(uintptr_t)chars;
}

static const struct {
    struct {
        int port;
        const char *user, *key, *agent, *jump, *jump_host_key;
    } access;
    const char *key, *says; /* NULL: taken */
    const char *user, *address;
    int port;
} settings[] = {
    { { .port = 22, .user = "root", .key = "k" }, NULL, NULL, NULL, NULL, 0 },
    { { .port = 22, .user = "root", .agent = "/run/a" }, NULL, NULL, NULL, NULL, 0 },
    { { .port = 22, .user = "root" }, "key", "exactly one", NULL, NULL, 0 },
    { { .port = 22, .user = "root", .key = "k", .agent = "/a" }, "key", "exactly", NULL, NULL, 0 },
    { { .port = 22, .user = "root", .agent = "a" }, "agent", "absolute", NULL, NULL, 0 },
    { { .port = 23, .user = "r", .key = "k", .jump = "j", .jump_host_key = ED25519 },
      NULL,
      NULL,
      "r",
      "j",
      23 },
    { { .port = 23, .user = "r", .key = "k", .jump = "u@j:24", .jump_host_key = ED25519 },
      NULL,
      NULL,
      "u",
      "j",
      24 },
    { { .port = 23, .user = "r", .key = "k", .jump = "[fd00::1]:24", .jump_host_key = ED25519 },
      NULL,
      NULL,
      "r",
      "fd00::1",
      24 },
    { { .port = 23, .user = "r", .key = "k", .jump = "u@[fd00::1]", .jump_host_key = ED25519 },
      NULL,
      NULL,
      "u",
      "fd00::1",
      23 },
    { { .port = 22, .user = "r", .key = "k", .jump = "j:x", .jump_host_key = ED25519 },
      "jump",
      "no number",
      NULL,
      NULL,
      0 },
    { { .port = 22, .user = "r", .key = "k", .jump = "[fd00::1]x", .jump_host_key = ED25519 },
      "jump",
      "no number",
      NULL,
      NULL,
      0 },
    { { .port = 22, .user = "r", .key = "k", .jump = "@j", .jump_host_key = ED25519 },
      "jump",
      "form",
      NULL,
      NULL,
      0 },
    { { .port = 22, .user = "r", .key = "k", .jump = "j" },
      "jump_host_key",
      "needs",
      NULL,
      NULL,
      0 },
    { { .port = 22, .user = "r", .key = "k", .jump = "j", .jump_host_key = "x" },
      "jump_host_key",
      "type",
      NULL,
      NULL,
      0 },
    { { .port = 22, .user = "r", .key = "k", .jump_host_key = ED25519 },
      "jump_host_key",
      "needs jump",
      NULL,
      NULL,
      0 },
};

static void settings_become_a_host(void **state)
{
    const struct ssh_place place = { writable("gpu-1"), writable(ED25519) };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const struct ssh_access access = {
            .port = settings[i].access.port,
            .user = writable(settings[i].access.user),
            .key = writable(settings[i].access.key),
            .agent = writable(settings[i].access.agent),
            .jump = writable(settings[i].access.jump),
            .jump_host_key = writable(settings[i].access.jump_host_key),
        };
        struct ssh_target target;
        struct error err = { 0 };
        const char *key = "";
        int result = ssh_target_make(&place, &access, &target, &key, &err);

        assert_int_equal(result, settings[i].says ? -1 : 0);
        if (settings[i].says) {
            assert_string_equal(key, settings[i].key);
            assert_non_null(strstr(err.text, settings[i].says));
            continue;
        }
        assert_string_equal(target.host.address, "gpu-1");
        assert_true(!target.host.jump == !settings[i].address);
        if (target.host.jump) {
            assert_string_equal(target.host.jump->user, settings[i].user);
            assert_string_equal(target.host.jump->address, settings[i].address);
            assert_int_equal(target.host.jump->port, settings[i].port);
        }
        ssh_target_clear(&target);
    }
}

static void a_machine_without_a_pinned_key_is_refused(void **state)
{
    const struct ssh_access access = { .port = 22, .user = writable("root"), .key = writable("k") };
    struct ssh_place place = { 0 };
    struct ssh_target target;
    struct error err = { 0 };
    const char *key = "";

    (void)state;
    assert_int_equal(ssh_target_make(&place, &access, &target, &key, &err), -1);
    assert_string_equal(key, "address");
    place.address = writable("gpu-1");
    assert_int_equal(ssh_target_make(&place, &access, &target, &key, &err), -1);
    assert_string_equal(key, "host_key");
    place.host_key = writable("ssh-ed25519 AAAA");
    assert_int_equal(ssh_target_make(&place, &access, &target, &key, &err), -1);
    assert_string_equal(key, "host_key");
}

/* ---- machines of a simulation ---- */

struct scene {
    struct loop *loop;
    struct ssh *ssh;
    int64_t delay_ms;
    enum error_kind failure;
    int arrived;
    int told;
    int64_t told_ms;
    char output[64];
    int exit_status;
    enum error_kind kind;
};

static void play(void *context, const struct ssh_host *host, const struct ssh_request *request,
                 struct ssh_play *play)
{
    struct scene *scene = context;

    scene->arrived++;
    play->delay_ms = scene->delay_ms;
    if (scene->failure != ERROR_NONE) {
        error_set(&play->failure, scene->failure, "played");
        return;
    }
    text_add(play->output, "%s on %s reads %.*s", request->command, host->address,
             (int)request->input_length, request->input ?: "");
    play->exit_status = 3;
}

static void on_done(void *context, const struct ssh_answer *answer, const struct error *err)
{
    struct scene *scene = context;

    scene->told++;
    scene->told_ms = loop_now(scene->loop);
    scene->kind = err ? err->kind : ERROR_NONE;
    if (answer) {
        text_copy(scene->output, sizeof scene->output, answer->output);
        scene->exit_status = answer->exit_status;
    }
}

static void played_machines_answer_after_their_delay(void **state)
{
    static const struct {
        int64_t delay_ms, told_ms;
        enum error_kind failure, kind;
        size_t limit;
    } rows[] = {
        { 0, 0, ERROR_NONE, ERROR_NONE, 100 },
        { 700, 700, ERROR_NONE, ERROR_NONE, 100 },
        { 700, 700, ERROR_TRANSIENT, ERROR_TRANSIENT, 100 },
        { INT64_MAX, 1000, ERROR_NONE, ERROR_UNKNOWN_OUTCOME, 100 },
        { INT64_MAX, 1000, ERROR_TRANSIENT, ERROR_TRANSIENT, 100 },
        { 0, 0, ERROR_NONE, ERROR_UNKNOWN_OUTCOME, 3 }, /* it prints too much */
    };
    const struct ssh_host host = { .address = "gpu-1", .user = "root", .host_key = ED25519 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct scene scene = { .delay_ms = rows[i].delay_ms, .failure = rows[i].failure };
        owned(loop) struct loop *loop = loop_virtual_new((struct wall_time){ 1 });
        owned(ssh) struct ssh *ssh = ssh_virtual_new(loop, play, &scene);
        char input[] = "xyz", command[] = "do";

        scene.loop = loop;
        ssh_run(ssh, &host,
                &(struct ssh_request){ .command = command,
                                       .input = input,
                                       .input_length = 3,
                                       .timeout_ms = 1000,
                                       .output_limit = rows[i].limit },
                on_done, &scene);
        memset(input, 0, sizeof input); /* it was copied */
        memset(command, 0, sizeof command);
        assert_int_equal(scene.arrived + scene.told, 0);
        loop_run(loop);
        assert_int_equal(scene.arrived, 1);
        assert_int_equal(scene.told, 1);
        assert_int_equal(scene.told_ms, rows[i].told_ms);
        assert_int_equal(scene.kind, rows[i].kind);
        if (rows[i].kind == ERROR_NONE) {
            assert_string_equal(scene.output, "do on gpu-1 reads xyz");
            assert_int_equal(scene.exit_status, 3);
        }
    }
}

/* A cancelled command may have arrived; nothing is told of it. */
static void a_cancelled_command_tells_nothing(void **state)
{
    const struct ssh_host host = { .address = "gpu-1", .user = "root", .host_key = ED25519 };
    const struct ssh_request request = { .command = "do", .timeout_ms = 1000, .output_limit = 100 };
    struct scene scene = { .delay_ms = 500 };
    owned(loop) struct loop *loop = loop_virtual_new((struct wall_time){ 1 });
    owned(ssh) struct ssh *ssh = ssh_virtual_new(loop, play, &scene);
    struct ssh_exec *exec;

    (void)state;
    ssh_cancel(ssh_run(ssh, &host, &request, on_done, &scene));
    loop_run(loop);
    assert_int_equal(scene.arrived, 0);
    exec = ssh_run(ssh, &host, &request, on_done, &scene);
    loop_run_until(loop, 100);
    ssh_cancel(exec);
    loop_run(loop);
    assert_int_equal(scene.arrived, 1);
    assert_int_equal(scene.told, 0);
    ssh_run(ssh, &host, &request, on_done, &scene); /* ends with the client */
    ssh_cancel(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pinned_keys_are_read_or_refused),
        cmocka_unit_test(only_the_same_bytes_are_the_same_key),
        cmocka_unit_test(settings_become_a_host),
        cmocka_unit_test(a_machine_without_a_pinned_key_is_refused),
        cmocka_unit_test(played_machines_answer_after_their_delay),
        cmocka_unit_test(a_cancelled_command_tells_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
