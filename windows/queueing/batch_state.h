/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The members of a batch, and the operations on them that batch.c and batch_change.c share.
 */
#pragma once

#include "base/array.h"
#include "windows/queueing/batch.h"
#include "windows/queueing/batch_replica.h"
#include "windows/queueing/batch_router.h"
#include "windows/servers/engine_periods.h"

#include <math.h>

enum { DRAWS = 4 };

struct waiting {
    uint64_t arrived;
    size_t number;
    uint32_t next;
    enum demand_class class;
};

struct batch {
    const struct engine *engine;
    struct batch_tally *tally;
    struct batch_pace pace;
    enum engine_router router;
    unsigned count;    /* replicas that take requests; behind them */
    unsigned draining; /* those that only end what runs in them */
    unsigned room;     /* replicas that there is memory for */
    int slots;
    double prefill; /* ticks of a token */
    bool tells_first;
    bool tells_later;
    struct batch_replica *replicas;
    double *ends;
    uint16_t *places;
    struct batch_request *requests;
    uint64_t *keys;  /* a tree of next ends: 1 is the root, leaves .. 2 * leaves - 1 the replicas */
    uint64_t number; /* the bits of a key that hold the replica's number */
    unsigned leaves;
    double *next; /* when each replica's next one ends */
    struct batch_loads loads;
    struct batch_line lines[DEMAND_CLASSES]; /* of all replicas in one, or while there is none */
    ARRAY(struct waiting) pool;              /* item 0 is no request */
    uint32_t free;
    size_t waiting;
    struct engine_draw draw; /* of lengths */
    struct random lengths;
    uint64_t word;
    unsigned draws;
    struct random chances;
    unsigned turn;
};

/* Whether it is known which of them have fewest requests. */
static inline bool has_loads(const struct batch *batch)
{
    return batch->count > 1 &&
           (batch->router == ENGINE_LEAST_OUTSTANDING || batch->router == ENGINE_CENTRAL);
}

static inline void line_add(struct batch *batch, struct batch_line *line, const struct waiting *who)
{
    uint32_t item = batch->free;

    if (item == 0) {
        item = (uint32_t)batch->pool.count;
        (void)array_add(&batch->pool);
    } else {
        batch->free = batch->pool.items[item].next;
    }
    batch->pool.items[item] = *who;
    batch->pool.items[item].next = 0;
    if (line->first == 0)
        line->first = item;
    else
        batch->pool.items[line->last].next = item;
    line->last = item;
    batch->waiting++;
}

static inline struct waiting line_take(struct batch *batch, struct batch_line *line)
{
    uint32_t item = line->first;
    struct waiting taken = batch->pool.items[item];

    line->first = taken.next;
    batch->pool.items[item].next = batch->free;
    batch->free = item;
    batch->waiting--;
    return taken;
}

/* The bits of times that are not negative are in the order of the times.  A replica's number takes
   the place of the last of them, of less than a thousandth of a tick each day: ties go to the lower
   one. */
static inline uint64_t key_of(const struct batch *batch, unsigned replica)
{
    uint64_t key;

    memcpy(&key, &batch->next[replica], sizeof key);
    return (key & ~batch->number) | replica;
}

/* Room for so many replicas, at least one. */
static inline void ends_fit(struct batch *batch, unsigned replicas)
{
    for (batch->leaves = 1; batch->leaves < replicas; batch->leaves *= 2)
        ;
    batch->number = batch->leaves - 1;
}

static inline void ends_reset(struct batch *batch)
{
    for (unsigned i = 0; i < batch->leaves; i++) {
        batch->next[i] = HUGE_VAL;
        batch->keys[batch->leaves + i] = key_of(batch, i);
    }
    for (unsigned i = batch->leaves - 1; i > 0; i--)
        batch->keys[i] = batch->keys[2 * i];
}

static inline unsigned ends_first(const struct batch *batch)
{
    return (unsigned)(batch->keys[1] & batch->number);
}

/* All keys to compare with on the way up are known before, so that no comparison waits for a load
   from memory. */
static inline void ends_set(struct batch *batch, unsigned replica)
{
    double next = batch_replica_next(&batch->replicas[replica], &batch->pace);
    unsigned at = batch->leaves + replica;

    batch->next[replica] = next > 0 ? next : 0;

    uint64_t key = key_of(batch, replica);

    batch->keys[at] = key;
    for (; at > 1; at >>= 1) {
        uint64_t other = batch->keys[at ^ 1];

        key = key < other ? key : other;
        batch->keys[at >> 1] = key;
    }
}

/* A request that waited elsewhere comes to the router now. */
void batch_give(struct batch *batch, const struct waiting *who, double now);
