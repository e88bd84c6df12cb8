/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tables of lengths, by a law or by measured pairs.  Nothing here is looked up in the C library's
 * mathematics but the root, which IEEE 754 fixes to the bit.
 */
#include "windows/servers/engine_lengths.h"

#include "base/memory.h"
#include "windows/servers/engine_periods.h"
#include "windows/servers/service_time.h"

#include <math.h>

_Static_assert((int)ENGINE_LENGTHS == (int)SERVICE_TIMES, "one index draws both");
_Static_assert((int)ENGINE_LENGTHS == (int)TOKEN_TABLE, "a sample fills it");
_Static_assert((int)TOKEN_PAIRS_MIN == (int)SERVICE_REQUESTS_MIN, "as many make a table");

/* Means, spread and slots, from the tables. */
static void finish(struct engine *engine, const struct engine_law *law)
{
    double squares = 0;
    double out = 0;
    double in = 0;

    for (int i = 0; i < ENGINE_LENGTHS; i++) {
        out += (double)engine->out[i];
        in += (double)engine->in[i];
        squares += (double)engine->out[i] * (double)engine->out[i];
    }
    engine->mean_out = out / ENGINE_LENGTHS;
    engine->mean_in = in / ENGINE_LENGTHS;
    squares = squares / ENGINE_LENGTHS / (engine->mean_out * engine->mean_out) - 1;
    engine->cv_out = squares > 1e-12 ? sqrt(squares) : 0;
    engine->law = *law;
    engine->law.slots = engine_slots(law, engine->mean_in, engine->mean_out);
    engine->slots_asked = law->slots;
    engine->is_kv_limited = engine->law.slots < law->slots;
}

struct engine *engine_new_by_law(const struct engine_law *law, const struct engine_tokens *tokens)
{
    struct engine *engine = mem_new(sizeof *engine);
    double *quantiles = mem_new_array(SERVICE_TIMES, sizeof *quantiles);
    double sum = 0;
    double due = 0;
    double given = 0;

    service_law_quantiles(tokens->law, tokens->cv, quantiles);
    for (int i = 0; i < ENGINE_LENGTHS; i++)
        sum += quantiles[i];

    double scale = tokens->mean_out * ENGINE_LENGTHS / sum;

    /* The rounding error of one place is carried to the next. */
    for (int i = 0; i < ENGINE_LENGTHS; i++) {
        due += quantiles[i] * scale;

        double whole = floor(due - given + 0.5);

        engine->out[i] = (float)(whole < 1 ? 1 : whole);
        engine->in[i] = (float)tokens->mean_in;
        given += (double)engine->out[i];
    }
    mem_free(quantiles);
    finish(engine, law);
    return engine;
}

struct engine *engine_new_by_pairs(const struct engine_law *law, const struct token_pairs *pairs)
{
    struct engine *engine = mem_new(sizeof *engine);
    owned(token_pairs) struct token_pairs sorted = token_pairs_copy(pairs);

    engine_fill_places(sorted.list.items, sorted.list.count, engine->out, engine->in,
                       ENGINE_LENGTHS);
    finish(engine, law);
    engine->periods = engine_periods_new(pairs, engine);
    return engine;
}
