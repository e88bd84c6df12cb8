/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Queues without a configuration: with --service all queues of a demand are alike, and these
 * options say how.  Read by sluice backtest and sluice forecast.
 */
#pragma once

#include "base/input/options.h"
#include "windows/calendar/window.h"
#include "windows/queueing/replay.h"

struct plain_queue {
    int64_t service_ms; /* 0: there is a configuration */
    double service_cv;
    struct replay_target target;
    double scale; /* of arrivals */
};

/* Lines of a command's table of options. */
#define PLAIN_QUEUE_OPTIONS                                                                        \
    { "service", 0, "DURATION", "read no configuration; all queues have this mean service time",   \
      false },                                                                                     \
        { "service-cv", 0, "V",                                                                    \
          "with --service: standard deviation of service times over their mean (default 1)",       \
          false },                                                                                 \
        { "wait-target", 0, "DURATION",                                                            \
          "with --service: the wait target of all queues (default 30s)", false },                  \
        { "percentile", 0, "P",                                                                    \
          "with --service: P of 100 requests must not wait longer than the target (default 98)",   \
          false },                                                                                 \
        { "time-zone", 0, "ZONE",                                                                  \
          "with --service: the zone of windows, and of times without an offset (default UTC)",     \
          false },                                                                                 \
    {                                                                                              \
        "queue", 'q', "NAME", "with --service: this queue only", false                             \
    }

/* Reads these, and --scale where the command has it.  `more` names other options of the command
   that go with --service, and ends with NULL.  An error is one of usage. */
int plain_queue_read(struct plain_queue *queue, const struct command_call *call,
                     const char *const *more, struct error *err)
    __attribute__((warn_unused_result));

/* The default windows in --time-zone. */
struct window_set *plain_queue_windows(const struct command_call *call, struct error *err)
    __attribute__((warn_unused_result));
