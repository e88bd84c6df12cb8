/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How Azure writes a machine: in the list of an agent pool, and in the provider ID of its Node.
 * Both hold the resource ID of its virtual machine, in letters of either case.  A machine's name
 * here is the one that follows from this ID, which AKS gives to the Node too: SCALESET and six
 * digits of base 36, or the virtual machine's own name.
 */
#pragma once

#include "providers/azure/azure_pool.h"
#include "providers/common/provider.h"

/* A machine of a pool.  `listed` is what AKS calls it, which its own requests take.  Borrowed. */
int azure_read_machine(const json_t *item, const struct azure_place *place,
                       struct instance *ret_instance, const char **ret_listed, struct error *err)
    __attribute__((warn_unused_result));

/* "azure:///subscriptions/..."; see struct provider_kind. */
bool azure_read_provider_id(const struct pool_address *pool, const char *provider_id,
                            char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim);
