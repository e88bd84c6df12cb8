/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An account and a pool of Azure, as the configuration would have read them.
 */
#pragma once

#include "providers/azure/azure.h"

static const struct azure_place azure_place = {
    .resource_group = "rg", .managed_cluster = "c", .agent_pool = "gpu", .zone = "region-1"
};

static inline const struct pool_address *azure_address(const struct azure_place *place)
{
    return (const struct pool_address *)(const void *)place;
}

/* The account must outlive the provider. */
static inline struct provider *
azure_provider(struct world *world, const struct azure_account *account, struct error *err)
{
    return provider_open(world, &azure_kind, (const struct provider_account *)(const void *)account,
                         err);
}
