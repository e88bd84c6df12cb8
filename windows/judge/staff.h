/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A changing number of servers.  Only servers that had work are in the winner tree (servers.h); the
 * others have been idle since the last change.  So a plan of thousands of servers for a burst costs
 * no more than the few busy ones.
 *
 * A caller that finds the first of the tree later than an idle server calls staff_grow() and reads
 * again.
 */
#pragma once

#include "windows/servers/servers.h"

#include <stdbool.h>

struct staff {
    struct servers tree;
    size_t there;        /* in the tree or not */
    size_t room;         /* leaves that there is memory for */
    uint64_t idle_since; /* of the servers that are not in the tree */
};

enum { STAFF_LEAVES = 8 }; /* at least */

/* A tree of so many leaves or more; the first servers become free at `times`. */
static inline void staff_plant(struct staff *staff, size_t leaves, const uint64_t *times,
                               size_t count)
{
    struct servers *tree = &staff->tree;

    for (tree->bits = 0; (size_t)1 << tree->bits < leaves; tree->bits++)
        ;
    tree->leaves = (size_t)1 << tree->bits;
    tree->count = tree->leaves < staff->there ? tree->leaves : staff->there;
    if (tree->leaves > staff->room) {
        staff->room = tree->leaves;
        tree->keys = mem_resize(tree->keys, 2 * staff->room, sizeof *tree->keys);
    }
    for (size_t i = 0; i < tree->leaves; i++) {
        uint64_t time = i < count ? times[i] : staff->idle_since;

        tree->keys[tree->leaves + i] = i < tree->count ? time << tree->bits | i : UINT64_MAX;
    }
    for (size_t i = tree->leaves - 1; i > 0; i--) {
        uint64_t left = tree->keys[2 * i];
        uint64_t right = tree->keys[2 * i + 1];

        tree->keys[i] = left < right ? left : right;
    }
}

/* The first of `busy` (no more than `there`) become free at these times, the others are idle. */
static inline void staff_set(struct staff *staff, size_t there, const uint64_t *busy, size_t count,
                             uint64_t idle_since)
{
    staff->there = there;
    staff->idle_since = idle_since;
    staff_plant(staff, count + 1 > STAFF_LEAVES ? count + 1 : STAFF_LEAVES, busy, count);
}

static inline bool staff_can_grow(const struct staff *staff)
{
    return staff->tree.count < staff->there;
}

/* Doubles the tree. */
static inline void staff_grow(struct staff *staff)
{
    const struct servers *tree = &staff->tree;
    size_t count = tree->count;
    uint64_t *times = mem_new_array(count, sizeof *times);

    for (size_t i = 0; i < count; i++)
        times[i] = tree->keys[tree->leaves + i] >> tree->bits;
    staff_plant(staff, 2 * tree->leaves, times, count);
    mem_free(times);
}

static inline void staff_clear(struct staff *staff)
{
    servers_clear(&staff->tree);
}
