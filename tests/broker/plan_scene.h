/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inputs of a plan, from a list of items, each ended by a semicolon:
 *
 *     P NAME key=number...      a production pool with a cluster of its own
 *     R NAME key=number...      a research pool
 *     T ID SOURCE>TARGET [KIND]   a live transfer; fixed: it cannot be withdrawn
 *
 * keys: has (machines), unseen (of them, without a Node), unplaced, floor, max, in (incoming),
 * want, level (of a reclaim; repeated, of another one), from (the cluster that alone gives its
 * nodes), weight, group (nodes that serve only together), east (0: in another reservation), known
 * (0: it was not seen lately), heard (0: it does not answer just now), free (movable nodes; all
 * over the floor when absent).  Node k of a pool is called NAME-k and costs as many GPU-seconds as
 * `cost` says, one digit a node, else nothing.
 */
#pragma once

#include "base/random.h"
#include "base/text.h"
#include "broker/planning/plan.h"
#include "tests/support/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { POOLS_MAX = 8, LIVE_MAX = 16, NODES_MAX = 48 };

struct scene {
    struct config config;
    struct config_cluster clusters[POOLS_MAX];
    struct config_reservation reservations[2];
    struct config_pool configs[POOLS_MAX];
    struct plan_pool *pools;
    struct plan_live live[LIVE_MAX];
    struct plan_input input;
    char names[POOLS_MAX][16];
    char ids[LIVE_MAX][16];
    char froms[POOLS_MAX][16];
    size_t from_count;
    char nodes[POOLS_MAX][NODES_MAX][24];
    struct victim_gang gangs[POOLS_MAX * NODES_MAX]; /* one a node */
    size_t numbers[POOLS_MAX * NODES_MAX];
};

static inline void scene_begin(struct scene *scene, int64_t nodes)
{
    memset(scene, 0, sizeof *scene);
    scene->reservations[0] = (struct config_reservation){ .name = (char *)scene->names[0],
                                                          .nodes = nodes };
    scene->reservations[1] = scene->reservations[0];
    scene->config.clusters = scene->clusters;
    scene->config.reservations = scene->reservations;
    scene->config.reservation_count = 2;
    scene->config.pools = scene->configs;
    scene->pools = mem_new_array(POOLS_MAX, sizeof *scene->pools);
    scene->input.config = &scene->config;
    scene->input.pools = scene->pools;
    scene->input.live = scene->live;
    scene->input.gangs = scene->gangs;
}

static inline void owned_scene(struct scene *scene)
{
    plan_pools_free(scene->pools, POOLS_MAX);
}

static inline struct plan_pool *add_pool(struct scene *scene, enum cluster_role role,
                                         const char *name)
{
    size_t at = scene->config.pool_count++;
    struct plan_pool *pool = &scene->pools[at];

    require(at < POOLS_MAX);
    scene->config.cluster_count++;
    text_copy(scene->names[at], sizeof scene->names[at], name);
    scene->clusters[at] =
        (struct config_cluster){ .name = scene->names[at], .role = role, .weight = 1 };
    scene->configs[at] = (struct config_pool){ .name = scene->names[at],
                                               .group = 1,
                                               .cluster = &scene->clusters[at],
                                               .reservation = &scene->reservations[0] };
    pool->config = &scene->configs[at];
    pool->wanted = -1;
    pool->is_known = pool->is_heard = true;
    return pool;
}

static inline void add_node(struct scene *scene, struct plan_pool *pool, int64_t cost)
{
    size_t at = (size_t)(pool - scene->pools);
    size_t k = pool->nodes.count;
    char name[16];
    struct plan_node *node = array_add(&pool->nodes);

    require(k < NODES_MAX);
    text_copy(name, sizeof name, scene->names[at]);
    snprintf(scene->nodes[at][k], sizeof scene->nodes[at][k], "%s-%02d", name, (int)(k % 100) + 1);
    node->facts.name = node->uid = node->instance = scene->nodes[at][k];
    if (cost == 0)
        return;
    scene->numbers[scene->input.gang_count] = scene->input.gang_count;
    node->facts.gangs = &scene->numbers[scene->input.gang_count];
    node->facts.gang_count = 1;
    scene->gangs[scene->input.gang_count++] =
        (struct victim_gang){ .name = "job", .lost_gpu_s = cost, .price_gpu_s = cost };
}

enum live_kind { LIVE_FREE, LIVE_FIXED };

static inline void add_live(struct scene *scene, const char *id, size_t source, size_t target,
                            enum live_kind kind)
{
    size_t at = scene->input.live_count++;

