/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When the Node of a new machine may serve.  Pure: from the snapshot it computes all missing
 * conditions, in words and with numbers, so that an operator can act on them.
 */
#pragma once

#include "base/text.h"
#include "broker/config/config.h"
#include "clusters/snapshot.h"

struct readiness {
    const struct config_join *wanted;
    int64_t gpus; /* of one machine */
    const struct snapshot *snapshot;
    const struct node *node;     /* with the machine's provider ID; NULL: none yet */
    const char *machine;         /* its name, which the Node may have too */
    const char *old_uid;         /* of the Node that left */
    struct wall_time not_before; /* a Node older than this is not of this machine */
};

/* Whether the node has another number of GPUs than `gpus`, and this number is uncertain: it has
   accelerators that are not counted, or slices of GPUs, or its cluster does not show its devices.
   Such a node must not be discarded. */
bool readiness_is_other(const struct snapshot *snapshot, const struct node *node, int64_t gpus);

/* Appends the missing conditions, separated by "; "; nothing when the node may serve. */
void readiness_describe(const struct readiness *readiness, struct text *missing);
