/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cheapest way to follow a known need with whole nodes, when every move costs: exactly the
 * least of
 *
 *     sum cost_t(n_t) + up_h sum (n_t - n_{t-1})+ + down_h sum (n_{t-1} - n_t)+
 *
 * in node-hours over all integers n_t from 0 to nodes_max.  Between moves nothing is lost, and
 * the first number of nodes is there already: a move is what differs between two slots.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct moves_cost {
    int nodes_max;
    double slot_h;
    double up_h;         /* lost by each node that comes: its lead time */
    double down_h;       /* lost by each node that goes: its lead time and the work it evicts */
    const int *levels;   /* NULL: each number stands for itself */
    const bool *counted; /* for a bound: the slots in which nodes cost anything; NULL: all */
};

/* The least cost, if n nodes in slot t cost stages[t * (nodes_max + 1) + n].  An infinite cost
   forbids n; the answer is infinite if no path is left.  The costs of moves may be negative.
   ret_nodes (may be NULL): one number per slot; untouched if the answer is infinite.  With levels
   (rising, the first one 0) number n means levels[n - 1] + 1 to levels[n] nodes, and a move has the
   least cost of any of them: a lower bound on the paths of all nodes. */
double moves_staged(const double *stages, size_t slots, const struct moves_cost *cost,
                    int *ret_nodes);
