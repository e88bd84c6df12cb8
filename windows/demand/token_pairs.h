/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measured tokens of requests: pairs of prompt and answer.  A request keeps its prompt, because
 * long prompts and long answers may be correlated.
 */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <stdint.h>

enum {
    TOKENS_MAX = 10 * 1000 * 1000, /* of a prompt or an answer */
    TOKEN_PAIRS_MIN = 100,         /* requests, of which a table of lengths can be made */
    TOKEN_TABLE = 1 << 16,         /* places of such a table */
};

struct token_pair {
    float in;
    float out;   /* 1 at least */
    float count; /* of requests that it stands for */
};

struct token_pairs { /* what was measured, in the order of the file */
    ARRAY(struct token_pair) list;
    ARRAY(int64_t) times; /* of each, in Unix time (ms); empty: they are not known */
    size_t unanswered;    /* rows without an answer, which are left out */
    double requests;      /* of all other rows, of which the list may be a sample */
};

/* From CSV, plain or gzip: the columns of both tokens by the names of token_columns.h.  Where there
   is a column of queues (columns_queue_of_tokens()), only the rows of `queue`.  Errors name the
   file and, where one is at fault, the line; fewer than TOKEN_PAIRS_MIN are refused. */
int token_pairs_read(struct token_pairs *pairs, const char *path, const char *queue,
                     struct error *err) __attribute__((warn_unused_result));

/* All prompts and answers longer, or shorter, by these factors; of 1 nothing changes.
   ERROR_INVALID: one would have more than TOKENS_MAX tokens; some pairs are then changed. */
int token_pairs_scale(struct token_pairs *pairs, double in, double out, struct error *err)
    __attribute__((warn_unused_result));
void token_pairs_clear(struct token_pairs *pairs);

/* The caller clears it. */
struct token_pairs token_pairs_copy(const struct token_pairs *pairs);

/* ERROR_INVALID if there are too few requests for a table.  `of`: the queue's name for the error,
   or NULL. */
int token_pairs_check(const struct token_pairs *pairs, const char *source, const char *of,
                      struct error *err) __attribute__((warn_unused_result));

static inline void owned_token_pairs(struct token_pairs *pairs)
{
    token_pairs_clear(pairs);
}
