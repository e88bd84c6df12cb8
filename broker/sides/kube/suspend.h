/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Suspends gangs as a whole, through their owner, before the first of their pods is evicted.  A
 * gang is resumed when the last node that a transfer takes from it is empty, or is kept.
 *
 * A suspension is a record of its own in the journal, written before the owner is changed.  It may
 * outlive the transfer that began it, because another one may take more nodes of the same gang.
 * Its result is read from the owner: an annotation says which transfer stopped it, and what was set
 * before.  So a lost answer does no harm, two moves stop a gang once, and a gang that a person has
 * stopped stays stopped.
 */
#pragma once

#include "base/error.h"
#include "clusters/snapshot.h"

#include <jansson.h>
#include <stdbool.h>

struct runner;
struct suspensions;
struct transfer;

struct suspensions *suspensions_new(struct runner *runner)
    __attribute__((returns_nonnull, warn_unused_result));
void suspensions_free(struct suspensions *suspensions);
int suspensions_load(struct suspensions *suspensions, struct error *err)
    __attribute__((warn_unused_result));

/* Whether the pod, on a node that the transfer drains, may be evicted now.  If not, its gang is
   being suspended, and *ret_why describes this until the next call.  The search for the owner, the
   request and the owner's delete delay it by 30 s each at most; in a reclaim by 5 s each. */
bool suspend_is_settled(struct suspensions *suspensions, struct transfer *transfer,
                        const struct pod *pod, const char **ret_why);

/* Does the next step of each suspension; true while one has more to do. */
bool suspensions_tick(struct suspensions *suspensions);

/* [{cluster, owner, transfers, is_ending, text}] of the gangs that are stopped, or may be. */
json_t *suspensions_describe(const struct suspensions *suspensions)
    __attribute__((returns_nonnull, warn_unused_result));
