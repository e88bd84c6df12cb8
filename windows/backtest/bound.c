/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The late of a slot (late.h) are counted for each number of nodes that is neither enough for all
 * nor too little for the whole span.
 */
#include "windows/backtest/bound.h"

#include "windows/backtest/late.h"

#include <math.h>

enum { ROUNDS = 120, SINGLE_LEVELS = 64, LEVEL_PARTS = 20 };

static const double slot_hours = (double)JUDGE_SLOT_MS / (3600.0 * SECOND_MS);
static const double ticks_per_hour = 3600.0 * TICKS_PER_SECOND;

struct bound {
    const struct occurrence_setup *setup;
    const struct moves_cost *cost;
    int64_t *allowed[DEMAND_CLASSES]; /* late ones, one a span, and one for requests in no span */
    int servers_per_node;
    size_t first; /* the slot that is paid for first: rows begin with it */
    size_t slots; /* paid for */
    int *levels;  /* numbers of nodes that are looked at, from 0 (moves.h) */
    size_t width; /* how many levels there are: search_prices() says why so few */
    enum demand_class class;
    size_t *span_of_slot; /* one a row; span_count: none that counts */
    double *late;         /* rows of width; infinite where a span cannot bear it */
    double *stages;
    int *nodes;
    double *prices;   /* of a late request, one a span */
    double *used;     /* late ones, one a span */
    double work_h;    /* server-hours that the plan must have */
    double longest_h; /* the longest service; so much of work_h for each server withdrawn */
    double work_price;
};

/* One segment's last moments. */
struct ending {
    const struct occurrence *occurrence;
    uint64_t target;
};

/* How many may still wait when the segment ends: the last of the class, with no more overdue
   requests of each span than it allows. */
static size_t may_wait(const struct bound *bound, const struct ending *ending,
                       enum demand_class class)
{
    const struct occurrence *occurrence = ending->occurrence;
    int64_t *overdue = mem_new_array(bound->setup->span_count + 1, sizeof *overdue);
    size_t count = 0;

    while (count < occurrence->count[class]) {
        size_t at = occurrence->count[class] - 1 - count;
        size_t span = occurrence->span_of[class][at];

        if (occurrence->at[class][at] + ending->target < occurrence->end &&
            ++overdue[span] > bound->allowed[class][span])
            break;
        count++;
    }
    mem_free(overdue);
    return count;
}

/* Puts a value into a heap of the greatest, the least of them first, in its place. */
static void heap_replace_first(uint64_t *heap, size_t count, uint64_t value)
{
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= value)
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

/* The sum of the greatest; in whole ticks, so that their order does not matter. */
static double sum_of_longest(const struct occurrence *occurrence, size_t count)
{
    uint64_t *longest = mem_new_array(count, sizeof *longest);
    size_t requests = occurrence->count[DEMAND_HIGH] + occurrence->count[DEMAND_LOW];
    double sum = 0;

    for (size_t i = 0; i < requests; i++)
        if (occurrence->service[i] > longest[0])
            heap_replace_first(longest, count, occurrence->service[i]);
    for (size_t i = 0; i < count; i++)
        sum += (double)longest[i];
    mem_free(longest);
    return sum;
}

/* How many arrive before the first slot that is paid for: they take the first services. */
static size_t count_unpaid(const struct bound *bound, const struct occurrence *occurrence)
{
    size_t count = 0;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (size_t i = 0; i < occurrence->count[class]; i++)
            count += occurrence->at[class][i] < bound->first * OCCURRENCE_SLOT;
    return count;
}

/* Adds the service that is done before the segment ends, at least. */
static void add_work(struct bound *bound, const struct occurrence *occurrence)
{
    struct ending ending = { occurrence, (uint64_t)bound->setup->target.wait_ms * TICKS_PER_MS };
    size_t requests = occurrence->count[DEMAND_HIGH] + occurrence->count[DEMAND_LOW];
    size_t waiting = may_wait(bound, &ending, DEMAND_HIGH) + may_wait(bound, &ending, DEMAND_LOW);
    size_t servers = (size_t)(bound->cost->nodes_max * bound->servers_per_node) + 1;
    size_t unpaid = count_unpaid(bound, occurrence);
    double work = -sum_of_longest(occurrence, servers);

    for (size_t i = unpaid; i < requests; i++) {
        work += i < requests - waiting ? (double)occurrence->service[i] : 0;
        bound->longest_h = fmax(bound->longest_h, (double)occurrence->service[i] / ticks_per_hour);
    }
    bound->work_h += fmax(0, work) / ticks_per_hour;
}

