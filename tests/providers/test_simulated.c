/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The Compute Engine verbs against the simulator's strict fake, in virtual time.
 */
#include "base/file.h"
#include "base/log.h"
#include "base/world/world.h"
#include "tests/providers/gcp_bench.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char config[] =
    "clusters:\n"
    "  lab: {role: research, kubeconfig: lab.kubeconfig}\n"
    "reservations:\n"
    "  main: {machine: a3-megagpu-8g, region: r, zone: r-a, gpus_per_node: 8, nodes: 3}\n"
    "providers:\n"
    "  google: {kind: gcp}\n"
    "pools:\n"
    "  lab-main: {cluster: lab, reservation: main, provider: google, project: p, group: g-lab}\n"
    "queues: {}\n"
    "workloads: {}\n";

static const struct gcp_pool place = { .project = "p", .zone = "r-a", .group = "g-lab" };

struct rehearsal {
    char folder[64];
    struct loop *loop;
    struct simulator *simulator;
    struct random random;
    struct world world;
    struct provider *provider;
    int calls;
    struct error err;
    struct instance items[8];
    size_t count;
};

static void write_file(const struct rehearsal *it, const char *name, const char *chars)
{
    struct error err = { 0 };
    owned(chars) char *path = text_format("%s/%s", it->folder, name);
    if (file_write(path, chars, strlen(chars), 0600, &err) < 0)
        fail_msg("%s", err.text);
}

static void rehearsal_open(struct rehearsal *it, const char *world)
{
    static const struct gcp_account account = {
        .endpoint = "http://127.0.0.1:1",
        .whose = { .metadata = "http://127.0.0.1:1" },
    };
    struct error err = { 0 };
    *it = (struct rehearsal){ .folder = "/tmp/sluice-rehearsal-XXXXXX" };
    assert_non_null(mkdtemp(it->folder));
    write_file(it, "sluice.yaml", config);
    write_file(it, "world.yaml", world);
    owned(chars) char *config_path = text_format("%s/sluice.yaml", it->folder);
    owned(chars) char *world_path = text_format("%s/world.yaml", it->folder);
    it->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    it->simulator = simulator_new(it->loop, config_path, world_path, &err);
    if (!it->simulator)
        fail_msg("%s", err.text);
    it->world = (struct world){ it->loop, simulator_http(it->simulator), &it->random, NULL, NULL };
    it->provider = gcp_provider(&it->world, &account, &err);
    assert_non_null(it->provider);
    unlink(config_path);
    unlink(world_path);
    rmdir(it->folder);
}

static void rehearsal_close(struct rehearsal *it)
{
    provider_close(it->provider);
    simulator_free(it->simulator);
    loop_free(it->loop);
}

static void run_for(struct rehearsal *it, int64_t ms)
{
    loop_run_until(it->loop, loop_now(it->loop) + ms);
}

static void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct rehearsal *it = context;
    it->calls++;
    it->err = err ? *err : (struct error){ 0 };
    it->count = page ? page->count : 0;
    for (size_t i = 0; i < it->count; i++)
        it->items[i] = page->items[i];
}

static void on_done(void *context, const char *operation, const struct error *err)
{
    struct rehearsal *it = context;
    it->calls++;
    it->err = err ? *err : (struct error){ 0 };
    assert_true(err || operation[0] != '\0');
}

static enum error_kind answer_of(struct rehearsal *it)
{
    int before = it->calls;
    for (int i = 0; i < 600 && it->calls == before; i++)
        run_for(it, 100);
    assert_int_equal(it->calls, before + 1);
    return it->err.kind;
}

static const struct instance *find(struct rehearsal *it, const char *name)
{
    provider_list(it->provider, address_of(&place), NULL, on_page, it);
    assert_int_equal(answer_of(it), ERROR_NONE);
    for (size_t i = 0; i < it->count; i++) {
        if (text_equal(it->items[i].name, name))
            return &it->items[i];
    }
    return NULL;
}

