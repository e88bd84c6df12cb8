/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See target_limits.h.
 */
#include "windows/target_limits.h"

#include "windows/engine_wait.h"
#include "windows/erlang.h"

#include <math.h>

struct target_limits target_limits_of(const struct engine *engine,
                                      const struct replay_target *target)
{
    struct target_limits limits = {
        .waits = { { (double)target->wait_ms / SECOND_MS, target->percentile } },
        .count = 1,
        .token_percentile = target->itl.percentile,
    };

    if (engine && target->ttft.limit_s > 0) {
        double chunks = fmax(1, ceil(engine->mean_in / ENGINE_CHUNK_TOKENS));
        double after_s = engine->law.prefill_s * engine->mean_in +
                         chunks * engine_iteration_s(&engine->law, engine->law.slots);

        limits.waits[limits.count++] = (struct replay_limit){
            fmax(0, target->ttft.limit_s - after_s), target->ttft.percentile
        };
    }
    if (engine && target->itl.limit_s > 0 && engine_slope_s(engine) > 0) {
        double running = fmax(0.01, (target->itl.limit_s - engine->law.iteration_s) /
                                        engine_slope_s(engine));

        if (running < engine->law.slots * (1 - 1e-9))
            limits.token_rate = engine_rate(engine, running);
    }
    return limits;
}

int target_servers(const struct service_shape *shape, double mean_s, double rate,
                   const struct replay_target *target)
{
    const struct engine *engine = service_shape_engine(shape);
    struct target_limits limits = target_limits_of(engine, target);
    double most = limits.token_rate > 0 ? ceil(rate / limits.token_rate) : 1;

    for (size_t i = 0; i < limits.count; i++) {
        double p = limits.waits[i].percentile / 100;
        int servers = engine ? engine_servers(engine, rate, p, limits.waits[i].limit_s)
                             : erlang_servers(rate, 1 / mean_s, p, limits.waits[i].limit_s);

        if (servers < 0)
            return -1;
        most = fmax(most, servers);
    }
    return most > ERLANG_SERVERS_MAX ? -1 : (int)most;
}
