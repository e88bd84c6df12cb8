/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The late of a slot are counted by one trial (rerun.h) for each number of nodes that is neither
 * enough for all nor too little for the whole span.
 */
#include "windows/backtest/bound.h"

#include "windows/backtest/rerun.h"

#include <math.h>

enum { ROUNDS = 120, SINGLE_LEVELS = 64, LEVEL_PARTS = 20 };

static const double slot_hours = (double)JUDGE_SLOT_MS / (3600.0 * SECOND_MS);
static const double ticks_per_hour = 3600.0 * TICKS_PER_SECOND;

struct bound {
    const struct stretch_setup *setup;
    const struct moves_cost *cost;
    struct rerun *rerun;
    int servers_per_node;
    size_t first; /* the slot that is paid for first: rows begin with it */
    size_t slots; /* that are paid for */
    int *levels;  /* numbers of nodes that are looked at, from 0 (moves.h), */
    size_t width; /* and how many: search_prices() says why so few */
    enum demand_class class;
    size_t *span_of_slot; /* one a row; span_count: none that counts */
    double *late;         /* rows of width; infinite where a span cannot bear it */
    double *stages;
    int *nodes;
    double *prices;   /* of a late request, one a span */
    double *used;     /* late ones, one a span */
    double work_h;    /* server-hours that the plan must have, */
    double longest_h; /* but for so many for each server withdrawn */
    double work_price;
};

/* One segment's last moments. */
struct ending {
    const struct stretch *stretch;
    uint64_t target;
};

/* Who may wait when the segment ends: the last of the class, of each span no more overdue than it
   may have. */
static size_t may_wait(const struct bound *bound, const struct ending *ending,
                       enum demand_class class)
{
    const struct stretch *stretch = ending->stretch;
    int64_t *overdue = mem_new_array(bound->setup->span_count + 1, sizeof *overdue);
    size_t count = 0;

    while (count < stretch->count[class]) {
        size_t at = stretch->count[class] - 1 - count;
        size_t span = stretch->span_of[class][at];

        if (stretch->at[class][at] + ending->target < stretch->end &&
            ++overdue[span] > rerun_allowed(bound->rerun, class, span))
            break;
        count++;
    }
    mem_free(overdue);
    return count;
}

/* The sum of the greatest. */
static double sum_of_longest(const struct stretch *stretch, size_t count)
{
    struct done_times services = { 0 };
    size_t requests = stretch->count[DEMAND_HIGH] + stretch->count[DEMAND_LOW];
    double sum = 0;

    for (size_t i = 0; i < requests; i++)
        *array_add(&services.list) = stretch->service[i];
    done_sort(&services);
    for (size_t i = 0; i < count && i < requests; i++)
        sum += (double)services.list.items[i];
    array_clear(&services.list);
    return sum;
}

/* How many arrive before the first slot that is paid for: theirs are the first services. */
static size_t count_unpaid(const struct bound *bound, const struct stretch *stretch)
{
    size_t count = 0;

    for (int class = 0; class < DEMAND_CLASSES; class ++)
        for (size_t i = 0; i < stretch->count[class]; i++)
            count += stretch->at[class][i] < bound->first * STRETCH_SLOT;
    return count;
}

/* What is served before the segment ends, at least. */
static void add_work(struct bound *bound, const struct stretch *stretch)
{
    struct ending ending = { stretch, (uint64_t)bound->setup->target.wait_ms * TICKS_PER_MS };
    size_t requests = stretch->count[DEMAND_HIGH] + stretch->count[DEMAND_LOW];
    size_t waiting = may_wait(bound, &ending, DEMAND_HIGH) + may_wait(bound, &ending, DEMAND_LOW);
    size_t servers = (size_t)(bound->cost->nodes_max * bound->servers_per_node) + 1;
    size_t unpaid = count_unpaid(bound, stretch);
    double work = -sum_of_longest(stretch, servers);

    for (size_t i = unpaid; i < requests; i++) {
        work += i < requests - waiting ? (double)stretch->service[i] : 0;
        bound->longest_h = fmax(bound->longest_h, (double)stretch->service[i] / ticks_per_hour);
    }
    bound->work_h += fmax(0, work) / ticks_per_hour;
}

