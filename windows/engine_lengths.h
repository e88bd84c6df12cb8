/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Making an engine: how many tokens its requests have, by a law or as they were measured.  Tokens
 * are whole numbers, and an answer has one at least.  A measured request keeps its prompt: long
 * prompts and long answers may come together, which their means do not tell.
 *
 *     struct engine *engine = engine_new_by_law(&law, &(struct engine_tokens){ 1000, 250, 1 });
 *     shape = service_shape_of_engine(engine, "configuration", err);
 *     service = service_time_shaped(shape);
 */
#pragma once

#include "base/array.h"
#include "windows/engine.h"
#include "windows/service_shape.h"

enum { ENGINE_TOKENS_MAX = 10 * 1000 * 1000, ENGINE_PAIRS_MIN = SERVICE_REQUESTS_MIN };

struct engine_tokens {
    double mean_in;       /* of a prompt, each as long: 0 to ENGINE_TOKENS_MAX */
    double mean_out;      /* of an answer: 1 to ENGINE_TOKENS_MAX */
    double cv;            /* of answers: standard deviation over mean, 0 to 10 */
    enum service_law law; /* of answers: the default is by cv */
};

/* Slots are cut down to what the cache lets run; the table's mean is mean_out, to the token. */
struct engine *engine_new_by_law(const struct engine_law *law, const struct engine_tokens *tokens)
    __attribute__((returns_nonnull, warn_unused_result));

struct token_pair {
    float in;
    float out;   /* 1 at least */
    float count; /* of requests that it stands for */
};

struct token_pairs { /* what was measured, in the order of the file */
    ARRAY(struct token_pair) list;
    size_t unanswered; /* rows without an answer, which are left out */
    double requests;   /* of all other rows, of which the list may be a sample */
};

/* Takes as many of the pairs as the table has places, evenly by length of the answer, each as often
   as it has requests; repeats them where they are fewer.  Reorders them. */
struct engine *engine_new_by_pairs(const struct engine_law *law, struct token_pairs *pairs)
    __attribute__((returns_nonnull, warn_unused_result));

/* From CSV, plain or gzip: the columns of both tokens by the names of token_columns.h.  Where there
   is a column `queue` or `model`, only the rows of `queue`.  Errors name the file and, where one is
   at fault, the line; fewer than ENGINE_PAIRS_MIN are refused. */
int token_pairs_read(struct token_pairs *pairs, const char *path, const char *queue,
                     struct error *err) __attribute__((warn_unused_result));

/* All prompts and answers longer, or shorter, by these factors; of 1 nothing changes. */
void token_pairs_scale(struct token_pairs *pairs, double in, double out);
void token_pairs_clear(struct token_pairs *pairs);

/* The caller clears it. */
struct token_pairs token_pairs_copy(const struct token_pairs *pairs);

/* Fewer requests than make a table: ERROR_INVALID; `of` names their queue, NULL: nothing does. */
int token_pairs_check(const struct token_pairs *pairs, const char *source, const char *of,
                      struct error *err) __attribute__((warn_unused_result));

static inline void owned_token_pairs(struct token_pairs *pairs)
{
    token_pairs_clear(pairs);
}
