/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a pool of Compute Engine is.
 */
#pragma once

#include "providers/common/provider.h"

/* What it reads of `pools.NAME`; a struct pool_address. */
struct gcp_pool {
    const char *project;
    const char *group; /* managed instance group */
    const char *zone;  /* of the reservation; borrowed */
};

static inline const struct gcp_pool *gcp_pool_of(const struct pool_address *pool)
{
    return (const struct gcp_pool *)(const void *)pool;
}
