/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The promise of the notice: after a research node was seen with its departure time, the configured
 * notice passes before the first of its pods is asked to leave.  A node whose pods are all ready
 * may leave sooner; a reclaim gives no notice.
 *
 * The steps keep the promise.  It is counted here at each first eviction, whatever step sent it:
 * evictions that came too soon, which must stay 0, and those of reclaims.
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"
#include "broker/config/config.h"

#include <stdbool.h>
#include <stdint.h>

struct effect;
struct journal_batch;
struct node;
struct pod;
struct runner;
struct transfer;

/* How far ahead of its departure a scheduled transfer from a cluster of that role begins. */
int64_t notice_ahead_ms(const struct config *config, enum cluster_role role);

int notice_load(struct runner *runner, struct error *err) __attribute__((warn_unused_result));

/* The announcement is on the node: notes since when, and moves the departure when that leaves less
   than the notice.  -1 when the journal failed. */
int notice_begin(struct runner *runner, struct transfer *transfer)
    __attribute__((warn_unused_result));

/* When the node's pods may be asked to leave. */
struct wall_time notice_end(const struct runner *runner, const struct transfer *transfer);

/* Whether no pod that must leave the transfer's node wants the rest of its notice; *ret_count is
   how many there are. */
bool notice_is_waived(const struct runner *runner, const struct transfer *transfer, int *ret_count);

/* The latest departure that still brings the whole move in time, 95 times in 100: when its GPUs are
   due, less the time that so many nodes take.  A day from now where nothing is due. */
struct wall_time notice_latest(const struct runner *runner, const struct transfer *transfer);

/* A later departure: as asked, or as late as the margin allows.  The node shows it, and the other
   nodes of the move follow.  ERROR_DENIED when nothing can be granted, ERROR_INVALID when it leaves
   later anyway. */
int notice_extend(struct runner *runner, struct transfer *transfer, struct wall_time asked,
                  const char *who, struct error *err) __attribute__((warn_unused_result));

/* Grants the time that the node's pods ask for, and follows the latest departure of the move: all
   nodes of a move stay until the last of them may leave. -1 when the journal failed. */
int notice_follow(struct runner *runner, struct transfer *transfer)
    __attribute__((warn_unused_result));

/* Counts the first eviction of a pod in a reclaim, or before its notice has passed.  Adds the count
   to the batch of its intent.  False: neither, nothing is added.  When the batch is committed the
   caller raises `rev`. */
bool notice_count(struct runner *runner, const struct effect *effect, const struct pod *pod,
                  struct journal_batch *batch);