/* Adds each request to the slots in which it would be present if no request waited longer than a
   slot. */
static void count_present(const struct occurrence *occurrence, int *servers, size_t slots)
{
    const uint64_t *high = occurrence->at[DEMAND_HIGH];
    const uint64_t *low = occurrence->at[DEMAND_LOW];
    size_t requests = occurrence->count[DEMAND_HIGH] + occurrence->count[DEMAND_LOW];

    for (size_t i = 0; i < requests; i++) {
        uint64_t from = *high < *low ? *high++ : *low++;
        uint64_t to = from + occurrence->service[i] + OCCURRENCE_SLOT;

        for (size_t slot = (size_t)(from / OCCURRENCE_SLOT);
             slot < slots && slot <= (size_t)(to / OCCURRENCE_SLOT); slot++)
            servers[slot]++;
    }
}

static void find_span_of_slots(struct bound *bound)
{
    const struct occurrence_setup *setup = bound->setup;
    int64_t first_ms = setup->begin.ms + (int64_t)bound->first * JUDGE_SLOT_MS;
    size_t span = 0;

    for (size_t row = 0; row < bound->slots; row++) {
        int64_t at_ms = first_ms + (int64_t)row * JUDGE_SLOT_MS;

        while (span < setup->span_count && setup->spans[span].end.ms <= at_ms)
            span++;

        bool counts = span < setup->span_count && setup->spans[span].begin.ms <= at_ms &&
                      setup->spans[span].begin.ms >= first_ms;

        bound->span_of_slot[row] = counts ? span : setup->span_count;
    }
}

/* How many are late in a slot with the greatest number of nodes of a level. */
static double late_at(const struct bound *bound, struct late *late, size_t level)
{
    size_t span = bound->span_of_slot[late->slot - bound->first];
    int64_t until_ms = bound->setup->spans[span].end.ms - bound->setup->begin.ms;

    return (double)late_with(late, bound->class,
                             (size_t)(bound->levels[level] * bound->servers_per_node),
                             (uint64_t)until_ms * TICKS_PER_MS);
}

/* The least level that is enough; that of the slot before is near it. */
static size_t find_enough(const struct bound *bound, struct late *late, size_t near)
{
    size_t fails = 0; /* one below what is enough, plus one */
    size_t enough = bound->width;
    size_t step = 1;

    for (size_t at = near < enough ? near : enough - 1; fails < enough; step *= 2) {
        if (late_at(bound, late, at) > 0) {
            fails = at + 1;
            at += step;
        } else {
            enough = at;
            at -= step < at ? step : at;
        }
        if (at < fails || at >= enough) /* the next step would leave what is in doubt */
            at = fails + (enough - fails) / 2;
    }
    return enough;
}

/* Adds the late requests of a segment to the row of its slot: for each number of servers
   below the least one at which none is late, as far as the span allows.  Returns that least number.
 */
static size_t count_late(struct bound *bound, struct late *late, size_t near)
{
    size_t at = late->slot - bound->first;
    double *row = bound->late + at * bound->width;

    if (late->slot < bound->first || bound->span_of_slot[at] == bound->setup->span_count)
        return near;

    size_t enough = find_enough(bound, late, near);
    double allowed = (double)bound->allowed[bound->class][bound->span_of_slot[at]];

    for (size_t level = enough; level-- > 0;) {
        if (isinf(row[level]))
            continue;
        row[level] += level + 1 < enough && isinf(row[level + 1]) ? INFINITY
                                                                  : late_at(bound, late, level);
        if (row[level] > allowed)
            row[level] = INFINITY;
    }
    return enough;
}

