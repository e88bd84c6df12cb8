/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fence of a machine over real TLS: a management controller with a certificate of its own, and
 * a machine whose port for SSH is closed.  As real controllers do, this one refuses to switch off
 * what is off.
 */
#include "base/text.h"
#include "base/timestamp.h"
#include "base/world/http_server.h"
#include "base/world/tls_identity.h"
#include "providers/kinds.h"
#include "providers/ssh/own.h"
#include "tests/support/folder.h"
#include "tests/support/identity.h"
#include "tests/support/unit.h"

#include <sys/stat.h>

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILLYeqPn2zEamG0SdiP7ldy/I4KmmU8LS2UpN3LRA390"
#define SYSTEM "/redfish/v1/Systems/1"

enum { FENCE_MS = 200, PATIENCE_MS = 20 * SECOND_MS, CLOSED_PORT = 1 };

struct scene {
    char *folder;
    struct loop *loop;
    struct random random;
    struct world world;
    struct identity authority, stranger, impostor; /* the last has the name of the first */
    struct tls_identity *identity;
    struct http_server *controller;
    int port;
    bool is_off;
    int questions, resets, refusals;
    char *machines;
    struct own_account account;
    struct provider *provider;
    int calls;
    struct error err;
    enum instance_state state; /* of gpu-1 in the last list */
};

/* ---- the controller ---- */

static void answer(struct http_call *call, int status, const char *body)
{
    http_call_answer(
        call, &(struct http_reply){ .status = status, .body = body, .body_size = strlen(body) });
}

static void handle(void *context, struct http_call *call)
{
    struct scene *scene = context;
    const char *login = http_call_header(call, "Authorization");
    size_t size;

    if (!text_equal(login, "Basic YWRtaW46c2VjcmV0")) { /* admin:secret */
        scene->refusals++;
        answer(call, 401, "{}");
    } else if (http_call_method(call) == HTTP_GET) {
        assert_string_equal(http_call_target(call), SYSTEM);
        scene->questions++;
        answer(call, 200, scene->is_off ? "{\"PowerState\": \"Off\"}" : "{\"PowerState\": \"On\"}");
    } else {
        assert_string_equal(http_call_target(call), SYSTEM "/Actions/ComputerSystem.Reset");
        assert_string_equal(http_call_body(call, &size), "{\"ResetType\": \"ForceOff\"}");
        scene->resets++;
        answer(call, scene->is_off ? 409 : 204, "");
        scene->is_off = true;
    }
}

/* name: whom its certificate is for. */
static void start_controller(struct scene *scene, const char *name)
{
    struct error err = { 0 };
    struct identity own = identity_make("bmc", name, &scene->authority);
    owned(chars) char *certificate = test_folder_write(scene->folder, "bmc.pem",
                                                       own.certificate_pem);
    owned(chars) char *key = test_folder_write(scene->folder, "bmc.key", own.key_pem);

    identity_clear(&own);
    assert_int_equal(chmod(key, 0600), 0);
    scene->identity = tls_identity_read(
        &(struct tls_files){ .certificate = certificate, .key = key }, &err);
    if (!scene->identity)
        fail_msg("%s", err.text);
    scene->controller = http_server_new_tls(scene->loop, scene->identity, handle, scene);
    assert_int_equal(http_server_listen_tls(scene->controller, "127.0.0.1:0", &scene->port, &err),
                     0);
}

/* ---- the scene ---- */

static void write_file(const struct scene *scene, const char *name, const char *chars)
{
    owned(chars) char *path = test_folder_write(scene->folder, name, chars);

    assert_int_equal(chmod(path, 0600), 0);
}

static void open_provider(struct scene *scene)
{
    struct error err = { 0 };

    scene->account = (struct own_account){
        .machines = scene->machines,
        .access = { .port = CLOSED_PORT,
                    .user = (char *)(uintptr_t) "root",
                    .agent = (char *)(uintptr_t) "/nowhere" },
        .folder = "/var/lib/sluice-machine",
        .fence_after_ms = FENCE_MS,
        .step_limit_ms = MINUTE_MS,
    };

    scene->provider = provider_open(&scene->world, &ssh_kind,
                                    (const struct provider_account *)(const void *)&scene->account,
                                    &err);
    if (!scene->provider)
        fail_msg("%s", err.text);
}

