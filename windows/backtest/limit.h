/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What nobody can undercut who meets every target in the weeks judged, oracles included: node-hours
 * of production, as bound.h proves them of one queue.
 *
 * A queue that is alone pays for moves of whole nodes, too: of whole groups, where its replicas are
 * larger than a node.  Where several share the nodes, what
 * one gives up another may take, and they fill nodes together: then each is bounded in servers and
 * without moves, and the sum holds.
 */
#pragma once

#include "windows/backtest/measure.h"

/* Of a queue that is alone; slots before `first` are not paid for. */
int limit_alone(const struct field *field, const struct fleet *fleet, size_t first,
                double *ret_hours, struct error *err) __attribute__((warn_unused_result));

/* The part of one of several queues. */
int limit_shared(const struct field *field, const struct fleet *fleet, size_t first,
                 double *ret_hours, struct error *err) __attribute__((warn_unused_result));
