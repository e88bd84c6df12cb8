/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lengths of a queue's requests, as the rows of a demand file tell them: part of demand.c.  Of
 * very many rows a sample is kept, so that lengths take little beside the rows' counts.
 */
#pragma once

#include "windows/demand/packed.h"
#include "windows/demand/token_pairs.h"

#include <stdbool.h>

struct time_zone;

/* Twice the places of a table of lengths: a sample has at least as many pairs as those. */
enum { DEMAND_TOKENS_MAX = 2 * TOKEN_TABLE };

struct demand_tokens {
    struct token_pairs pairs;
    size_t rows;     /* with an answer, kept or not */
    size_t stride;   /* one of so many consecutive rows is kept, a power of two; 0 is 1 */
    bool has_counts; /* some pairs count requests */
    bool has_rates;  /* some pairs are requests a second, until demand_tokens_over() */
    bool has_local;  /* some times are what the clock showed, until demand_tokens_resolve() */
    bool has_utc;    /* some times are moments */
};

/* Adds a row that has an answer to a part of the file.  A part keeps all of its rows.  pair->count
   is the number of requests (not 0); is_rate: requests per second. */
void demand_tokens_add(struct demand_tokens *part, const struct token_pair *pair,
                       const struct packed_row *row, bool is_rate);

/* Appends the next part of the file.  The position of the cut has no influence. */
void demand_tokens_append(struct demand_tokens *tokens, const struct demand_tokens *part);

/* Converts local times to moments; of an hour that occurs twice, to its first occurrence.  If only
   some rows have an offset, all times become unknown. */
void demand_tokens_resolve(struct demand_tokens *tokens, const struct time_zone *zone);

/* Converts pairs that are rates to the requests of so many seconds. */
void demand_tokens_over(struct demand_tokens *tokens, double seconds);
