/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Looks: direct reads that decide something irreversible.  A watch may lag, a look may not: it is
 * asked for after the question arose and answered by the server itself.
 */
#pragma once

#include "base/timestamp.h"

#include <stdbool.h>
#include <stdint.h>

struct runner;
struct transfer;
struct transfer_look;

/* Reads the pods bound to the source node; true when a complete answer, asked for at or after
   since_ms (loop time), is no older than a few seconds, with the number of pods that must still
   leave.  Otherwise asks for one. */
bool look_at_pods(struct runner *runner, struct transfer *transfer, int64_t since_ms,
                  int *ret_count);

/* Likewise those bound to a node of the pool that the machine of this attempt came to. */
bool look_at_new_pods(struct runner *runner, struct transfer *transfer, const char *node,
                      int64_t since_ms, int *ret_count);

/* From the answer of look_at_pods(): how many pods would lose work if their machine went now,
   because their grace is not over, and the name of one ("" if none).  Pods that tolerate our taint
   and were made after `since` do not count: they were evicted and came back. */
int look_running_pods(const struct transfer *transfer, struct wall_time since,
                      const char **ret_first);

/* Likewise the volumes that are attached to the source node. */
bool look_at_volumes(struct runner *runner, struct transfer *transfer, int64_t since_ms,
                     int *ret_count);

/* Likewise, but for the volumes of the DaemonSets' pods that look_at_pods() saw there, known by the
   claims of these pods.  One whose claim cannot be read counts. */
bool look_at_left_volumes(struct runner *runner, struct transfer *transfer, int64_t since_ms,
                          int *ret_count);

/* What the server itself says of the source node. */
enum node_look {
    NODE_LOOK_UNKNOWN, /* no answer yet; one is asked for */
    NODE_LOOK_OURS,    /* same UID, still movable, and marked by this transfer */
    NODE_LOOK_MARKED,  /* same UID and marked by this transfer, but not movable any more */
    NODE_LOOK_STATIC,  /* same UID, but not ours */
    NODE_LOOK_GONE,    /* no such node, or another one by that name */
};
enum node_look look_at_node(struct runner *runner, struct transfer *transfer, int64_t since_ms);

/* Whether the node in that answer has both a cordon and our taint.  If not, ret_opener names the
   client that removed one of them, or is "" if the server does not tell. */
bool look_is_closed(const struct transfer *transfer, const char **ret_opener);

/* Whether the server itself has the Node of the new machine, by the machine's name.  Sends a read
   unless there is an answer a few seconds old at most. */
enum presence look_at_new_node(struct runner *runner, struct transfer *transfer);

/* Whether an answer is still to come; look may be NULL. */
bool look_is_under_way(const struct transfer_look *look);

/* Why the lists that were read make no sense, with the cluster's name; NULL: they make sense. */
const char *look_trouble(const struct transfer_look *look);

void look_free(struct transfer_look *look);
