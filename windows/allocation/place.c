/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nodes are placed one by one, each in the pool that is furthest below its share (Sainte-Lague's
 * divisors).  Where a cluster's reservations are full, another cluster's node is moved to another
 * reservation of its own, through any number of such exchanges: what fits at all is placed.
 */
#include "windows/allocation/place.h"

#include "base/memory.h"

#include <stdint.h>
#include <string.h>

/* How far share i is below its weighted part: weight * total / weights - part, times weights. */
static int64_t lack(int64_t weight, int64_t total, int64_t weights, int64_t part)
{
    return weight * total - part * weights;
}

void place_split(int total, const int *weights, const int *minimums, size_t count, int *ret_parts)
{
    int64_t sum = 0;
    int given = 0;

    for (size_t i = 0; i < count; i++)
        sum += weights[i];
    for (size_t i = 0; i < count; i++) {
        int part = sum > 0 ? (int)((int64_t)weights[i] * total / sum) : 0;

        ret_parts[i] = part > minimums[i] ? part : minimums[i];
        given += ret_parts[i];
    }
    while (given != total && count > 0) {
        size_t best = count;

        for (size_t i = 0; i < count; i++) {
            if (given > total && ret_parts[i] <= minimums[i])
                continue;
            if (given < total && weights[i] == 0 && sum > 0)
                continue;
            if (best == count) {
                best = i;
                continue;
            }

            int64_t here = lack(weights[i], total, sum, ret_parts[i]);
            int64_t there = lack(weights[best], total, sum, ret_parts[best]);

            if (given < total ? here > there : here < there)
                best = i;
        }
        if (best == count)
            return;
        ret_parts[best] += given < total ? 1 : -1;
        given += given < total ? 1 : -1;
    }
}

/* The GPUs of all, if each size divides the next one and the node: such sizes fill nodes
   completely. -1: they do not. */
static int64_t gpus_of_divisors(const int counts[PLACE_GPUS_MAX + 1], int gpus_per_node)
{
    int64_t sum = 0;
    int last = 1;

    for (int gpus = 1; gpus <= gpus_per_node; gpus++) {
        if (counts[gpus] == 0)
            continue;
        if (gpus % last != 0)
            return -1;
        last = gpus;
        sum += (int64_t)gpus * counts[gpus];
    }
    return gpus_per_node % last == 0 ? sum : -1;
}

/* Replicas that share nodes: none is larger than one. */
static int pack_small(const int counts[PLACE_GPUS_MAX + 1], int gpus_per_node)
{
    int left[PLACE_GPUS_MAX + 1] = { 0 }; /* nodes by GPUs that are free */
    int nodes = 0;
    int64_t sum = gpus_of_divisors(counts, gpus_per_node);

    if (sum >= 0)
        return (int)((sum + gpus_per_node - 1) / gpus_per_node);

    for (int gpus = gpus_per_node; gpus > 0; gpus--)
        for (int i = 0; i < counts[gpus]; i++) {
            int fit = gpus;

            while (fit <= gpus_per_node && left[fit] == 0)
                fit++;
            if (fit > gpus_per_node) {
                nodes++;
                fit = gpus_per_node;
            } else {
                left[fit]--;
            }
            left[fit - gpus]++;
        }
    return nodes;
}

int place_pack(const int counts[PLACE_GPUS_MAX + 1], int gpus_per_node)
{
    int nodes = pack_small(counts, gpus_per_node);

    for (int gpus = gpus_per_node + 1; gpus <= PLACE_GPUS_MAX; gpus++) {
        require(counts[gpus] == 0 || gpus % gpus_per_node == 0);
        nodes += counts[gpus] * (gpus / gpus_per_node);
    }
    return nodes;
}

int place_group(int group, int gpus, int gpus_per_node)
{
    int nodes = gpus > gpus_per_node ? gpus / gpus_per_node : 1;
    int left = group;
    int divisor = nodes;

    require(group >= 1 && gpus >= 1 && gpus_per_node >= 1);
    while (left > 0) {
        int rest = divisor % left;

        divisor = left;
        left = rest;
    }
    return group / divisor * nodes;
}

struct state {
    const struct place *place;
    int *nodes;
    int *room;       /* per reservation */
    int *kept_nodes; /* both as they were before others had to make room */
    int *kept_room;
    bool *is_asked; /* per reservation, during one search for room */
};

/* Nodes that make one group more of what the pool has. */
static int unit_of(const struct state *state, size_t pool)
{
    int group = state->place->pools[pool].group;

    return group - state->nodes[pool] % group;
}

static bool has_cap(const struct state *state, size_t pool)
{
    return state->nodes[pool] + unit_of(state, pool) <= state->place->pools[pool].cap;
}

static void add_unit(struct state *state, size_t pool)
{
    int unit = unit_of(state, pool);

    state->nodes[pool] += unit;
    state->room[state->place->pools[pool].reservation] -= unit;
}

