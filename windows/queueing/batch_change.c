/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations between arrivals and ends: a batch begins, its number of replicas changes, a caller
 * asks for the waiting requests.
 */
#include "windows/queueing/batch_state.h"

#include <stdlib.h>

static void forget_waiting(struct batch *batch)
{
    batch->pool.count = 0;
    (void)array_add(&batch->pool);
    batch->free = 0;
    batch->waiting = 0;
    memset(batch->lines, 0, sizeof batch->lines);
    for (unsigned i = 0; i < batch->room; i++)
        memset(batch->replicas[i].lines, 0, sizeof batch->replicas[i].lines);
}

bool batch_anyone_waits(const struct batch *batch)
{
    return batch->waiting > 0;
}

static int64_t line_overdue(const struct batch *batch, const struct batch_line *line, uint64_t now)
{
    int64_t count = 0;

    for (uint32_t at = line->first; at != 0; at = batch->pool.items[at].next) {
        if (batch->pool.items[at].arrived + batch->tally->limits[REPLAY_WAIT] >= now)
            break;
        count++;
    }
    return count;
}

int64_t batch_overdue(const struct batch *batch, enum demand_class class, uint64_t now)
{
    int64_t count = 0;

    if (batch->waiting == 0 || batch->tally->limits[REPLAY_WAIT] == UINT64_MAX)
        return 0;
    count = line_overdue(batch, &batch->lines[class], now);
    for (unsigned i = 0; i < batch->count; i++)
        count += line_overdue(batch, &batch->replicas[i].lines[class], now);
    return count;
}

static void least_of_line(const struct batch *batch, const struct batch_line *line, size_t *least)
{
    for (uint32_t at = line->first; at != 0; at = batch->pool.items[at].next)
        if (batch->pool.items[at].number < *least)
            *least = batch->pool.items[at].number;
}

size_t batch_first_open(const struct batch *batch, enum demand_class class)
{
    size_t least = SIZE_MAX;

    least_of_line(batch, &batch->lines[class], &least);
    for (unsigned i = 0; i < batch->count + batch->draining; i++) {
        const struct batch_replica *here = &batch->replicas[i];

        least_of_line(batch, &here->lines[class], &least);
        for (int at = 0; batch->tells_later && at < here->running; at++) {
            const struct batch_request *request = &here->requests[here->slots[at]];

            if (request->class == class && request->number < least)
                least = request->number;
        }
    }
    return least;
}

/* ---- beginnings ---- */

void batch_reset(struct batch *batch)
{
    size_t slots = (size_t)batch->slots;

    for (size_t i = 0; i < batch->room; i++) {
        batch->replicas[i] = (struct batch_replica){
            .ends = batch->ends + i * slots,
            .slots = batch->places + i * slots,
            .requests = batch->tells_later ? batch->requests + i * slots : NULL,
        };
        for (size_t slot = 0; batch->tells_later && slot < slots; slot++)
            batch->replicas[i].slots[slot] = (uint16_t)slot;
    }
    batch->draining = 0;
    forget_waiting(batch);
    ends_fit(batch, batch->count);
    ends_reset(batch);
    if (has_loads(batch)) {
        batch->loads.count = batch->count;
        batch_loads_reset(&batch->loads);
    }
}

void batch_begin(struct batch *batch, double now)
{
    forget_waiting(batch);
    for (unsigned i = 0; i < batch->count; i++) {
        struct batch_replica *here = &batch->replicas[i];

        batch_replica_advance(here, &batch->pace, now);
        here->at -= now;
        here->read -= now;
        for (int at = 0; batch->tells_later && at < here->running; at++)
            here->requests[here->slots[at]].number = SIZE_MAX;
        while (has_loads(batch) && batch->loads.load[i] > (unsigned)here->running)
            batch_loads_fewer(&batch->loads, i);
        ends_set(batch, i);
    }
}

/* ---- another number of replicas ---- */

struct rank {
    int running;
    double rest; /* until the last of them ends, if no other does */
    unsigned replica;
};

static int compare_ranks(const void *left, const void *right)
{
    const struct rank *a = left;
    const struct rank *b = right;

    if (a->running != b->running)
        return a->running > b->running ? -1 : 1;
    if (a->rest < b->rest || a->rest > b->rest)
        return a->rest > b->rest ? -1 : 1;
    return a->replica < b->replica ? -1 : a->replica > b->replica;
}

