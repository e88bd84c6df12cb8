/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A machine of one's own that must leave dies: its fence switches it off once, and the node moves
 * on.  Without a fence it waits for a person.
 */
#include "base/world/ssh.h"
#include "tests/cli/clouds.h"
#include "tests/cli/dying.h"
#include "tools/simulator/model/model.h"

#include <sys/stat.h>

enum { MACHINES = 32, FENCE_MINUTES = 10 };

/* The doors of the service, in front of those of the simulator. */
struct scene {
    struct http http; /* its address is the scene's */
    struct rehearsal *rehearsal;
    struct http *door;
    struct ssh *ssh;
    char dead[INSTANCE_NAME_SIZE]; /* answers no more; "": none */
    int resets;                    /* of which it is off */
    struct passage *passages[8];   /* the controller's answers that are under way */
};

struct passage {
    struct scene *scene;
    struct passage **slot; /* where the scene has it */
    struct timer *timer;
    http_done_fn done;
    void *context;
};

static struct machine *find_dead(const struct scene *scene)
{
    struct simulator *sim = scene->rehearsal->simulator;

    for (size_t i = 0; i < sim->pool_count; i++)
        if (sim_machine_find(&sim->pools[i], scene->dead))
            return sim_machine_find(&sim->pools[i], scene->dead);
    return NULL;
}

static void on_controller(void *context)
{
    struct passage passage = *(struct passage *)context;
    const char *body = !find_dead(passage.scene)    ? "{\"PowerState\": \"Off\"}"
                       : passage.scene->resets == 0 ? "{\"PowerState\": \"On\"}"
                                                    : "{\"PowerState\": \"PoweringOff\"}";

    *passage.slot = NULL;
    timer_free(passage.timer);
    mem_free(context);
    passage.done(passage.context,
                 &(struct http_answer){ .status = 200, .body = body, .body_size = strlen(body) },
                 NULL);
}

static void switch_off(struct scene *scene)
{
    struct machine *machine = find_dead(scene);

    require(machine);
    scene->resets++;
    referee_delete_instance(scene->rehearsal->simulator, machine, ""); /* was it drained? */
    sim_machine_remove(scene->rehearsal->simulator, machine);
}

static struct http_exchange *send(struct http *http, const struct http_request *request,
                                  http_done_fn done, void *context)
{
    struct scene *scene = (struct scene *)(void *)http;
    owned(chars) char *system = text_format("https://bmc/redfish/v1/Systems/%s", scene->dead);
    struct passage **slot = scene->passages, *passage;

    if (!text_starts_with(request->url, "https://bmc/"))
        return http_send(scene->door, request, done, context);
    assert_true(text_starts_with(request->url, system)); /* no other machine's power */
    while (*slot)
        require(++slot < scene->passages + COUNT_OF(scene->passages));
    *slot = passage = mem_new(sizeof *passage);
    *passage = (struct passage){ scene, slot, NULL, done, context };
    passage->timer = timer_new(scene->rehearsal->loop, on_controller, passage);
    timer_set(passage->timer, 100);
    if (request->method == HTTP_POST)
        switch_off(scene);
    return (struct http_exchange *)passage;
}

static struct scene *the_scene;

static void cancel(struct http_exchange *exchange)
{
    struct passage *passage = (struct passage *)exchange;

    for (size_t i = 0; i < COUNT_OF(the_scene->passages); i++)
        if (the_scene->passages[i] == passage) {
            the_scene->passages[i] = NULL;
            timer_free(passage->timer);
            mem_free(passage);
            return;
        }
    http_cancel(the_scene->door, exchange);
}

static void answer_ssh(void *context, const struct ssh_host *host,
                       const struct ssh_request *request, struct ssh_play *play)
{
    struct scene *scene = context;

    play->delay_ms = 20;
    if (text_equal(host->address, scene->dead))
        error_set(&play->failure, ERROR_TRANSIENT, "no answer of %s", host->address);
    else
        sim_own_play(scene->rehearsal->simulator, host, request, play);
}

