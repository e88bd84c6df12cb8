/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Machines of one's own that do not answer when the service starts: which pool has them is not
 * known.  They neither fill a pool that lacks nodes, nor are ordered a second time.
 */
#include "base/world/ssh.h"
#include "tests/cli/clouds.h"
#include "tools/simulator/model/model.h"

#include <stdlib.h>

enum { PROD = 6, RESEARCH = 6, PARKED = 4 };

/* The SSH of the service, before that of the simulator. */
struct scene {
    struct rehearsal *rehearsal;
    struct ssh *ssh;
    int first, last;   /* numbers of the dead machines; 0: none is */
    bool dies_claimed; /* the next one that is claimed dies with its answer */
    int claimed;       /* number of the last one; 0: none */
    int claims;        /* of different ones */
};

static void answer_ssh(void *context, const struct ssh_host *host,
                       const struct ssh_request *request, struct ssh_play *play)
{
    struct scene *scene = context;
    int number = atoi(host->address + strlen("gpu-"));

    play->delay_ms = 20;
    if (number >= scene->first && number <= scene->last)
        error_set(&play->failure, ERROR_TRANSIENT, "no answer of %s", host->address);
    else
        sim_own_play(scene->rehearsal->simulator, host, request, play);
    if (!strstr(request->command, "sluice claim") || play->failure.kind != ERROR_NONE)
        return;
    scene->claims += scene->claimed != number;
    scene->claimed = number;
    if (scene->dies_claimed)
        scene->first = scene->last = number;
    scene->dies_claimed = false;
}

/* As many as the reservation has: first those of production, then those of research. */
static void write_machines(const char *folder)
{
    owned(text) struct text *list = text_new(TEXT_UNBOUNDED);

    for (int i = 1; i <= PROD + RESEARCH + PARKED; i++)
        text_add(list,
                 "gpu-%02d: {address: gpu-%02d, host_key: 'ssh-ed25519 "
                 "AAAAC3NzaC1lZDI1NTE5AAAAILLYeqPn2zEamG0SdiP7ldy/I4KmmU8LS2UpN3LRA390'}\n",
                 i, i);
    mem_free(test_folder_write(folder, "machines.yaml", list->chars));
}

static void scene_open(struct scene *scene, const char *folder)
{
    owned(chars) char *machines = cloud_text(small_machines, "{nodes: 10}", "{nodes: 6}");
    owned(chars) char *world = text_format("seed: 11\n%s", machines);
    owned(chars) char *config = cloud_config(cloud_of("own machines"));

    write_machines(folder);
    *scene = (struct scene){ 0 };
    scene->rehearsal = world_start(folder, config, world, 6, 11);
    scene->ssh = ssh_virtual_new(scene->rehearsal->loop, answer_ssh, scene);
    scene->rehearsal->world.ssh = scene->ssh;
    restart(scene->rehearsal);
    rehearsal_run(scene->rehearsal, MINUTE_MS);
    apply(scene->rehearsal, PROD, PROD);
    rehearsal_run(scene->rehearsal, 5 * MINUTE_MS);
    assert_int_equal(nodes_of(scene->rehearsal, "prod-a-east"), PROD);
    assert_int_equal(nodes_of(scene->rehearsal, "research-a-east"), RESEARCH);
}

static void scene_close(struct scene *scene)
{
    rehearsal_close(scene->rehearsal);
    ssh_free(scene->ssh);
}

/* The machines die, and the service starts again. */
static void die(struct scene *scene, int first, int last)
{
    scene->first = first;
    scene->last = last;
    restart(scene->rehearsal);
    rehearsal_run(scene->rehearsal, 5 * MINUTE_MS);
}

static int64_t nodes_in_status(struct scene *scene, const char *cluster)
{
    owned(json) json_t *status = service_status(scene->rehearsal->service);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(status, "clusters"), i, row) {
        if (text_equal(json_text_or(row, "cluster", ""), cluster))
            return json_integer_value(json_object_get(row, "nodes"));
    }
    fail_msg("no cluster %s", cluster);
    return -1;
}

static void dead_machines_of_no_cluster_fill_no_pool(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct scene scene;

    (void)state;
    scene_open(&scene, folder);
    die(&scene, PROD + RESEARCH + 1, PROD + RESEARCH + PARKED);
    assert_int_equal(nodes_in_status(&scene, "prod-a"), PROD);
    assert_int_equal(nodes_in_status(&scene, "research-a"), RESEARCH);
    apply(scene.rehearsal, PROD + 2, PROD + 2);
    rehearsal_run(scene.rehearsal, 2 * HOUR_MS);
    assert_int_equal(nodes_of(scene.rehearsal, "prod-a-east"), PROD + 2);
    assert_int_equal(nodes_of(scene.rehearsal, "research-a-east"), RESEARCH - 2);
    assert_int_equal(rehearsal_violations(scene.rehearsal), 0);
    scene_close(&scene);
}

/* A Node says which cluster has the machine. */
static void dead_machines_are_where_their_nodes_are(void **state)
{
    static const struct {
        int first, last;
    } deaths[] = { { 1, PROD }, { PROD + 1, PROD + 2 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(deaths); i++) {
        owned(test_folder) char *folder = test_folder_new();
        struct scene scene;

        scene_open(&scene, folder);
        die(&scene, deaths[i].first, deaths[i].last);
        assert_int_equal(nodes_in_status(&scene, "prod-a"), PROD);
        assert_int_equal(nodes_in_status(&scene, "research-a"), RESEARCH);
        rehearsal_run(scene.rehearsal, HOUR_MS);
        assert_int_equal(transfers_of(scene.rehearsal, true), 0); /* no node is ordered for them */
        assert_int_equal(rehearsal_violations(scene.rehearsal), 0);
        scene_close(&scene);
    }
}

/* Its order is stored in the journal, and knows the machine though the next service does not. */
static void an_order_claims_no_second_machine_after_a_start(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct scene scene;

    (void)state;
    scene_open(&scene, folder);
    scene.dies_claimed = true;
    apply(scene.rehearsal, PROD + 1, PROD + 1);
    for (int64_t ms = 0; ms < HOUR_MS && scene.claims == 0; ms += 100)
        rehearsal_run(scene.rehearsal, 100);
    assert_int_equal(scene.claims, 1);
    rehearsal_run(scene.rehearsal, 5 * SECOND_MS);
    restart(scene.rehearsal);
    rehearsal_run(scene.rehearsal, 10 * MINUTE_MS);
    assert_int_equal(scene.claims, 1);
    assert_int_equal(transfers_of(scene.rehearsal, false), 1);
    scene.first = scene.last = 0; /* it answers again */
    rehearsal_run(scene.rehearsal, HOUR_MS);
    assert_int_equal(scene.claims, 1);
    assert_int_equal(transfers_of(scene.rehearsal, false), 0);
    assert_int_equal(nodes_of(scene.rehearsal, "prod-a-east"), PROD + 1);
    assert_int_equal(nodes_of(scene.rehearsal, "research-a-east"), RESEARCH - 1);
    assert_int_equal(rehearsal_violations(scene.rehearsal), 0);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_machines_of_no_cluster_fill_no_pool),
        cmocka_unit_test(dead_machines_are_where_their_nodes_are),
        cmocka_unit_test(an_order_claims_no_second_machine_after_a_start),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
