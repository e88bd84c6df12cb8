/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One replica of an engine.  All its running requests get their tokens at one rate, so one number
 * says how far all of them are: `tokens`, which a request would have got by now if it had run since
 * the batch was last empty.  A request with so many tokens to come is done when that number is
 * `tokens` + its own, and the order in which requests end is the order of these sums.  For batch.c.
 */
#pragma once

#include "windows/demand/demand.h"

#include <stdint.h>
#include <string.h>

/* For one number of slots: ticks of an iteration with so many running, and the inverse. */
struct batch_pace {
    const double *ticks;
    const double *rates;
};

struct batch_line { /* waiting requests in FCFS order; items of the pool, 0: none */
    uint32_t first;
    uint32_t last;
};

/* The stored data of a running request, if the time per token counts. */
struct batch_request {
    double first_token; /* ticks, as the order of ends has it */
    double later;       /* tokens after the first */
    size_t number;
    enum demand_class class;
};

struct batch_replica {
    double tokens;
    double at;    /* ticks: of `tokens` and `pause` */
    double pause; /* ticks from then on for which prompts still hold all of them up */
    double read;  /* ticks: when the prompts of the running requests have been read */
    int running;
    double *ends;                   /* tokens with which each is done, the next one last */
    uint16_t *slots;                /* where each runs; behind them the free slots */
    struct batch_request *requests; /* by slot, where the time per token counts */
    struct batch_line lines[DEMAND_CLASSES];
};

static inline void batch_replica_advance(struct batch_replica *replica,
                                         const struct batch_pace *pace, double now)
{
    double passed = now - replica->at;

    replica->at = now;
    if (replica->running == 0)
        return;
    if (replica->pause > 0) {
        if (passed <= replica->pause) {
            replica->pause -= passed;
            return;
        }
        passed -= replica->pause;
        replica->pause = 0;
    }
    replica->tokens += passed * pace->rates[replica->running];
}

/* When the next request ends, without further arrivals; HUGE_VAL when none runs. */
static inline double batch_replica_next(const struct batch_replica *replica,
                                        const struct batch_pace *pace)
{
    int running = replica->running;

    return running == 0 ? __builtin_huge_val()
                        : replica->at + replica->pause +
                              (replica->ends[running - 1] - replica->tokens) * pace->ticks[running];
}

/* Starts a request of so many tokens; returns its slot.  Of requests whose ends are equal (counts
   of `tokens`), the first to begin ends first. */
static inline uint16_t batch_replica_add(struct batch_replica *replica, double tokens, bool tells)
{
    double *ends = replica->ends;
    size_t count = (size_t)replica->running++;
    size_t place = 0;

    if (count == 0)
        replica->tokens = replica->pause = 0;

    double end = replica->tokens + tokens;

    /* Those before `place` end later.  Written without a branch, because the position is
       unpredictable. */
    for (size_t rest = count; rest > 0; rest /= 2)
        place += (rest + 1) / 2 & -(size_t)(ends[place + (rest - 1) / 2] > end);
    memmove(ends + place + 1, ends + place, (count - place) * sizeof *ends);
    ends[place] = end;
    if (!tells)
        return 0;

    uint16_t slot = replica->slots[count];

    memmove(replica->slots + place + 1, replica->slots + place,
            (count - place) * sizeof *replica->slots);
    replica->slots[place] = slot;
    return slot;
}

/* The next one ends now; returns its slot.  Its sum of tokens is exact, whatever rounding did. */
static inline uint16_t batch_replica_end(struct batch_replica *replica, double now)
{
    int last = --replica->running;

    replica->tokens = replica->ends[last];
    replica->at = now;
    replica->pause = 0;
    return replica->slots[last];
}
