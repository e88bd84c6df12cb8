/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pool's machines, as its cloud lists them, against the Nodes of its cluster.  Pure.
 */
#pragma once

#include "base/finding.h"
#include "base/map.h"
#include "broker/config/config.h"
#include "clusters/snapshot.h"

struct pool_match {
    const struct config *config;
    const struct config_pool *pool;
    const struct map *instances; /* name -> struct instance: the whole list */
    const struct snapshot *snapshot;
    finding_fn found;
    void *context;
};

/* Calls `found` for each thing that is right or wrong. */
void pool_match_find(const struct pool_match *match);
