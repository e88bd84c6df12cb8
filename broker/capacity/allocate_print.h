/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What `sluice allocate` prints about a plan.
 */
#pragma once

#include "windows/allocation/allocate.h"

/* Printed wherever a plan by --estimate is shown; windows/README.md has the measurements. */
#define ALLOCATE_ESTIMATE_CLAIM                                                                    \
    "ESTIMATE: closed form only; no replay has confirmed these numbers. They are a few per cent "  \
    "off,\na tenth or two where a minute's rate varies by more than its mean."

void allocate_print_table(const struct allocate_model *model, const struct allocate_plan *plan);

/* The answer of `sluice allocate -o json`.  `files` (an array of paths that were written or
   differ), `forecast` (null: not planned by one) and `demand` are taken. */
json_t *allocate_json(const struct allocate_model *model, const struct allocate_plan *plan,
                      json_t *files, json_t *forecast, json_t *demand)
    __attribute__((returns_nonnull, warn_unused_result));

/* The queue and window that misses its target by most, as one sentence. */
void allocate_worst_miss(const struct allocate_model *model, const struct allocate_plan *plan,
                         struct text *out);
