/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which replica gets a request: the replicas sorted by how many requests each has, so that the one
 * with fewest is found, and a number changed, in the same few steps for any number of replicas.
 * Ties are decided by 32 random bits.  For batch.c.
 */
#pragma once

#include "base/memory.h"

#include <stdint.h>

struct batch_loads {
    unsigned count;   /* replicas */
    unsigned *load;   /* of each: requests that run or wait there */
    unsigned *order;  /* replicas, those with fewest first */
    unsigned *place;  /* of each in `order` */
    unsigned *begins; /* where those with so many requests, or more, begin */
    unsigned most;    /* items of `begins` */
};

enum { BATCH_LOADS_FIRST = 64 };

static inline void batch_loads_init(struct batch_loads *loads, unsigned count)
{
    *loads = (struct batch_loads){ .count = count, .most = BATCH_LOADS_FIRST };
    loads->load = mem_new_array(count, sizeof *loads->load);
    loads->order = mem_new_array(count, sizeof *loads->order);
    loads->place = mem_new_array(count, sizeof *loads->place);
    loads->begins = mem_new_array(loads->most, sizeof *loads->begins);
}

static inline void batch_loads_clear(struct batch_loads *loads)
{
    mem_free(loads->load);
    mem_free(loads->order);
    mem_free(loads->place);
    mem_free(loads->begins);
}

/* All have none. */
static inline void batch_loads_reset(struct batch_loads *loads)
{
    for (unsigned i = 0; i < loads->count; i++) {
        loads->load[i] = 0;
        loads->order[i] = i;
        loads->place[i] = i;
    }
    loads->begins[0] = 0;
    for (unsigned i = 1; i < loads->most; i++)
        loads->begins[i] = loads->count;
}

static inline void batch_loads_swap(struct batch_loads *loads, unsigned replica, unsigned place)
{
    unsigned other = loads->order[place];
    unsigned from = loads->place[replica];

    loads->order[from] = other;
    loads->place[other] = from;
    loads->order[place] = replica;
    loads->place[replica] = place;
}

static inline void batch_loads_more(struct batch_loads *loads, unsigned replica)
{
    unsigned above = ++loads->load[replica];

    if (above + 2 > loads->most) {
        unsigned most = 2 * loads->most;

        loads->begins = mem_resize(loads->begins, most, sizeof *loads->begins);
        for (unsigned i = loads->most; i < most; i++)
            loads->begins[i] = loads->count;
        loads->most = most;
    }
    batch_loads_swap(loads, replica, --loads->begins[above]);
}

static inline void batch_loads_fewer(struct batch_loads *loads, unsigned replica)
{
    unsigned above = loads->load[replica]--;

    batch_loads_swap(loads, replica, loads->begins[above]++);
}

/* One of those that have fewest. */
static inline unsigned batch_loads_least(const struct batch_loads *loads, uint32_t chance)
{
    uint64_t alike = loads->begins[loads->load[loads->order[0]] + 1];

    return loads->order[chance * alike >> 32];
}
