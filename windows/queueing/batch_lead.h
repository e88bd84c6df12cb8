/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What runs in the replicas when a segment begins.  The arrivals of the time before it go through
 * the same replicas; those that still run stay, those that wait are dropped: the window before had
 * its own replicas and met its target, so nobody waits.  Where the steps before are unknown, the
 * segment's first step stands for them.
 *
 * That time is as long as the longest request of a full batch takes, at most eight times the
 * mean, or as often what remains of one that runs where that is more.
 */
#pragma once

#include "windows/queueing/arrivals.h"
#include "windows/queueing/batch.h"

uint64_t batch_lead_ticks(const struct service_time *service);

/* Empties the batch and runs the time before the segment, with lengths of the period that the batch
   draws from. */
void batch_lead(struct batch *batch, const struct arrivals *arrivals, size_t segment);
