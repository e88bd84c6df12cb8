/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs on one machine of an agent pool, and the table of the kind.
 */
#include "base/input/json.h"
#include "base/url.h"
#include "providers/azure/azure_call.h"
#include "providers/azure/azure_errors.h"

#include <string.h>

static const char PUBLIC_ENDPOINT[] = "https://management.azure.com";

/* 404 counts only below a pool that is there: else a wrong setting would free a machine. */
static void on_pool_of_missing(struct azure_call *call, const struct http_answer *answer,
                               const json_t *body, struct error *err)
{
    struct error why = { 0 };

    (void)answer;
    (void)body;
    if (err) {
        if (err->kind == ERROR_NOT_FOUND)
            err->kind = ERROR_INVALID;
        azure_call_fail(call, err);
    } else if (call->looked) {
        azure_call_finish(call, NULL, "");
    } else {
        error_set(&why, ERROR_NOT_FOUND, "machine %.100s is gone", call->instance);
        azure_call_fail(call, &why);
    }
}

static void on_removed(struct azure_call *call, const struct http_answer *answer,
                       const json_t *body, struct error *err)
{
    char operation[AZURE_OPERATION_SIZE];

    (void)body;
    if (err) {
        provider_not_now(err);
        azure_call_fail(call, err);
        return;
    }
    azure_memory_leaves(azure_memory_of(call), call->instance, loop_now(call->azure->world->loop));
    azure_read_operation(answer, operation);
    azure_call_finish(call, NULL, operation);
}

static void delete_machine(struct azure_call *call, const char *listed)
{
    owned(json) json_t *body = json_make("{s:[s]}", "machineNames", listed);
    owned(chars) char *url = azure_call_url(call, "/deleteMachines");

    mem_free(call->body);
    call->body = json_print(body);
    azure_call_write(call, AZURE_DELETE_MACHINES, url, NULL, on_removed);
}

static void use_machine(struct azure_call *call, const struct instance *machine, const char *listed)
{
    const struct instance_page page = { .items = machine, .count = 1 };

    if (call->looked)
        azure_call_finish(call, &page, "");
    else if (machine->state == INSTANCE_DELETING)
        azure_call_finish(call, NULL, ""); /* accepted before */
    else
        delete_machine(call, listed);
}

static void on_machine(struct azure_call *call, const struct http_answer *answer,
                       const json_t *body, struct error *err)
{
    const struct azure_place place = { .zone = call->zone };
    struct instance machine;
    const char *listed = NULL;
    struct error why = { 0 };

    (void)answer;
    if (err && err->kind == ERROR_NOT_FOUND) {
        owned(chars) char *url = azure_call_url(call, "");

        azure_call_send(call, AZURE_GET_POOL, url, on_pool_of_missing);
        return;
    }
    if (!err && azure_read_machine(body, &place, &machine, &listed, &why) == 0 &&
        !text_equal(machine.name, call->instance))
        error_set(&why, ERROR_CORRUPT, "asked for %.100s, got %.100s", call->instance,
                  machine.name);
    if (err || why.kind != ERROR_NONE) {
        azure_call_fail(call, err ?: &why);
        return;
    }
    if (call->looked && machine.state == INSTANCE_RUNNING &&
        azure_memory_is_leaving(azure_memory_of(call), machine.name))
        machine.state = INSTANCE_DELETING;
    use_machine(call, &machine, listed);
}

static void read_machine(struct azure_call *call)
{
    owned(chars) char *below = url_format("/machines/%s",
                                          azure_listed_name(call->azure, call->instance));
    owned(chars) char *url = azure_call_url(call, below);

    azure_call_send(call, AZURE_GET_MACHINE, url, on_machine);
}

static void azure_look(struct provider *provider, const struct pool_address *pool,
                       const char *instance, provider_look_fn done, void *context)
{
    struct azure_call *call = azure_call_new((struct azure *)provider, pool, "machine");

    call->looked = done;
    call->context = context;
    call->instance = mem_copy_chars(instance);
    read_machine(call);
}

static void on_turn(struct growth_turn *turn)
{
    read_machine(azure_call_of_turn(turn));
}

/* A machine is named in the request, so a repeat never removes a second one.  A removal that fails
   later leaves its machine in the list. */
static void azure_remove(struct provider *provider, const struct pool_address *pool,
                         const struct provider_order *order, provider_done_fn done, void *context)
{
    struct azure_call *call = azure_call_new((struct azure *)provider, pool, "removal");

    call->done = done;
    call->context = context;
    call->instance = mem_copy_chars(order->instance);
    call->request_id = mem_copy_chars("");
    call->progress = mem_copy_chars("");
    azure_call_wait(call, on_turn);
}

static void azure_set_zone(struct pool_address *pool, const char *zone)
{
    ((struct azure_place *)(void *)pool)->zone = zone;
}

/* Names of resource groups are a subscription's own. */
static void azure_print_place(const struct provider_account *given,
                              const struct pool_address *address, struct text *out)
{
    const struct azure_account *account = (const struct azure_account *)(const void *)given;
    const struct azure_place *place = azure_place_of(address);

    text_add(out, "agent pool %s of managed cluster %s in resource group %s of subscription %s",
             place->agent_pool, place->managed_cluster, place->resource_group,
             account->subscription);
}

static void azure_close(struct provider *provider)
{
    struct azure *azure = (struct azure *)provider;

    growth_free(steal(&azure->growth));
    while (azure->first)
        azure_call_free(azure->first);
    token_cache_free(azure->token);
    map_free(azure->listed);
    map_free(azure->memories);
    mem_free(azure->base);
    mem_free(azure);
}

