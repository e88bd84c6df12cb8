/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The nodes that replicas and quotas may count on, and what production lacks.
 */
#pragma once

#include "broker/service/service_parts.h"

/* Whether replicas and quotas may count on the node: Ready, not cordoned, handed over, and not in a
   transfer. */
bool supply_counts(const struct service *service, const struct config_cluster *cluster,
                   const struct node *node);

/* The units of a resource (NULL: whole GPUs) of those nodes of the pool that count and that
   is_wanted() accepts, as far as the pool's list is known. */
typedef bool (*supply_filter_fn)(const void *context, const struct node *node);
int64_t supply_units(const struct service *service, const struct config_pool *pool,
                     const char *resource, supply_filter_fn is_wanted, const void *context);

/* The same nodes, as far as they have all GPUs of their machine. */
int64_t supply_nodes(const struct service *service, const struct config_pool *pool,
                     supply_filter_fn is_wanted, const void *context);

/* Whether pods could use it without a cordon: Ready, handed over, all GPUs of the machine there. */
bool supply_serves(const struct service *service, const struct config_pool *pool,
                   const struct node *node);

/* Adds conditions for production that lacks nodes.  Call it after progress_look(). */
void supply_look(const struct service *service, const struct survey *survey, struct health *health);
