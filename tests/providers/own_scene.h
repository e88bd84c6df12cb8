/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three machines of one's own, each of which answers what its row of the scene says, and the
 * management controller of the first one.
 */
#pragma once

#include "base/file.h"
#include "base/text.h"
#include "providers/ssh/own.h"
#include "providers/ssh/own_report.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/stat.h>

enum { MACHINES = 3, FENCE_MS = 5 * MINUTE_MS };

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILLYeqPn2zEamG0SdiP7ldy/I4KmmU8LS2UpN3LRA390"
#define REPORT(answer, state, group, key, rest)                                                    \
    "sluice=1\nanswer=" answer "\ntext=why\nstate=" state "\ngroup=" group "\nkey=" key            \
    "\nkind=kubeadm\nstep=\n" rest "end=1\n"
#define PARKED REPORT("ok", "parked", "", "", "")
#define IN_A REPORT("ok", "in", "a", "0000000a", "")

/* ---- the scene: three machines, and the controller of the first ---- */

struct scene {
    struct loop *loop;
    struct world world;
    struct http http; /* its address is the scene's */
    struct provider *provider;
    struct own_account account;
    struct own_pool a, b;
    char *folder, *machines;
    const char *looks[MACHINES]; /* what each answers to look; NULL: it does not answer */
    const char *claims[MACHINES];
    const char *examination; /* what each answers to doctor; NULL: it does not answer */
    struct text *findings;   /* "VERDICT SUBJECT: text", a line each */
    enum error_kind silence; /* why it does not; ERROR_NONE: its script fails */
    const struct error_cause *cause;
    const char *power; /* NULL: the controller does not answer, either */
    int resets, commands;
    char claimed[INSTANCE_NAME_SIZE];
    struct instance items[MACHINES];
    size_t count;
    struct error err;
    char operation[64];
    int calls;
    bool is_seen;
};

static inline void play(void *context, const struct ssh_host *host,
                        const struct ssh_request *request, struct ssh_play *play)
{
    struct scene *scene = context;
    size_t at = (size_t)(host->address[strlen(host->address) - 1] - '1');
    bool is_claim = strstr(request->command, "claim") != NULL;
    bool is_examined = strstr(request->command, "sluice") == NULL;
    const char *answer = is_examined ? scene->examination
                         : is_claim  ? scene->claims[at]
                                     : scene->looks[at];

    assert_null(strstr(request->command, "wanted"));
    assert_string_equal(host->host_key, KEY);
    scene->commands++;
    play->delay_ms = 20;
    if (is_claim)
        text_copy(scene->claimed, sizeof scene->claimed, host->address);
    if (answer)
        text_add(play->output, "%s", answer);
    else if (scene->silence == ERROR_NONE)
        play->exit_status = 1;
    else
        error_set(&play->failure, scene->silence, "no answer of %s", host->address);
    play->failure.cause = scene->cause;
}

/* The controller's answer comes in a turn of its own. */
struct passage {
    struct scene *scene;
    struct timer *timer;
    http_done_fn done;
    void *context;
};

static inline void on_http(void *context)
{
    struct passage passage = *(struct passage *)context;
    owned(chars) char *body = text_format("{\"PowerState\": \"%s\"}", passage.scene->power ?: "");
    const struct http_answer answer = { .status = 200, .body = body, .body_size = strlen(body) };
    struct error err = { 0 };

    timer_free(passage.timer);
    mem_free(context);
    error_set(&err, ERROR_TRANSIENT, "no controller");
    passage.done(passage.context, passage.scene->power ? &answer : NULL,
                 passage.scene->power ? NULL : &err);
}

static inline struct http_exchange *http_of_scene(struct http *http,
                                                  const struct http_request *request,
                                                  http_done_fn done, void *context)
{
    struct scene *scene = (struct scene *)(void *)((char *)http - offsetof(struct scene, http));
    struct passage *passage = mem_new(sizeof *passage);

    assert_string_equal(http_header_find(request->headers, request->header_count, "Authorization"),
                        "Basic YWRtaW46c2VjcmV0"); /* admin:secret */
    assert_true(text_starts_with(request->url, "https://bmc-1.example.com/redfish/v1/Systems/1"));
    if (request->method == HTTP_POST) {
        assert_string_equal(request->body, "{\"ResetType\": \"ForceOff\"}");
        scene->resets++;
    }
    *passage = (struct passage){ scene, timer_new(scene->loop, on_http, passage), done, context };
    timer_set(passage->timer, 10);
    return (struct http_exchange *)passage;
}

static inline void http_cancel_of_scene(struct http_exchange *exchange)
{
    timer_free(((struct passage *)exchange)->timer);
    mem_free(exchange);
}

static inline void open_provider(struct scene *scene)
{
    struct error err = { 0 };

    scene->provider = provider_open(&scene->world, &ssh_kind,
                                    (const struct provider_account *)(const void *)&scene->account,
                                    &err);
    if (!scene->provider)
        fail_msg("%s", err.text);
}

