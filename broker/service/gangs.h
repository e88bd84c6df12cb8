/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The gangs of one cluster and the nodes they are on, from its snapshot: what the choice of nodes
 * weighs.  Borrows from the snapshot; valid until the next turn of the loop.
 */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "broker/planning/victims.h"
#include "broker/service/losses.h"
#include "clusters/snapshot.h"

/* All clusters' gangs: nodes name them by index. */
struct gang_book {
    ARRAY(struct victim_gang) gangs;
};

struct node_work {
    ARRAY(size_t) gangs;
    bool is_protected;
};

struct gang_survey {
    const struct config *config;
    const struct config_cluster *cluster;
    const struct snapshot *snapshot;
    const struct losses *losses;
    struct wall_time now;
};

/* Adds the cluster's gangs to the book; node name -> struct node_work. */
struct map *gangs_survey(const struct gang_survey *survey, struct gang_book *book)
    __attribute__((returns_nonnull, warn_unused_result));

/* The node's topology block; NULL: none of the configured labels is on it. */
const char *gangs_block(const struct config *config, const struct node *node);
