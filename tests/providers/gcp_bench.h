/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An account and a pool of Google, as the configuration would have read them.
 */
#pragma once

#include "providers/gcp/gcp.h"

static inline const struct pool_address *address_of(const struct gcp_pool *pool)
{
    return (const struct pool_address *)(const void *)pool;
}

static inline struct provider *gcp_provider(struct world *world, const struct gcp_account *account,
                                            struct error *err)
{
    return provider_open(world, &gcp_kind, (const struct provider_account *)(const void *)account,
                         err);
}
