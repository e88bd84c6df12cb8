/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The free times of equal servers in a winner tree: the server that is free first is at the root,
 * and giving it its next free time costs log2(n) comparisons without a branch.  A key is a time
 * with the server's number in its lowest bits, so that ties go to the lower number, always.
 */
#pragma once

#include "base/memory.h"

#include <stdint.h>
#include <string.h>

struct servers {
    uint64_t *keys; /* 1 is the root, leaves .. 2 * leaves - 1 the servers, padded with "never" */
    size_t count;
    size_t leaves;
    unsigned bits; /* of the number in a key */
};

static inline void servers_init(struct servers *servers, size_t count)
{
    servers->count = count;
    for (servers->bits = 0; (size_t)1 << servers->bits < count; servers->bits++)
        ;
    servers->leaves = (size_t)1 << servers->bits;
    servers->keys = mem_new_array(2 * servers->leaves, sizeof *servers->keys);
}

static inline void servers_clear(struct servers *servers)
{
    mem_free(servers->keys);
}

/* All matches, from the leaves up. */
static inline void servers_play(struct servers *servers)
{
    for (size_t i = servers->leaves - 1; i > 0; i--) {
        uint64_t left = servers->keys[2 * i];
        uint64_t right = servers->keys[2 * i + 1];

        servers->keys[i] = left < right ? left : right;
    }
}

/* The first `busy` servers become free at these times, the others are free. */
static inline void servers_reset(struct servers *servers, const uint64_t *free_at, size_t busy)
{
    for (size_t i = 0; i < servers->leaves; i++) {
        uint64_t time = i < busy ? free_at[i] : 0;

        servers->keys[servers->leaves + i] = i < servers->count ? time << servers->bits | i
                                                                : UINT64_MAX;
    }
    servers_play(servers);
}

/* The key at the root: the server that is free first, and when.  A caller that occupies several
   servers keeps it in a variable instead of reading it again. */
static inline uint64_t servers_first(const struct servers *servers)
{
    return servers->keys[1];
}

static inline uint64_t servers_free_at(const struct servers *servers, uint64_t first)
{
    return first >> servers->bits;
}

/* Copies the state of the others; if they are one server more, without the one that is free first.
 */
static inline void servers_follow(struct servers *servers, const struct servers *others)
{
    size_t first = servers_first(others) & (others->leaves - 1);
    size_t at = 0;

    for (size_t i = 0; i < servers->leaves; i++)
        servers->keys[servers->leaves + i] = i < servers->count ? i : UINT64_MAX;
    for (size_t i = 0; i < others->count; i++)
        if (i != first || servers->count >= others->count) {
            servers->keys[servers->leaves + at] =
                servers_free_at(others, others->keys[others->leaves + i]) << servers->bits | at;
            at++;
        }
    servers_play(servers);
}

/* The server `first` is busy until `until`.  Returns the new first.  The earlier of two keys is
   known two steps after they are: so that the next start need not wait for all levels one by one,
   the upper ones find the earliest of the other halves while the lower ones find theirs. */
static inline uint64_t servers_occupy(struct servers *servers, uint64_t first, uint64_t until)
{
    size_t number = first & (servers->leaves - 1);
    size_t at = servers->leaves + number;
    uint64_t key = until << servers->bits | number;
    uint64_t rest = UINT64_MAX;
    uint64_t low = key;

    servers->keys[at] = key;
    for (unsigned level = 0; level < servers->bits; level++) {
        uint64_t other = servers->keys[at ^ 1];

        if (level < servers->bits / 2)
            low = low < other ? low : other;
        else
            rest = rest < other ? rest : other;
        key = key < other ? key : other;
        at >>= 1;
        servers->keys[at] = key;
    }
    return low < rest ? low : rest;
}