static bool make_room(struct state *state, size_t reservation, int nodes);

/* Moves one group out of the reservation, to another pool of its cluster. */
static bool move_out(struct state *state, size_t reservation)
{
    const struct place *place = state->place;

    for (size_t i = 0; i < place->pool_count; i++) {
        const struct place_pool *pool = &place->pools[i];

        if (pool->reservation != reservation || state->nodes[i] - pool->group < pool->floor)
            continue;
        for (size_t j = 0; j < place->pool_count; j++) {
            const struct place_pool *other = &place->pools[j];

            if (other->cluster != pool->cluster || !has_cap(state, j) ||
                state->is_asked[other->reservation] ||
                !make_room(state, other->reservation, unit_of(state, j)))
                continue;
            state->nodes[i] -= pool->group;
            state->room[reservation] += pool->group;
            add_unit(state, j);
            return true;
        }
    }
    return false;
}

/* Makes room for so many nodes in the reservation by moving others out of it, as far as needed. */
static bool make_room(struct state *state, size_t reservation, int nodes)
{
    while (state->room[reservation] < nodes) {
        state->is_asked[reservation] = true;
        if (!move_out(state, reservation))
            return false;
    }
    return true;
}

/* The pool of the cluster that is furthest below its share and has room; pool_count when none. */
static size_t next_pool(const struct state *state, size_t cluster)
{
    const struct place *place = state->place;
    size_t best = place->pool_count;

    for (size_t i = 0; i < place->pool_count; i++) {
        const struct place_pool *pool = &place->pools[i];

        if (pool->cluster != cluster || !has_cap(state, i) ||
            state->room[pool->reservation] < unit_of(state, i))
            continue;
        if (best == place->pool_count ||
            (int64_t)pool->cap * (2 * state->nodes[best] + unit_of(state, best)) >
                (int64_t)place->pools[best].cap * (2 * state->nodes[i] + unit_of(state, i)))
            best = i;
    }
    return best;
}

/* The first pool of the cluster for which others can make room; pool_count when none.  A failed
   attempt is undone. */
static size_t freed_pool(struct state *state, size_t cluster)
{
    const struct place *place = state->place;

    memcpy(state->kept_nodes, state->nodes, place->pool_count * sizeof *state->nodes);
    memcpy(state->kept_room, state->room, place->reservation_count * sizeof *state->room);
    memset(state->is_asked, 0, place->reservation_count * sizeof *state->is_asked);
    for (size_t i = 0; i < place->pool_count; i++) {
        if (place->pools[i].cluster != cluster || !has_cap(state, i))
            continue;
        if (make_room(state, place->pools[i].reservation, unit_of(state, i)))
            return i;
        memcpy(state->nodes, state->kept_nodes, place->pool_count * sizeof *state->nodes);
        memcpy(state->room, state->kept_room, place->reservation_count * sizeof *state->room);
    }
    return place->pool_count;
}

static bool place_one(struct state *state, size_t cluster)
{
    size_t pool = next_pool(state, cluster);

    if (pool == state->place->pool_count)
        pool = freed_pool(state, cluster);
    if (pool == state->place->pool_count)
        return false;
    add_unit(state, pool);
    return true;
}

/* How many of the needed nodes the cluster's pools cannot give in whole groups. */
static int lacking(const struct state *state, size_t cluster, int needs)
{
    for (size_t i = 0; i < state->place->pool_count; i++)
        if (state->place->pools[i].cluster == cluster)
            needs -= state->nodes[i] - state->nodes[i] % state->place->pools[i].group;
    return needs > 0 ? needs : 0;
}

int place_nodes(const struct place *place, const int *needs, size_t cluster_count, int *ret_nodes,
                int *ret_missing)
{
    struct state state = { .place = place, .nodes = ret_nodes };
    int missing = 0;

    state.room = mem_new_array(place->reservation_count, sizeof *state.room);
    state.kept_room = mem_new_array(place->reservation_count, sizeof *state.room);
    state.kept_nodes = mem_new_array(place->pool_count, sizeof *state.nodes);
    state.is_asked = mem_new_array(place->reservation_count, sizeof *state.is_asked);
    memcpy(state.room, place->reservation_nodes, place->reservation_count * sizeof *state.room);
    for (size_t i = 0; i < place->pool_count; i++) {
        require(place->pools[i].group >= 1);
        ret_nodes[i] = place->pools[i].floor;
        state.room[place->pools[i].reservation] -= ret_nodes[i];
    }
    for (size_t cluster = 0; cluster < cluster_count; cluster++) {
        int left = lacking(&state, cluster, needs[cluster]);

        while (left > 0 && place_one(&state, cluster))
            left = lacking(&state, cluster, needs[cluster]);
        if (ret_missing)
            ret_missing[cluster] = left;
        missing += left;
    }
    mem_free(state.room);
    mem_free(state.kept_room);
    mem_free(state.kept_nodes);
    mem_free(state.is_asked);
    return missing;
}
