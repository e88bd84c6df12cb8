/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See token_pairs.h.
 */
#include "windows/demand/token_pairs.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

void token_pairs_scale(struct token_pairs *pairs, double in, double out)
{
    for (size_t i = 0; i < pairs->list.count; i++) {
        struct token_pair *pair = &pairs->list.items[i];
        double answer = out == 1 ? (double)pair->out : floor((double)pair->out * out + 0.5);

        pair->in = in == 1 ? pair->in : (float)floor((double)pair->in * in + 0.5);
        pair->out = (float)(answer < 1 ? 1 : answer);
    }
}

struct token_pairs token_pairs_copy(const struct token_pairs *pairs)
{
    struct token_pairs copy = *pairs;

    copy.list.capacity = pairs->list.count;
    copy.list.items = mem_new_array(pairs->list.count, sizeof *copy.list.items);
    if (pairs->list.count > 0)
        memcpy(copy.list.items, pairs->list.items, pairs->list.count * sizeof *copy.list.items);
    return copy;
}

int token_pairs_check(const struct token_pairs *pairs, const char *source, const char *of,
                      struct error *err)
{
    if (pairs->requests >= TOKEN_PAIRS_MIN)
        return 0;
    return error_set(err, ERROR_INVALID, "%s: %.12g requests%s%s with an answer, and %d are needed",
                     source, pairs->requests, of ? " of " : "", of ? of : "", TOKEN_PAIRS_MIN);
}

void token_pairs_clear(struct token_pairs *pairs)
{
    array_clear(&pairs->list);
}
