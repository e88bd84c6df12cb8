/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demand_tokens.h.
 */
#include "windows/demand/demand_tokens.h"

/* Every second one goes, and every second one of those that come: the next is one that stays. */
static void thin_out(struct demand_tokens *tokens)
{
    struct token_pair *items = tokens->pairs.list.items;

    for (size_t i = 0; i < DEMAND_TOKENS_MAX / 2; i++)
        items[i] = items[2 * i];
    tokens->pairs.list.count = DEMAND_TOKENS_MAX / 2;
    tokens->stride *= 2;
}

static void keep(struct demand_tokens *tokens, const struct token_pair *pair)
{
    tokens->stride = tokens->stride > 0 ? tokens->stride : 1;
    if (tokens->rows++ % tokens->stride != 0)
        return;
    if (tokens->pairs.list.count == DEMAND_TOKENS_MAX)
        thin_out(tokens);
    *array_add(&tokens->pairs.list) = *pair;
}

void demand_tokens_add(struct token_pairs *part, const struct token_pair *pair)
{
    *array_add(&part->list) = *pair;
    part->requests += (double)pair->count;
}

void demand_tokens_append(struct demand_tokens *tokens, const struct token_pairs *part)
{
    for (size_t i = 0; i < part->list.count; i++)
        keep(tokens, &part->list.items[i]);
    tokens->pairs.requests += part->requests;
    tokens->pairs.unanswered += part->unanswered;
}
