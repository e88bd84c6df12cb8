/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where replicas stand: a queue's replicas over the shares of its workloads, their GPUs packed into
 * nodes, the nodes in pools.  Replicas are first split by weight; one more goes to the share that
 * is furthest below its part by weight, or, if there is no room, to the next such share of its
 * queue.  What a lost node or a lost zone takes of a queue is read from the same table.
 *
 * The layout borrows the model.  For allocate_window.c.
 */
#pragma once

#include "windows/allocation/allocate.h"

struct layout_slot { /* one share of one workload */
    size_t workload;
    const struct allocate_share *share;
    int replicas;
};

struct layout {
    const struct allocate_model *model;
    ARRAY(struct layout_slot) slots; /* in the order of workloads */
    struct allocate_need *needs;     /* per cluster */
    int *nodes;                      /* per pool */
    int *trial;                      /* the same, of a placement that may fail */
};

void layout_init(struct layout *layout, const struct allocate_model *model);
void layout_clear(struct layout *layout);

/* Splits a queue's replicas by weight.  Nothing is placed yet. */
void layout_split(struct layout *layout, size_t queue, int replicas);

/* Nodes for all that is split; returns how many found no room. */
int layout_place(struct layout *layout);

/* One replica more, after layout_place(); false, and nothing changed, where none has room. */
bool layout_add(struct layout *layout, size_t queue);

int layout_replicas(const struct layout *layout, size_t queue);

/* How many of a queue's replicas are lost with the worst node: as many as fit on one, or the one
   that is larger than a node. */
int layout_lost_with_node(const struct layout *layout, size_t queue);

/* How many are lost with the worst zone, if a cluster's replicas are spread over its zones as its
   nodes are. */
int layout_lost_with_zone(const struct layout *layout, size_t queue);

/* Whether all nodes of all clusters that serve the queue are in one zone. */
bool layout_is_in_one_zone(const struct layout *layout, size_t queue);
