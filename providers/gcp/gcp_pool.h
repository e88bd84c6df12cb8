/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a pool of Compute Engine is.
 */
#pragma once

#include "providers/common/provider.h"

/* What it reads of `pools.NAME`; a struct pool_address.  Texts that are not set are NULL. */
struct gcp_pool {
    const char *project;
    const char *group; /* managed instance group */
    const char *zone;  /* of the reservation; borrowed */

    /* The node pool of GKE that the group is a part of.  All three or none. */
    const char *gke_location;
    const char *gke_cluster;
    const char *node_pool;

    const char *gce_reservation; /* that the machines must come from */
};

static inline const struct gcp_pool *gcp_pool_of(const struct pool_address *pool)
{
    return (const struct gcp_pool *)(const void *)pool;
}
