/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A managed cluster of Azure in the simulator, in virtual time: two agent pools, and a provider
 * that asks them.
 */
#pragma once

#include "base/log.h"
#include "base/world/world.h"
#include "tests/providers/azure_bench.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/simulator.h"

#include <string.h>

static const char azure_config[] =
    "clusters:\n"
    "  lab: {role: research, kubeconfig: lab.kubeconfig}\n"
    "reservations:\n"
    "  main: {machine: Standard_ND96isr_H100_v5, region: region, zone: region-1,"
    " gpus_per_node: 8, nodes: 4}\n"
    "providers:\n"
    "  cloud: {kind: azure, subscription: s-1}\n"
    "pools:\n"
    "  lab-gpu: {cluster: lab, reservation: main, provider: cloud, resource_group: rg,"
    " managed_cluster: c, agent_pool: gpu}\n"
    "  lab-more: {cluster: lab, reservation: main, provider: cloud, resource_group: rg,"
    " managed_cluster: c, agent_pool: more}\n"
    "queues: {}\n"
    "workloads: {}\n";

static const struct azure_place azure_more = {
    .resource_group = "RG", .managed_cluster = "C", .agent_pool = "More", .zone = "region-1"
};

struct rehearsal {
    char *folder;
    struct loop *loop;
    struct simulator *simulator;
    struct random random;
    struct world world;
    struct azure_account account;
    struct provider *provider;
    int calls;
    struct error err;
    char operation[160];
    struct instance items[16];
    size_t count;
    char next[512];
    struct error shortfall;
    bool is_found;
    struct text *found;
};

static inline void rehearsal_open(struct rehearsal *it, const char *world)
{
    struct error err = { 0 };

    *it = (struct rehearsal){
        .folder = test_folder_new(),
        .account = { .subscription = "s-1",
                     .endpoint = "http://127.0.0.1:1/azure",
                     .api_version = "2026-04-01",
                     .whose = { .metadata = "http://127.0.0.1:1/azure",
                                .audience = "https://management.azure.com" } },
        .found = text_new(16 * 1024),
    };
    owned(chars) char *config_path = test_folder_write(it->folder, "sluice.yaml", azure_config);
    owned(chars) char *world_path = test_folder_write(it->folder, "world.yaml", world);

    it->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    it->simulator = simulator_new(it->loop, config_path, world_path, &err);
    if (!it->simulator)
        fail_msg("%s", err.text);
    it->world = (struct world){ it->loop, simulator_http(it->simulator), &it->random, NULL, NULL };
    it->provider = azure_provider(&it->world, &it->account, &err);
    assert_non_null(it->provider);
}

static inline void rehearsal_close(struct rehearsal *it)
{
    provider_close(it->provider);
    simulator_free(it->simulator);
    loop_free(it->loop);
    text_free(it->found);
    test_folder_free(it->folder);
}

static inline void run_for(struct rehearsal *it, int64_t ms)
{
    loop_run_until(it->loop, loop_now(it->loop) + ms);
}

static inline void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct rehearsal *it = context;

    it->calls++;
    it->err = err ? *err : (struct error){ 0 };
    it->next[0] = '\0';
    for (size_t i = 0; page && i < page->count; i++)
        it->items[it->count++] = page->items[i];
    if (page && page->next)
        text_copy(it->next, sizeof it->next, page->next);
    it->shortfall = page && page->shortfall ? *page->shortfall : (struct error){ 0 };
}

static inline void on_done(void *context, const char *operation, const struct error *err)
{
    struct rehearsal *it = context;

    it->calls++;
    it->err = err ? *err : (struct error){ 0 };
    text_copy(it->operation, sizeof it->operation, operation);
}

static inline void on_look(void *context, const struct instance *instance, const struct error *err)
{
    struct rehearsal *it = context;

    it->calls++;
    it->err = err ? *err : (struct error){ 0 };
    it->is_found = instance != NULL;
}

static inline void on_finding(void *context, const struct finding *finding)
{
    text_add(((struct rehearsal *)context)->found, "%d %s\n", (int)finding->verdict,
             finding->subject);
}

static inline enum error_kind answer_of(struct rehearsal *it)
{
    int before = it->calls;

    for (int i = 0; i < 600 && it->calls == before; i++)
        run_for(it, 100);
    assert_int_equal(it->calls, before + 1);
    return it->err.kind;
}

/* The whole list, page by page; how many pages it took. */
static inline int list_all(struct rehearsal *it, const struct azure_place *place)
{
    int pages = 0;

    it->count = 0;
    it->next[0] = '\0';
    do {
        owned(chars) char *page = mem_copy_chars(it->next[0] != '\0' ? it->next : NULL);

        provider_list(it->provider, azure_address(place), page, on_page, it);
        if (answer_of(it) != ERROR_NONE)
            fail_msg("%s", it->err.text);
        pages++;
    } while (it->next[0] != '\0');
    return pages;
}

/* One exchange of an order. */
static inline enum error_kind grow(struct rehearsal *it, const struct azure_place *place,
                                   const char *request_id, const char *progress)
{
    const struct provider_order order = { .request_key = "00000001",
                                          .request_id = request_id,
                                          .progress = progress };

    provider_create(it->provider, azure_address(place), &order, on_done, it);
    return answer_of(it);
}

/* All of its exchanges, as the caller would make them. */
static inline enum error_kind grow_by_one(struct rehearsal *it, const struct azure_place *place)
{
    char progress[160] = "";

    for (int i = 0; i < 5; i++) {
        if (grow(it, place, "r-1", progress) == ERROR_NONE || it->err.cause != &provider_goes_on)
            break;
        text_copy(progress, sizeof progress, it->operation);
    }
    return it->err.kind;
}

static inline enum error_kind take_back(struct rehearsal *it, const struct azure_place *place)
{
    char progress[160] = "";

    for (int i = 0; i < 5; i++) {
        const struct provider_order order = { .request_key = "00000001",
                                              .request_id = "r-2",
                                              .progress = progress };

        provider_cancel(it->provider, azure_address(place), &order, on_done, it);
        if (answer_of(it) == ERROR_NONE || it->err.cause != &provider_goes_on)
            break;
        text_copy(progress, sizeof progress, it->operation);
    }
    return it->err.kind;
}

static inline enum error_kind take_away(struct rehearsal *it, const struct azure_place *place,
                                        const char *name)
{
    const struct provider_order order = { .instance = name, .request_id = "r-3", .progress = "" };

    provider_remove(it->provider, azure_address(place), &order, on_done, it);
    return answer_of(it);
}

static inline bool is_there(struct rehearsal *it, const struct azure_place *place, const char *name)
{
    provider_look(it->provider, azure_address(place), name, on_look, it);
    assert_int_equal(answer_of(it), ERROR_NONE);
    return it->is_found;
}
