/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a provider to the verbs of its kind.
 */
#include "providers/common/provider.h"

#include "base/memory.h"
#include "base/text.h"

const struct error_cause provider_goes_on = { "another exchange follows" };

struct provider *provider_open(struct world *world, const struct provider_kind *kind,
                               const struct provider_account *account, struct error *err)
{
    return kind->open(world, account, err);
}

void provider_close(struct provider *provider)
{
    if (provider)
        provider->kind->close(provider);
}

void provider_list(struct provider *provider, const struct pool_address *pool, const char *page,
                   provider_list_fn done, void *context)
{
    provider->kind->list(provider, pool, page, done, context);
}

void provider_remove(struct provider *provider, const struct pool_address *pool,
                     const struct provider_order *order, provider_done_fn done, void *context)
{
    provider->kind->remove(provider, pool, order, done, context);
}

void provider_create(struct provider *provider, const struct pool_address *pool,
                     const struct provider_order *order, provider_done_fn done, void *context)
{
    provider->kind->create(provider, pool, order, done, context);
}

void provider_not_now(struct error *err)
{
    if (err->kind == ERROR_CONFLICT)
        err->kind = ERROR_TRANSIENT;
}

void provider_cancel(struct provider *provider, const struct pool_address *pool,
                     const struct provider_order *order, provider_done_fn done, void *context)
{
    require(provider->kind->identity == IDENTITY_BY_GROWTH);
    provider->kind->cancel(provider, pool, order, done, context);
}

bool provider_can_inspect(const struct provider *provider)
{
    return provider->kind->inspect != NULL;
}

void provider_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                      provider_done_fn done, void *context)
{
    provider->kind->inspect(provider, pool, found, done, context);
}

bool provider_can_protect(const struct provider *provider)
{
    return provider->kind->protect != NULL;
}

void provider_protect(struct provider *provider, const struct pool_address *pool,
                      const struct provider_order *order, provider_done_fn done, void *context)
{
    provider->kind->protect(provider, pool, order, done, context);
}

bool provider_tells_host(const struct provider *provider)
{
    return provider->kind->host != NULL;
}

void provider_host(struct provider *provider, const struct pool_address *pool, const char *instance,
                   provider_host_fn done, void *context)
{
    provider->kind->host(provider, pool, instance, done, context);
}

bool provider_can_look(const struct provider *provider)
{
    return provider->kind->look != NULL;
}

void provider_look(struct provider *provider, const struct pool_address *pool, const char *instance,
                   provider_look_fn done, void *context)
{
    provider->kind->look(provider, pool, instance, done, context);
}

bool provider_can_find_group(const struct provider *provider)
{
    return provider->kind->find_group != NULL;
}

void provider_find_group(struct provider *provider, const char *provider_id, provider_group_fn done,
                         void *context)
{
    provider->kind->find_group(provider, provider_id, done, context);
}

char *provider_place(const struct provider_kind *kind, const struct provider_account *account,
                     const struct pool_address *pool)
{
    struct text *place = text_new(TEXT_UNBOUNDED);

    kind->print_place(account, pool, place);
    return text_take(place);
}

bool provider_read_id(const struct provider *provider, const struct pool_address *pool,
                      const char *provider_id, char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim)
{
    return provider->kind->read_provider_id(pool, provider_id, ret_name, ret_claim);
}

const char *instance_state_name(enum instance_state state)
{
    static const char *const names[INSTANCE_STATE_COUNT] = {
        [INSTANCE_CREATING] = "creating", [INSTANCE_RUNNING] = "running",
        [INSTANCE_DELETING] = "deleting", [INSTANCE_OTHER] = "other",
        [INSTANCE_PARKED] = "parked",
    };
    require(state >= 0 && state < INSTANCE_STATE_COUNT);
    return names[state];
}
