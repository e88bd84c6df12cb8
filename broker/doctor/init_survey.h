/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What clusters know of their GPU nodes, for a first configuration: machine types, zones, clouds
 * and node groups.  It only reads.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>

/* clusters: [{cluster, role, kubeconfig, context}].  Returns [{cluster, machine, region, zone,
   cloud (gcp, aws, azure, oci, capi), node_pool, group, node (one of them), provider_id (of that
   node), project, subscription, resource_group, namespace, owner_kind, gpus_per_node, nodes,
   movable_nodes}], one for each group of alike nodes.  `node_pool` is what the node shows of its
   group; `group` is that if the cloud calls the group so, too, or else null.  `namespace` and
   `owner_kind` are of the Machine of Cluster API.  "": unknown.
   NULL: a cluster did not answer in time. */
json_t *init_survey(const json_t *clusters, int64_t timeout_ms, struct error *err)
    __attribute__((warn_unused_result));
