/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See borders.h.
 */
#include "windows/judge/borders.h"

#include "base/memory.h"

void borders_init(struct borders *borders, const struct wall_span *spans, size_t count)
{
    *borders = (struct borders){ .spans = spans, .count = count };
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        borders->marks[class] = mem_new_array(2 * count, sizeof(size_t));
}

void borders_clear(struct borders *borders)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(borders->marks[class]);
}

static struct wall_time border(const struct borders *borders, size_t at)
{
    return at % 2 ? borders->spans[at / 2].end : borders->spans[at / 2].begin;
}

/* How many of the chunk arrive before so many milliseconds after the origin. */
static size_t count_before(const struct arrivals_chunk *chunk, int class, int64_t since_ms)
{
    size_t low = 0;
    size_t high = chunk->count[class];

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (since_ms > 0 && chunk->at[class][middle] < (uint64_t)since_ms * TICKS_PER_MS)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void borders_mark(struct borders *borders, const struct arrivals_chunk *chunk, int64_t origin_ms,
                  const size_t before[DEMAND_CLASSES])
{
    int64_t end_ms = origin_ms + (int64_t)(chunk->end / TICKS_PER_MS);

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        size_t *at = &borders->marked[class];

        for (; *at < 2 * borders->count && border(borders, *at).ms <= end_ms; ++*at)
            borders->marks[class][*at] =
                before[class] + count_before(chunk, class, border(borders, *at).ms - origin_ms);
    }
}

void borders_end(struct borders *borders, const size_t total[DEMAND_CLASSES])
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (; borders->marked[class] < 2 * borders->count; borders->marked[class]++)
            borders->marks[class][borders->marked[class]] = total[class];
}
