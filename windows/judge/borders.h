/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The requests of each span: how many of each class arrive before its begin and before its end.
 * Known up to the chunks of arrivals that were marked, in the order of time.
 */
#pragma once

#include "windows/judge/judge.h"

struct borders {
    const struct wall_span *spans; /* borrowed */
    size_t count;
    size_t *marks[DEMAND_CLASSES]; /* two a span */
    size_t marked[DEMAND_CLASSES];
};

void borders_init(struct borders *borders, const struct wall_span *spans, size_t count);
void borders_clear(struct borders *borders);

/* Marks the borders before the chunk's end; its ticks count from `origin_ms`, and `before` requests
   of each class came before it. */
void borders_mark(struct borders *borders, const struct arrivals_chunk *chunk, int64_t origin_ms,
                  const size_t before[DEMAND_CLASSES]);

/* No more requests arrive: all remaining borders are after `total` requests. */
void borders_end(struct borders *borders, const size_t total[DEMAND_CLASSES]);

static inline bool borders_are_known(const struct borders *borders, int class, size_t span)
{
    return borders->marked[class] >= 2 * span + 2;
}

/* The first request of a span, and the first behind it. */
static inline size_t borders_begin(const struct borders *borders, int class, size_t span)
{
    return borders->marks[class][2 * span];
}

static inline size_t borders_behind(const struct borders *borders, int class, size_t span)
{
    return borders->marks[class][2 * span + 1];
}
