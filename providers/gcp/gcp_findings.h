/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What answers of Google say about whether a pool can be resized safely.  Pure.
 */
#pragma once

#include "providers/gcp/gcp_pool.h"

#include <jansson.h>

/* Who is told. */
struct gcp_findings {
    const struct gcp_pool *pool;
    finding_fn found;
    void *context;
};

/* One answer each: instanceGroupManagers.get, listManagedInstances, resizeRequests.list,
   nodePools.get, reservations.get, testIamPermissions. */
void gcp_findings_group(const struct gcp_findings *findings, const json_t *body);
void gcp_findings_machines(const struct gcp_findings *findings, const json_t *body);
void gcp_findings_resizes(const struct gcp_findings *findings, const json_t *body);
void gcp_findings_node_pool(const struct gcp_findings *findings, const json_t *body);
void gcp_findings_reservation(const struct gcp_findings *findings, const json_t *body);
void gcp_findings_permissions(const struct gcp_findings *findings, const json_t *body);

/* The name of the reservation that a node pool uses, without its project; NULL: none, or more than
   one.  Borrowed from the body. */
const char *gcp_reservation_of(const json_t *node_pool);

/* Whether an inspection of this pool needs the permission. */
bool gcp_needs_permission(const struct gcp_pool *pool, const char *permission);