/* Adds each request to the slots in which it is there, if nobody waits for longer than a slot. */
static void count_present(const struct stretch *stretch, int *servers, size_t slots)
{
    const uint64_t *high = stretch->at[DEMAND_HIGH];
    const uint64_t *low = stretch->at[DEMAND_LOW];
    size_t requests = stretch->count[DEMAND_HIGH] + stretch->count[DEMAND_LOW];

    for (size_t i = 0; i < requests; i++) {
        uint64_t from = *high < *low ? *high++ : *low++;
        uint64_t to = from + stretch->service[i] + STRETCH_SLOT;

        for (size_t slot = (size_t)(from / STRETCH_SLOT);
             slot < slots && slot <= (size_t)(to / STRETCH_SLOT); slot++)
            servers[slot]++;
    }
}

static void find_span_of_slots(struct bound *bound)
{
    const struct stretch_setup *setup = bound->setup;
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

/* How many are late in a slot with the most nodes of a level, or infinite. */
static double late_with(struct bound *bound, size_t slot, size_t level)
{
    size_t span = bound->span_of_slot[slot - bound->first];
    int change = bound->levels[level] * bound->servers_per_node - rerun_servers(bound->rerun)[slot];

    if (span == bound->setup->span_count || change >= 0)
        return 0;
    (void)rerun_try(bound->rerun, slot, 1, change, NULL);

    int64_t late = rerun_violations(bound->rerun, bound->class, span);

    rerun_undo(bound->rerun);
    return late > rerun_allowed(bound->rerun, bound->class, span) ? INFINITY : (double)late;
}

/* The row of a slot: from the smallest number that is enough downwards. */
static void count_late(struct bound *bound, size_t slot)
{
    double *row = bound->late + (slot - bound->first) * bound->width;
    size_t fails = 0; /* one below what is enough, plus one */
    size_t enough = bound->width;

    while (fails < enough) {
        size_t middle = fails + (enough - fails) / 2;

        if (late_with(bound, slot, middle) > 0)
            fails = middle + 1;
        else
            enough = middle;
    }
    for (size_t level = fails; level-- > 0;)
        row[level] = level + 1 < fails && isinf(row[level + 1]) ? INFINITY
                                                                : late_with(bound, slot, level);
}

static double fewest_of(const struct bound *bound, size_t level)
{
    return level > 0 ? bound->levels[level - 1] + 1 : 0;
}

/* The dual at these prices; leaves in `used` and ret_short_h what the path has, for the next. */
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

            bound->stages[at] = fewest_of(bound, n) * (cost.slot_h - bound->work_price * server_h);
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
        value -= bound->prices[span] * (double)rerun_allowed(bound->rerun, bound->class, span);
    }
    for (size_t slot = 0; slot < bound->slots && value < INFINITY; slot++) {
        size_t level = (size_t)bound->nodes[slot];
        double nodes = fewest_of(bound, level);
        double falls = slot > 0 ? bound->levels[bound->nodes[slot - 1]] - nodes : 0;
        double late = bound->late[slot * bound->width + level];

        if (late > 0)
            bound->used[bound->span_of_slot[slot]] += late;
        *ret_short_h -= nodes * server_h + (falls > 0 ? falls * fall_h : 0);
    }
    return value;
}

/* The highest price of work at which a node more than are ever used does not pay for itself, by
   what it does nor by what it has in hand when it is withdrawn. */
