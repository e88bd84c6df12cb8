/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lengths of a queue's requests, as the rows of a demand file tell them: part of demand.c.  Of
 * very many rows a sample is kept, so that lengths take little beside the rows' counts.
 */
#pragma once

#include "windows/demand/token_pairs.h"

#include <stdbool.h>

/* Twice the places of a table of lengths: a sample has at least as many pairs as those. */
enum { DEMAND_TOKENS_MAX = 2 * TOKEN_TABLE };

struct demand_tokens {
    struct token_pairs pairs;
    size_t rows;     /* with an answer, kept or not */
    size_t stride;   /* of so many rows in a row one is kept, a power of two; 0 is 1 */
    bool has_counts; /* some pairs count requests, */
    bool has_rates;  /* and others, until demand_tokens_over(), requests a second */
};

/* A row with an answer, whose pair says of how many requests (not 0), to those of a part of the
   file, which keeps all.  is_rate: of how many requests a second. */
void demand_tokens_add(struct demand_tokens *part, const struct token_pair *pair, bool is_rate);

/* The next part of the file to what is known of it.  Where it was cut has no influence. */
void demand_tokens_append(struct demand_tokens *tokens, const struct demand_tokens *part);

/* Pairs that tell rates count, from here on, the requests of so many seconds. */
void demand_tokens_over(struct demand_tokens *tokens, double seconds);
