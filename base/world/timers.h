/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The timers of one loop, ordered by the time they are due and then by the order in which they were
 * set.  Private to the loops: both kinds keep their timers here, so that the order in which two
 * timers fire is the same in the service and in the simulation.
 */
#pragma once

#include "base/array.h"
#include "base/world/loop.h"

#include <stdint.h>

struct timer {
    struct loop *loop;
    timer_fn fire;
    void *context;
    int64_t due_ms;
    uint64_t sequence;
    size_t place; /* in the heap, counted from 1; 0: at rest */
};

struct timers {
    ARRAY(struct timer *) heap;
    uint64_t next_sequence;
};

/* The timer that is due first; NULL when none is set. */
struct timer *timers_first(const struct timers *timers);

void timers_add(struct timers *timers, struct timer *timer, int64_t due_ms);

/* Puts a timer to rest; nothing happens when it is at rest already. */
void timers_remove(struct timers *timers, struct timer *timer);

/* Puts all to rest and frees the heap, not the timers. */
void timers_clear(struct timers *timers);
