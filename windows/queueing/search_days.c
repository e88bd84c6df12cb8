/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A day of which nothing is known asks for nothing.
 */
#include "windows/queueing/search_days.h"

static void estimate_of(const struct search_setup *setup, struct estimate *ret)
{
    struct arrivals_setup arrivals = search_arrivals_setup(setup);

    estimate_init(ret, &arrivals);
}

static int servers_of(const struct search_setup *setup)
{
    struct estimate estimate;

    estimate_of(setup, &estimate);
    return estimate_servers(&estimate, setup->target.percentile / 100,
                            (double)setup->target.wait_ms / SECOND_MS);
}

/* Puts the last item before those that need less. */
static void sink(struct search_days *days, int *needs)
{
    for (size_t at = days->count - 1; at > 0 && needs[at] > needs[at - 1]; at--) {
        struct search_setup item = days->items[at];
        int need = needs[at];

        days->items[at] = days->items[at - 1];
        days->items[at - 1] = item;
        needs[at] = needs[at - 1];
        needs[at - 1] = need;
    }
}

static void add_days(struct search_days *days)
{
    const struct segment_list *all = days->whole.segments;
    size_t count = segments_day_count(all);
    int *needs = mem_new_array(count, sizeof *needs);

    days->segment_count = count;
    days->segments = mem_new_array(count, sizeof *days->segments);
    days->items = mem_new_array(count, sizeof *days->items);
    for (size_t i = 0; i < count; i++) {
        struct segment_list *day = &days->segments[i];

        segments_of_day(all, i, day);
        if (day->list.count == 0)
            continue;
        for (size_t at = 0; at < day->list.count; at++)
            *array_add(&days->cut.list) = day->list.items[at];
        *array_add(&days->cut.days) = i < all->days.count ? all->days.items[i] : 0;
        days->items[days->count] = days->whole;
        days->items[days->count].segments = day;
        needs[days->count] = servers_of(&days->items[days->count]);
        days->count++;
        sink(days, needs);
    }
    days->whole.segments = &days->cut;
    mem_free(needs);
}

void search_days_init(struct search_days *days, const struct search_setup *setup)
{
    *days = (struct search_days){ .whole = *setup };
    days->whole.is_each_day = false;
    if (setup->is_each_day) {
        add_days(days);
        return;
    }
    days->items = mem_new_array(1, sizeof *days->items);
    days->items[0] = days->whole;
    days->count = 1;
}

void search_days_clear(struct search_days *days)
{
    for (size_t i = 0; i < days->segment_count; i++)
        segments_clear(&days->segments[i]);
    mem_free(days->segments);
    mem_free(days->items);
    segments_clear(&days->cut);
}

void search_days_estimate(const struct search_setup *setup, struct estimate *ret_estimate)
{
    struct search_days days;

    search_days_init(&days, setup);
    estimate_of(days.count > 0 ? &days.items[0] : &days.whole, ret_estimate);
    search_days_clear(&days);
}
