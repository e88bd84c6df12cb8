/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The running requests when a segment begins.  The arrivals of the time before are replayed on the
 * same replicas; running requests stay, waiting ones are dropped, because the window before had its
 * own replicas and met its target.  If the steps before are unknown, the segment's first step is
 * used in their place.
 *
 * That time is the longest time of a request in a full batch, at most eight times the mean, or
 * eight times the mean remaining time of a running request if that is more.
 */
#pragma once

#include "windows/queueing/arrivals.h"
#include "windows/queueing/batch.h"

uint64_t batch_lead_ticks(const struct service_time *service);

/* Empties the batch and runs the time before the segment, with lengths of the period that the batch
   draws from. */
void batch_lead(struct batch *batch, const struct arrivals *arrivals, size_t segment);
