/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See plan_nodes.h.  Pools are taken in turn; a gang that a pool before has ended is lost for those
 * after it, so its other nodes cost nothing more.
 */
#include "broker/planning/plan_nodes.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The gangs, as they are when it is a pool's turn. */
struct turn {
    const struct plan_input *input;
    struct victim_gang *gangs;
};

static void turn_init(struct turn *turn, const struct plan_input *input)
{
    turn->input = input;
    turn->gangs = mem_new_array(input->gang_count, sizeof *turn->gangs);
    for (size_t g = 0; g < input->gang_count; g++)
        turn->gangs[g] = input->gangs[g];
}

/* The pool's nodes as a case; the caller frees its nodes. */
static struct victim_case case_of(const struct turn *turn, size_t pool, struct victim_node **ret)
{
    const struct plan_pool *mine = &turn->input->pools[pool];
    struct victim_node *nodes = mem_new_array(mine->nodes.count, sizeof *nodes);

    for (size_t i = 0; i < mine->nodes.count; i++)
        nodes[i] = mine->nodes.items[i].facts;
    *ret = nodes;
    return (struct victim_case){
        .nodes = nodes,
        .node_count = mine->nodes.count,
        .gangs = turn->gangs,
        .gang_count = turn->input->gang_count,
        .block_gpu_s = (int64_t)(turn->input->config->victims.block_hours * 3600),
    };
}

/* Ends the node's gangs; returns the loss. */
static int64_t end_gangs(struct turn *turn, const struct victim_node *node)
{
    int64_t lost_gpu_s = 0;

    for (size_t k = 0; k < node->gang_count; k++) {
        struct victim_gang *gang = &turn->gangs[node->gangs[k]];

        require(node->gangs[k] < turn->input->gang_count);
        lost_gpu_s += gang->is_sunk ? 0 : gang->lost_gpu_s;
        gang->is_sunk = true;
    }
    return lost_gpu_s;
}

static int by_name(const void *left, const void *right)
{
    const struct plan_node *a = left;
    const struct plan_node *b = right;

    return strcmp(a->facts.name, b->facts.name);
}

/* The pool's transfers get its nodes, in order. */
static void hand_out(struct turn *turn, struct plan *plan, const struct plan_choice *choice)
{
    const struct plan_pool *pool = &turn->input->pools[choice->pool];
    size_t next = 0;

    for (size_t i = 0; i < plan->transfers.count; i++) {
        struct plan_transfer *transfer = &plan->transfers.items[i];

        if (transfer->source != pool->config)
            continue;
        require(next < choice->count && choice->nodes[next] < pool->nodes.count);
        transfer->node = &pool->nodes.items[choice->nodes[next++]];
        transfer->lost_gpu_s = end_gangs(turn, &transfer->node->facts);
    }
    require(next == choice->count);
}

/* The one that was named next after `last`; SIZE_MAX: none is left. */
static size_t named_after(const struct plan_pool *pool, int64_t last)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < pool->nodes.count; i++) {
        int64_t named = pool->nodes.items[i].named;

        if (named > last && (best == SIZE_MAX || named < pool->nodes.items[best].named))
            best = i;
    }
    return best;
}

/* Production gives the nodes that people were shown, in that order, as long as they can go.  The
   work on them may have changed since, because replicas shrink first.  For a replica of several
   nodes the least loss decides: moving it for the sake of a name costs too much. */
static void keep_to_names(const struct plan_pool *pool, struct plan_choice *choice)
{
    size_t *nodes;
    size_t count = 0;
    size_t next;

    if (pool->config->group > 1)
        return;
    nodes = mem_new_array(choice->count, sizeof *nodes);
    for (int64_t last = 0; count < choice->count && (next = named_after(pool, last)) != SIZE_MAX;
         count++) {
        nodes[count] = next;
        last = pool->nodes.items[next].named;
    }
    for (size_t i = 0; i < choice->count && count < choice->count; i++)
        if (pool->nodes.items[choice->nodes[i]].named == 0)
            nodes[count++] = choice->nodes[i];
    require(count == choice->count);
    mem_free(choice->nodes);
    choice->nodes = nodes;
}

