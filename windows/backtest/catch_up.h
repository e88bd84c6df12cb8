/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plan that follows the day adds for requests that wait already
 * (windows/queueing/backlog.h), as `sluice allocate --follow 1h --waiting QUEUE=NUMBER` does: for
 * each look at a window, what waits then.
 */
#pragma once

#include "windows/backtest/field.h"

/* Adds to `servers`, one a slot of the course: the numbers of a plan by this outlook. */
void catch_up(const struct field *field, const struct outlook *outlook, int *servers);
