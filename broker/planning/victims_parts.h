/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the choice of victims, shared by victims*.c: the case with weights and lists in
 * both directions, and a set of nodes under construction whose score is always known.
 */
#pragma once

#include "broker/planning/victims.h"

/* One number orders sets: lost work, then priorities by their ranks, which add up, then gangs, then
   broken blocks.  The ranks of very many gangs may weigh more than one GPU-second; prices are not
   that exact.  The unit of work is a power of two of GPU-seconds, so large that the whole case has
   at most 2^35 units: no sum of weights overflows. */
#define VICTIM_GPU_S ((int64_t)1 << 26)
#define VICTIM_PRIORITY ((int64_t)1 << 17)
#define VICTIM_GANG ((int64_t)1 << 10)
#define VICTIM_UNITS ((int64_t)1 << 35)

struct victim_model {
    const struct victim_case *scene;
    int64_t *weight;    /* per gang; 0: it costs nothing */
    size_t *gang_from;  /* per gang, and one more: where its nodes begin in gang_nodes */
    size_t *gang_nodes; /* ascending */
    size_t *block;      /* per node; SIZE_MAX: none */
    size_t *block_size;
    size_t block_count;
    int64_t block_weight;
};

void victim_model_init(struct victim_model *model, const struct victim_case *scene);
void victim_model_clear(struct victim_model *model);

struct victim_pick {
    const struct victim_model *model;
    bool *taken;      /* per node */
    size_t *hits;     /* per gang: its nodes that are taken */
    size_t *in_block; /* per block: nodes taken */
    size_t count;
    int64_t lost;   /* weights of the gangs touched */
    int64_t broken; /* weights of the blocks partly taken */
};

void victim_pick_init(struct victim_pick *pick, const struct victim_model *model);
void victim_pick_clear(struct victim_pick *pick);
void victim_pick_add(struct victim_pick *pick, size_t node);
void victim_pick_remove(struct victim_pick *pick, size_t node);

/* The increase of `lost` and of `broken` by adding the node. */
int64_t victim_pick_marginal(const struct victim_pick *pick, size_t node);
int64_t victim_pick_breaks(const struct victim_pick *pick, size_t node);

static inline int64_t victim_pick_score(const struct victim_pick *pick)
{
    return pick->lost + pick->broken;
}

/* victims_exact.c: the best set that is better than `best`, for few nodes; false when the limit of
   steps was reached before the end of the search. */
bool victims_exact(struct victim_pick *best, size_t wanted);

/* victims_greedy.c: orders the nodes so that prefixes are cheap, and improves a set by dropping
   gangs and by swapping nodes. */
void victims_greedy_order(const struct victim_model *model, size_t *nodes, size_t count);
void victims_improve(struct victim_pick *pick);

/* Adds `count` nodes, the cheapest first, none that has the gang `spared` (SIZE_MAX: any), and
 * examines nodes at most *steps times; false: there were not enough, and some may have been added.
 */
bool victims_fill(struct victim_pick *pick, size_t count, size_t spared, int64_t *steps);

/* victims_split.c: adds `wanted` busy nodes to an empty pick, part by part. */
void victims_split(struct victim_pick *pick, size_t wanted);
