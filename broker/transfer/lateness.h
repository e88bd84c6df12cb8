/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verdict for a step past its deadline, and the deadline of a drain.
 */
#pragma once

#include "broker/transfer/runner.h"

/* STEP_WAIT while the step has time, or when a person must decide (the transfer then says so). */
enum verdict lateness_verdict(struct runner *runner, struct transfer *transfer);

/* When the drain's time is over; it moves on while the drain is paused. */
struct wall_time lateness_drain_due(const struct runner *runner, const struct transfer *transfer);
bool lateness_is_drain_over(const struct runner *runner, const struct transfer *transfer);

/* Each turn of a drain: a freeze, and a cluster of the node that is not heard, pause it, so that
   what runs there gets as much time as was announced.  If the deadline passed while sluice was
   down, a full drain begins again.  A reclaim's is never paused. -1: it is not stored. */
int lateness_follow_drain(struct runner *runner, struct transfer *transfer);
