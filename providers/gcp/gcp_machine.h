/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How Compute Engine writes a machine: as a member of a managed group, as an instance, and in the
 * provider ID of its Node.  And how it is named.
 */
#pragma once

#include "providers/common/provider.h"
#include "providers/gcp/gcp_pool.h"

#include <jansson.h>

/* Reads one of "managedInstances" into a zeroed instance; machines of a limited run time have an
   end, such as those of flex-start.  After -1 (ERROR_CORRUPT), ret_instance must not be used. */
int gcp_read_member(const json_t *item, struct instance *ret_instance, struct error *err)
    __attribute__((warn_unused_result));

/* Reads the answer to instances.get.  After -1 (ERROR_CORRUPT), ret_instance must not be used. */
int gcp_read_machine(const json_t *body, struct instance *ret_instance, struct error *err)
    __attribute__((warn_unused_result));

/* The managed instance group that made the instance, from the answer to instances.get: its metadata
   `created-by` is "projects/NUMBER/zones/ZONE/instanceGroupManagers/GROUP".  "": another made it.
   Borrowed from the answer.  -1: ERROR_CORRUPT. */
int gcp_read_group(const json_t *body, const char **ret_group, struct error *err)
    __attribute__((warn_unused_result));

/* The machine that createInstances makes under the key: GROUP-KEY, GROUP cut at 50 characters. */
void gcp_name_machine(const struct pool_address *pool, const char *request_key,
                      char out[INSTANCE_NAME_SIZE]);

/* "gce://PROJECT/ZONE/NAME"; see struct provider_kind. */
bool gcp_read_provider_id(const struct pool_address *pool, const char *provider_id,
                          char ret_name[INSTANCE_NAME_SIZE], size_t *ret_claim);

/* The parts of "gce://PROJECT/ZONE/NAME"; false: it is no such ID. */
bool gcp_split_provider_id(const char *provider_id, char ret_project[INSTANCE_NAME_SIZE],
                           char ret_zone[INSTANCE_ZONE_SIZE], char ret_name[INSTANCE_NAME_SIZE]);
