/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * First guess: the mean number of busy servers in each slot if no request waits, plus a multiple of
 * its square root: the same probability of a wait everywhere.  Start from the guess or from the
 * smallest constant, whichever takes fewer server-hours.  Then remove single servers while the
 * target is met, from long blocks before short ones, those with the largest surplus first.
 * Removals that make no request late come first, then those that make few late for each server-hour
 * saved.
 */
#include "windows/backtest/oracle.h"

#include "windows/backtest/rerun.h"

#include <math.h>
#include <stdlib.h>

enum { REQUESTS_MAX = 1 << 26, CONSTANT_MAX = 1 << 20, BISECTIONS = 12 };

static const size_t block_slots[] = { 24, 6, 2, 1 };
static const int64_t late_per_slot[] = { 0, 1, 2, 4, 8, 16, 64, INT32_MAX };

enum { PASSES = COUNT_OF(block_slots) * COUNT_OF(late_per_slot) };

struct block {
    double surplus; /* servers a slot */
    size_t first;
    size_t count;
};

/* Why removing one server from a block was refused; valid until a slot that influences it has
   changed. */
struct refusal {
    struct rerun_reach reach;
    uint64_t kept; /* so many changes had been kept; 0: never refused */
    int64_t added; /* requests that would become late, at least */
    bool is_lost;  /* a block would have no server */
};

struct oracle {
    const struct oracle_setup *setup;
    struct rerun **reruns;
    double *load; /* mean of busy servers without waiting, over the slot and repetitions */
    struct block *blocks;
    struct refusal *refusals[COUNT_OF(block_slots)]; /* by size and number of the block */
    int *servers;
};

struct occurrence_setup oracle_occurrence_setup(const struct oracle_setup *setup, int repetition)
{
    return (struct occurrence_setup){
        .arrivals = setup->arrivals[repetition],
        .target = setup->target,
        .spans = setup->spans,
        .span_count = setup->span_count,
        .begin = setup->begin,
        .slots = setup->slots,
    };
}

static void add_load(struct oracle *oracle, uint64_t from, uint64_t to)
{
    double share = 1.0 / ((double)OCCURRENCE_SLOT * oracle->setup->repetitions);

    while (from < to && from / OCCURRENCE_SLOT < oracle->setup->slots) {
        size_t slot = (size_t)(from / OCCURRENCE_SLOT);
        uint64_t end = (slot + 1) * OCCURRENCE_SLOT;

        end = end < to ? end : to;
        oracle->load[slot] += (double)(end - from) * share;
        from = end;
    }
}

static void add_occurrence(struct oracle *oracle, const struct occurrence *occurrence)
{
    const uint64_t *high = occurrence->at[DEMAND_HIGH];
    const uint64_t *low = occurrence->at[DEMAND_LOW];

    for (size_t i = 0; i < occurrence->count[DEMAND_HIGH] + occurrence->count[DEMAND_LOW]; i++) {
        uint64_t at = *high < *low ? *high++ : *low++;

        add_load(oracle, at, at + occurrence->service[i]);
    }
}

static int oracle_init(struct oracle *oracle, const struct oracle_setup *setup, struct error *err)
{
    *oracle = (struct oracle){ .setup = setup };
    for (int i = 0; i < setup->repetitions; i++)
        if (arrivals_total(setup->arrivals[i], DEMAND_HIGH) +
                arrivals_total(setup->arrivals[i], DEMAND_LOW) >
            REQUESTS_MAX)
            return error_set(err, ERROR_INVALID, "queue %s: more than %d requests for an oracle",
                             arrivals_setup_of(setup->arrivals[i])->series->queue, REQUESTS_MAX);
    oracle->reruns = mem_new_array((size_t)setup->repetitions, sizeof(struct rerun *));
    oracle->load = mem_new_array(setup->slots, sizeof *oracle->load);
    oracle->blocks = mem_new_array(setup->slots, sizeof *oracle->blocks);
    oracle->servers = mem_new_array(setup->slots, sizeof *oracle->servers);
    for (size_t size = 0; size < COUNT_OF(block_slots); size++)
        oracle->refusals[size] = mem_new_array(setup->slots / block_slots[size] + 1,
                                               sizeof *oracle->refusals[size]);
    for (int i = 0; i < setup->repetitions; i++) {
        struct occurrence_setup occurrence_setup = oracle_occurrence_setup(setup, i);
        const struct occurrence *occurrence;

        oracle->reruns[i] = rerun_new(&occurrence_setup);
        for (size_t at = 0; (occurrence = rerun_occurrence(oracle->reruns[i], at)); at++)
            add_occurrence(oracle, occurrence);
    }
    return 0;
}

