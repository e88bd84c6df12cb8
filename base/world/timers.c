/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A binary heap.  Each timer knows its place in it, so that stopping one is as cheap as setting it.
 */
#include "base/world/timers.h"

static bool is_before(const struct timer *left, const struct timer *right)
{
    if (left->due_ms != right->due_ms)
        return left->due_ms < right->due_ms;
    return left->sequence < right->sequence;
}

static void put(struct timers *timers, size_t place, struct timer *timer)
{
    timers->heap.items[place - 1] = timer;
    timer->place = place;
}

static void sift_up(struct timers *timers, struct timer *timer)
{
    size_t place = timer->place;

    while (place > 1 && is_before(timer, timers->heap.items[place / 2 - 1])) {
        put(timers, place, timers->heap.items[place / 2 - 1]);
        place /= 2;
    }
    put(timers, place, timer);
}

static void sift_down(struct timers *timers, struct timer *timer)
{
    size_t place = timer->place;

    for (;;) {
        size_t child = place * 2;

        if (child > timers->heap.count)
            break;
        if (child < timers->heap.count &&
            is_before(timers->heap.items[child], timers->heap.items[child - 1]))
            child++;
        if (!is_before(timers->heap.items[child - 1], timer))
            break;
        put(timers, place, timers->heap.items[child - 1]);
        place = child;
    }
    put(timers, place, timer);
}

struct timer *timers_first(const struct timers *timers)
{
    return timers->heap.count ? timers->heap.items[0] : NULL;
}

void timers_add(struct timers *timers, struct timer *timer, int64_t due_ms)
{
    timers_remove(timers, timer);
    timer->due_ms = due_ms;
    timer->sequence = timers->next_sequence++;
    *array_add(&timers->heap) = timer;
    timer->place = timers->heap.count;
    sift_up(timers, timer);
}

void timers_remove(struct timers *timers, struct timer *timer)
{
    if (!timer->place)
        return;

    size_t place = timer->place;
    struct timer *last = timers->heap.items[--timers->heap.count];

    timer->place = 0;
    if (last == timer)
        return;
    put(timers, place, last);
    sift_up(timers, last);
    sift_down(timers, last);
}

void timers_clear(struct timers *timers)
{
    for (size_t i = 0; i < timers->heap.count; i++)
        timers->heap.items[i]->place = 0;
    array_clear(&timers->heap);
}
