/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice wait --for: asks the service again and again, until what is waited for has come.
 */
#pragma once

#include "base/input/options.h"

/* --for settled (no transfer under way, each cluster has the nodes that it wants), CLUSTER=NODES
   (at least so many that do not leave), or the ID of a transfer or move (ended); --timeout (default
   45m).  Returns EXIT_DONE, EXIT_PARTIAL (not within that time), EXIT_DIFFERENT (ended, but not all
   of it done), or an error's code. */
int wait_for(const struct command_call *call);