static void oracle_clear(struct oracle *oracle)
{
    for (int i = 0; oracle->reruns && i < oracle->setup->repetitions; i++)
        rerun_free(oracle->reruns[i]);
    mem_free(oracle->reruns);
    for (size_t size = 0; size < COUNT_OF(block_slots); size++)
        mem_free(oracle->refusals[size]);
    mem_free(oracle->load);
    mem_free(oracle->blocks);
    mem_free(oracle->servers);
}

/* Whether oracle->servers meet the target in all repetitions. */
static bool passes(struct oracle *oracle)
{
    bool is_met = true;

    for (int i = 0; is_met && i < oracle->setup->repetitions; i++)
        is_met = rerun_passes(oracle->reruns[i], oracle->servers);
    return is_met;
}

static void take_up(struct oracle *oracle)
{
    for (int i = 0; i < oracle->setup->repetitions; i++)
        (void)rerun_plan(oracle->reruns[i], oracle->servers);
}

static int64_t total(const int *servers, size_t slots)
{
    int64_t sum = 0;

    for (size_t i = 0; i < slots; i++)
        sum += servers[i];
    return sum;
}

static bool constant_passes(struct oracle *oracle, int servers)
{
    for (size_t i = 0; i < oracle->setup->slots; i++)
        oracle->servers[i] = servers;
    return passes(oracle);
}

/* A constant number that passes while one fewer does not. */
static int smallest_constant(struct oracle *oracle)
{
    int fails = 0;
    int served = 1;

    if (constant_passes(oracle, 0))
        return 0;
    while (served < CONSTANT_MAX && !constant_passes(oracle, served)) {
        fails = served;
        served *= 2;
    }
    while (served - fails > 1) {
        int middle = fails + (served - fails) / 2;

        if (constant_passes(oracle, middle))
            served = middle;
        else
            fails = middle;
    }
    return served;
}

static bool guess_passes(struct oracle *oracle, double roots)
{
    for (size_t i = 0; i < oracle->setup->slots; i++)
        oracle->servers[i] = (int)fmax(0, ceil(oracle->load[i] + roots * sqrt(oracle->load[i])));
    return passes(oracle);
}

/* Leaves the guess in oracle->servers; false when even a very large guess fails. */
static bool guess(struct oracle *oracle)
{
    double fails = -2;
    double served = 1;

    while (served < CONSTANT_MAX && !guess_passes(oracle, served)) {
        fails = served;
        served *= 2;
    }
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (fails + served) / 2;

        if (guess_passes(oracle, middle))
            served = middle;
        else
            fails = middle;
    }
    return guess_passes(oracle, served);
}

