/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files of measured lengths: what is accepted has whole tokens, one of an answer at least, and
 * makes a table with the means of what was read.
 */
#include "base/memory.h"
#include "tests/fuzz/fuzz_file.h"
#include "windows/servers/engine_lengths.h"

#include <math.h>

static void check(struct token_pairs *pairs)
{
    const struct engine_law law = { .slots = 8, .iteration_s = 0.01, .kv_tokens = 1e4 };
    double mean = 0;

    require(pairs->list.count >= TOKEN_PAIRS_MIN);
    for (size_t i = 0; i < pairs->list.count; i++) {
        struct token_pair pair = pairs->list.items[i];

        require(pair.in >= 0 && pair.in <= TOKENS_MAX && floorf(pair.in) == pair.in);
        require(pair.out >= 1 && pair.out <= TOKENS_MAX && floorf(pair.out) == pair.out);
        mean += (double)pair.out / (double)pairs->list.count;
    }

    struct engine *engine = engine_new_by_pairs(&law, pairs);

    require(engine->law.slots >= 1 && engine->law.slots <= 8 && isfinite(engine->cv_out));
    require(fabs(engine->mean_out - mean) <=
            (double)TOKENS_MAX * (double)pairs->list.count / ENGINE_LENGTHS);
    mem_free(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct token_pairs pairs;
    struct error err = { 0 };

    if (token_pairs_read(&pairs, fuzz_file(bytes, size), "chat", &err) < 0)
        fuzz_expect_error(&err);
    else
        check(&pairs);
    token_pairs_clear(&pairs);
    return 0;
}
