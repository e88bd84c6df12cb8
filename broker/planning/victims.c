/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See victims.h.
 */
#include "broker/planning/victims.h"

#include "base/array.h"
#include "base/map.h"
#include "base/order.h"
#include "broker/planning/victims_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

static void list_gang_nodes(struct victim_model *model)
{
    const struct victim_case *scene = model->scene;
    size_t *at;

    model->gang_from = mem_new_array(scene->gang_count + 1, sizeof *model->gang_from);
    for (size_t i = 0; i < scene->node_count; i++)
        for (size_t k = 0; k < scene->nodes[i].gang_count; k++) {
            require(scene->nodes[i].gangs[k] < scene->gang_count);
            require(k == 0 || scene->nodes[i].gangs[k] > scene->nodes[i].gangs[k - 1]);
            model->gang_from[scene->nodes[i].gangs[k] + 1]++;
        }
    for (size_t g = 0; g < scene->gang_count; g++)
        model->gang_from[g + 1] += model->gang_from[g];
    model->gang_nodes = mem_new_array(model->gang_from[scene->gang_count] + 1,
                                      sizeof *model->gang_nodes);
    at = mem_new_array(scene->gang_count + 1, sizeof *at);
    memcpy(at, model->gang_from, (scene->gang_count + 1) * sizeof *at);
    for (size_t i = 0; i < scene->node_count; i++)
        for (size_t k = 0; k < scene->nodes[i].gang_count; k++)
            model->gang_nodes[at[scene->nodes[i].gangs[k]]++] = i;
    mem_free(at);
}

static void number_blocks(struct victim_model *model)
{
    const struct victim_case *scene = model->scene;
    struct map *numbers = map_new(NULL);

    model->block = mem_new_array(scene->node_count + 1, sizeof *model->block);
    model->block_size = mem_new_array(scene->node_count + 1, sizeof *model->block_size);
    for (size_t i = 0; i < scene->node_count; i++) {
        const char *block = scene->nodes[i].block;
        uintptr_t number;

        model->block[i] = SIZE_MAX;
        if (!block)
            continue;
        number = (uintptr_t)map_get(numbers, block);
        if (number == 0) {
            number = ++model->block_count;
            map_set(numbers, block, (void *)number);
        }
        model->block[i] = number - 1;
        model->block_size[number - 1]++;
    }
    map_free(numbers);
}

/* Ranks of the gangs' priorities among each other, from 0: only their order counts. */
static void weigh_priorities(struct victim_model *model)
{
    const struct victim_case *scene = model->scene;
    int64_t *sorted = mem_new_array(scene->gang_count + 1, sizeof *sorted);
    size_t count = 0;

    for (size_t g = 0; g < scene->gang_count; g++)
        sorted[g] = scene->gangs[g].priority;
    qsort(sorted, scene->gang_count, sizeof *sorted, order_int64);
    for (size_t g = 0; g < scene->gang_count; g++)
        if (count == 0 || sorted[count - 1] != sorted[g])
            sorted[count++] = sorted[g];
    for (size_t g = 0; g < scene->gang_count; g++) {
        const int64_t *rank = bsearch(&scene->gangs[g].priority, sorted, count, sizeof *sorted,
                                      order_int64);

        if (model->weight[g] > 0)
            model->weight[g] += (rank - sorted) * VICTIM_PRIORITY;
    }
    mem_free(sorted);
}

/* How many GPU-seconds one unit of work is. */
static int64_t unit_of(const struct victim_model *model)
{
    const struct victim_case *scene = model->scene;
    double sum = (double)scene->block_gpu_s * (double)model->block_count;
    int64_t unit = 1;

    for (size_t g = 0; g < scene->gang_count; g++) {
        require(scene->gangs[g].price_gpu_s >= 0 &&
                scene->gangs[g].price_gpu_s <= VICTIM_GPU_S_MOST);
        sum += scene->gangs[g].is_sunk ? 0 : (double)scene->gangs[g].price_gpu_s;
    }
    while (sum / (double)unit > (double)VICTIM_UNITS)
        unit *= 2;
    return unit;
}

