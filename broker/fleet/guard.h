/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The guard: what is never done, for any caller.  It stands in front of each new transfer and again
 * in front of each effect, below the API, and knows no plan: it sees only one wish and the facts.
 *
 * A freeze stops voluntary work on a cluster (or on all) until a time; an emergency passes, and so
 * does a transfer beyond its point of no return, because stopping there has no use.  A freeze of
 * one node is stronger: as with a node that a person cordoned, no move takes it, reclaims included.
 */
#pragma once

#include "base/array.h"
#include "broker/fleet/fleet.h"

#include <stdbool.h>

struct freeze {
    char *cluster;  /* "" for all */
    char *node;     /* its name: only this node of the cluster; "" for the cluster */
    char *transfer; /* an abort's: what the node was taken out of; "" for others */
    char *move;
    char *reason;
    char *by;               /* who asked */
    struct wall_time until; /* ends by itself */
    uint64_t rev;
};

struct guard {
    const struct config *config;
    struct fleet *fleet;
    ARRAY(struct freeze) freezes;
};

/* How many transfers are under way, for the caps. */
struct guard_load {
    int64_t in_flight;            /* live transfers in all */
    int64_t in_flight_of_cluster; /* of those that leave the source's cluster */
    int64_t nodes_left; /* that the source pool keeps when all live transfers are through */
};

/* A transfer that is wanted.  Borrowed. */
struct guard_question {
    const struct config_pool *source;
    const struct config_pool *target;
    const struct node *node;
    struct guard_load load;
    struct wall_time ends; /* of the capacity that moves (fleet_ends()) */
    int64_t pays_off_ms;   /* the move, and the least time that the node must serve after it */
    bool is_emergency;     /* freezes and caps do not stop it */
};

/* Only the number of transfers under way is in the way: it may begin when others have ended. */
extern const struct error_cause guard_is_full;

/* Whether the transfer may begin now.  -1 with ERROR_DENIED and the reason. */
int guard_allows_transfer(const struct guard *guard, const struct guard_question *question,
                          struct error *err) __attribute__((warn_unused_result));

/* Whether capacity that ends then (0: never, or not known) lasts until a move that begins now has
   paid off.  whose: "node n".  -1 with ERROR_DENIED and both times. */
int guard_allows_end(const struct guard *guard, const char *whose, struct wall_time ends,
                     int64_t pays_off_ms, struct error *err) __attribute__((warn_unused_result));

/* Whether a voluntary effect on this cluster may be sent now. */
int guard_allows_effect(const struct guard *guard, const struct config_cluster *cluster,
                        bool is_emergency, struct error *err) __attribute__((warn_unused_result));

/* The freeze that holds for this cluster now, or NULL: its own, that of the Slurm cluster whose
   nodes are its pods, or one of all clusters.  Freezes of single nodes do not count. */
const struct freeze *guard_freeze(const struct guard *guard, const struct config_cluster *cluster,
                                  struct wall_time now);

/* The freeze of this one node that holds now, or NULL. */
const struct freeze *guard_freeze_of_node(const struct guard *guard, const char *cluster,
                                          const char *node, struct wall_time now);

void guard_clear(struct guard *guard);
void freeze_clear(struct freeze *freeze);
