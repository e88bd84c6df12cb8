/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plan that follows the day adds for requests that wait already
 * (windows/queueing/backlog.h), at each look at a window.  A deployed service is told how many wait
 * (`sluice allocate --follow 1h --waiting QUEUE=NUMBER`); here it follows from the arrivals that
 * are known then, and from the servers that the queues have.
 */
#pragma once

#include "windows/backtest/run.h"

/* Adds to `servers` of each queue, in their order, as much as the fleet has left. */
void catch_up(const struct run_frame *frame, enum outlook_kind kind, int fleet_gpus, int **servers);