static void write_machines(const char *folder, bool has_fences)
{
    owned(text) struct text *list = text_new(TEXT_UNBOUNDED);
    owned(chars) char *login = test_folder_write(folder, "bmc", "admin:secret\n");

    assert_int_equal(chmod(login, 0600), 0);
    for (int i = 1; i <= MACHINES; i++) {
        text_add(list,
                 "gpu-%02d: {address: gpu-%02d, host_key: 'ssh-ed25519 "
                 "AAAAC3NzaC1lZDI1NTE5AAAAILLYeqPn2zEamG0SdiP7ldy/I4KmmU8LS2UpN3LRA390'",
                 i, i);
        if (has_fences)
            text_add(list, ", redfish: 'https://bmc/redfish/v1/Systems/gpu-%02d'", i);
        text_add(list, "%s}\n", has_fences ? ", redfish_login: bmc" : "");
    }
    mem_free(test_folder_write(folder, "machines.yaml", list->chars));
}

static void scene_open(struct scene *scene, const char *folder, bool has_fences)
{
    static const struct http_verbs verbs = { send, cancel, NULL };
    struct test_cloud cloud = *cloud_of("own machines");

    cloud.provider = "machines: machines.yaml, agent: /run/agent, fence_after: 10m";
    owned(chars) char *world = text_format("seed: 11\n%s", small_machines);
    owned(chars) char *config = cloud_config(&cloud);

    cloud_write_accounts(folder);
    write_machines(folder, has_fences);
    *scene = (struct scene){ .http.verbs = &verbs };
    scene->rehearsal = world_start(folder, config, world, 6, 11);
    scene->door = scene->rehearsal->world.http;
    scene->ssh = ssh_virtual_new(scene->rehearsal->loop, answer_ssh, scene);
    the_scene = scene;
    scene->rehearsal->world.http = &scene->http;
    scene->rehearsal->world.ssh = scene->ssh;
    rehearsal_run(scene->rehearsal, MINUTE_MS);
    apply(scene->rehearsal, 6, 6);
    rehearsal_run(scene->rehearsal, MINUTE_MS);
}

static void scene_close(struct scene *scene)
{
    rehearsal_close(scene->rehearsal);
    ssh_free(scene->ssh);
}

/* A node's machine dies just before it would leave. */
static const struct transfer *let_one_die(struct scene *scene)
{
    owned(json) json_t *answer = reclaim(scene->rehearsal, 1);
    const struct transfer *transfer = run_to(scene->rehearsal, STEP_RELEASE);

    assert_non_null(transfer);
    text_copy(scene->dead, sizeof scene->dead, transfer->instance);
    return transfer;
}

static void a_dead_machine_is_switched_off_once_and_its_node_moves_on(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct scene scene;

    (void)state;
    scene_open(&scene, folder, true);
    let_one_die(&scene);
    rehearsal_run(scene.rehearsal, (FENCE_MINUTES - 1) * MINUTE_MS);
    assert_int_equal(scene.resets, 0); /* it may come back */
    for (int64_t ms = 0; ms < HOUR_MS && transfers_of(scene.rehearsal, false) > 0; ms += MINUTE_MS)
        rehearsal_run(scene.rehearsal, MINUTE_MS);
    assert_int_equal(scene.resets, 1);
    expect_rest(scene.rehearsal, 7);
    expect_tidy(scene.rehearsal);
    scene_close(&scene);
}

static void without_a_fence_it_waits_for_a_person(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct scene scene;

    (void)state;
    scene_open(&scene, folder, false);
    const struct transfer *transfer = let_one_die(&scene);

    rehearsal_run(scene.rehearsal, HOUR_MS);
    assert_int_equal(transfers_of(scene.rehearsal, false), 1);
    owned(chars) char *told = text_format("machine %s to answer: no answer of %s", scene.dead,
                                          scene.dead);

    assert_string_equal(transfer->waiting, told);
    scene.dead[0] = '\0'; /* a person switched it on again */
    for (int64_t ms = 0; ms < HOUR_MS && transfers_of(scene.rehearsal, false) > 0; ms += MINUTE_MS)
        rehearsal_run(scene.rehearsal, MINUTE_MS);
    expect_rest(scene.rehearsal, 7);
    expect_tidy(scene.rehearsal);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_machine_is_switched_off_once_and_its_node_moves_on),
        cmocka_unit_test(without_a_fence_it_waits_for_a_person),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
