/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the engine that a queue's replicas are, as commands tell it.
 */
#pragma once

#include "base/input/json.h"
#include "windows/servers/engine.h"

/* asked: the slots before the cache limits them.  json_null() for no engine. */
json_t *engine_facts_json(const struct engine *engine, int asked);

/* One line, "16 slots, ...", without its end; the caller's to free, or printed. */
char *engine_facts_text(const json_t *facts);
void engine_facts_print(const json_t *facts);
