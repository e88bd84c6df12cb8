/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a forecast fits the configuration, and what it says of a window: the need of all queues
 * together.  A window of which one queue is not foretold has no need in all: a sum without that
 * queue would read as if it needed nothing.
 */
#pragma once

#include "broker/config/config.h"
#include "windows/forecast/forecast_file.h"

/* Each window and queue that it names exists.  ERROR_INVALID with "SOURCE: sentence". */
int forecast_check(const struct config *config, const struct forecast_file *file,
                   const char *source, struct error *err) __attribute__((warn_unused_result));

/* GPUs of all replicas that the window needs. */
struct forecast_need {
    double lower; /* on most days it needs more */
    double point;
    double bound; /* on most days it needs less */
};

/* -1 with the reason: there is no forecast, a queue lacks one, or the plan was to be made again
   before `now`. */
int forecast_need(const struct config *config, const struct forecast_file_window *window,
                  struct wall_time now, struct forecast_need *ret_need, struct error *err)
    __attribute__((warn_unused_result));

/* GPUs of a node of production; 0: its reservations have nodes of several sizes. */
int64_t forecast_node_gpus(const struct config *config);

/* For people: as service_forecast().  file NULL: none is in force. */
json_t *forecast_describe(const struct config *config, const struct forecast_file *file,
                          struct wall_time now)
    __attribute__((returns_nonnull, warn_unused_result));