/* more: further keys of gpu-1, and further machines. */
static void scene_open(struct scene *scene, const char *name, const char *more)
{
    struct error err = { 0 };

    *scene = (struct scene){ .folder = test_folder_new() };
    scene->loop = loop_libevent_new(&err);
    random_seed(&scene->random, 3);
    scene->world = (struct world){ .loop = scene->loop,
                                   .http = http_curl_new(scene->loop, NULL, &err),
                                   .random = &scene->random,
                                   .ssh = ssh_new(scene->loop) };
    scene->authority = identity_make("the authority", NULL, NULL);
    scene->stranger = identity_make("a stranger", NULL, NULL);
    scene->impostor = identity_make("the authority", NULL, NULL);
    start_controller(scene, name);
    write_file(scene, "ca.pem", scene->authority.certificate_pem);
    write_file(scene, "other.pem", scene->stranger.certificate_pem);
    write_file(scene, "false.pem", scene->impostor.certificate_pem);
    write_file(scene, "login", "admin:secret\n");
    write_file(scene, "wrong", "admin:guess\n");
    owned(chars) char *list = text_format("gpu-1: {address: 127.0.0.1, group: a, host_key: '" KEY
                                          "', redfish: 'https://127.0.0.1:%d" SYSTEM "'%s\n",
                                          scene->port, more);

    scene->machines = test_folder_write(scene->folder, "machines.yaml", list);
    open_provider(scene);
}

static void scene_close(struct scene *scene)
{
    provider_close(scene->provider);
    http_server_free(scene->controller);
    tls_identity_free(scene->identity);
    identity_clear(&scene->authority);
    identity_clear(&scene->stranger);
    identity_clear(&scene->impostor);
    ssh_free(scene->world.ssh);
    http_free(scene->world.http);
    loop_free(scene->loop);
    mem_free(scene->machines);
    test_folder_free(scene->folder);
}

static void note(struct scene *scene, const struct error *err)
{
    scene->calls++;
    scene->err = err ? *err : (struct error){ 0 };
    loop_stop(scene->loop);
}

static void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct scene *scene = context;

    for (size_t i = 0; page && i < page->count; i++)
        if (text_equal(page->items[i].name, "gpu-1"))
            scene->state = page->items[i].state;
    note(scene, err);
}

static void on_done(void *context, const char *operation, const struct error *err)
{
    (void)operation;
    note(context, err);
}

static const struct own_pool pool = { .group = "a", .join = "script", .script = "/s", .zone = "z" };

static const struct pool_address *address(void)
{
    return (const struct pool_address *)(const void *)&pool;
}

static void await(struct scene *scene, int before)
{
    loop_run_until(scene->loop, loop_now(scene->loop) + PATIENCE_MS);
    assert_int_equal(scene->calls, before + 1);
}

static enum instance_state state_of(struct scene *scene)
{
    int before = scene->calls;

    provider_list(scene->provider, address(), NULL, on_page, scene);
    await(scene, before);
    return scene->state;
}

static enum error_kind remove_once(struct scene *scene)
{
    int before = scene->calls;

    provider_remove(scene->provider, address(), &(struct provider_order){ .instance = "gpu-1" },
                    on_done, scene);
    await(scene, before);
    return scene->err.kind;
}

/* The machine is asked to leave, when it has been silent for long enough. */
static enum error_kind remove_silent(struct scene *scene)
{
    int resets = scene->resets;

    assert_int_equal(remove_once(scene), ERROR_TRANSIENT);
    assert_int_equal(scene->resets, resets);
    loop_run_until(scene->loop, loop_now(scene->loop) + FENCE_MS);
    return remove_once(scene);
}

