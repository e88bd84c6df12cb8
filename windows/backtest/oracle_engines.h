/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The oracle of a queue whose servers are replicas of engines.  A request slows all requests that
 * run beside it.  So servers are not taken away one by one, as the oracle for servers does
 * (oracle.h).  Instead each occurrence has one margin over the load of its slots, the smallest with
 * which it meets its targets.
 */
#pragma once

#include "windows/backtest/field.h"

/* servers: a plan that meets all targets, or nearly all; it is lowered as long as they are met. */
void oracle_engines(const struct field *field, struct arrivals *arrivals, int *servers);