static void count_occurrence(struct bound *bound, const struct occurrence *occurrence)
{
    struct late late = { 0 };
    size_t enough = 0;

    late_begin(&late, occurrence, bound->setup->target.wait_ms, bound->setup->slots);
    do
        enough = count_late(bound, &late, enough);
    while (late_next(&late));
    late_clear(&late);
}

static double fewest_of(const struct bound *bound, size_t level)
{
    return level > 0 ? bound->levels[level - 1] + 1 : 0;
}

static bool is_free(const struct bound *bound, size_t slot)
{
    const bool *counted = bound->cost->counted;

    return counted && !counted[bound->first + slot];
}

/* The dual at these prices; `used` and ret_short_h get the figures of the path, for the next
   prices. */
static double dual(struct bound *bound, double *ret_short_h)
{
    struct moves_cost cost = *bound->cost;
    double server_h = slot_hours * bound->servers_per_node;
    double fall_h = bound->longest_h * bound->servers_per_node;
    double value = bound->work_price * bound->work_h;

    cost.nodes_max = (int)bound->width - 1;
    cost.levels = bound->levels;
    cost.down_h -= bound->work_price * fall_h;
    for (size_t slot = 0; slot < bound->slots; slot++)
        for (size_t n = 0; n < bound->width; n++) {
            size_t at = slot * bound->width + n;

            bound->stages[at] = is_free(bound, slot)
                                    ? 0
                                    : fewest_of(bound, n) *
                                          (cost.slot_h - bound->work_price * server_h);
            if (bound->late[at] > 0)
                bound->stages[at] += isinf(bound->late[at])
                                         ? INFINITY
                                         : bound->late[at] *
                                               bound->prices[bound->span_of_slot[slot]];
        }
    value += moves_staged(bound->stages, bound->slots, &cost, bound->nodes);
    *ret_short_h = bound->work_h;
    for (size_t span = 0; span < bound->setup->span_count; span++) {
        bound->used[span] = 0;
        value -= bound->prices[span] * (double)bound->allowed[bound->class][span];
    }
    for (size_t slot = 0; slot < bound->slots && value < INFINITY; slot++) {
        size_t level = (size_t)bound->nodes[slot];
        double nodes = fewest_of(bound, level);
        double falls = slot > 0 ? bound->levels[bound->nodes[slot - 1]] - nodes : 0;
        double late = bound->late[slot * bound->width + level];

        if (late > 0)
            bound->used[bound->span_of_slot[slot]] += late;
        *ret_short_h -= (is_free(bound, slot) ? 0 : nodes * server_h) +
                        (falls > 0 ? falls * fall_h : 0);
    }
    return value;
}

/* The highest useful price of work.  Up to this price, one node more than the path ever uses costs
   at least its gain: by its work, and by the work in progress when it is removed. */
static double most_for_work(const struct bound *bound)
{
    const struct moves_cost *cost = bound->cost;
    double server_h = slot_hours * bound->servers_per_node;
    double fall_h = bound->longest_h * bound->servers_per_node;

    return fmin(cost->slot_h / server_h,
                (cost->slot_h + cost->up_h + cost->down_h) / (server_h + fall_h));
}

/* Follows the subgradient: a price rises if more is used than allowed. */
static double search_prices(struct bound *bound)
{
    double most = most_for_work(bound);
    double best = 0;

    for (size_t span = 0; span < bound->setup->span_count; span++)
        bound->prices[span] = bound->cost->slot_h /
                              (1 + (double)bound->allowed[bound->class][span]);
    for (int round = 0; round < ROUNDS; round++) {
        double step = 1 / sqrt(1 + round);
        double short_h;
        double value = dual(bound, &short_h);

        best = fmax(best, value);
        if (isinf(value))
            return INFINITY;
        for (size_t span = 0; span < bound->setup->span_count; span++) {
            double allowed = (double)bound->allowed[bound->class][span];
            double over = (bound->used[span] - allowed) / (1 + allowed);

            bound->prices[span] *= exp(step * fmin(1, over));
        }
        bound->work_price += most * step * short_h / (1 + bound->work_h);
        bound->work_price = fmin(most, fmax(0, bound->work_price));
    }
    return best;
}

