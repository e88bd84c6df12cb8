/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Azure Kubernetes Service: a pool is an agent pool of a managed cluster.  AKS takes only its size,
 * makes and names the machines itself, and lets one operation at a time change a managed cluster.
 * sluice removes machines by name, which shrinks the pool by one.  Changes of the scale set below
 * would be undone: AKS owns it.
 *
 * An operation runs for minutes after its request was accepted.  Nothing polls it: the list shows
 * what came of it.  A growth that failed leaves its count behind, which cancel() takes back.
 */
#pragma once

#include "providers/azure/azure_pool.h"
#include "providers/azure/azure_token.h"
#include "providers/common/provider.h"

/* The keys of `providers.NAME`; a struct provider_account. */
struct azure_account {
    const char *subscription;
    const char *endpoint;    /* URL of Azure Resource Manager; NULL: the public cloud's */
    const char *api_version; /* of Microsoft.ContainerService */
    struct azure_identity whose;
};

extern const struct provider_kind azure_kind;
