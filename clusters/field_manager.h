/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who set a field last, by the object's metadata.managedFields (server-side apply's book-keeping,
 * kept for every write).
 */
#pragma once

#include <jansson.h>

/* The name under which sluice writes. */
#define FIELD_MANAGER "sluice"

/* The manager, other than sluice, that set the field last; field: "f:spec/f:replicas".  The caller
   frees it; NULL: unknown. */
char *field_manager_of(const json_t *object, const char *field) __attribute__((warn_unused_result));