static void a_machine_comes_and_goes(void **state)
{
    struct rehearsal it;
    (void)state;
    rehearsal_open(&it, "pools: {lab-main: {nodes: 2}}\n");
    assert_null(find(&it, "g-lab-new1"));
    assert_int_equal(it.count, 2);
    assert_int_equal(it.items[0].state, INSTANCE_RUNNING);
    char old[INSTANCE_NAME_SIZE];
    text_copy(old, sizeof old, it.items[0].name);

    static const char *const id = "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a5b";
    provider_create(
        it.provider, address_of(&place),
        &(struct provider_order){ .request_key = "new1", .request_id = id, .progress = "" },
        on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NONE);
    const struct instance *made = find(&it, "g-lab-new1");
    assert_non_null(made);
    assert_int_equal(made->state, INSTANCE_CREATING);
    run_for(&it, 30 * MINUTE_MS);
    assert_int_equal(find(&it, "g-lab-new1")->state, INSTANCE_RUNNING);

    static const char *const other_id = "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a5c";
    provider_remove(
        it.provider, address_of(&place),
        &(struct provider_order){ .instance = old, .request_id = other_id, .progress = "" },
        on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NONE);
    assert_int_equal(find(&it, old)->state, INSTANCE_DELETING);
    run_for(&it, 30 * MINUTE_MS);
    assert_null(find(&it, old));
    assert_int_equal(simulator_pool_running(it.simulator, "lab-main"), 2);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-main"), 2);

    provider_remove(
        it.provider, address_of(&place),
        &(struct provider_order){ .instance = old, .request_id = other_id, .progress = "" },
        on_done, &it); /* repeating harms nothing */
    assert_int_equal(answer_of(&it), ERROR_NONE);
    assert_int_equal(simulator_pool_target(it.simulator, "lab-main"), 2);
    rehearsal_close(&it);
}

static void a_full_reservation_shows_in_the_list(void **state)
{
    struct rehearsal it;
    (void)state;
    rehearsal_open(&it, "pools: {lab-main: {nodes: 3}}\n");
    provider_create(it.provider, address_of(&place),
                    &(struct provider_order){ .request_key = "new1",
                                              .request_id = "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a5b",
                                              .progress = "" },
                    on_done, &it);
    assert_int_equal(answer_of(&it), ERROR_NONE);
    run_for(&it, 10 * MINUTE_MS);
    const struct instance *made = find(&it, "g-lab-new1");
    assert_non_null(made);
    assert_int_equal(made->state, INSTANCE_CREATING);
    assert_int_equal(made->trouble.kind, ERROR_NO_CAPACITY);
    rehearsal_close(&it);
}

static void faults_have_their_kinds(void **state)
{
    static const struct {
        const char *fault;
        const char *verb;
        enum error_kind want;
    } cases[] = {
        { "http_429", "create_instances", ERROR_THROTTLED },
        { "http_500", "create_instances", ERROR_UNKNOWN_OUTCOME },
        { "lost_answer", "create_instances", ERROR_UNKNOWN_OUTCOME },
        { "refused", "create_instances", ERROR_TRANSIENT },
        { "http_500", "token", ERROR_TRANSIENT },
        { "lost_answer", "token", ERROR_TRANSIENT },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rehearsal it;
        rehearsal_open(&it, "pools: {lab-main: {nodes: 1}}\n");
        simulator_fault_next(it.simulator, cases[i].fault, cases[i].verb);
        provider_create(
            it.provider, address_of(&place),
            &(struct provider_order){ .request_key = "new1",
                                      .request_id = "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a5b",
                                      .progress = "" },
            on_done, &it);
        if (answer_of(&it) != cases[i].want)
            fail_msg("%s of %s: %s", cases[i].fault, cases[i].verb, it.err.text);
        rehearsal_close(&it);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_comes_and_goes),
        cmocka_unit_test(a_full_reservation_shows_in_the_list),
        cmocka_unit_test(faults_have_their_kinds),
    };
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
