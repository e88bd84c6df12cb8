/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a provider's kind to its verbs.
 */
#include "providers/provider.h"

#include "base/memory.h"
#include "base/text.h"
#include "providers/gcp.h"

static const struct provider_verbs *const kinds[] = {
    &gcp_verbs,
};

struct provider *provider_open(struct world *world, const struct provider_settings *settings,
                               struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (text_equal(kinds[i]->kind, settings->kind))
            return kinds[i]->open(world, settings, err);
    }
    owned(text) struct text *names = text_new(256);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        text_add(names, "%s%s", i > 0 ? ", " : "", kinds[i]->kind);
    error_set(err, ERROR_INVALID, "there is no provider \"%s\"; there are: %s",
              settings->kind ?: "", names->chars);
    return NULL;
}

void provider_close(struct provider *provider)
{
    if (provider)
        provider->verbs->close(provider);
}

void provider_list(struct provider *provider, const struct pool_address *pool, const char *page,
                   provider_list_fn done, void *context)
{
    provider->verbs->list(provider, pool, page, done, context);
}

void provider_remove(struct provider *provider, const struct pool_address *pool,
                     const char *instance, const char *request_id, provider_done_fn done,
                     void *context)
{
    provider->verbs->remove(provider, pool, instance, request_id, done, context);
}

void provider_create(struct provider *provider, const struct pool_address *pool,
                     const char *instance, const char *request_id, provider_done_fn done,
                     void *context)
{
    provider->verbs->create(provider, pool, instance, request_id, done, context);
}

bool provider_tells_host(const struct provider *provider)
{
    return provider->verbs->host != NULL;
}

void provider_host(struct provider *provider, const struct pool_address *pool, const char *instance,
                   provider_host_fn done, void *context)
{
    provider->verbs->host(provider, pool, instance, done, context);
}

bool provider_can_look(const struct provider *provider)
{
    return provider->verbs->look != NULL;
}

void provider_look(struct provider *provider, const struct pool_address *pool, const char *instance,
                   provider_look_fn done, void *context)
{
    provider->verbs->look(provider, pool, instance, done, context);
}

bool provider_may_own(const struct provider *provider, const struct pool_address *pool,
                      const char *instance)
{
    return provider->verbs->may_own(pool, instance);
}

bool provider_node_id(const struct provider *provider, const struct pool_address *pool,
                      const char *instance, char *out, size_t size)
{
    return provider->verbs->node_id(pool, instance, out, size);
}

const char *instance_state_name(enum instance_state state)
{
    static const char *const names[INSTANCE_STATE_COUNT] = {
        [INSTANCE_CREATING] = "creating",
        [INSTANCE_RUNNING] = "running",
        [INSTANCE_DELETING] = "deleting",
        [INSTANCE_OTHER] = "other",
    };
    require(state >= 0 && state < INSTANCE_STATE_COUNT);
    return names[state];
}
