/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What has to meet the target by itself: all days of a window pooled, or each of them.  Each part
 * has a search of its own for one common answer.  The part that needs most, by the estimate, is
 * first.
 */
#pragma once

#include "windows/queueing/estimate.h"
#include "windows/queueing/search.h"

struct search_days {
    struct search_setup *items; /* none of them has a target for each day any more */
    size_t count;
    struct search_setup whole;     /* all days pooled; cut into days if each day counts */
    struct segment_list *segments; /* one per day; days without known steps have no item */
    size_t segment_count;
    struct segment_list cut;
};

void search_days_init(struct search_days *days, const struct search_setup *setup);
void search_days_clear(struct search_days *days);

/* The closed form of the part that needs most. */
void search_days_estimate(const struct search_setup *setup, struct estimate *ret_estimate);

static inline void owned_search_days(struct search_days *days)
{
    search_days_clear(days);
}
