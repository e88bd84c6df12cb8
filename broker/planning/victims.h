/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which nodes to take, so that the least work is lost.  What is lost is whole gangs: the first node
 * of a gang costs the work of all its GPUs since its last checkpoint, on whatever nodes they are,
 * and the gang's other nodes cost nothing more.
 *
 * Idle nodes go first and nodes with protected pods last.  Among the other nodes the set with the
 * lowest total price of its gangs is sought; among equals the one whose gangs have lower
 * priorities, then the one that ends fewer gangs, and then the one that leaves fewer topology
 * blocks partly taken.  Up to VICTIMS_EXACT nodes the answer is the optimum; beyond, parts of the
 * fleet that share no gang are solved one by one, joined by dynamic programming, and the result is
 * improved within a fixed number of steps.  Pure, no clock and no chance: the same case gives the
 * same set.
 */
#pragma once

#include "base/timestamp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VICTIMS_EXACT = 24 };

/* The most that a gang may lose or cost: 550,000 GPU-years. */
#define VICTIM_GPU_S_MOST ((int64_t)1 << 44)

struct victim_gang {
    const char *kind; /* "JobSet"; for the bill */
    const char *name;
    const char *team;
    int64_t gpus;        /* on all nodes */
    int64_t lost_gpu_s;  /* work since its last checkpoint, of all its GPUs; at most
                            VICTIM_GPU_S_MOST, as the price */
    int64_t priority;    /* of its pods, the highest: among equal losses the lower goes first */
    int64_t price_gpu_s; /* lost_gpu_s times the team's fairness factor: the objective that is
                            minimised */
    bool is_sunk;        /* it is lost already: its nodes cost nothing more */
};

/* Those of a higher rank are taken only when all of lower ones are not enough. */
enum victim_rank {
    VICTIM_OPEN,
    VICTIM_RESERVED,  /* a person has reserved it, now or soon */
    VICTIM_PROTECTED, /* something runs there that asks not to be disturbed */
    VICTIM_RANKS,
};

struct victim_node {
    const char *name;
    const size_t *gangs; /* that have a pod here, as indexes, each once, ascending */
    size_t gang_count;
    const char *block; /* topology block; NULL: in none */
    struct wall_time created;
    enum victim_rank rank;
};

struct victim_case {
    const struct victim_node *nodes;
    size_t node_count;
    const struct victim_gang *gangs;
    size_t gang_count;
    int64_t block_gpu_s; /* lost work that is worth keeping a block whole; 0: blocks break ties */
};

/* `wanted` nodes, at most all, as indexes in the order in which they should go: the first few end
   few gangs.  The caller frees them. ret_exact may be NULL. */
size_t *victims_choose(const struct victim_case *scene, size_t wanted, bool *ret_exact)
    __attribute__((returns_nonnull, warn_unused_result));

/* Simple rules to compare with. */
enum victim_rival {
    RIVAL_RANDOM,
    RIVAL_OLDEST,      /* the nodes that were created first */
    RIVAL_NODE_GREEDY, /* the nodes that alone cost least */
    RIVAL_COUNT,
};
size_t *victims_rival(const struct victim_case *scene, size_t wanted, enum victim_rival rival,
                      uint64_t seed) __attribute__((returns_nonnull, warn_unused_result));

/* What a set of nodes loses. */
struct victim_bill {
    size_t *gangs; /* that it ends, dearest first; not those that were lost already */
    size_t gang_count;
    size_t idle_nodes; /* of the set, on which nothing is lost */
    size_t blocks_broken;
    int64_t lost_gpu_s;
    int64_t price_gpu_s;
};
void victims_bill(const struct victim_case *scene, const size_t *nodes, size_t count,
                  struct victim_bill *ret_bill);
void victim_bill_clear(struct victim_bill *bill);

/* The lost GPU-seconds of the best set that spares the dearest gang of this bill; -1: without that
   gang's nodes there are not enough. */
int64_t victims_next_best(const struct victim_case *scene, size_t wanted,
                          const struct victim_bill *bill) __attribute__((warn_unused_result));