void victim_model_init(struct victim_model *model, const struct victim_case *scene)
{
    int64_t unit;

    require(scene->block_gpu_s >= 0 && scene->block_gpu_s <= VICTIM_GPU_S_MOST);
    *model = (struct victim_model){ .scene = scene };
    list_gang_nodes(model);
    number_blocks(model);
    unit = unit_of(model);
    model->weight = mem_new_array(scene->gang_count + 1, sizeof *model->weight);
    for (size_t g = 0; g < scene->gang_count; g++)
        if (!scene->gangs[g].is_sunk)
            model->weight[g] = scene->gangs[g].price_gpu_s / unit * VICTIM_GPU_S + VICTIM_GANG;
    weigh_priorities(model);
    model->block_weight = scene->block_gpu_s / unit * VICTIM_GPU_S + 1;
    require(model->block_count <= scene->node_count && model->block_weight > 0);
}

void victim_model_clear(struct victim_model *model)
{
    mem_free(model->weight);
    mem_free(model->gang_from);
    mem_free(model->gang_nodes);
    mem_free(model->block);
    mem_free(model->block_size);
}

/* ---- a set under construction ---- */

void victim_pick_init(struct victim_pick *pick, const struct victim_model *model)
{
    *pick = (struct victim_pick){ .model = model };
    pick->taken = mem_new_array(model->scene->node_count + 1, sizeof *pick->taken);
    pick->hits = mem_new_array(model->scene->gang_count + 1, sizeof *pick->hits);
    pick->in_block = mem_new_array(model->block_count + 1, sizeof *pick->in_block);
}

void victim_pick_clear(struct victim_pick *pick)
{
    mem_free(pick->taken);
    mem_free(pick->hits);
    mem_free(pick->in_block);
}

int64_t victim_pick_marginal(const struct victim_pick *pick, size_t node)
{
    const struct victim_node *mine = &pick->model->scene->nodes[node];
    int64_t sum = 0;

    for (size_t k = 0; k < mine->gang_count; k++)
        if (pick->hits[mine->gangs[k]] == 0)
            sum += pick->model->weight[mine->gangs[k]];
    return sum;
}

static int64_t break_of(const struct victim_pick *pick, size_t block, size_t taken)
{
    return taken > 0 && taken < pick->model->block_size[block] ? pick->model->block_weight : 0;
}

int64_t victim_pick_breaks(const struct victim_pick *pick, size_t node)
{
    size_t block = pick->model->block[node];

    if (block == SIZE_MAX)
        return 0;
    return break_of(pick, block, pick->in_block[block] + 1) -
           break_of(pick, block, pick->in_block[block]);
}

void victim_pick_add(struct victim_pick *pick, size_t node)
{
    const struct victim_node *mine = &pick->model->scene->nodes[node];
    size_t block = pick->model->block[node];

    require(!pick->taken[node] && pick->count < pick->model->scene->node_count);
    pick->broken += victim_pick_breaks(pick, node);
    for (size_t k = 0; k < mine->gang_count; k++)
        if (pick->hits[mine->gangs[k]]++ == 0)
            pick->lost += pick->model->weight[mine->gangs[k]];
    if (block != SIZE_MAX)
        pick->in_block[block]++;
    pick->taken[node] = true;
    pick->count++;
}

void victim_pick_remove(struct victim_pick *pick, size_t node)
{
    const struct victim_node *mine = &pick->model->scene->nodes[node];
    size_t block = pick->model->block[node];

    require(pick->taken[node] && pick->count > 0);
    require(block == SIZE_MAX || pick->in_block[block] > 0);
    for (size_t k = 0; k < mine->gang_count; k++)
        if (--pick->hits[mine->gangs[k]] == 0)
            pick->lost -= pick->model->weight[mine->gangs[k]];
    if (block != SIZE_MAX)
        pick->in_block[block]--;
    pick->broken -= victim_pick_breaks(pick, node);
    pick->taken[node] = false;
    pick->count--;
}

