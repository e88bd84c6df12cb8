/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * When a transfer will be done, by the lead times of its lead key and by what delays it.
 */
#include "broker/transfer/effect.h"
#include "broker/transfer/runner.h"

const struct freeze *runner_freeze(const struct runner *runner, const struct transfer *transfer)
{
    const struct effect *remove = effect_find(transfer, &effect_remove, transfer->instance);
    struct wall_time now = runner_now(runner);
    const struct freeze *freeze;

    if (transfer->is_emergency || transfer->is_undoing || transfer->step > STEP_RELEASE ||
        effect_may_have_happened(remove))
        return NULL;
    freeze = guard_freeze(runner->guard, transfer->source->cluster, now);
    return freeze ? freeze : guard_freeze(runner->guard, transfer->target->cluster, now);
}

struct wall_time runner_expected(const struct runner *runner, const struct transfer *transfer,
                                 double percentile)
{
    struct wall_time from = transfer->cordoned;
    struct wall_time now = runner_now(runner);
    struct wall_time expected;
    const struct freeze *freeze;
    int64_t elapsed_ms;

    if (transfer->state != TRANSFER_LIVE)
        return transfer->ended;
    if (from.ms == 0)
        from = transfer->departure.ms > now.ms && !transfer->is_emergency ? transfer->departure
                                                                          : now;
    freeze = runner_freeze(runner, transfer);
    elapsed_ms = now.ms > from.ms ? now.ms - from.ms : 0;
    expected.ms = from.ms +
                  leads_quantile(lead_book_of(runner->leads, transfer->target), percentile,
                                 elapsed_ms) +
                  (freeze ? freeze->until.ms - now.ms : 0);
    return expected.ms > now.ms ? expected : now;
}

int64_t runner_wave_ms(const struct runner *runner, const struct config_pool *pool, int64_t nodes)
{
    const struct leads *learned = lead_book_of(runner->leads, pool);
    struct leads leads = *learned;
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(runner, &i));)
        if (transfer->cordoned.ms > 0 && !transfer->is_undoing && !transfer->is_returning &&
            lead_book_of(runner->leads, transfer->target) == learned)
            lead_series_add(&leads.whole, runner_now(runner).ms - transfer->cordoned.ms, true);
    return leads_wave(&leads, nodes);
}

int64_t runner_lead_ms(const struct runner *runner, const struct config_cluster *cluster,
                       double percentile)
{
    int64_t longest_ms = 0;

    for (size_t i = 0; i < runner->config->pool_count; i++) {
        const struct config_pool *pool = &runner->config->pools[i];
        int64_t lead_ms;

        if (cluster ? pool->cluster != cluster : pool->cluster->role != ROLE_PRODUCTION)
            continue;
        lead_ms = leads_quantile(lead_book_of(runner->leads, pool), percentile, 0);
        if (lead_ms > longest_ms)
            longest_ms = lead_ms;
    }
    require(longest_ms >= 0);
    return longest_ms;
}
