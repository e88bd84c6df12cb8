/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An instance of EC2: its names, and what DescribeInstances says of it.  Pure.
 */
#pragma once

#include "base/input/xml.h"
#include "providers/common/provider.h"

/* Whether it is the ID of an instance: "i-" and hexadecimal digits. */
bool aws_machine_is_id(const char *id);

/* Sets name, ID, zone and provider ID ("aws:///ZONE/ID", as the cloud controller writes it). */
int aws_machine_name(const char *id, const char *zone, struct instance *instance, struct error *err)
    __attribute__((warn_unused_result));

/* The instance with that ID in an answer to DescribeInstances.  1: it is there; 0: it is not, or is
   terminated; -1: the answer makes no sense. */
int aws_machine_read(const struct xml_element *answer, const char *id,
                     struct instance *ret_instance, struct error *err)
    __attribute__((warn_unused_result));

/* As read_provider_id() of a kind: the zone must be that of the pool's reservation.  IDs do not say
   which group they are of. */
bool aws_machine_read_provider_id(const char *zone, const char *provider_id,
                                  char ret_name[INSTANCE_NAME_SIZE]);