/* ---- starts ---- */

/* A block, for the rule that takes whole blocks. */
struct block_rank {
    size_t block;
    size_t size;
    int64_t lost;
};

static int by_density(const void *left, const void *right)
{
    const struct block_rank *a = left;
    const struct block_rank *b = right;
    double density_a = (double)a->lost / (double)a->size;
    double density_b = (double)b->lost / (double)b->size;

    if (density_a != density_b)
        return density_a < density_b ? -1 : 1;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return a->block < b->block ? -1 : 1;
}

static void take_block(struct victim_pick *pick, size_t block)
{
    for (size_t i = 0; i < pick->model->scene->node_count; i++)
        if (pick->model->block[i] == block && !pick->taken[i])
            victim_pick_add(pick, i);
}

static int64_t price_block(struct victim_pick *pick, size_t block)
{
    int64_t before = pick->lost;
    int64_t price;
    ARRAY(size_t) added = { 0 };

    for (size_t i = 0; i < pick->model->scene->node_count; i++) {
        if (pick->model->block[i] != block || pick->taken[i])
            continue;
        victim_pick_add(pick, i);
        *array_add(&added) = i;
    }
    price = pick->lost - before;
    require(price >= 0);
    while (added.count > 0)
        victim_pick_remove(pick, added.items[--added.count]);
    array_clear(&added);
    require(pick->lost == before); /* as it was */
    return price;
}

enum { BLOCKS_MOST = 256 }; /* each costs a look at every node */

/* Whole blocks, the cheapest relative to its size first, as far as they fit; only blocks that lose
   no more than `lost_most`. */
static void take_blocks(struct victim_pick *pick, size_t wanted, int64_t lost_most)
{
    size_t count = pick->model->block_count < BLOCKS_MOST ? pick->model->block_count : BLOCKS_MOST;
    struct block_rank *ranks = mem_new_array(count + 1, sizeof *ranks);

    for (size_t b = 0; b < count; b++)
        ranks[b] = (struct block_rank){ b, pick->model->block_size[b], price_block(pick, b) };
    qsort(ranks, count, sizeof *ranks, by_density);
    for (size_t i = 0; i < count; i++)
        if (ranks[i].lost <= lost_most && pick->in_block[ranks[i].block] == 0 &&
            pick->count + ranks[i].size <= wanted)
            take_block(pick, ranks[i].block);
    mem_free(ranks);
}

/* The idle nodes, whole blocks of them first. */
static void take_idle(struct victim_pick *pick, size_t wanted)
{
    const struct victim_case *scene = pick->model->scene;
    size_t idle = 0;

    for (size_t i = 0; i < scene->node_count; i++)
        idle += victim_pick_marginal(pick, i) == 0;
    if (idle > wanted)
        take_blocks(pick, wanted, 0);
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < scene->node_count && pick->count < wanted; i++) {
            size_t block = pick->model->block[i];

            if (pick->taken[i] || victim_pick_marginal(pick, i) > 0 ||
                (pass == 0 && block != SIZE_MAX) ||
                (pass == 1 && block != SIZE_MAX && pick->in_block[block] == 0))
                continue;
            victim_pick_add(pick, i);
        }
}

static void keep_better(struct victim_pick *best, struct victim_pick *candidate)
{
    if (best->count < candidate->count ||
        (best->count == candidate->count &&
         victim_pick_score(candidate) < victim_pick_score(best))) {
        struct victim_pick worse = *best;

        *best = *candidate;
        *candidate = worse;
    }
    victim_pick_clear(candidate);
}