/* The number of nodes, at most nodes_max, that holds the most servers of the plan. */
static int nodes_used(const struct bound *bound, const int *servers)
{
    int most = 1;

    for (size_t slot = 0; slot < bound->setup->slots; slot++)
        most = servers[slot] > most ? servers[slot] : most;

    int nodes = (most + bound->servers_per_node - 1) / bound->servers_per_node;

    return nodes < bound->cost->nodes_max ? nodes : bound->cost->nodes_max;
}

/* Every number if moves have a cost; otherwise large numbers in steps of a twentieth. */
static void choose_levels(struct bound *bound, int most)
{
    int level = 0;

    bound->levels = mem_new_array((size_t)most + 1, sizeof *bound->levels);
    while (level < most) {
        bool is_single = level < SINGLE_LEVELS || bound->cost->up_h > 0;

        level += is_single ? 1 : level / LEVEL_PARTS;
        level = level < most ? level : most;
        bound->levels[++bound->width] = level;
    }
    bound->width++;
}

static void find_allowed(struct bound *bound, const struct occurrence *occurrences, size_t count)
{
    size_t spans = bound->setup->span_count;

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        int64_t *allowed = bound->allowed[class] = mem_new_array(spans + 1, sizeof *allowed);

        for (size_t i = 0; i < count; i++)
            for (size_t at = 0; at < occurrences[i].count[class]; at++)
                allowed[occurrences[i].span_of[class][at]]++;
        for (size_t span = 0; span < spans; span++)
            allowed[span] = replay_allowed(allowed[span], bound->setup->target.percentile);
        allowed[spans] = INT64_MAX;
    }
}

static void bound_init(struct bound *bound, const struct occurrence *occurrences, size_t count)
{
    const struct occurrence_setup *setup = bound->setup;
    size_t slots = bound->slots = setup->slots - bound->first;
    int *servers = mem_new_array(setup->slots, sizeof *servers);
    size_t low = 0;

    bound->span_of_slot = mem_new_array(slots, sizeof *bound->span_of_slot);
    bound->nodes = mem_new_array(slots, sizeof *bound->nodes);
    bound->prices = mem_new_array(2 * (setup->span_count + 1), sizeof *bound->prices);
    bound->used = bound->prices + setup->span_count + 1;
    find_allowed(bound, occurrences, count);
    for (size_t i = 0; i < count; i++) {
        count_present(&occurrences[i], servers, setup->slots);
        add_work(bound, &occurrences[i]);
        low += occurrences[i].count[DEMAND_LOW];
    }
    choose_levels(bound, nodes_used(bound, servers));
    bound->late = mem_new_array(2 * slots * bound->width, sizeof *bound->late);
    bound->stages = bound->late + slots * bound->width;
    bound->work_h = fmax(0, bound->work_h - slot_hours); /* the last slot's server, if it has 0 */
    bound->class = low > 0 ? DEMAND_LOW : DEMAND_HIGH;
    find_span_of_slots(bound);
    for (size_t i = 0; i < count; i++)
        count_occurrence(bound, &occurrences[i]);
    mem_free(servers);
}

static void bound_clear(struct bound *bound)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(bound->allowed[class]);
    mem_free(bound->span_of_slot);
    mem_free(bound->late);
    mem_free(bound->nodes);
    mem_free(bound->levels);
    mem_free(bound->prices);
}

double bound_node_hours(const struct occurrence_setup *setup, size_t first, int servers_per_node,
                        const struct moves_cost *cost)
{
    struct bound bound = {
        .setup = setup, .cost = cost, .servers_per_node = servers_per_node, .first = first
    };
    struct occurrence_setup idle = *setup;
    size_t count = arrivals_setup_of(setup->arrivals)->segments->list.count;
    struct occurrence *occurrences = mem_new_array(count, sizeof *occurrences);

    idle.begins_idle = true;
    for (size_t i = 0; i < count; i++)
        occurrence_init(&occurrences[i], &idle, i);
    bound_init(&bound, occurrences, count);
    for (size_t i = 0; i < count; i++)
        occurrence_clear(&occurrences[i]);
    mem_free(occurrences);

    double hours = search_prices(&bound);

    bound_clear(&bound);
    return hours;
}
