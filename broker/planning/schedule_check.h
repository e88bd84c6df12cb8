/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a schedule fits the configuration: everything it names exists, no production pool is
 * below its static nodes or over its bounds, and no reservation is asked for more than it has.
 * `sluice validate` and the service ask the same question here.
 */
#pragma once

#include "broker/config/config.h"
#include "windows/allocation/schedule.h"

/* ERROR_INVALID with "SOURCE: key: sentence". */
int schedule_check(const struct config *config, const struct schedule *schedule, const char *source,
                   struct error *err) __attribute__((warn_unused_result));
