/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs on an agent pool of Azure against a script, on the virtual loop.
 */
#pragma once

#include "base/log.h"
#include "base/world/world.h"
#include "tests/clusters/scripted_http.h"
#include "tests/providers/azure_bench.h"

#define HOST "http://127.0.0.1:9"
#define TOKEN_URL                                                                                  \
    "http://127.0.0.1:8/metadata/identity/oauth2/token?api-version=2018-02-01"                     \
    "&resource=https%3A%2F%2Farm.example%2F"
#define POOL_PATH                                                                                  \
    HOST "/arm/subscriptions/s%201/resourceGroups/rg/providers/Microsoft.ContainerService/"        \
         "managedClusters/c/agentPools/gpu"
#define VERSION "?api-version=2026-04-01"
#define POOL_URL POOL_PATH VERSION
#define MACHINES POOL_PATH "/machines" VERSION
#define MACHINE_URL POOL_PATH "/machines/aks-gpu-1-vmss000002" VERSION
#define DELETE_URL POOL_PATH "/deleteMachines" VERSION
#define PERMISSIONS                                                                                \
    POOL_PATH "/providers/Microsoft.Authorization/permissions?api-version=2022-04-01"
#define ASK(method_, url_, ...)                                                                    \
    {                                                                                              \
        .method = (method_), .url = (url_), .status = __VA_ARGS__                                  \
    }
#define TOKEN                                                                                      \
    ASK(HTTP_GET, TOKEN_URL, 200, .answer = "{\"access_token\":\"one\",\"expires_in\":\"3600\"}")
#define ID(number)                                                                                 \
    "/subscriptions/s/resourceGroups/MC_x/providers/Microsoft.Compute/virtualMachineScaleSets/"    \
    "aks-gpu-1-vmss/virtualMachines/" number
#define MACHINE(listed, number, more)                                                              \
    "{\"name\":\"" listed "\",\"properties\":{\"resourceId\":\"" ID(number) "\"" more "}}"
#define TWO MACHINE("aks-gpu-1-vmss000001", "1", "") "," MACHINE("aks-gpu-1-vmss000002", "2", "")
#define POOL(state, count, more)                                                                   \
    "{\"name\":\"gpu\",\"properties\":{\"count\":" count ",\"provisioningState\":\"" state         \
    "\",\"eTag\":\"e-1\"" more "}}"
#define SENT(count) " {\"properties\":{\"count\":" count "}}"
#define STOCKOUT                                                                                   \
    ",\"status\":{\"provisioningError\":{\"code\":\"ZonalAllocationFailed\",\"message\":\"m\"}}"
#define BUSY                                                                                       \
    "{\"code\":\"OperationNotAllowed\",\"message\":\"Another operation (gpu - Scaling) is in "     \
    "progress\"}"
#define GONE "{\"code\":\"NotFound\",\"message\":\"m\"}"
#define OPERATION HOST "/arm/operations/op-1?api-version=2016-03-30"
#define GET(url, answer_) ASK(HTTP_GET, url, 200, .answer = answer_)
#define PUT(status_, answer_)                                                                      \
    ASK(HTTP_PUT, POOL_URL, status_, .answer = answer_, .operation = OPERATION)
#define DELETE_STEP ASK(HTTP_POST, DELETE_URL, 202, .answer = "", .operation = OPERATION)

struct bench {
    struct loop *loop;
    struct scripted_http *script;
    struct random random;
    struct world world;
    struct provider *provider;
    int calls;
    struct error err;
    char operation[160];
    struct instance items[8];
    size_t count;
    char next[256];
    struct error shortfall;
    bool is_closing;
    struct text *found;
};

static const struct azure_account account = {
    .subscription = "s 1",
    .endpoint = HOST "/arm/",
    .api_version = "2026-04-01",
    .whose = { .metadata = "http://127.0.0.1:8", .audience = "https://arm.example" },
};

static inline void bench_open(struct bench *bench, const struct script_step *steps, size_t count)
{
    struct error err = { 0 };

    *bench = (struct bench){ .found = text_new(16 * 1024) };
    bench->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    bench->script = scripted_http_new(bench->loop, steps, count);
    bench->world = (struct world){ bench->loop, &bench->script->http, &bench->random, NULL, NULL };
    bench->provider = azure_provider(&bench->world, &account, &err);
    if (!bench->provider)
        fail_msg("%s", err.text);
}

static inline void bench_close(struct bench *bench)
{
    provider_close(bench->provider);
    assert_int_equal(bench->script->in_flight, 0);
    assert_true(script_is_played(bench->script));
    http_free(&bench->script->http);
    loop_free(bench->loop);
    text_free(bench->found);
}

static inline void on_done(void *context, const char *operation, const struct error *err)
{
    struct bench *bench = context;

    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    text_copy(bench->operation, sizeof bench->operation, operation);
    if (bench->is_closing)
        provider_close(steal(&bench->provider));
}

static inline void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct bench *bench = context;

    assert_true(!page != !err);
    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    bench->count = page ? page->count : 0;
    for (size_t i = 0; i < bench->count; i++)
        bench->items[i] = page->items[i];
    text_copy(bench->next, sizeof bench->next, page && page->next ? page->next : "");
    bench->shortfall = page && page->shortfall ? *page->shortfall : (struct error){ 0 };
}

static inline void on_look(void *context, const struct instance *instance, const struct error *err)
{
    struct bench *bench = context;

    bench->calls++;
    bench->err = err ? *err : (struct error){ 0 };
    bench->count = instance ? 1 : 0;
    if (instance)
        bench->items[0] = *instance;
}

static inline void on_found(void *context, const struct finding *finding)
{
    struct bench *bench = context;

    text_add(bench->found, "%d %s\n", (int)finding->verdict, finding->subject);
    assert_true(finding->text[0] != '\0');
    assert_true(finding->verdict == FINDING_RIGHT || finding->remedy[0] != '\0');
}

static inline enum error_kind answer_of(struct bench *bench)
{
    int before = bench->calls;

    loop_run(bench->loop);
    assert_int_equal(bench->calls, before + 1);
    return bench->err.kind;
}

static inline enum error_kind list(struct bench *bench, const char *page)
{
    provider_list(bench->provider, azure_address(&azure_place), page, on_page, bench);
    return answer_of(bench);
}

static inline enum error_kind grow(struct bench *bench, const char *progress)
{
    const struct provider_order order = { .request_key = "0123abcd",
                                          .request_id = "r-1",
                                          .progress = progress };

    provider_create(bench->provider, azure_address(&azure_place), &order, on_done, bench);
    return answer_of(bench);
}

static inline enum error_kind cancel(struct bench *bench, const char *progress)
{
    const struct provider_order order = { .request_key = "0123abcd",
                                          .request_id = "r-2",
                                          .progress = progress };

    provider_cancel(bench->provider, azure_address(&azure_place), &order, on_done, bench);
    return answer_of(bench);
}

static const struct provider_order removal = { .instance = "aks-gpu-1-vmss000002",
                                               .request_id = "r-3",
                                               .progress = "" };

static inline enum error_kind take_away(struct bench *bench)
{
    provider_remove(bench->provider, azure_address(&azure_place), &removal, on_done, bench);
    return answer_of(bench);
}

static inline void expect_goes_on(struct bench *bench, const char *progress)
{
    assert_int_equal(bench->err.kind, ERROR_TRANSIENT);
    assert_ptr_equal(bench->err.cause, &provider_goes_on);
    assert_string_equal(bench->operation, progress);
}
