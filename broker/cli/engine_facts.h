/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the engine that a queue's replicas are, as commands tell it.
 */
#pragma once

#include "base/json.h"
#include "windows/engine.h"

/* Members of it, for the pages of commands. */
#define ENGINE_FACTS_JSON                                                                          \
    "{slots, slots_asked (before the cache limits them), limit (slots or kv), router,\n"           \
    "iteration_s, iteration_per_request_s, prefill_per_token_s, tokens_in, tokens_out,\n"          \
    "tokens_cv, kv_tokens, capacity_per_s (of one replica), floor_s, longest_s (a request in\n"    \
    "a full batch)}; what slots alone do not tell is null"

/* asked: the slots before the cache limits them.  json_null() for no engine. */
json_t *engine_facts_json(const struct engine *engine, int asked);

/* One line, "16 slots, ...", without its end; the caller's to free, or printed. */
char *engine_facts_text(const json_t *facts);
void engine_facts_print(const json_t *facts);
