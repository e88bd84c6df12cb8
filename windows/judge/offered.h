/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The offered load: the busy servers over time with an unlimited number of servers, so that no
 * request waits.  It is the same for all plans.  A plan that always has at least this many servers
 * behaves the same, and need not be replayed.
 */
#pragma once

#include "windows/judge/feed.h"

enum { OFFERED_PARTS = 512 }; /* of a slot, between which the busy are counted */

/* Services in the order of starts: four are drawn from a random number. */
struct service_draws {
    struct random random;
    uint64_t word;
    unsigned left;
};

static inline uint64_t service_draw(struct service_draws *draws, const uint64_t *service)
{
    uint64_t ticks;

    if (draws->left == 0) {
        draws->word = random_next(&draws->random);
        draws->left = 4;
    }
    ticks = service[draws->word & (SERVICE_TIMES - 1)];
    draws->word >>= 16;
    draws->left--;
    return ticks;
}

/* The state at one moment. */
struct offered_moment {
    size_t next[DEMAND_CLASSES]; /* the first request that has not arrived */
    ARRAY(uint64_t) busy;        /* when they are done, all later than the moment, in no order */
    uint64_t sum;                /* of these */
    struct service_draws draws;
};

struct offered {
    struct offered_moment before; /* when the slot begins */
    struct offered_moment after;  /* when the slot ends */
    size_t most;                  /* never more than this were busy at once in it */
    uint32_t came[OFFERED_PARTS];
    uint32_t went[OFFERED_PARTS];
};

void offered_clear(struct offered *offered);

/* A segment of the feed begins, with these busy.  Sets `after`. */
void offered_begin(struct offered *offered, const struct feed *feed, const uint64_t *left,
                   size_t count);

/* The next slot, from tick `begin` to `end`; its arrivals are in the feed. */
void offered_slot(struct offered *offered, const struct feed *feed, uint64_t begin, uint64_t end);
