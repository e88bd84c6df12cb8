/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The figures that follow from an engine's law and its mean lengths.
 */
#include "windows/servers/engine.h"

#include <math.h>
#include <string.h>

static const char *const router_names[ENGINE_ROUTERS] = {
    [ENGINE_LEAST_OUTSTANDING] = "least-outstanding",
    [ENGINE_RANDOM] = "random",
    [ENGINE_ROUND_ROBIN] = "round-robin",
    [ENGINE_CENTRAL] = "central",
};

int engine_slots(const struct engine_law *law, double mean_in, double mean_out)
{
    if (law->kv_tokens <= 0)
        return law->slots;

    double fit = floor(law->kv_tokens / (mean_in + mean_out / 2));

    return fit < 1 ? 1 : fit < law->slots ? (int)fit : law->slots;
}

double engine_slope_s(const struct engine *engine)
{
    return engine->law.per_request_s + engine->law.prefill_s * engine->mean_in / engine->mean_out;
}

double engine_rate(const struct engine *engine, double n)
{
    double running = n < engine->law.slots ? n : engine->law.slots;

    return running /
           (engine->mean_out * (engine->law.iteration_s + engine_slope_s(engine) * running));
}

double engine_whole_s(const struct engine *engine, double mean_s)
{
    return engine ? 1 / engine_rate(engine, engine->law.slots) : mean_s;
}

double engine_longest_s(const struct engine *engine)
{
    double token_s = engine->law.iteration_s + engine_slope_s(engine) * engine->law.slots;
    double longest_s = 0;

    for (int i = 0; i < ENGINE_LENGTHS && !engine->is_short; i++) {
        double request_s = engine->law.prefill_s * (double)engine->in[i] +
                           (double)engine->out[i] * token_s;

        longest_s = request_s > longest_s ? request_s : longest_s;
    }
    return longest_s;
}

double engine_floor_s(const struct engine *engine)
{
    double chunk = engine->mean_in < ENGINE_CHUNK_TOKENS ? engine->mean_in : ENGINE_CHUNK_TOKENS;

    return engine->is_short ? 0
                            : engine_iteration_s(&engine->law, engine->law.slots) +
                                  engine->law.prefill_s * chunk;
}

enum engine_router engine_router_parse(const char *name)
{
    enum engine_router router = 0;

    while (router < ENGINE_ROUTERS && strcmp(router_names[router], name) != 0)
        router++;
    return router;
}

const char *engine_router_name(enum engine_router router)
{
    return router_names[router];
}
