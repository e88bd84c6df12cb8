/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The requests of a queue as several replays of the same arrivals read them: drawn once, in the
 * order of time, and kept until the slowest replay has started them.  Requests have an index within
 * their class, from 0 over all segments; ticks are since the begin of their segment.
 */
#pragma once

#include "base/array.h"
#include "windows/queueing/arrivals.h"

struct feed_line {           /* of one class */
    ARRAY(uint64_t) arrived; /* from request `base` on; UINT64_MAX behind the last */
    size_t base;
};

struct feed {
    struct arrivals *arrivals;
    struct feed_line lines[DEMAND_CLASSES];
    size_t chunk;       /* the next one */
    int64_t origin_ms;  /* of ticks: the segment's begin */
    uint64_t known_end; /* of the segment: all arrivals before it are in the lines */
    bool is_over;       /* all of the segment is */
};

static inline size_t feed_total(const struct feed *feed, int class)
{
    return feed->lines[class].base + feed->lines[class].arrived.count;
}

/* A request that is still kept, or the one behind the last. */
static inline const uint64_t *feed_at(const struct feed *feed, int class, size_t index)
{
    return feed->lines[class].arrived.items + (index - feed->lines[class].base);
}

/* Borrows the arrivals. */
void feed_init(struct feed *feed, struct arrivals *arrivals);
void feed_clear(struct feed *feed);

/* The next segment: requests of an earlier one are not needed any more. */
void feed_begin(struct feed *feed);

/* Adds the next chunk, which it returns; drops requests before `needed` in each class. */
const struct arrivals_chunk *feed_next(struct feed *feed, const size_t needed[DEMAND_CLASSES]);
