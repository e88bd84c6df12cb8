/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice windows --suggest: from a demand to windows that are proposed, as YAML for sluice.yaml and
 * as JSON.
 */
#pragma once

#include "base/input/json.h"
#include "broker/config/config.h"
#include "windows/demand/demand.h"

struct windows_question {
    const struct config *config; /* NULL: there are arrivals, but no GPUs */
    const struct window_set *windows;
    const struct demand *demand;
    int64_t count;
    int64_t shortest_ms;
};

/* NULL and an error when the question cannot be answered. */
json_t *windows_suggest(const struct windows_question *question, struct error *err)
    __attribute__((warn_unused_result));

void windows_suggest_print(const json_t *suggested);
