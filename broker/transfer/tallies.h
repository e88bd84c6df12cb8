/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What has happened since the service started, as counters for metrics: transfers that ended, how
 * long their steps took, pods and jobs that were asked to leave, and with how much notice.
 */
#pragma once

#include "broker/transfer/transfer.h"
#include "clusters/snapshot.h"

struct tallies;

struct tallies *tallies_new(void) __attribute__((returns_nonnull, warn_unused_result));
void tallies_free(struct tallies *tallies);

/* A transfer is under way: its counters exist from now on, so that the first one shows. */
void tallies_begin(struct tallies *tallies, const struct transfer *transfer);

/* The transfer has left this step after a time, not on its way back. */
void tallies_step(struct tallies *tallies, const struct transfer *transfer, int step, int64_t ms);

/* The transfer has ended, in its state. */
void tallies_end(struct tallies *tallies, const struct transfer *transfer);

/* The pod was asked to leave for the first time, so long after its node showed the departure.  A
   job of many pods counts once in a move; notice counts for research, because production is
   promised none. */
void tallies_evict(struct tallies *tallies, const struct transfer *transfer, const struct pod *pod,
                   int64_t notice_ms);

/* {moves: [{from, to, result, count}], steps: [{provider, machine, step, count, sum, buckets}],
   evictions: [{cluster, reason, count}], notices: [{reason, count, sum, buckets}]}; times in
   seconds; counters_describe(). */
json_t *tallies_describe(const struct tallies *tallies)
    __attribute__((returns_nonnull, warn_unused_result));
