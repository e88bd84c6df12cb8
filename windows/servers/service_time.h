/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How long a worker takes for a request, as a table of 65,536 equally likely times, so that a draw
 * is a look-up by 16 random bits and no mathematics library takes part in a replay: the same seed
 * gives the same numbers on every machine.  cv (standard deviation over mean) 0 is a constant, 1
 * exponential, anything else lognormal.  The mean of the table is the mean asked for, to the tick.
 *
 * Where a replica is an engine that serves many at once (engine.h), these are the times of requests
 * that are alone in it: a place of the table is the same place of the engine's lengths.
 */
#pragma once

#include "windows/servers/engine.h"
#include "windows/servers/service_shape.h"

#include <stdint.h>

enum { SERVICE_TIMES = 1 << 16, TICKS_PER_SECOND = 1000 * 1000, TICKS_PER_MS = 1000 };

struct service_time {
    uint64_t ticks[SERVICE_TIMES];
    uint64_t longest; /* of these */
    double mean_s;
    double cv;
    struct engine *engine; /* owned; NULL: one request at a time */
};

/* mean_s from 0.001 to 86,400; cv from 0 to 10. */
struct service_time *service_time_new(double mean_s, double cv)
    __attribute__((returns_nonnull, warn_unused_result));

/* The same for any shape: THE conversion from a queue's service to the replayed times.  The engine
   is a copy of the shape's, with its lengths; NULL for one slot. */
struct service_time *service_time_shaped(const struct service_shape *shape)
    __attribute__((returns_nonnull, warn_unused_result));

/* The shape's times; without a shape (NULL), those of the law that cv implies. */
struct service_time *service_time_of(const struct service_shape *shape, double mean_s, double cv)
    __attribute__((returns_nonnull, warn_unused_result));

/* For closed forms: mean, cv and engine without the tables, which are empty. */
struct service_time *service_time_outline(const struct service_shape *shape)
    __attribute__((returns_nonnull, warn_unused_result));

/* Equally likely values of a law with this cv (not SERVICE_MEASURED or SERVICE_TOKENS), ascending;
   their mean is near 1. */
void service_law_quantiles(enum service_law law, double cv, double quantiles[SERVICE_TIMES]);

void service_time_free(struct service_time *service);

static inline void owned_service_time(struct service_time **service)
{
    service_time_free(*service);
}
