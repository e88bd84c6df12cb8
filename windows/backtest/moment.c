/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The busy servers of a moment (the state of a replay) are sorted only where it matters: before
 * some have to leave, and before two moments that may be equal are compared.
 */
#include "windows/backtest/moment.h"

void moment_copy(struct moment *to, const struct moment *from)
{
    memcpy(to->next, from->next, sizeof to->next);
    to->sum = from->sum;
    done_copy(&to->busy, &from->busy, from->busy.list.count);
}

bool moment_is_same(struct moment *a, struct moment *b)
{
    if (memcmp(a->next, b->next, sizeof a->next) != 0 || a->sum != b->sum ||
        a->busy.list.count != b->busy.list.count)
        return false;
    if (a->busy.list.count == 0)
        return true;
    done_sort(&a->busy);
    done_sort(&b->busy);
    return memcmp(a->busy.list.items, b->busy.list.items, a->busy.list.count * sizeof(uint64_t)) ==
           0;
}

void moment_give(struct moment *moment, size_t servers, uint64_t tick, struct staff *staff,
                 struct done_times *leaving)
{
    struct done_times *busy = &moment->busy;

    if (busy->list.count > servers)
        done_sort(busy);
    staff_set(staff, servers, busy->list.items,
              busy->list.count < servers ? busy->list.count : servers, tick);
    leaving->list.count = 0;
    for (size_t i = servers; i < busy->list.count; i++)
        *array_add(&leaving->list) = busy->list.items[i];
}

static void add_busy(struct moment *moment, uint64_t done, uint64_t tick)
{
    if (done <= tick)
        return;
    *array_add(&moment->busy.list) = done;
    moment->sum += done;
}

void moment_take(struct moment *moment, uint64_t tick, const struct staff *staff,
                 const struct done_times *leaving)
{
    const struct servers *tree = &staff->tree;

    moment->busy.list.count = 0;
    moment->sum = 0;
    for (size_t i = 0; i < tree->count; i++)
        add_busy(moment, servers_free_at(tree, tree->keys[tree->leaves + i]), tick);
    for (size_t i = 0; i < leaving->list.count; i++)
        add_busy(moment, leaving->list.items[i], tick);
}