    require(at < LIVE_MAX);
    text_copy(scene->ids[at], sizeof scene->ids[at], id);
    scene->live[at] = (struct plan_live){ scene->ids[at], &scene->configs[source],
                                          &scene->configs[target], kind == LIVE_FREE };
}

static inline void set_key(struct scene *scene, struct plan_pool *pool, const char *key,
                           int64_t number)
{
    size_t at = (size_t)(pool - scene->pools);
    const struct {
        const char *key;
        int64_t *member;
    } keys[] = {
        { "has", &pool->present },
        { "floor", &scene->configs[at].static_nodes },
        { "max", &scene->configs[at].node_max },
        { "group", &scene->configs[at].group },
        { "unseen", &pool->unseen },
        { "in", &pool->incoming },
        { "unplaced", &pool->unplaced },
        { "want", &pool->wanted },
        { "weight", &scene->clusters[at].weight },
    };

    if (text_equal(key, "level")) {
        *array_add(&pool->reclaims) = (struct plan_reclaim){ number, "", NULL };
        return;
    }
    if (text_equal(key, "east") && number == 0) {
        scene->configs[at].reservation = &scene->reservations[1];
        return;
    }
    if (text_equal(key, "known") || text_equal(key, "heard")) {
        *(key[0] == 'k' ? &pool->is_known : &pool->is_heard) = number != 0;
        return;
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (text_equal(keys[i].key, key)) {
            *keys[i].member = number;
            return;
        }
    }
    fail_msg("unknown key %s", key);
}

/* Of the reclaim that was named last; the cluster need not be there yet. */
static inline void set_from(struct scene *scene, struct plan_pool *pool, const char *name)
{
    char *kept = scene->froms[scene->from_count++];

    text_copy(kept, sizeof scene->froms[0], name);
    pool->reclaims.items[pool->reclaims.count - 1].from = kept;
}

static inline int64_t number_of(const char *chars)
{
    long long number = 0;

    if (!text_to_int(chars, 0, 1000, &number))
        fail_msg("%s is not a number", chars);
    return number;
}

static inline void read_pool(struct scene *scene, const char *item)
{
    char name[16];
    int64_t movable = -1;
    char costs[NODES_MAX + 1] = "";
    char key[16];
    char value[NODES_MAX + 1];
    struct plan_pool *pool;
    char *rest;
    char copy[256];

    text_copy(copy, sizeof copy, item);
    assert_int_equal(sscanf(copy + 1, " %15s", name), 1);
    pool = add_pool(scene, copy[0] == 'P' ? ROLE_PRODUCTION : ROLE_RESEARCH, name);
    rest = strstr(copy, name) + strlen(name);
    for (int length = 0; sscanf(rest, " %15[a-z]=%48s%n", key, value, &length) == 2;
         rest += length) {
        if (text_equal(key, "cost"))
            text_copy(costs, sizeof costs, value);
        else if (text_equal(key, "free"))
            movable = number_of(value);
        else if (text_equal(key, "from"))
            set_from(scene, pool, value);
        else
            set_key(scene, pool, key, number_of(value));
    }
    if (movable < 0)
        movable = pool->present - pool->config->static_nodes;
    for (int64_t k = 0; k < movable; k++)
        add_node(scene, pool, k < (int64_t)strlen(costs) ? costs[k] - '0' : 0);
}

static inline size_t find_pool(const struct scene *scene, const char *name)
{
    for (size_t i = 0; i < scene->config.pool_count; i++)
        if (text_equal(scene->names[i], name))
            return i;
    fail_msg("unknown pool %s", name);
    return 0;
}

static inline void read_live(struct scene *scene, const char *item)
{
    char id[16];
    char source[16];
    char target[16];
    char fixed[16];
    int count = sscanf(item, "T %15s %15[a-z]>%15[a-z] %15s", id, source, target, fixed);

    assert_true(count >= 3);
    add_live(scene, id, find_pool(scene, source), find_pool(scene, target),
             count == 3 ? LIVE_FREE : LIVE_FIXED);
}

static inline void read_scene(struct scene *scene, const char *chars)
{
    char item[256];
    int length = 0;

    scene_begin(scene, 40);
    while (sscanf(chars, " %255[^;];%n", item, &length) == 1) {
        if (item[0] == 'T')
            read_live(scene, item);
        else
            read_pool(scene, item);
        chars += length;
        length = 0;
    }
    scene->input.config = &scene->config;
}

static inline int64_t draw(struct random *random, int64_t below)
{
    return (int64_t)random_below(random, (uint64_t)below);
}
