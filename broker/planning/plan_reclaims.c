/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The levels of a pool's reclaims, before and after a plan (plan.h).
 */
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
