/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See token_pairs.h.
 */
#include "windows/demand/token_pairs.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Whole tokens; a mean of rows keeps its fraction if the factor is 1. */
static double longer(float tokens, double factor)
{
    return factor == 1 ? (double)tokens : floor((double)tokens * factor + 0.5);
}

int token_pairs_scale(struct token_pairs *pairs, double in, double out, struct error *err)
{
    for (size_t i = 0; i < pairs->list.count; i++) {
        struct token_pair *pair = &pairs->list.items[i];
        double prompt = longer(pair->in, in);
        double answer = longer(pair->out, out);

        if (prompt > TOKENS_MAX || answer > TOKENS_MAX)
            return error_set(err, ERROR_INVALID,
                             "a length of %g tokens is not possible: at most %d",
                             prompt > answer ? prompt : answer, TOKENS_MAX);
        pair->in = (float)prompt;
        pair->out = (float)(answer < 1 ? 1 : answer);
    }
    return 0;
}

struct token_pairs token_pairs_copy(const struct token_pairs *pairs)
{
    struct token_pairs copy = *pairs;

    copy.list.capacity = pairs->list.count;
    copy.list.items = mem_new_array(pairs->list.count, sizeof *copy.list.items);
    if (pairs->list.count > 0)
        memcpy(copy.list.items, pairs->list.items, pairs->list.count * sizeof *copy.list.items);
    copy.times.capacity = pairs->times.count;
    copy.times.items = mem_new_array(pairs->times.count, sizeof *copy.times.items);
    if (pairs->times.count > 0)
        memcpy(copy.times.items, pairs->times.items, pairs->times.count * sizeof *copy.times.items);
    return copy;
}

int token_pairs_check(const struct token_pairs *pairs, const char *source, const char *of,
                      struct error *err)
{
    if (pairs->requests >= TOKEN_PAIRS_MIN)
        return 0;
    return error_set(err, ERROR_INVALID, "%s: %.0f requests%s%s with an answer, and %d are needed",
                     source, floor(pairs->requests), of ? " of " : "", of ? of : "",
                     TOKEN_PAIRS_MIN);
}

void token_pairs_clear(struct token_pairs *pairs)
{
    array_clear(&pairs->list);
    array_clear(&pairs->times);
}
