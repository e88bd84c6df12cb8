/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kind of provider, and its settings.
 */
#include "providers/capi/capi.h"

#include "base/text.h"
#include "clusters/kube/kube_config.h"
#include "clusters/kube/served.h"
#include "providers/capi/capi_call.h"
#include "providers/capi/capi_machine.h"
#include "providers/capi/capi_verbs.h"

#include <string.h>

enum { NAME_MOST = 63 }; /* a longer name is no label, by which its Machines are found */

static void capi_set_zone(struct pool_address *pool, const char *zone)
{
    ((struct capi_pool *)(void *)pool)->zone = zone;
}

/* Namespaces are a management cluster's own.  Which cluster a kubeconfig names is not known before
   the file is read. */
static void capi_print_place(const struct provider_account *given,
                             const struct pool_address *address, struct text *out)
{
    const struct capi_account *account = (const struct capi_account *)(const void *)given;
    const struct capi_pool *pool = capi_pool_of(address);

    text_add(out, "%s %s of namespace %s by kubeconfig %s",
             pool->machine_pool ? "machine pool" : "machine deployment",
             pool->machine_pool ?: pool->machine_deployment, pool->namespace, account->kubeconfig);
    if (account->context)
        text_add(out, ", context %s", account->context);
}

/* A provider ID is that of the cloud below: it does not name the Machine. */
static bool capi_read_provider_id(const struct pool_address *pool, const char *provider_id,
                                  char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim)
{
    (void)pool;
    (void)provider_id;
    (void)ret_name;
    (void)ret_claim;
    return false;
}

/* The session is freed first, so that no answer arrives any more; then the calls, the newest first.
   The end of a call gives its turn to the next one that waits, so in this order no call starts. */
static void capi_close(struct provider *provider)
{
    struct capi *capi = (struct capi *)provider;

    kube_session_free(capi->session);
    served_free(capi->served);
    while (capi->first)
        capi_call_free(capi->first);
    growth_free(capi->growth);
    mem_free(capi);
}

static struct provider *capi_open(struct world *world, const struct provider_account *given,
                                  struct error *err)
{
    const struct capi_account *account = (const struct capi_account *)(const void *)given;
    struct kube_config *config = kube_config_open(account->kubeconfig, account->context,
                                                  account->plugin, err);
    struct capi *capi;

    if (!config) {
        error_context(err, "capi");
        return NULL;
    }
    capi = mem_new(sizeof *capi);
    capi->provider.kind = &capi_kind;
    capi->world = world;
    capi->session = kube_session_new(world, "of Cluster API", config);
    capi->served = served_new(capi->session);
    capi->growth = growth_new();
    return &capi->provider;
}

static int check_account(const void *object, const char **ret_key, struct error *err)
{
    const struct capi_account *account = object;

    *ret_key = "plugin";
    if (account->plugin && account->plugin[0] != '/')
        return error_set(err, ERROR_INVALID, "expected an absolute path, found \"%s\"",
                         account->plugin);
    return 0;
}

static int check_pool(const void *object, const char **ret_key, struct error *err)
{
    const struct capi_pool *pool = object;
    const char *name = pool->machine_pool ?: pool->machine_deployment;

    *ret_key = pool->machine_pool ? "machine_pool" : "machine_deployment";
    if (!pool->machine_pool == !pool->machine_deployment)
        return error_set(err, ERROR_INVALID, "give either machine_deployment or machine_pool");
    if (strlen(name) > NAME_MOST)
        return error_set(err, ERROR_INVALID, "a name of more than %d characters is no label",
                         NAME_MOST);
    return 0;
}

static const struct setting account_settings[] = {
    { "kubeconfig", SETTING_PATH, offsetof(struct capi_account, kubeconfig), NULL, 0, 0,
      "path of the kubeconfig file of the management cluster; `in-cluster`: the service account of "
      "the pod" },
    { "context", SETTING_TEXT, offsetof(struct capi_account, context), "", 0, 0,
      "context in the kubeconfig; absent: its current context" },
    { "plugin", SETTING_TEXT, offsetof(struct capi_account, plugin), "", 0, 0,
      "absolute path of the one program that the kubeconfig may run for credentials" },
};

static const struct setting pool_settings[] = {
    { "namespace", SETTING_TEXT, offsetof(struct capi_pool, namespace), NULL, 0, 0,
      "namespace of the MachineDeployment or MachinePool" },
    { "machine_deployment", SETTING_TEXT, offsetof(struct capi_pool, machine_deployment), "", 0, 0,
      "name of the MachineDeployment; either this or `machine_pool`" },
    { "machine_pool", SETTING_TEXT, offsetof(struct capi_pool, machine_pool), "", 0, 0,
      "name of the MachinePool, whose provider makes Machines" },
};

const struct provider_kind capi_kind = {
    .account = { .name = "capi",
                 .maker = "Cluster API",
                 .settings = account_settings,
                 .count = COUNT_OF(account_settings),
                 .size = sizeof(struct capi_account),
                 .no_file = KUBE_CONFIG_IN_CLUSTER,
                 .check = check_account },
    .pool = { .name = "capi",
              .maker = "Cluster API",
              .settings = pool_settings,
              .count = COUNT_OF(pool_settings),
              .size = sizeof(struct capi_pool),
              .check = check_pool },
    .place_key = "namespace",
    .identity = IDENTITY_BY_GROWTH,
    .set_zone = capi_set_zone,
    .print_place = capi_print_place,
    .open = capi_open,
    .close = capi_close,
    .list = capi_list,
    .remove = capi_remove,
    .create = capi_create,
    .cancel = capi_cancel,
    .look = capi_look,
    .inspect = capi_inspect,
    .actions = capi_actions,
    .action_count = CAPI_ACTION_COUNT,
    .refusal = capi_refusal,
    .read_provider_id = capi_read_provider_id,
};
