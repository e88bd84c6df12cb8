/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The reclaims of a pool: their levels before and after a plan, and who can give to them (plan.h).
 */
#include "base/text.h"
#include "broker/planning/plan.h"

int64_t plan_level(const struct plan_pool *pool)
{
    int64_t level = 0;

    for (size_t i = 0; i < pool->reclaims.count; i++)
        if (pool->reclaims.items[i].level > level)
            level = pool->reclaims.items[i].level;
    return level;
}

int64_t plan_level_after(const struct plan *plan, const struct plan_pool *pool,
                         const struct plan_reclaim *reclaim)
{
    int64_t below = 0;  /* nodes passed over below the reclaim, and its own */
    int64_t passed = 0; /* all that go up */
    bool goes_up = false;

    for (size_t i = 0; i < plan->passes.count; i++) {
        const struct plan_pass *pass = &plan->passes.items[i];

        if (pass->pool != pool || !pass->is_served)
            continue;
        require(pass->nodes > 0);
        goes_up |= pass->reclaim == reclaim;
        passed += pass->nodes;
        if (pass->reclaim == reclaim || pass->reclaim->level < reclaim->level)
            below += pass->nodes;
    }
    return goes_up ? plan_level(pool) - passed + below : reclaim->level - below;
}

static int64_t research_can_give(const struct plan_input *input,
                                 const struct config_reservation *reservation, const char *from)
{
    int64_t nodes = 0;

    for (size_t i = 0; i < input->config->pool_count; i++) {
        const struct plan_pool *pool = &input->pools[i];
        int64_t over_floor = pool->present - pool->config->static_nodes;
        int64_t movable = (int64_t)pool->nodes.count;

        if (pool->config->reservation != reservation || !pool->is_known ||
            pool->config->cluster->role != ROLE_RESEARCH || over_floor <= 0 ||
            (from[0] != '\0' && !text_equal(pool->config->cluster->name, from)))
            continue;
        nodes += movable < over_floor ? movable : over_floor;
    }
    return nodes;
}

int64_t plan_room(const struct plan_pool *pool)
{
    return pool->is_known ? plan_limit(pool) - pool->present - pool->incoming - pool->unplaced : 0;
}

int64_t plan_can_have(const struct plan_input *input, const struct plan_pool *pool,
                      const char *from)
{
    int64_t room = plan_room(pool);
    int64_t nodes = research_can_give(input, pool->config->reservation, from);

    return nodes < room ? nodes : room;
}

const struct config_cluster *plan_giver(const struct plan_input *input,
                                        const struct plan_pool *pool, const char *except)
{
    const struct config *config = input->config;
    const struct config_cluster *best = NULL;
    int64_t most = plan_unit(pool, pool->present + pool->incoming) - 1;

    for (size_t i = 0; i < config->cluster_count; i++) {
        int64_t nodes = plan_can_have(input, pool, config->clusters[i].name);

        if (nodes > most && !text_equal(config->clusters[i].name, except)) {
            best = &config->clusters[i];
            most = nodes;
        }
    }
    return best;
}
