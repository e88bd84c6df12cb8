/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arrival times of waiting requests, first come first served.
 */
#pragma once

#include "base/memory.h"

struct fifo {
    double *items;
    size_t first, count, capacity; /* a ring; capacity is a power of two */
};

static inline void fifo_push(struct fifo *fifo, double value)
{
    if (fifo->count == fifo->capacity) {
        size_t capacity = fifo->capacity ? 2 * fifo->capacity : 64;
        double *items = mem_new_array(capacity, sizeof *items);

        for (size_t i = 0; i < fifo->count; i++)
            items[i] = fifo->items[(fifo->first + i) & (fifo->capacity - 1)];
        mem_free(fifo->items);
        *fifo = (struct fifo){ items, 0, fifo->count, capacity };
    }
    fifo->items[(fifo->first + fifo->count++) & (fifo->capacity - 1)] = value;
}

static inline void fifo_clear(struct fifo *fifo)
{
    mem_free(fifo->items);
    *fifo = (struct fifo){ 0 };
}

static inline double fifo_pop(struct fifo *fifo)
{
    double value = fifo->items[fifo->first];

    fifo->first = (fifo->first + 1) & (fifo->capacity - 1);
    fifo->count--;
    return value;
}
