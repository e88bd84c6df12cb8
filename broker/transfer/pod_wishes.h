/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What pods say, by annotations, of the time at which their node may leave.
 */
#pragma once

#include "clusters/snapshot.h"

/* A pod with this annotation "true" needs no more time. */
#define SLUICE_NOTE_READY "sluice.dev/ready-to-leave"

/* A pod with this annotation asks for its node until then (RFC 3339). */
#define SLUICE_NOTE_EXTENSION "sluice.dev/extension-until"

bool wishes_to_leave(const struct pod *pod);

/* Whether all pods that must leave the node need no more time; *ret_count: how many of them
   say so; if the answer is false, only those before the first that does not. */
bool wishes_all_to_leave(const struct snapshot *snapshot, const char *node, int *ret_count);

/* The latest time until which a pod asks for the node, and that pod; 0: no pod asks in a readable
   form. */
struct wall_time wishes_to_stay(const struct snapshot *snapshot, const char *node,
                                const struct pod **ret_pod);

/* Whether the pod's own spec tolerates a node that we cordoned. */
bool wishes_to_come(const json_t *pod);
