/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demand_tokens.h.
 */
#include "windows/demand/demand_tokens.h"

#include "base/random.h"
#include "base/time_zone.h"

_Static_assert(DEMAND_TOKENS_MAX % 2 == 0, "a full sample ends with a block");

/* The row of a block that is kept: at random, because files repeat themselves; always the same one,
   because plans must be reproducible. */
static uint64_t place_in_block(size_t block, size_t stride)
{
    return stride == 1 ? 0 : random_mix(0, "lengths", block, stride) % stride;
}

/* Blocks become twice as long: of two rows that represented half a block each, one stays. */
static void thin_out(struct demand_tokens *tokens)
{
    struct token_pair *items = tokens->pairs.list.items;
    int64_t *times = tokens->pairs.times.items;

    tokens->stride *= 2;
    for (size_t i = 0; i < DEMAND_TOKENS_MAX / 2; i++) {
        size_t from = 2 * i + place_in_block(i, tokens->stride) % 2;

        items[i] = items[from];
        times[i] = times[from];
    }
    tokens->pairs.list.count = tokens->pairs.times.count = DEMAND_TOKENS_MAX / 2;
}

static void keep(struct demand_tokens *tokens, const struct token_pair *pair, int64_t ms)
{
    size_t row = tokens->rows++;

    tokens->stride = tokens->stride > 0 ? tokens->stride : 1;
    if (row % tokens->stride == 0 && tokens->pairs.list.count == DEMAND_TOKENS_MAX)
        thin_out(tokens);
    if (row % tokens->stride != place_in_block(row / tokens->stride, tokens->stride))
        return;
    require(tokens->pairs.list.count == row / tokens->stride); /* one of each block before */
    *array_add(&tokens->pairs.list) = *pair;
    *array_add(&tokens->pairs.times) = ms;
}

void demand_tokens_add(struct demand_tokens *part, const struct token_pair *pair,
                       const struct packed_row *row, bool is_rate)
{
    *array_add(&part->pairs.list) = *pair;
    *array_add(&part->pairs.times) = row->ms;
    *(row->is_local ? &part->has_local : &part->has_utc) = true;
    part->pairs.requests += (double)pair->count;
    *(is_rate ? &part->has_rates : &part->has_counts) = true;
}

void demand_tokens_append(struct demand_tokens *tokens, const struct demand_tokens *part)
{
    for (size_t i = 0; i < part->pairs.list.count; i++)
        keep(tokens, &part->pairs.list.items[i], part->pairs.times.items[i]);
    tokens->pairs.requests += part->pairs.requests;
    tokens->pairs.unanswered += part->pairs.unanswered;
    tokens->has_counts = tokens->has_counts || part->has_counts;
    tokens->has_rates = tokens->has_rates || part->has_rates;
    tokens->has_local = tokens->has_local || part->has_local;
    tokens->has_utc = tokens->has_utc || part->has_utc;
}

void demand_tokens_resolve(struct demand_tokens *tokens, const struct time_zone *zone)
{
    if (tokens->has_local && tokens->has_utc)
        array_clear(&tokens->pairs.times);
    for (size_t i = 0; tokens->has_local && i < tokens->pairs.times.count; i++) {
        int64_t *ms = &tokens->pairs.times.items[i];
        struct zone_reading reading = time_zone_read(zone, *ms);

        if (reading.count > 0)
            *ms -= reading.offsets_ms[0];
    }
    tokens->has_local = false;
}

void demand_tokens_over(struct demand_tokens *tokens, double seconds)
{
    require(tokens->has_rates && !tokens->has_counts); /* a second time would count twice */
    for (size_t i = 0; i < tokens->pairs.list.count; i++) {
        struct token_pair *pair = &tokens->pairs.list.items[i];

        pair->count = (float)((double)pair->count * seconds);
    }
    tokens->pairs.requests *= seconds;
    tokens->has_rates = false;
    tokens->has_counts = true;
}
