/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ratio of a replay's servers to a forecast's.  The forecast uses a closed form
 * (windows/queueing/transient.h), which may be some per cent off if minutes burst; it only needs
 * the same measure for all days.  Servers that are shown to people are multiplied by this ratio.
 */
#pragma once

#include "windows/forecast/forecast.h"
#include "windows/servers/service_time.h"

/* A queue and its forecast. */
struct confirm_queue {
    const struct forecast_setup *setup;
    const struct service_time *service;
    const struct forecast *forecast;
};

/* The servers of an exact search, with a fraction, over those of the closed form: of the two latest
   occurrences of the window that are known, together, under one seed.  The fraction is that of the
   target that asks for most.  0: none is known. */
int confirm_ratio(const struct confirm_queue *queue, size_t window, double *ret_ratio,
                  struct error *err) __attribute__((warn_unused_result));
