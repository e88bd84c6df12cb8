/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the engine that a queue's replicas are, as commands tell it.
 */
#pragma once

#include "base/input/json.h"
#include "windows/servers/engine.h"

/* json_null() for no engine. */
json_t *engine_facts_json(const struct engine *engine);

/* One line, "16 slots, ...", without a line end: returned, for the caller to free, or printed. */
char *engine_facts_text(const json_t *facts);
void engine_facts_print(const json_t *facts);
