/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An upper bound of the busy servers in a part of a slot: those that are busy when the part begins,
 * plus the arrivals in it.  A request that ends within the part counts until the part ends.
 */
#include "windows/judge/offered.h"

void offered_clear(struct offered *offered)
{
    array_clear(&offered->before.busy);
    array_clear(&offered->after.busy);
}

void offered_begin(struct offered *offered, const struct feed *feed, const uint64_t *left,
                   size_t count)
{
    const struct arrivals_setup *setup = arrivals_setup_of(feed->arrivals);
    const struct arrivals_chunk *chunk = arrivals_outline(feed->arrivals, feed->chunk);
    struct offered_moment *after = &offered->after;

    after->busy.count = 0;
    after->sum = 0;
    for (size_t i = 0; i < count; i++) {
        *array_add(&after->busy) = left[i];
        after->sum += left[i];
    }
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        after->next[class] = feed_total(feed, class);
    random_seed(&after->draws.random, arrivals_service_seed(setup, chunk->first));
    after->draws.left = 0;
}

/* Room for as many as may be busy when the slot ends. */
static void reserve(struct offered_moment *moment, size_t count)
{
    if (count > moment->busy.capacity) {
        moment->busy.capacity = 2 * count;
        moment->busy.items = mem_resize(moment->busy.items, 2 * count, sizeof(uint64_t));
    }
}

/* The part of a time within the slot; otherwise part 0, which `is_within` makes harmless. */
static inline size_t part_of(uint64_t tick, uint64_t begin, unsigned shift, bool is_within)
{
    return is_within ? (size_t)((tick - begin) >> shift) : 0;
}

static void count_most(struct offered *offered)
{
    size_t busy = offered->before.busy.count;

    offered->most = 0;
    for (size_t i = 0; i < OFFERED_PARTS; i++) {
        if (offered->came[i] > 0 && busy + offered->came[i] > offered->most)
            offered->most = busy + offered->came[i];
        busy += offered->came[i];
        busy -= offered->went[i];
    }
}

/* All requests that arrive before `end`. */
static void walk(struct offered *offered, const struct feed *feed, uint64_t begin, uint64_t end,
                 unsigned shift)
{
    struct offered_moment *after = &offered->after;
    const uint64_t *high = feed_at(feed, DEMAND_HIGH, after->next[DEMAND_HIGH]);
    const uint64_t *low = feed_at(feed, DEMAND_LOW, after->next[DEMAND_LOW]);
    const uint64_t *service = arrivals_setup_of(feed->arrivals)->service->ticks;
    struct service_draws draws = after->draws;
    uint64_t *busy = after->busy.items + after->busy.count;

    for (;;) {
        uint64_t at = *high < *low ? *high : *low;
        size_t is_low = *high > at;

        if (at >= end)
            break;
        high += 1 - is_low;
        low += is_low;

        uint64_t done = at + service_draw(&draws, service);
        bool is_within = done < end;

        offered->came[(at - begin) >> shift]++;
        offered->went[part_of(done, begin, shift, is_within)] += is_within;
        *busy = done;
        busy += done > end;
        after->sum += done > end ? done : 0;
    }
    after->busy.count = (size_t)(busy - after->busy.items);
    after->next[DEMAND_HIGH] += (size_t)(high -
                                         feed_at(feed, DEMAND_HIGH, after->next[DEMAND_HIGH]));
    after->next[DEMAND_LOW] += (size_t)(low - feed_at(feed, DEMAND_LOW, after->next[DEMAND_LOW]));
    after->draws = draws;
}

void offered_slot(struct offered *offered, const struct feed *feed, uint64_t begin, uint64_t end)
{
    struct offered_moment before = offered->after;
    struct offered_moment *after = &offered->after;
    unsigned shift = 0;

    *after = offered->before;
    offered->before = before;
    while ((end - 1 - begin) >> shift >= OFFERED_PARTS)
        shift++;
    memset(offered->came, 0, sizeof offered->came);
    memset(offered->went, 0, sizeof offered->went);
    memcpy(after->next, before.next, sizeof before.next);
    after->draws = before.draws;
    after->busy.count = 0;
    after->sum = 0;
    reserve(after, before.busy.count + 1 + feed_total(feed, DEMAND_HIGH) +
                       feed_total(feed, DEMAND_LOW) - before.next[DEMAND_HIGH] -
                       before.next[DEMAND_LOW]);
    for (size_t i = 0; i < before.busy.count; i++) {
        uint64_t done = before.busy.items[i];

        if (done < end)
            offered->went[(done - begin) >> shift]++;
        if (done <= end)
            continue;
        after->busy.items[after->busy.count++] = done;
        after->sum += done;
    }
    walk(offered, feed, begin, end, shift);
    count_most(offered);
}
