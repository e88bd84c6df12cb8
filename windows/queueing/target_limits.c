/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See target_limits.h.
 */
#include "windows/queueing/target_limits.h"

#include "windows/servers/engine_wait.h"
#include "windows/servers/erlang.h"

#include <math.h>

static const double least_running = 0.01;

/* The number running in a replica varies around its mean, and a short answer is one sample of it;
   the variation grows with the length of prompts.  Fitted to replays. */
static const double spread_of_running = 0.25;
static const double spread_of_prompts = 0.06;

/* No limit where all slots may run. */
static void add_running(struct target_limits *limits, const struct engine *engine, double running,
                        double percentile)
{
    if (running < engine->law.slots * (1 - 1e-9))
        limits->rates[limits->rate_count++] =
            (struct target_rate){ engine_rate(engine, fmax(least_running, running)), percentile };
}

/* A request that starts at once waits for the rest of an iteration, for the prompts of others
   before its own, and for its own.  It gets a token at the end of the iteration of its last
   chunk. */
static void add_first_token(struct target_limits *limits, const struct engine *engine,
                            const struct replay_limit *ttft)
{
    const struct engine_law *law = &engine->law;
    double p = ttft->percentile / 100;
    double chunks = fmax(1, ceil(engine->mean_in / ENGINE_CHUNK_TOKENS));
    double prompt_s = law->prefill_s * engine->mean_in;
    double left_s = ttft->limit_s - prompt_s;
    double full_s = engine_iteration_s(law, law->slots);
    double others_s = left_s - (chunks + 0.5) * engine_iteration_s(law, 1);

    limits->waits[limits->wait_count++] =
        (struct replay_limit){ fmax(0, left_s - prompt_s / 2 - chunks * full_s), ttft->percentile };
    if (law->per_request_s > 0)
        add_running(limits, engine, (left_s / (chunks + p) - law->iteration_s) / law->per_request_s,
                    ttft->percentile);
    if (prompt_s > 0) /* the share of the time in which prompts are computed */
        limits->rates[limits->rate_count++] = (struct target_rate){
            pow(1 - p, prompt_s / (prompt_s + fmax(0, others_s))) / prompt_s, ttft->percentile
        };
}

/* The most requests that may run on average, so that with their spread added later tokens still
   come in time. */
static void add_later_tokens(struct target_limits *limits, const struct engine *engine,
                             const struct replay_limit *itl)
{
    const struct engine_law *law = &engine->law;
    double prompt_s = law->prefill_s * engine->mean_in;
    double spread = sqrt(-log(1 - itl->percentile / 100)) *
                    (spread_of_running + spread_of_prompts * prompt_s / engine_iteration_s(law, 1));
    double most;
    double root;

    if (!(engine_slope_s(engine) > 0))
        return;
    most = fmax(0, (itl->limit_s - law->iteration_s) / engine_slope_s(engine));
    root = (sqrt(spread * spread + 4 * most) - spread) / 2;
    if (most < law->slots * (1 - 1e-9))
        add_running(limits, engine, root * root, itl->percentile);
}

struct target_limits target_limits_of(const struct engine *engine,
                                      const struct replay_target *target)
{
    struct target_limits limits = {
        .waits = { { (double)target->wait_ms / SECOND_MS, target->percentile } },
        .wait_count = 1,
    };

    if (engine && target->ttft.limit_s > 0)
        add_first_token(&limits, engine, &target->ttft);
    if (engine && target->itl.limit_s > 0)
        add_later_tokens(&limits, engine, &target->itl);
    return limits;
}

int target_servers(const struct service_shape *shape, double mean_s, double rate,
                   const struct replay_target *target)
{
    const struct engine *engine = service_shape_engine(shape);
    struct target_limits limits = target_limits_of(engine, target);
    double most = 1;

    for (size_t i = 0; i < limits.wait_count; i++) {
        double p = limits.waits[i].percentile / 100;
        int servers = engine ? engine_servers(engine, rate, p, limits.waits[i].limit_s)
                             : erlang_servers(rate, 1 / mean_s, p, limits.waits[i].limit_s);

        if (servers < 0)
            return -1;
        most = fmax(most, servers);
    }
    for (size_t i = 0; i < limits.rate_count; i++)
        most = fmax(most, ceil(rate / limits.rates[i].per_s));
    return most > ERLANG_SERVERS_MAX ? -1 : (int)most;
}
