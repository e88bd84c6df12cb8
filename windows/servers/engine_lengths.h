/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Makes an engine with the tokens of its requests, by a law or measured.  Tokens are whole numbers,
 * and an answer has one at least.  A measured request keeps its prompt, because long prompts and
 * long answers may be correlated.
 *
 *     struct engine *engine = engine_new_by_law(&law, &(struct engine_tokens){ 1000, 250, 1 });
 *     shape = service_shape_of_engine(engine, "configuration", err);
 *     service = service_time_shaped(shape);
 */
#pragma once

#include "windows/demand/token_pairs.h"
#include "windows/servers/engine.h"
#include "windows/servers/service_shape.h"

struct engine_tokens {
    double mean_in;       /* of a prompt, each as long: 0 to TOKENS_MAX */
    double mean_out;      /* of an answer: 1 to TOKENS_MAX */
    double cv;            /* of answers: standard deviation over mean, 0 to 10 */
    enum service_law law; /* of answers: the default is by cv */
};

/* Slots are cut down to what the cache lets run; the table's mean is mean_out, to the token. */
struct engine *engine_new_by_law(const struct engine_law *law, const struct engine_tokens *tokens)
    __attribute__((returns_nonnull, warn_unused_result));

/* Takes as many of the pairs as the table has places, evenly by length of the answer, each as often
   as it has requests; repeats them where they are fewer.  Pairs with times make periods too:
   engine_free() frees it (engine_periods.h). */
struct engine *engine_new_by_pairs(const struct engine_law *law, const struct token_pairs *pairs)
    __attribute__((returns_nonnull, warn_unused_result));