void plan_choose(const struct plan_input *input, struct plan *plan, const size_t *taken)
{
    struct turn turn;

    turn_init(&turn, input);
    for (size_t i = 0; i < input->config->pool_count; i++) {
        struct plan_pool *pool = &input->pools[i];
        struct victim_case scene;
        struct victim_node *nodes;
        struct plan_choice *choice;

        if (taken[i] == 0)
            continue;
        require(taken[i] <= pool->nodes.count);
        if (pool->nodes.count > 1)
            qsort(pool->nodes.items, pool->nodes.count, sizeof *pool->nodes.items, by_name);
        scene = case_of(&turn, i, &nodes);
        choice = array_add(&plan->choices);
        choice->pool = i;
        choice->count = taken[i];
        choice->nodes = victims_choose(&scene, taken[i], &choice->is_exact);
        if (pool->config->cluster->role == ROLE_PRODUCTION)
            keep_to_names(pool, choice);
        hand_out(&turn, plan, choice);
        mem_free(nodes);
    }
    mem_free(turn.gangs);
}

/* ---- the bill ---- */

static int64_t rival_lost(const struct victim_case *scene, size_t wanted, enum victim_rival rival)
{
    size_t *nodes = victims_rival(scene, wanted, rival, 1);
    struct victim_bill bill;
    int64_t lost_gpu_s;

    victims_bill(scene, nodes, wanted, &bill);
    lost_gpu_s = bill.lost_gpu_s;
    victim_bill_clear(&bill);
    mem_free(nodes);
    return lost_gpu_s;
}

static void add_bill(struct victim_bill *sum, const struct victim_bill *bill)
{
    sum->gangs = mem_resize(sum->gangs, sum->gang_count + bill->gang_count + 1, sizeof *sum->gangs);
    for (size_t i = 0; i < bill->gang_count; i++)
        sum->gangs[sum->gang_count++] = bill->gangs[i];
    sum->idle_nodes += bill->idle_nodes;
    sum->blocks_broken += bill->blocks_broken;
    sum->lost_gpu_s += bill->lost_gpu_s;
    sum->price_gpu_s += bill->price_gpu_s;
}

/* Reclaims are in front, so they get the first nodes of the choice. */
static size_t emergencies_of(const struct plan *plan, const struct config_pool *pool)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->transfers.count; i++)
        count += plan->transfers.items[i].is_emergency && plan->transfers.items[i].source == pool;
    return count;
}

/* The bill of the first `count` nodes of the choice. */
static void add_choice(struct turn *turn, const struct plan_choice *choice, size_t count,
                       struct plan_bill *sum)
{
    struct victim_node *nodes;
    struct victim_case scene = case_of(turn, choice->pool, &nodes);
    struct victim_bill bill;
    int64_t next_best;

    require(count <= choice->count);
    victims_bill(&scene, choice->nodes, count, &bill);
    next_best = victims_next_best(&scene, count, &bill);
    for (int rival = 0; rival < RIVAL_COUNT; rival++)
        sum->rival_gpu_s[rival] += rival_lost(&scene, count, (enum victim_rival)rival);
    /* Where nothing is lost nothing has to be spared. */
    if (bill.gang_count > 0)
        sum->next_best_gpu_s = next_best < 0 || sum->next_best_gpu_s < 0
                                   ? -1
                                   : sum->next_best_gpu_s + next_best;
    add_bill(&sum->bill, &bill);
    sum->node_count += count;
    sum->is_exact = sum->is_exact && choice->is_exact && count == choice->count;
    for (size_t i = 0; i < count; i++)
        (void)end_gangs(turn, &nodes[choice->nodes[i]]);
    victim_bill_clear(&bill);
    mem_free(nodes);
}

void plan_bill(const struct plan_input *input, const struct plan *plan, enum bill_part part,
               struct plan_bill *ret_bill)
{
    struct turn turn;

    *ret_bill = (struct plan_bill){ .is_exact = true };
    turn_init(&turn, input);
    for (size_t i = 0; i < plan->choices.count; i++) {
        const struct plan_choice *choice = &plan->choices.items[i];
        const struct config_pool *pool = input->pools[choice->pool].config;

        if (pool->cluster->role == ROLE_RESEARCH)
            add_choice(&turn, choice, part == BILL_ALL ? choice->count : emergencies_of(plan, pool),
                       ret_bill);
    }
    mem_free(turn.gangs);
}
