/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a pool of AWS is: an Auto Scaling group in one zone.  A managed node group of EKS is such a
 * group too; its own API only tells its health.
 */
#pragma once

#include "providers/common/provider.h"

/* What it reads of `pools.NAME`; a struct pool_address.  Texts that are not set are NULL. */
struct aws_pool {
    const char *group;       /* Auto Scaling group */
    const char *eks_cluster; /* of the managed node group */
    const char *nodegroup;
    const char *grow; /* "auto", "launch-instances", "set-desired-capacity" */
    const char *zone; /* of the reservation; borrowed */
};

static inline const struct aws_pool *aws_pool_of(const struct pool_address *pool)
{
    return (const struct aws_pool *)(const void *)pool;
}
