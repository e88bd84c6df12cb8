/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Few nodes: every set that could be better is looked at.  Nodes with the same gangs and the same
 * block are alike, so only the first ones of them are ever taken; a branch ends when the gangs it
 * touches already cost as much as the best set.
 */
#include "base/memory.h"
#include "broker/planning/victims_parts.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 2000000 };

struct place {
    size_t node;
    const struct victim_node *facts;
    size_t block;
    int64_t cost; /* of the node alone */
};

struct search {
    struct victim_pick *best;
    struct victim_pick pick;
    size_t wanted;
    size_t count;
    struct place places[VICTIMS_EXACT];
    bool is_twin[VICTIMS_EXACT]; /* of the place before */
    int64_t steps;
};

static int compare_kinds(const struct place *a, const struct place *b)
{
    if (a->facts->gang_count != b->facts->gang_count)
        return a->facts->gang_count < b->facts->gang_count ? -1 : 1;
    for (size_t k = 0; k < a->facts->gang_count; k++)
        if (a->facts->gangs[k] != b->facts->gangs[k])
            return a->facts->gangs[k] < b->facts->gangs[k] ? -1 : 1;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return 0;
}

static int by_cost_and_kind(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    int order;

    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    order = compare_kinds(a, b);
    return order ?: (a->node < b->node ? -1 : 1);
}

static void keep(struct search *search)
{
    struct victim_pick *best = search->best;

    if (victim_pick_score(&search->pick) >= victim_pick_score(best))
        return;
    for (size_t i = 0; i < search->count; i++)
        if (best->taken[i])
            victim_pick_remove(best, i);
    for (size_t i = 0; i < search->count; i++)
        if (search->pick.taken[i])
            victim_pick_add(best, i);
    require(victim_pick_score(best) == victim_pick_score(&search->pick));
}

/* Branches on the places from `at` on; `was_taken`: whether the one before was taken. */
static void branch(struct search *search, size_t at, bool was_taken)
{
    if (search->pick.count == search->wanted) {
        keep(search);
        return;
    }
    if (search->count - at < search->wanted - search->pick.count ||
        search->pick.lost >= victim_pick_score(search->best) || ++search->steps > STEPS_MOST)
        return;
    if (was_taken || !search->is_twin[at]) {
        victim_pick_add(&search->pick, search->places[at].node);
        branch(search, at + 1, true);
        victim_pick_remove(&search->pick, search->places[at].node);
    }
    branch(search, at + 1, false);
}

bool victims_exact(struct victim_pick *best, size_t wanted)
{
    const struct victim_model *model = best->model;
    struct search search = { .best = best, .wanted = wanted, .count = model->scene->node_count };

    require(search.count <= VICTIMS_EXACT && best->count == wanted && wanted <= search.count);
    victim_pick_init(&search.pick, model);
    for (size_t i = 0; i < search.count; i++)
        search.places[i] = (struct place){ i, &model->scene->nodes[i], model->block[i],
                                           victim_pick_marginal(&search.pick, i) };
    qsort(search.places, search.count, sizeof *search.places, by_cost_and_kind);
    for (size_t i = 1; i < search.count; i++)
        search.is_twin[i] = compare_kinds(&search.places[i - 1], &search.places[i]) == 0;
    branch(&search, 0, false);
    require(best->count == wanted && search.pick.count == 0);
    victim_pick_clear(&search.pick);
    return search.steps <= STEPS_MOST;
}