/* Sorts replicas, those with the most to do first.  Returns how many have any request. */
static unsigned sort_replicas(struct batch *batch, double now)
{
    struct rank *ranks = mem_new_array(batch->room, sizeof *ranks);
    struct batch_replica *sorted = mem_new_array(batch->room, sizeof *sorted);
    unsigned busy = 0;

    for (unsigned i = 0; i < batch->room; i++) {
        struct batch_replica *here = &batch->replicas[i];

        ranks[i] = (struct rank){ .running = here->running, .replica = i };
        if (here->running == 0)
            continue;
        batch_replica_advance(here, &batch->pace, now);
        ranks[i].rest = here->pause +
                        (here->ends[0] - here->tokens) * batch->pace.ticks[here->running];
        busy++;
    }
    qsort(ranks, batch->room, sizeof *ranks, compare_ranks);
    for (unsigned i = 0; i < batch->room; i++)
        sorted[i] = batch->replicas[ranks[i].replica];
    memcpy(batch->replicas, sorted, batch->room * sizeof *sorted);
    mem_free(sorted);
    mem_free(ranks);
    return busy;
}

struct homeless {
    ARRAY(struct waiting) list;
};

static void take_line(struct batch *batch, struct batch_line *line, struct homeless *homeless)
{
    while (line->first != 0)
        *array_add(&homeless->list) = line_take(batch, line);
    line->last = 0;
}

static int compare_waiting(const void *left, const void *right)
{
    const struct waiting *a = left;
    const struct waiting *b = right;

    if (a->class != b->class)
        return a->class == DEMAND_HIGH ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The waiting requests of replicas from `first` on, and those that wait for the first replica. */
static void take_homeless(struct batch *batch, unsigned first, struct homeless *homeless)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        for (unsigned i = first; i < batch->room; i++)
            take_line(batch, &batch->replicas[i].lines[class], homeless);
        if (batch->router != ENGINE_CENTRAL)
            take_line(batch, &batch->lines[class], homeless);
    }
    if (homeless->list.count > 0)
        qsort(homeless->list.items, homeless->list.count, sizeof *homeless->list.items,
              compare_waiting);
}

static unsigned line_length(const struct batch *batch, const struct batch_line *line)
{
    unsigned count = 0;

    for (uint32_t at = line->first; at != 0; at = batch->pool.items[at].next)
        count++;
    return count;
}

static void count_loads(struct batch *batch)
{
    if (!has_loads(batch))
        return;
    batch->loads.count = batch->count;
    batch_loads_reset(&batch->loads);
    for (unsigned i = 0; i < batch->count; i++) {
        const struct batch_replica *here = &batch->replicas[i];
        unsigned load = (unsigned)here->running + line_length(batch, &here->lines[DEMAND_HIGH]) +
                        line_length(batch, &here->lines[DEMAND_LOW]);

        while (load-- > 0)
            batch_loads_more(&batch->loads, i);
    }
}

/* Whether a replica has a free slot; for replicas that share one queue. */
static bool has_free_slot(const struct batch *batch)
{
    if (batch->count <= 1)
        return batch->count == 1 && batch->replicas[0].running < batch->slots;
    return batch->loads.load[batch->loads.order[0]] < (unsigned)batch->slots;
}

static void fill_slots(struct batch *batch, double now)
{
    while (batch->waiting > 0 && has_free_slot(batch)) {
        struct batch_line *high = &batch->lines[DEMAND_HIGH];
        struct waiting who = line_take(batch, high->first ? high : &batch->lines[DEMAND_LOW]);

        batch_give(batch, &who, now);
    }
}

void batch_resize(struct batch *batch, int replicas, double now)
{
    struct homeless homeless = { 0 };
    unsigned busy;

    if ((unsigned)replicas == batch->count)
        return;
    require((unsigned)replicas <= batch->room);
    busy = sort_replicas(batch, now);
    batch->count = (unsigned)replicas;
    batch->draining = busy > batch->count ? busy - batch->count : 0;
    batch->turn = batch->count > 0 ? batch->turn % batch->count : 0;
    take_homeless(batch, batch->count, &homeless);
    ends_fit(batch, batch->count + batch->draining);
    ends_reset(batch);
    for (unsigned i = 0; i < busy; i++)
        ends_set(batch, i);
    count_loads(batch);
    for (size_t i = 0; i < homeless.list.count; i++)
        batch_give(batch, &homeless.list.items[i], now);
    if (batch->router == ENGINE_CENTRAL)
        fill_slots(batch, now);
    array_clear(&homeless.list);
}
