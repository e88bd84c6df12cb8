/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How Oracle's cloud writes a node pool and its machines.  A node without an ID was asked for, and
 * there is no machine for it.
 */
#pragma once

#include "base/array.h"
#include "providers/common/provider.h"
#include "providers/oci/oci_pool.h"

#include <jansson.h>

struct oci_node_list {
    ARRAY(struct instance) machines; /* those that exist */
    int64_t wanted;                  /* nodes that the pool is kept at */
    int64_t present;                 /* of the machines, those that are not leaving */
    int64_t failed;                  /* nodes without a machine that have an error */
    struct error trouble;            /* of nodes without a machine: why; ERROR_NONE: not known */
};

/* The answer to GetNodePool of that OCID.  -1 and ERROR_CORRUPT; then the list is empty. */
int oci_read_pool(const json_t *body, const char *node_pool, struct oci_node_list *ret_list,
                  struct error *err) __attribute__((warn_unused_result));
void oci_node_list_clear(struct oci_node_list *list);

/* The OCID of an instance, with "oci://" before it or without; see struct provider_kind.  It does
   not say of which pool it is. */
bool oci_read_provider_id(const struct pool_address *pool, const char *provider_id,
                          char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim);

static inline void owned_oci_node_list(struct oci_node_list *list)
{
    oci_node_list_clear(list);
}
