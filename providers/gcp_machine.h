/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How Compute Engine writes a machine: as a member of a managed group, and as an instance.
 */
#pragma once

#include "providers/provider.h"

#include <jansson.h>

/* One of "managedInstances".  -1 and ERROR_CORRUPT; then ret_instance is not to be used. */
int gcp_read_member(const json_t *item, struct instance *ret_instance, struct error *err)
    __attribute__((warn_unused_result));

/* The answer to instances.get; likewise. */
int gcp_read_machine(const json_t *body, struct instance *ret_instance, struct error *err)
    __attribute__((warn_unused_result));