static int compare_surplus(const void *left, const void *right)
{
    const struct block *a = left;
    const struct block *b = right;

    if (a->surplus != b->surplus)
        return a->surplus > b->surplus ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static size_t sort_blocks(struct oracle *oracle, const int *servers, size_t length)
{
    size_t count = 0;

    for (size_t first = 0; first < oracle->setup->slots; first += length) {
        struct block *block = &oracle->blocks[count++];

        *block = (struct block){ .first = first, .count = length };
        if (first + length > oracle->setup->slots)
            block->count = oracle->setup->slots - first;
        for (size_t i = first; i < first + block->count; i++)
            block->surplus += (servers[i] - oracle->load[i]) / (double)block->count;
    }
    qsort(oracle->blocks, count, sizeof *oracle->blocks, compare_surplus);
    return count;
}

/* Whether a refusal is still valid: its slots have not changed, and its limit has not been
   raised. */
static bool stands(const struct oracle *oracle, const struct refusal *refusal, int64_t late)
{
    if (refusal->kept == 0 || !(refusal->is_lost || refusal->added > late))
        return false;
    for (int i = 0; i < oracle->setup->repetitions; i++)
        if (rerun_changed(oracle->reruns[i], refusal->reach) > refusal->kept)
            return false;
    return true;
}

static void refuse(const struct oracle *oracle, int tried, int64_t added, struct refusal *refusal)
{
    *refusal = (struct refusal){ .reach = { SIZE_MAX, 0 },
                                 .kept = rerun_kept(oracle->reruns[0]),
                                 .added = added };
    for (int i = 0; i < tried; i++) {
        struct rerun_reach reach = rerun_reach(oracle->reruns[i]);

        refusal->is_lost = refusal->is_lost || rerun_is_lost(oracle->reruns[i]);
        refusal->reach.first = reach.first < refusal->reach.first ? reach.first
                                                                  : refusal->reach.first;
        refusal->reach.last = reach.last > refusal->reach.last ? reach.last : refusal->reach.last;
    }
}

static bool has_one_everywhere(const struct oracle *oracle, const struct block *block)
{
    const int *servers = rerun_servers(oracle->reruns[0]);

    for (size_t i = block->first; i < block->first + block->count; i++)
        if (servers[i] <= 0)
            return false;
    return true;
}

/* Removes one server from a block, if a server remains and no more than so many requests become
   late. */
static bool lower(struct oracle *oracle, const struct block *block, int64_t late,
                  struct refusal *refusal)
{
    int64_t added = 0;
    bool is_met = true;
    int tried = 0;

    if (!has_one_everywhere(oracle, block) || stands(oracle, refusal, late))
        return false;
    while (is_met && tried < oracle->setup->repetitions) {
        int64_t more;

        is_met = rerun_try(oracle->reruns[tried++],
                           (struct rerun_change){ block->first, block->count, -1 }, late - added,
                           &more);
        added += more;
        is_met = is_met && added <= late;
    }
    if (!is_met)
        refuse(oracle, tried, added, refusal);
    for (int i = 0; i < tried; i++)
        if (is_met)
            rerun_keep(oracle->reruns[i]);
        else
            rerun_undo(oracle->reruns[i]);
    return is_met;
}

/* After so many of the descent's passes. */
static void tell(const struct oracle *oracle, size_t passes)
{
    if (oracle->setup->tell)
        oracle->setup->tell(oracle->setup->context, (double)passes / PASSES);
}

/* Removes servers from all blocks of a size, the largest surplus first. */
static void pass(struct oracle *oracle, size_t size, int64_t late)
{
    size_t count = sort_blocks(oracle, rerun_servers(oracle->reruns[0]), block_slots[size]);

    for (size_t i = 0; i < count; i++) {
        const struct block *block = &oracle->blocks[i];

        while (lower(oracle, block, late * (int64_t)block->count,
                     &oracle->refusals[size][block->first / block_slots[size]]))
            ;
    }
}

static void descend(struct oracle *oracle)
{
    size_t passes = 0;

    for (size_t limit = 0; limit < COUNT_OF(late_per_slot); limit++)
        for (size_t size = 0; size < COUNT_OF(block_slots); size++) {
            pass(oracle, size, late_per_slot[limit]);
            tell(oracle, ++passes);
        }
}

int oracle_staffing(const struct oracle_setup *setup, int *ret_servers, struct error *err)
{
    struct oracle oracle;

    if (oracle_init(&oracle, setup, err) < 0)
        return -1;

    int constant = smallest_constant(&oracle);

    if (!guess(&oracle) || total(oracle.servers, setup->slots) > constant * (int64_t)setup->slots)
        for (size_t i = 0; i < setup->slots; i++)
            oracle.servers[i] = constant;
    take_up(&oracle);
    descend(&oracle);
    memcpy(ret_servers, rerun_servers(oracle.reruns[0]), setup->slots * sizeof *ret_servers);
    oracle_clear(&oracle);
    return 0;
}