static struct provider *azure_open(struct world *world, const struct provider_account *given,
                                   struct error *err)
{
    const struct azure_account *account = (const struct azure_account *)(const void *)given;
    const char *endpoint = account->endpoint ?: PUBLIC_ENDPOINT;
    size_t length = strlen(endpoint);
    struct token_cache *token = azure_token_new(world, &account->whose, err);

    if (!token) {
        error_context(err, "azure");
        return NULL;
    }
    struct azure *azure = mem_new(sizeof *azure);
    owned(chars) char *path = url_format("/subscriptions/%s", account->subscription);

    while (length > 0 && endpoint[length - 1] == '/')
        length--;
    azure->provider.kind = &azure_kind;
    azure->world = world;
    azure->token = token;
    azure->growth = growth_new();
    azure->listed = map_new(mem_free);
    azure->memories = map_new(azure_memory_free);
    azure->base = text_format("%.*s%s", (int)length, endpoint, path);
    azure->account = account;
    return &azure->provider;
}

static const struct setting account_settings[] = {
    { "subscription", SETTING_TEXT, offsetof(struct azure_account, subscription), NULL, 0, 0,
      "ID of the subscription" },
    { "tenant", SETTING_TEXT, offsetof(struct azure_account, whose.tenant), "", 0, 0,
      "ID of the tenant; absent: `AZURE_TENANT_ID`" },
    { "client_id", SETTING_TEXT, offsetof(struct azure_account, whose.client_id), "", 0, 0,
      "ID of the application or managed identity; absent: `AZURE_CLIENT_ID`" },
    { "client_secret", SETTING_PATH, offsetof(struct azure_account, whose.client_secret), "", 0, 0,
      "path of the application's secret; absent: workload identity "
      "(`AZURE_FEDERATED_TOKEN_FILE`), `AZURE_CLIENT_SECRET`, or managed identity" },
    { "endpoint", SETTING_URL, offsetof(struct azure_account, endpoint), "", 0, 0,
      "URL of Azure Resource Manager; absent: the public cloud's" },
    { "authority", SETTING_URL, offsetof(struct azure_account, whose.authority), "", 0, 0,
      "URL of Microsoft Entra ID; absent: `AZURE_AUTHORITY_HOST`, or the public cloud's" },
    { "audience", SETTING_URL, offsetof(struct azure_account, whose.audience),
      "https://management.azure.com", 0, 0, "API that tokens are for; another in other clouds" },
    { "metadata", SETTING_URL, offsetof(struct azure_account, whose.metadata), "", 0, 0,
      "URL of the metadata server; absent: the cloud's own" },
    { "api_version", SETTING_TEXT, offsetof(struct azure_account, api_version), "2026-04-01", 0, 0,
      "version of the API of Microsoft.ContainerService" },
};

static const struct setting pool_settings[] = {
    { "resource_group", SETTING_TEXT, offsetof(struct azure_place, resource_group), NULL, 0, 0,
      "resource group of the managed cluster" },
    { "managed_cluster", SETTING_TEXT, offsetof(struct azure_place, managed_cluster), NULL, 0, 0,
      "name of the managed cluster" },
    { "agent_pool", SETTING_TEXT, offsetof(struct azure_place, agent_pool), NULL, 0, 0,
      "name of the agent pool" },
};

#define CONTAINER_SERVICE "Microsoft.ContainerService/managedClusters/agentPools"

const struct provider_action azure_actions[] = {
    [AZURE_LIST_MACHINES] = { "Machines_List", CONTAINER_SERVICE "/machines/read", false,
                              "lists the machines of an agent pool" },
    [AZURE_GET_MACHINE] = { "Machines_Get", CONTAINER_SERVICE "/machines/read", false,
                            "reads a machine before it is removed" },
    [AZURE_GET_POOL] = { "AgentPools_Get", CONTAINER_SERVICE "/read", false,
                         "reads the size and state of an agent pool" },
    [AZURE_RESIZE_POOL] = { "AgentPools_CreateOrUpdate", CONTAINER_SERVICE "/write", true,
                            "orders a machine, or takes an order back" },
    [AZURE_DELETE_MACHINES] = { "AgentPools_DeleteMachines",
                                CONTAINER_SERVICE "/deleteMachines/action", true,
                                "removes one machine" },
    [AZURE_ABORT] = { "AgentPools_AbortLatestOperation", CONTAINER_SERVICE "/abort/action", true,
                      "ends a growth that does not end, when its order is taken back" },
    [AZURE_LIST_PERMISSIONS] = { "Permissions_ListForResource",
                                 "Microsoft.Authorization/permissions/read", false,
                                 "checks this list" },
};

const size_t azure_action_count = COUNT_OF(azure_actions);

const struct provider_kind azure_kind = {
    .account = { .name = "azure",
                 .settings = account_settings,
                 .count = COUNT_OF(account_settings),
                 .size = sizeof(struct azure_account) },
    .pool = { .name = "azure",
              .settings = pool_settings,
              .count = COUNT_OF(pool_settings),
              .size = sizeof(struct azure_place) },
    .place_key = "agent_pool",
    .identity = IDENTITY_BY_GROWTH,
    .set_zone = azure_set_zone,
    .print_place = azure_print_place,
    .open = azure_open,
    .close = azure_close,
    .list = azure_list,
    .remove = azure_remove,
    .create = azure_create,
    .cancel = azure_cancel,
    .look = azure_look,
    .inspect = azure_inspect,
    .actions = azure_actions,
    .action_count = COUNT_OF(azure_actions),
    .refusal = azure_refusal,
    .read_provider_id = azure_read_provider_id,
};