static inline void scene_open(struct scene *scene)
{
    static const struct http_verbs verbs = { http_of_scene, http_cancel_of_scene, NULL };

    *scene = (struct scene){ .folder = test_folder_new(), .silence = ERROR_TRANSIENT };
    owned(chars) char *login = test_folder_write(scene->folder, "bmc", "admin:secret\n");

    assert_int_equal(chmod(login, 0600), 0);
    scene->machines = test_folder_write(
        scene->folder, "machines.yaml",
        "gpu-1: {address: gpu-1, host_key: '" KEY "', redfish_login: bmc,"
        " redfish: 'https://bmc-1.example.com/redfish/v1/Systems/1'}\n"
        "gpu-2: {address: gpu-2, host_key: '" KEY "', group: b}\n"
        "gpu-3: {address: gpu-3, host_key: '" KEY "'}\n");
    scene->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    scene->http.verbs = &verbs;
    scene->world = (struct world){ .loop = scene->loop,
                                   .http = &scene->http,
                                   .ssh = ssh_virtual_new(scene->loop, play, scene) };
    scene->account = (struct own_account){
        .machines = scene->machines,
        .access = { .port = 22,
                    .user = (char *)(uintptr_t) "root",
                    .agent = (char *)(uintptr_t) "/run/agent" },
        .folder = "/var/lib/sluice-machine",
        .fence_after_ms = FENCE_MS,
    };
    scene->a = (struct own_pool){ .group = "a", .join = "script", .script = "/s", .zone = "z" };
    scene->b = (struct own_pool){ .group = "b", .join = "script", .script = "/s", .zone = "z" };
    loop_run_until(scene->loop, SECOND_MS);
    open_provider(scene);
}

static inline void scene_close(struct scene *scene)
{
    provider_close(scene->provider);
    ssh_free(scene->world.ssh);
    loop_free(scene->loop);
    mem_free(scene->machines);
    test_folder_free(scene->folder);
}

static inline void note(struct scene *scene, const struct error *err)
{
    scene->calls++;
    scene->err = err ? *err : (struct error){ 0 };
}

static inline void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct scene *scene = context;

    scene->count = page ? page->count : 0;
    assert_true(scene->count <= MACHINES);
    for (size_t i = 0; i < scene->count; i++)
        scene->items[i] = page->items[i];
    note(scene, err);
}

/* Two lists wait for the same looks: the first that is told closes the provider. */
static inline void on_last_page(void *context, const struct instance_page *page,
                                const struct error *err)
{
    struct scene *scene = context;

    assert_non_null(page);
    provider_close(scene->provider);
    scene->provider = NULL;
    note(scene, err);
}

static inline void on_done(void *context, const char *operation, const struct error *err)
{
    struct scene *scene = context;

    text_copy(scene->operation, sizeof scene->operation, operation);
    note(scene, err);
}

static inline void on_found(void *context, const struct finding *finding)
{
    struct scene *scene = context;

    assert_true((finding->remedy[0] != '\0') == (finding->verdict != FINDING_RIGHT));
    text_add(scene->findings, "%d %s: %s\n", (int)finding->verdict, finding->subject,
             finding->text);
}

static inline void await(struct scene *scene, int before)
{
    loop_run_until(scene->loop, loop_now(scene->loop) + 2 * MINUTE_MS);
    assert_int_equal(scene->calls, before + 1);
}

static inline const struct pool_address *address(const struct own_pool *pool)
{
    return (const struct pool_address *)(const void *)pool;
}

static inline void list(struct scene *scene, const struct own_pool *pool)
{
    int before = scene->calls;

    provider_list(scene->provider, address(pool), NULL, on_page, scene);
    await(scene, before);
    assert_int_equal(scene->err.kind, ERROR_NONE);
}

/* The state of the machine in the last list; -1: it has it not. */
static inline int state_of(const struct scene *scene, const char *name)
{
    for (size_t i = 0; i < scene->count; i++)
        if (text_equal(scene->items[i].name, name))
            return (int)scene->items[i].state;
    return -1;
}

static inline void on_look(void *context, const struct instance *instance, const struct error *err)
{
    struct scene *scene = context;

    scene->count = instance != NULL;
    if (instance)
        scene->items[0] = *instance;
    note(scene, err);
}

/* Its state is then that of the last list. */
static inline void look(struct scene *scene, const char *name)
{
    int before = scene->calls;

    provider_look(scene->provider, address(&scene->a), name, on_look, scene);
    await(scene, before);
}

static inline enum error_kind remove_machine(struct scene *scene, const char *name)
{
    const struct provider_order order = { .instance = name, .progress = "" };
    int before = scene->calls;

    provider_remove(scene->provider, address(&scene->a), &order, on_done, scene);
    await(scene, before);
    return scene->err.kind;
}

static inline enum error_kind create(struct scene *scene, const char *progress)
{
    const struct provider_order order = { .request_key = "00000001", .progress = progress };
    int before = scene->calls;

    provider_create(scene->provider, address(&scene->a), &order, on_done, scene);
    await(scene, before);
    return scene->err.kind;
}
