/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The requests of one segment in memory, as the judge (judge.h) sees them: when they arrive, in
 * which span, and the services in the order of starts.  About 30 bytes each.  Ticks are since the
 * begin of the plan.
 */
#pragma once

#include "base/array.h"
#include "windows/judge/judge.h"

#define OCCURRENCE_SLOT ((uint64_t)JUDGE_SLOT_MS * TICKS_PER_MS)

struct occurrence_setup {
    struct arrivals *arrivals; /* segments in the order of time, all within the plan */
    struct replay_target target;
    const struct wall_span *spans; /* sorted, without overlap */
    size_t span_count;
    struct wall_time begin;
    size_t slots;     /* of the plan */
    bool begins_idle; /* requests before a segment occupy no server */
};

struct done_times {
    ARRAY(uint64_t) list; /* done_sort(): the last first */
};

struct occurrence {
    uint64_t end;
    size_t first_slot;
    size_t last_slot;             /* in which it ends */
    uint64_t *at[DEMAND_CLASSES]; /* with UINT64_MAX behind the last */
    size_t count[DEMAND_CLASSES];
    uint32_t *span_of[DEMAND_CLASSES]; /* setup->span_count: in none */
    uint64_t *service;                 /* as many as requests */
    struct done_times before;          /* busy servers at its begin, if servers suffice */
};

void occurrence_init(struct occurrence *occurrence, const struct occurrence_setup *setup,
                     size_t segment);
void occurrence_clear(struct occurrence *occurrence);

void done_sort(struct done_times *times);

/* The first `count` of them. */
void done_copy(struct done_times *to, const struct done_times *from, size_t count);
