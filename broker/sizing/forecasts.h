/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forecasts of all queues of a configuration, or without one of all that are in a demand.
 */
#pragma once

#include "base/input/options.h"
#include "broker/config/config.h"
#include "broker/sizing/plain_queue.h"
#include "windows/forecast/forecast_share.h"

struct forecasts {
    const char **names; /* of queues, in the order of the configuration, or else of the demand */
    struct forecast **items;
    double **ratios; /* one a window: windows/forecast/confirm.h; NULL where not asked for */
    struct forecast_share *shares;       /* what they were made from */
    const struct service_shape **shapes; /* measured; NULL: the law that its cv stands for */
    size_t count;
};

struct forecasts_options {
    const char *only;  /* the one queue that is asked for; NULL: all */
    int horizon_days;  /* as in forecast_setup */
    int64_t follow_ms; /* its lead; 0: plans are for days */
    int64_t again_ms;  /* with a lead, over 0: how long the window has been in force whose rest is
                          planned */
    double attainment; /* 0 .. 1: bounds for this, all together; 0: each queue and window alone */
    struct wall_time now;
    unsigned without;  /* parts that are left out (windows/forecast/forecast_parts.h) */
    bool is_confirmed; /* the ratios are asked for */
};

/* Lines of a command's table of options. */
#define FORECASTS_OPTIONS                                                                          \
    { "horizon", 0, "DAYS", "days until the plan is made again: 1 to 7 (default 7)", false },      \
        { "follow", 0, "DURATION", "plan each window by itself, this long before it begins",       \
          false },                                                                                 \
    {                                                                                              \
        "now", 0, "TIME", "measure the demand's age at this time (default: now)", false            \
    }

/* Reads these three. */
int forecasts_options_read(struct forecasts_options *options, const struct command_call *call,
                           struct error *err) __attribute__((warn_unused_result));

/* Options may be NULL.  ERROR_INVALID when the demand has no rows for a queue, ERROR_NOT_FOUND when
   there is no such queue. */
struct forecasts *forecasts_new(const struct config *config, const struct demand *demand,
                                const struct forecasts_options *options, struct error *err)
    __attribute__((warn_unused_result));

/* The same without a configuration: all queues of the demand are like this one. */
struct forecasts *forecasts_new_plain(const struct plain_queue *queue, const struct window_set *set,
                                      const struct demand *demand,
                                      const struct forecasts_options *options, struct error *err)
    __attribute__((warn_unused_result));
void forecasts_free(struct forecasts *forecasts);

/* NULL: the queue has none, or the window is an event's. */
const struct forecast_cell *forecasts_find(const struct forecasts *forecasts, const char *queue,
                                           size_t window);

static inline void owned_forecasts(struct forecasts **forecasts)
{
    forecasts_free(*forecasts);
}