static double most_for_work(const struct bound *bound)
{
    const struct moves_cost *cost = bound->cost;
    double server_h = slot_hours * bound->servers_per_node;
    double fall_h = bound->longest_h * bound->servers_per_node;

    return fmin(cost->slot_h / server_h,
                (cost->slot_h + cost->up_h + cost->down_h) / (server_h + fall_h));
}

/* Follows the subgradient: a price rises where more is used than is allowed. */
static double search_prices(struct bound *bound)
{
    double most = most_for_work(bound);
    double best = 0;

    for (size_t span = 0; span < bound->setup->span_count; span++)
        bound->prices[span] = bound->cost->slot_h /
                              (1 + (double)rerun_allowed(bound->rerun, bound->class, span));
    for (int round = 0; round < ROUNDS; round++) {
        double step = 1 / sqrt(1 + round);
        double short_h;
        double value = dual(bound, &short_h);

        best = fmax(best, value);
        if (isinf(value))
            return INFINITY;
        for (size_t span = 0; span < bound->setup->span_count; span++) {
            double allowed = (double)rerun_allowed(bound->rerun, bound->class, span);
            double over = (bound->used[span] - allowed) / (1 + allowed);

            bound->prices[span] *= exp(step * fmin(1, over));
        }
        bound->work_price += most * step * short_h / (1 + bound->work_h);
        bound->work_price = fmin(most, fmax(0, bound->work_price));
    }
    return best;
}

/* With so many nodes nobody waits. */
static int nodes_used(const struct bound *bound, const int *servers)
{
    int most = 1;

    for (size_t slot = 0; slot < bound->setup->slots; slot++)
        most = servers[slot] > most ? servers[slot] : most;

    int nodes = (most + bound->servers_per_node - 1) / bound->servers_per_node;

    return nodes < bound->cost->nodes_max ? nodes : bound->cost->nodes_max;
}

/* Each number where moves cost something; otherwise many are looked at by the twentieth. */
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

static void bound_init(struct bound *bound)
{
    struct stretch_setup setup = *bound->setup;
    size_t slots = bound->slots = setup.slots - bound->first;
    int *servers = mem_new_array(setup.slots, sizeof *servers);
    const struct stretch *stretch;
    size_t low = 0;

    setup.begins_idle = true;
    bound->rerun = rerun_new(&setup);
    bound->span_of_slot = mem_new_array(slots, sizeof *bound->span_of_slot);
    bound->nodes = mem_new_array(slots, sizeof *bound->nodes);
    bound->prices = mem_new_array(2 * (bound->setup->span_count + 1), sizeof *bound->prices);
    bound->used = bound->prices + bound->setup->span_count + 1;
    for (size_t i = 0; (stretch = rerun_stretch(bound->rerun, i)); i++) {
        count_present(stretch, servers, setup.slots);
        add_work(bound, stretch);
        low += stretch->count[DEMAND_LOW];
    }
    choose_levels(bound, nodes_used(bound, servers));
    bound->late = mem_new_array(2 * slots * bound->width, sizeof *bound->late);
    bound->stages = bound->late + slots * bound->width;
    bound->work_h = fmax(0, bound->work_h - slot_hours); /* the last slot's server, if it has 0 */
    bound->class = low > 0 ? DEMAND_LOW : DEMAND_HIGH;
    find_span_of_slots(bound);
    (void)rerun_plan(bound->rerun, servers);
    for (size_t row = 0; row < slots; row++)
        count_late(bound, bound->first + row);
    mem_free(servers);
}

double bound_node_hours(const struct stretch_setup *setup, size_t first, int servers_per_node,
                        const struct moves_cost *cost)
{
    struct bound bound = {
        .setup = setup, .cost = cost, .servers_per_node = servers_per_node, .first = first
    };

    bound_init(&bound);

    double hours = search_prices(&bound);

    rerun_free(bound.rerun);
    mem_free(bound.span_of_slot);
    mem_free(bound.late);
    mem_free(bound.nodes);
    mem_free(bound.levels);
    mem_free(bound.prices);
    return hours;
}