/* Tries each way to begin, and keeps the best set. */
static void start(struct victim_pick *best, size_t wanted)
{
    const struct victim_model *model = best->model;
    struct victim_pick pick;
    size_t *nodes;

    victim_pick_init(&pick, model);
    take_idle(&pick, wanted);
    victims_split(&pick, wanted);
    keep_better(best, &pick);

    nodes = victims_rival(model->scene, wanted, RIVAL_NODE_GREEDY, 0);
    victim_pick_init(&pick, model);
    for (size_t i = 0; i < wanted; i++)
        victim_pick_add(&pick, nodes[i]);
    mem_free(nodes);
    keep_better(best, &pick);

    if (model->block_count > 0) {
        victim_pick_init(&pick, model);
        take_blocks(&pick, wanted, INT64_MAX);
        take_idle(&pick, wanted);
        victims_split(&pick, wanted);
        keep_better(best, &pick);
    }
}

/* ---- the choice ---- */

/* Without protected nodes: appends the set to `out`, in order. */
static bool solve(const struct victim_case *scene, size_t wanted, size_t *out)
{
    struct victim_model model;
    struct victim_pick best;
    bool is_exact = scene->node_count <= VICTIMS_EXACT;
    size_t count = 0;

    victim_model_init(&model, scene);
    victim_pick_init(&best, &model);
    start(&best, wanted);
    require(best.count == wanted);
    victims_improve(&best);
    if (is_exact)
        is_exact = victims_exact(&best, wanted);
    for (size_t i = 0; i < scene->node_count; i++)
        if (best.taken[i])
            out[count++] = i;
    require(count == wanted && best.count == wanted);
    victims_greedy_order(&model, out, count);
    victim_pick_clear(&best);
    victim_model_clear(&model);
    return is_exact;
}

/* The nodes of that rank, with their indexes. */
static struct victim_node *of_rank(const struct victim_case *scene, enum victim_rank rank,
                                   size_t *where, size_t *ret_count)
{
    struct victim_node *nodes = mem_new_array(scene->node_count + 1, sizeof *nodes);

    *ret_count = 0;
    for (size_t i = 0; i < scene->node_count; i++) {
        if (scene->nodes[i].rank != rank)
            continue;
        where[*ret_count] = i;
        nodes[(*ret_count)++] = scene->nodes[i];
    }
    return nodes;
}

/* Up to `wanted` nodes of that rank; *ret_count: how many they are. */
static bool solve_rank(const struct victim_case *scene, enum victim_rank rank, size_t wanted,
                       size_t *out, size_t *ret_count)
{
    size_t *where = mem_new_array(scene->node_count + 1, sizeof *where);
    struct victim_case mine = *scene;
    struct victim_node *nodes = of_rank(scene, rank, where, &mine.node_count);
    bool is_exact;

    mine.nodes = nodes;
    *ret_count = wanted < mine.node_count ? wanted : mine.node_count;
    is_exact = *ret_count == 0 || solve(&mine, *ret_count, out);
    for (size_t i = 0; i < *ret_count; i++)
        out[i] = where[out[i]];
    mem_free(nodes);
    mem_free(where);
    return is_exact;
}

size_t *victims_choose(const struct victim_case *scene, size_t wanted, bool *ret_exact)
{
    size_t *out = mem_new_array(wanted + 1, sizeof *out);
    struct victim_gang *gangs = mem_new_array(scene->gang_count + 1, sizeof *gangs);
    struct victim_case rest = *scene;
    size_t taken = 0;
    bool is_exact = true;

    require(wanted <= scene->node_count);
    for (size_t g = 0; g < scene->gang_count; g++)
        gangs[g] = scene->gangs[g];
    rest.gangs = gangs;
    for (int rank = 0; rank < VICTIM_RANKS && taken < wanted; rank++) {
        size_t count;

        is_exact = solve_rank(&rest, (enum victim_rank)rank, wanted - taken, out + taken, &count) &&
                   is_exact;
        for (size_t i = taken; i < taken + count; i++)
            for (size_t k = 0; k < scene->nodes[out[i]].gang_count; k++)
                gangs[scene->nodes[out[i]].gangs[k]].is_sunk = true;
        taken += count;
    }
    require(taken == wanted);
    mem_free(gangs);
    if (ret_exact)
        *ret_exact = is_exact;
    return out;
}
