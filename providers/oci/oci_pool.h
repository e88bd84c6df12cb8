/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a pool of Oracle Cloud Infrastructure is.
 */
#pragma once

#include "providers/common/provider.h"

/* What it reads of `pools.NAME`; a struct pool_address. */
struct oci_pool {
    const char *node_pool;            /* its OCID */
    const char *capacity_reservation; /* OCID that its machines must come from; NULL: any */
    const char *zone;                 /* of the reservation; borrowed */
};

static inline const struct oci_pool *oci_pool_of(const struct pool_address *pool)
{
    return (const struct oci_pool *)(const void *)pool;
}
