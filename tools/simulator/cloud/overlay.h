/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What world.yaml changes in the answers of a pool's cloud, under the name of its kind:
 *
 *     pools:
 *       lab-east: { nodes: 2, gcp: { node_pool: '{"autoscaling":{"enabled":true}}'} }
 */
#pragma once

#include "tools/simulator/model/cloud.h"

/* The text under pools.NAME.KIND.KEY; NULL: none. */
const char *sim_said(const struct simulator *sim, const struct pool *pool, const char *key);

/* Lays the JSON under that key over a resource: objects member by member. */
void sim_overlay(const struct simulator *sim, const struct pool *pool, const char *key,
                 json_t *resource);

/* Whether the pool's provider may not use the action: `denied` of world.yaml takes it, or `granted`
   names this provider without it. */
bool sim_denies(const struct simulator *sim, const struct pool *pool, const char *action);
