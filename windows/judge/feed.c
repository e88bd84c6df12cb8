/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See feed.h.
 */
#include "windows/judge/feed.h"

/* Makes room for `count` more and the end mark, after dropping requests that are not needed. */
static void line_reserve(struct feed_line *line, size_t needed, size_t count)
{
    size_t dropped = needed - line->base;

    if (line->arrived.count + count + 1 <= line->arrived.capacity)
        return;
    line->arrived.count -= dropped;
    if (line->arrived.count > 0)
        memmove(line->arrived.items, line->arrived.items + dropped,
                line->arrived.count * sizeof *line->arrived.items);
    line->base = needed;
    if (2 * (line->arrived.count + count + 1) > line->arrived.capacity) {
        line->arrived.capacity = 2 * (line->arrived.count + count + 1);
        line->arrived.items = mem_resize(line->arrived.items, line->arrived.capacity,
                                         sizeof *line->arrived.items);
    }
}

static void line_append(struct feed_line *line, size_t needed, const uint64_t *arrived,
                        size_t count)
{
    line_reserve(line, needed, count);
    if (count > 0)
        memcpy(line->arrived.items + line->arrived.count, arrived, count * sizeof *arrived);
    line->arrived.count += count;
    line->arrived.items[line->arrived.count] = UINT64_MAX;
}

void feed_init(struct feed *feed, struct arrivals *arrivals)
{
    *feed = (struct feed){ .arrivals = arrivals };
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        line_append(&feed->lines[class], 0, NULL, 0);
}

void feed_clear(struct feed *feed)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        array_clear(&feed->lines[class].arrived);
}

void feed_begin(struct feed *feed)
{
    const struct arrivals_setup *setup = arrivals_setup_of(feed->arrivals);
    const struct arrivals_chunk *chunk = arrivals_outline(feed->arrivals, feed->chunk);

    feed->origin_ms = demand_time(setup->series, chunk->first).ms;
    feed->known_end = 0;
    feed->is_over = false;
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        struct feed_line *line = &feed->lines[class];

        line->base += line->arrived.count;
        line->arrived.count = 0;
        line->arrived.items[0] = UINT64_MAX;
    }
}

const struct arrivals_chunk *feed_next(struct feed *feed, const size_t needed[DEMAND_CLASSES])
{
    const struct arrivals_chunk *chunk = arrivals_chunk(feed->arrivals, feed->chunk++);

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        line_append(&feed->lines[class], needed[class], chunk->at[class], chunk->count[class]);
    feed->known_end = chunk->end;
    feed->is_over = chunk->is_last;
    return chunk;
}
