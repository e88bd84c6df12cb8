/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cluster API: a pool is a MachineDeployment, or a MachinePool that makes Machines, in a management
 * cluster.  That is a Kubernetes API server like any other, and the client of clusters/kube speaks
 * to it.
 *
 * Its pools take only a number.  A chosen Machine leaves by two writes, as upstream's own
 * autoscaler does it: it is marked, and then the pool is made smaller by one.
 */
#pragma once

#include "providers/common/provider.h"

/* The keys of `providers.NAME`; a struct provider_account. */
struct capi_account {
    const char *kubeconfig;
    const char *context; /* NULL: the file's current one */
    const char *plugin;  /* NULL: the kubeconfig may run no program */
};

/* What it reads of `pools.NAME`; a struct pool_address.  One of the two is NULL. */
struct capi_pool {
    const char *namespace;
    const char *machine_deployment;
    const char *machine_pool;
    const char *zone; /* of the reservation; borrowed */
};

static inline const struct capi_pool *capi_pool_of(const struct pool_address *pool)
{
    return (const struct capi_pool *)(const void *)pool;
}

extern const struct provider_kind capi_kind;
