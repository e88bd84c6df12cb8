/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many requests of one slot are late if this slot has a given number of servers and all other
 * slots have an unlimited number.  Then no request waits when the slot begins, and all that still
 * wait when it ends start at that moment: no other slot has to be replayed.
 *
 *     late_begin(&late, &occurrence, wait_ms, plan_slots);
 *     do late_with(&late, DEMAND_LOW, servers, until); while (late_next(&late));
 */
#pragma once

#include "windows/backtest/occurrence.h"
#include "windows/servers/servers.h"

struct late { /* zeroed before the first segment */
    const struct occurrence *occurrence;
    uint64_t target;
    size_t plan_slots;
    size_t slot;
    size_t next[DEMAND_CLASSES]; /* the first that arrives in the slot */
    struct done_times busy;      /* requests that came earlier and are not done */
    struct servers servers;
    size_t room; /* leaves that there is memory for */
};

/* The first slot of a segment, with all servers free. */
void late_begin(struct late *late, const struct occurrence *occurrence, int64_t wait_ms,
                size_t plan_slots);
bool late_next(struct late *late); /* false behind the last */
void late_clear(struct late *late);

/* The late requests of one class, among those that arrive before tick `until`. */
int64_t late_with(struct late *late, enum demand_class class, size_t servers, uint64_t until);
