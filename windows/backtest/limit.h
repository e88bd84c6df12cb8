/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A lower bound on the node-hours of production for every policy that meets every target in the
 * judged weeks, oracles included; bound.h proves it for one queue.
 *
 * A queue that is alone pays for moves of whole nodes, too: of whole groups, where its replicas are
 * larger than a node.  If several queues share the nodes, one may use nodes that another gives up,
 * and they fill nodes together.  Then each queue is bounded in servers and without moves, and the
 * sum holds.
 */
#pragma once

#include "windows/backtest/measure.h"

/* The limit of a queue that is alone; slots before `first` are not paid for. */
int limit_alone(const struct field *field, const struct fleet *fleet, size_t first,
                double *ret_hours, struct error *err) __attribute__((warn_unused_result));

/* The part of one of several queues in the limit. */
int limit_shared(const struct field *field, const struct fleet *fleet, size_t first,
                 double *ret_hours, struct error *err) __attribute__((warn_unused_result));
