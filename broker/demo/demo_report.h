/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the demo's day was worth: research GPU-hours, waits against targets, moves and lead times,
 * margins, evictions, and the referee's verdict.
 */
#pragma once

#include "broker/demo/demo_play.h"

#include <jansson.h>
#include <stdbool.h>

/* {demand, elapsed_hours, research: {...}, queues: [...], transfers: {...}, windows: [...],
   referee: {...}}; the caller frees it. */
json_t *demo_report_make(const struct demo_play *play)
    __attribute__((returns_nonnull, warn_unused_result));

void demo_report_print(const json_t *report);

/* No violation, every window ready at its start, over a fifth of the GPU-hours with research. */
bool demo_report_is_good(const json_t *report);
