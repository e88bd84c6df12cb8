/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Copied from the arrivals chunk by chunk; the services are drawn as the replay draws them, four
 * from a random number.
 */
#include "windows/backtest/occurrence.h"

enum { DRAWS = 4 };

static uint64_t ticks_since(struct wall_time begin, struct wall_time wall)
{
    return wall.ms < begin.ms ? 0 : (uint64_t)(wall.ms - begin.ms) * TICKS_PER_MS;
}

void done_sort(struct done_times *times)
{
    arrivals_sort_descending(times->list.items, times->list.count);
}

void done_copy(struct done_times *to, const struct done_times *from, size_t count)
{
    to->list.count = 0;
    for (size_t i = 0; i < count; i++)
        *array_add(&to->list) = from->list.items[i];
}

/* Which span each request of a class is in. */
static void find_spans(struct occurrence *occurrence, const struct occurrence_setup *setup,
                       enum demand_class class)
{
    size_t span = 0;

    for (size_t i = 0; i < occurrence->count[class]; i++) {
        uint64_t at = occurrence->at[class][i];

        while (span < setup->span_count && ticks_since(setup->begin, setup->spans[span].end) <= at)
            span++;

        bool is_in = span < setup->span_count &&
                     ticks_since(setup->begin, setup->spans[span].begin) <= at;

        occurrence->span_of[class][i] = (uint32_t)(is_in ? span : setup->span_count);
    }
}

static void fill_service(struct occurrence *occurrence, const struct arrivals_setup *setup,
                         size_t step)
{
    struct random random;
    uint64_t word = 0;
    size_t count = occurrence->count[DEMAND_HIGH] + occurrence->count[DEMAND_LOW];

    random_seed(&random, arrivals_service_seed(setup, step));
    occurrence->service = mem_new_array(count, sizeof *occurrence->service);
    for (size_t i = 0; i < count; i++) {
        word = i % DRAWS == 0 ? random_next(&random) : word >> 16;
        occurrence->service[i] = setup->service->ticks[word & (SERVICE_TIMES - 1)];
    }
}

static void add_chunk(struct occurrence *occurrence, const struct arrivals_chunk *chunk,
                      uint64_t begin)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        size_t count = occurrence->count[class] + chunk->count[class];

        occurrence->at[class] = mem_resize(occurrence->at[class], count + 1, sizeof(uint64_t));
        for (size_t i = 0; i < chunk->count[class]; i++)
            occurrence->at[class][occurrence->count[class] + i] = begin + chunk->at[class][i];
        occurrence->at[class][count] = UINT64_MAX;
        occurrence->count[class] = count;
    }
    occurrence->end = begin + chunk->end;
}

void occurrence_init(struct occurrence *occurrence, const struct occurrence_setup *setup,
                     size_t segment)
{
    struct arrivals *arrivals = setup->arrivals;
    const struct arrivals_setup *origin = arrivals_setup_of(arrivals);
    const struct arrivals_chunk *chunk;
    size_t first = origin->segments->list.items[segment].first;
    uint64_t begin = ticks_since(setup->begin, demand_time(origin->series, first));
    size_t busy;
    const uint64_t *left = arrivals_before(arrivals, segment, &busy);
    size_t at = arrivals_first_chunk(arrivals, segment);

    require(demand_time(origin->series, first).ms >= setup->begin.ms);
    for (size_t i = 0; i < busy && !setup->begins_idle; i++)
        *array_add(&occurrence->before.list) = begin + left[i];
    do {
        chunk = arrivals_chunk(arrivals, at++);
        add_chunk(occurrence, chunk, begin);
    } while (!chunk->is_last);
    fill_service(occurrence, origin, first);
    occurrence->first_slot = (size_t)(begin / OCCURRENCE_SLOT);
    occurrence->last_slot = (size_t)((occurrence->end - 1) / OCCURRENCE_SLOT);
    require(occurrence->last_slot < setup->slots);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        occurrence->span_of[class] = mem_new_array(occurrence->count[class], sizeof(uint32_t));
        find_spans(occurrence, setup, (enum demand_class) class);
    }
}

void occurrence_clear(struct occurrence *occurrence)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        mem_free(occurrence->at[class]);
        mem_free(occurrence->span_of[class]);
    }
    mem_free(occurrence->service);
    array_clear(&occurrence->before.list);
}
