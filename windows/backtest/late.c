/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The last slot of the plan has no slot behind it: its servers go on until all have started.
 */
#include "windows/backtest/late.h"

static bool is_last(const struct late *late)
{
    return late->slot + 1 >= late->plan_slots;
}

static uint64_t slot_end(const struct late *late)
{
    return (late->slot + 1) * OCCURRENCE_SLOT;
}

void late_begin(struct late *late, const struct occurrence *occurrence, int64_t wait_ms,
                size_t plan_slots)
{
    late->occurrence = occurrence;
    late->target = (uint64_t)wait_ms * TICKS_PER_MS;
    late->plan_slots = plan_slots;
    late->slot = occurrence->first_slot;
    memset(late->next, 0, sizeof late->next);
    late->busy.list.count = 0;
}

bool late_next(struct late *late)
{
    const struct occurrence *occurrence = late->occurrence;
    const uint64_t *high = occurrence->at[DEMAND_HIGH] + late->next[DEMAND_HIGH];
    const uint64_t *low = occurrence->at[DEMAND_LOW] + late->next[DEMAND_LOW];
    const uint64_t *service = occurrence->service + late->next[DEMAND_HIGH] +
                              late->next[DEMAND_LOW];
    uint64_t end = slot_end(late);
    size_t kept = 0;

    if (late->slot >= occurrence->last_slot)
        return false;
    for (size_t i = 0; i < late->busy.list.count; i++)
        if (late->busy.list.items[i] > end)
            late->busy.list.items[kept++] = late->busy.list.items[i];
    late->busy.list.count = kept;
    for (uint64_t at; (at = *high < *low ? *high : *low) < end; service++) {
        if (*high > at)
            low++;
        else
            high++;
        if (at + *service > end)
            *array_add(&late->busy.list) = at + *service;
    }
    late->next[DEMAND_HIGH] = (size_t)(high - occurrence->at[DEMAND_HIGH]);
    late->next[DEMAND_LOW] = (size_t)(low - occurrence->at[DEMAND_LOW]);
    late->slot++;
    done_sort(&late->busy);
    return true;
}

void late_clear(struct late *late)
{
    array_clear(&late->busy.list);
    servers_clear(&late->servers);
}

/* The last to be done stay, as many as there are servers. */
static void set_servers(struct late *late, size_t servers)
{
    struct servers *tree = &late->servers;
    size_t busy = late->busy.list.count;

    for (tree->bits = 0; (size_t)1 << tree->bits < servers; tree->bits++)
        ;
    tree->leaves = (size_t)1 << tree->bits;
    tree->count = servers;
    if (tree->leaves > late->room) {
        late->room = tree->leaves;
        tree->keys = mem_resize(tree->keys, 2 * late->room, sizeof *tree->keys);
    }
    servers_reset(tree, late->busy.list.items, busy < servers ? busy : servers);
}

/* How many arrived from `at` on and before `until`, and wait until `start`. */
static int64_t overdue(const uint64_t *at, uint64_t until, uint64_t target, uint64_t start)
{
    int64_t count = 0;

    for (; *at < until; at++)
        count += start - *at > target;
    return count;
}

int64_t late_with(struct late *late, enum demand_class class, size_t servers, uint64_t until)
{
    const struct occurrence *occurrence = late->occurrence;
    const uint64_t *high = occurrence->at[DEMAND_HIGH] + late->next[DEMAND_HIGH];
    const uint64_t *low = occurrence->at[DEMAND_LOW] + late->next[DEMAND_LOW];
    const uint64_t *service = occurrence->service + late->next[DEMAND_HIGH] +
                              late->next[DEMAND_LOW];
    uint64_t end = slot_end(late);
    uint64_t horizon = is_last(late) ? UINT64_MAX : end;
    size_t count = is_last(late) && servers < 1 ? 1 : servers;
    int64_t violations = 0;

    if (count > 0) {
        set_servers(late, count);

        struct servers tree = late->servers;
        uint64_t first = servers_first(&tree);

        for (;;) {
            uint64_t next = *high < *low ? *high : *low;
            uint64_t free_at = servers_free_at(&tree, first);
            uint64_t start = next > free_at ? next : free_at;
            size_t is_low = *high > start;
            uint64_t at = is_low ? *low : *high;

            if (next >= end || start >= horizon)
                break;
            violations += (is_low == (size_t) class) & (at < until) & (start - at > late->target);
            high += 1 - is_low;
            low += is_low;
            first = servers_occupy(&tree, first, start + *service++);
        }
    }
    return violations +
           overdue(class == DEMAND_LOW ? low : high, until < end ? until : end, late->target, end);
}
