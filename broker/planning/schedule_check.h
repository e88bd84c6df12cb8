/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a schedule fits the configuration: everything it names exists, no production pool is
 * below its static nodes or over its bounds, and no reservation is asked for more than it has.
 * `sluice validate` and the service ask the same question here.
 *
 * A reservation that ends before the time that the schedule is for is over gives no nodes, static
 * ones neither: `allocate` plans none there, by the same rule (window_used_until(),
 * config_reservation_lasts()).
 */
#pragma once

#include "broker/config/config.h"
#include "windows/allocation/schedule.h"

/* What a schedule is to be used for.  Borrowed. */
struct schedule_use {
    const char *window;    /* that it is about to come into force for; NULL: it is in force */
    struct wall_time from; /* now */
};

/* use NULL: not known; no end of a reservation is too soon then.  ERROR_INVALID with "SOURCE:LINE:
   key: sentence", or without the line if the fault is of several. */
int schedule_check(const struct config *config, const struct schedule *schedule, const char *source,
                   const struct schedule_use *use, struct error *err)
    __attribute__((warn_unused_result));
