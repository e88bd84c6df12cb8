/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice forecast --in-force: the forecast for which the schedules in force were planned, as the
 * service keeps it.
 */
#pragma once

#include "base/input/options.h"

/* Asks the service, and shows the answer; only the queue of the command's argument, if it has one.
   Returns the exit code. */
int forecast_in_force(const struct command_call *call);
