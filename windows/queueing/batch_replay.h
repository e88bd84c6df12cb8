/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of replay.h if a server is a replica of an engine.  Targets may also be on the time
 * until the first token and on the time per token; a number passes when both classes meet all
 * targets.  Segments are independent, so a verdict begins with those of the highest load.
 */
#pragma once

#include "windows/queueing/arrivals.h"
#include "windows/queueing/batch.h"
#include "windows/queueing/replay.h"

/* As replay_passes(), without the hours that are left out. */
bool batch_replay_passes(struct arrivals *arrivals, const struct replay_try *tried,
                         double *ret_used);

/* As replay_count(): counts waits, and is false as well when the segment alone misses another
   target. */
bool batch_replay_count(struct arrivals *arrivals, const struct replay_try *tried, size_t segment,
                        int64_t violations[DEMAND_CLASSES]);

/* The waits of replay_report(), without the rest. */
int batch_replay_waits(struct arrivals *arrivals, int servers, const struct replay_target *target,
                       struct replay_waits *ret_waits, struct error *err)
    __attribute__((warn_unused_result));

/* What counts as late, in the units of the figures. */
void batch_replay_limits(const struct replay_target *target, uint64_t limits[REPLAY_FIGURES]);

/* The highest load: requests served at once, each alone in its replica, if none had to wait. */
double batch_replay_peak(const struct arrivals *arrivals);

/* Replicas that can just serve the load that this share of the requests does not exceed: a lower
   start for the search. */
int batch_replay_guess(const struct arrivals *arrivals, double percentile);

/* As replay_report(). */
int batch_replay_report(struct arrivals *arrivals, int servers, const struct replay_target *target,
                        struct replay_result *ret_result, struct error *err)
    __attribute__((warn_unused_result));
