/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a set of nodes loses, and what other choices would have lost.
 */
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "broker/planning/victims_parts.h"

#include <stdlib.h>
#include <string.h>

struct rank {
    size_t node;
    int64_t key;
    const char *name;
};

static int by_key(const void *left, const void *right)
{
    const struct rank *a = left;
    const struct rank *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* All gangs of the node, as if nothing else were taken. */
static int64_t cost_alone(const struct victim_case *scene, size_t node)
{
    int64_t sum = 0;

    for (size_t k = 0; k < scene->nodes[node].gang_count; k++) {
        const struct victim_gang *gang = &scene->gangs[scene->nodes[node].gangs[k]];

        sum += gang->is_sunk ? 0 : gang->price_gpu_s;
    }
    return sum;
}

static int64_t key_of(const struct victim_case *scene, size_t node, enum victim_rival rival,
                      struct random *random)
{
    switch (rival) {
    case RIVAL_RANDOM:
        return (int64_t)(random_next(random) >> 1);
    case RIVAL_OLDEST:
        return scene->nodes[node].created.ms;
    case RIVAL_NODE_GREEDY:
    case RIVAL_COUNT:
        break;
    }
    return cost_alone(scene, node);
}

size_t *victims_rival(const struct victim_case *scene, size_t wanted, enum victim_rival rival,
                      uint64_t seed)
{
    struct rank *ranks = mem_new_array(scene->node_count, sizeof *ranks);
    size_t *nodes = mem_new_array(wanted + 1, sizeof *nodes);
    struct random random;

    require(wanted <= scene->node_count);
    random_seed(&random, seed);
    for (size_t i = 0; i < scene->node_count; i++)
        ranks[i] = (struct rank){ i, key_of(scene, i, rival, &random), scene->nodes[i].name };
    if (scene->node_count > 1)
        qsort(ranks, scene->node_count, sizeof *ranks, by_key);
    for (size_t i = 0; i < wanted; i++)
        nodes[i] = ranks[i].node;
    mem_free(ranks);
    return nodes;
}

static void note_gangs(const struct victim_pick *pick, struct victim_bill *bill)
{
    const struct victim_case *scene = pick->model->scene;
    struct rank *ranks = mem_new_array(scene->gang_count, sizeof *ranks);

    for (size_t g = 0; g < scene->gang_count; g++) {
        if (pick->hits[g] == 0 || scene->gangs[g].is_sunk)
            continue;
        bill->lost_gpu_s += scene->gangs[g].lost_gpu_s;
        bill->price_gpu_s += scene->gangs[g].price_gpu_s;
        ranks[bill->gang_count++] = (struct rank){ g, -scene->gangs[g].lost_gpu_s,
                                                   scene->gangs[g].name };
    }
    require(bill->lost_gpu_s >= 0 && bill->price_gpu_s >= 0);
    if (bill->gang_count > 1)
        qsort(ranks, bill->gang_count, sizeof *ranks, by_key);
    bill->gangs = mem_new_array(bill->gang_count, sizeof *bill->gangs);
    for (size_t i = 0; i < bill->gang_count; i++)
        bill->gangs[i] = ranks[i].node;
    mem_free(ranks);
}

void victims_bill(const struct victim_case *scene, const size_t *nodes, size_t count,
                  struct victim_bill *ret_bill)
{
    struct victim_model model;
    struct victim_pick pick;

    *ret_bill = (struct victim_bill){ 0 };
    victim_model_init(&model, scene);
    victim_pick_init(&pick, &model);
    require(count <= scene->node_count);
    for (size_t i = 0; i < count; i++)
        ret_bill->idle_nodes += victim_pick_marginal(&pick, nodes[i]) == 0;
    for (size_t i = 0; i < count; i++)
        victim_pick_add(&pick, nodes[i]);
    ret_bill->blocks_broken = (size_t)(pick.broken / model.block_weight);
    note_gangs(&pick, ret_bill);
    require(ret_bill->idle_nodes <= count && ret_bill->gang_count <= scene->gang_count);
    victim_pick_clear(&pick);
    victim_model_clear(&model);
}

void victim_bill_clear(struct victim_bill *bill)
{
    mem_free(bill->gangs);
    *bill = (struct victim_bill){ 0 };
}

static bool has_gang(const struct victim_node *node, size_t gang)
{
    for (size_t k = 0; k < node->gang_count; k++)
        if (node->gangs[k] == gang)
            return true;
    return false;
}

int64_t victims_next_best(const struct victim_case *scene, size_t wanted,
                          const struct victim_bill *bill)
{
    struct victim_node *nodes = mem_new_array(scene->node_count, sizeof *nodes);
    struct victim_case spared = *scene;
    int64_t lost_gpu_s = -1;

    require(wanted <= scene->node_count);
    spared.nodes = nodes;
    spared.node_count = 0;
    for (size_t i = 0; i < scene->node_count; i++)
        if (bill->gang_count > 0 && !has_gang(&scene->nodes[i], bill->gangs[0]))
            nodes[spared.node_count++] = scene->nodes[i];
    if (bill->gang_count > 0 && spared.node_count >= wanted) {
        size_t *chosen = victims_choose(&spared, wanted, NULL);
        struct victim_bill other;

        victims_bill(&spared, chosen, wanted, &other);
        lost_gpu_s = other.lost_gpu_s;
        victim_bill_clear(&other);
        mem_free(chosen);
    }
    mem_free(nodes);
    return lost_gpu_s;
}
