/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What will delay a node's pods, and for how long; known before the first eviction.  Pure: it
 * compares the snapshot with the available time, and adds the answers to eviction dry runs where
 * they cannot be computed.
 *
 * "slow": the delay ends by itself, before or after the deadline.  "never": no eviction can
 * succeed, and the pod is deleted at its own deadline.  "note": no problem for the drain, but worth
 * knowing: for example, work that is lost.
 */
#pragma once

#include "base/timestamp.h"
#include "clusters/cluster.h"

#include <jansson.h>

/* Nodes that leave one cluster together: their pods share the budgets' allowance. */
struct leaving;
struct leaving *leaving_new(const struct snapshot *snapshot, int64_t deadline_ms,
                            struct wall_time now)
    __attribute__((returns_nonnull, warn_unused_result)); /* deadline_ms: of the drain */
void leaving_free(struct leaving *leaving);
/* Slurm is asked to drain its nodes that are pods: then they are no blockers. */
void leaving_drains_slurm(struct leaving *leaving);
void leaving_add(struct leaving *leaving, const char *node_name);

/* An array of {pod, class, owner, kind, verdict, text, expected_s, advice, server}, the worst
   first, then by name. expected_s: the longest time from the cordon on, null if unknown; server:
   the answer to a dry run, null before. */
json_t *blockers_of_node(const struct leaving *leaving, const char *node_name)
    __attribute__((returns_nonnull, warn_unused_result));

/* The same for a node that leaves alone. */
json_t *blockers_of_lone_node(const struct snapshot *snapshot, const char *node_name,
                              int64_t deadline_ms, struct wall_time now)
    __attribute__((returns_nonnull, warn_unused_result));

/* True when the snapshot cannot predict the answer to an eviction of the pod: several budgets
   select it, the budgets or the numbers of its budget are not known, or it is unready and has a
   budget. */
bool blockers_are_unsure(const struct leaving *leaving, const struct pod *pod);

/* Adds the answer to a dry run (NULL: the eviction would succeed): it counts more than the computed
   blockers. */
void blockers_hear(json_t *blockers, const struct pod *pod, int64_t deadline_ms,
                   const struct error *err);

static inline void owned_leaving(struct leaving **leaving)
{
    leaving_free(*leaving);
}