/* ---- tests ---- */

static void a_silent_machine_is_switched_off_once(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene, "IP:127.0.0.1", ", redfish_login: login, redfish_ca: ca.pem}");
    if (remove_silent(&scene) != ERROR_NONE)
        fail_msg("%s", scene.err.text);
    assert_int_equal(scene.resets, 1);
    assert_int_equal(state_of(&scene), INSTANCE_PARKED);
    /* As after a restart of the service: nothing is known of the machine, and it must leave. */
    provider_close(scene.provider);
    open_provider(&scene);
    if (remove_silent(&scene) != ERROR_NONE)
        fail_msg("%s", scene.err.text);
    assert_int_equal(state_of(&scene), INSTANCE_PARKED);
    assert_int_equal(scene.resets, 1);
    assert_int_equal(scene.refusals, 0);
    scene_close(&scene);
}

/* Nothing reaches a controller that is not believed. */
static void a_wrong_certificate_is_refused(void **state)
{
    static const struct {
        const char *name, *more, *says;
    } rows[] = {
        { "IP:127.0.0.1", ", redfish_login: login, redfish_ca: other.pem}",
          "SSL certificate problem: " },
        { "IP:127.0.0.1", ", redfish_login: login, redfish_ca: false.pem}", "SSL connect error: " },
        { "IP:127.0.0.1", ", redfish_login: login}", "SSL certificate problem: " },
        { "IP:127.0.0.2", ", redfish_login: login, redfish_ca: ca.pem}",
          "no alternative certificate subject name matches" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct scene scene;

        scene_open(&scene, rows[i].name, rows[i].more);
        assert_int_equal(remove_silent(&scene), ERROR_TRANSIENT);
        if (!text_starts_with(scene.err.text, "machine gpu-1: Redfish: https://127.0.0.1:") ||
            !strstr(scene.err.text, rows[i].says))
            fail_msg("%zu: %s", i, scene.err.text);
        assert_int_equal(state_of(&scene), INSTANCE_OTHER);
        assert_int_equal(scene.questions + scene.resets + scene.refusals, 0);
        assert_false(scene.is_off);
        scene_close(&scene);
    }
}

static void a_wrong_login_is_named(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene, "IP:127.0.0.1", ", redfish_login: wrong, redfish_ca: ca.pem}");
    assert_int_equal(remove_silent(&scene), ERROR_DENIED);
    assert_string_equal(scene.err.text, "machine gpu-1: Redfish: status 401");
    assert_int_equal(state_of(&scene), INSTANCE_OTHER);
    assert_int_equal(scene.resets, 0);
    assert_true(scene.refusals > 0);
    scene_close(&scene);
}

/* A list asks the fences one after the other. */
static void a_login_that_is_missing_concerns_its_machine_alone(void **state)
{
    struct scene scene;

    (void)state;
    scene_open(&scene, "IP:127.0.0.1", ", redfish_login: login, redfish_ca: ca.pem}");
    owned(chars) char *list = text_format(
        "gpu-0: {address: 127.0.0.1, group: a, host_key: '" KEY
        "', redfish: 'https://127.0.0.1:%d" SYSTEM "', redfish_login: missing}\n"
        "gpu-1: {address: 127.0.0.1, group: a, host_key: '" KEY
        "', redfish: 'https://127.0.0.1:%d" SYSTEM "', redfish_login: login, redfish_ca: ca.pem}\n",
        scene.port, scene.port);

    mem_free(test_folder_write(scene.folder, "machines.yaml", list));
    provider_close(scene.provider);
    open_provider(&scene);
    scene.is_off = true;
    assert_int_equal(state_of(&scene), INSTANCE_PARKED);
    assert_int_equal(scene.questions, 1);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_machine_is_switched_off_once),
        cmocka_unit_test(a_wrong_certificate_is_refused),
        cmocka_unit_test(a_wrong_login_is_named),
        cmocka_unit_test(a_login_that_is_missing_concerns_its_machine_alone),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
